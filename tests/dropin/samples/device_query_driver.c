/* Device query, driver API: the attributes of all devices. */
#include "check_driver.h"

struct attribute {
    const char *name;
    CUdevice_attribute which;
};

static const struct attribute attributes[] = {
    {"multiprocessors", CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT},
    {"clock rate (kHz)", CU_DEVICE_ATTRIBUTE_CLOCK_RATE},
    {"memory bus width (bits)", CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH},
    {"L2 cache (bytes)", CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE},
    {"constant memory (bytes)", CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY},
    {"shared memory per block (bytes)", CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK},
    {"registers per block", CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK},
    {"threads per warp", CU_DEVICE_ATTRIBUTE_WARP_SIZE},
    {"threads per block", CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK},
    {"threads per multiprocessor", CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR},
    {"copy engines", CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT},
    {"concurrent kernels", CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS},
    {"unified addressing", CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING},
    {"managed memory", CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY},
    {"virtual memory management", CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED},
    {"memory pools", CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED},
};

static int attribute(CUdevice device, CUdevice_attribute which) {
    int value = 0;
    CHECK(cuDeviceGetAttribute(&value, which, device));
    return value;
}

static void print(CUdevice device, int number) {
    char name[256], address[32];
    size_t memory = 0;
    CHECK(cuDeviceGetName(name, sizeof name, device));
    CHECK(cuDeviceTotalMem(&memory, device));
    CHECK(cuDeviceGetPCIBusId(address, sizeof address, device));
    printf("Device %d: \"%s\" at %s\n", number, name, address);
    printf("  CUDA capability: %d.%d\n",
           attribute(device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR),
           attribute(device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR));
    printf("  global memory: %.0f MiB\n", (double)memory / (1 << 20));
    for (size_t i = 0; i < sizeof attributes / sizeof *attributes; ++i) {
        printf("  %s: %d\n", attributes[i].name, attribute(device, attributes[i].which));
    }
}

/* The device found by its bus address is the same device. */
static int same_by_address(CUdevice device) {
    char address[32];
    CUdevice found = -1;
    CHECK(cuDeviceGetPCIBusId(address, sizeof address, device));
    CHECK(cuDeviceGetByPCIBusId(&found, address));
    return found == device;
}

int main(void) {
    const int count = need_device();
    int version = 0, wrong = 0;
    CHECK(cuDriverGetVersion(&version));
    printf("%d devices, driver %d.%d\n", count, version / 1000, version % 1000 / 10);
    for (int i = 0; i < count; ++i) {
        CUdevice device;
        CHECK(cuDeviceGet(&device, i));
        print(device, i);
        wrong += !same_by_address(device);
    }
    CUdevice none;
    const CUresult refused = cuDeviceGet(&none, count);
    printf("device %d: %s\n", count, words_for(refused));
    return wrong == 0 && refused == CUDA_ERROR_INVALID_DEVICE ? 0 : EXIT_WRONG_RESULT;
}
