// Device query, runtime API: what the devices are, from their properties, which must agree with
// their attributes.
#include "check_runtime.h"

#include <cstring>
#include <initializer_list>

namespace {

struct Pair {
    const char *what;
    int property;
    cudaDeviceAttr attribute;
};

// How many differ.
int differences(const cudaDeviceProp &device, int number) {
    int count = 0;
    for (const Pair &pair : {
             Pair{"major", device.major, cudaDevAttrComputeCapabilityMajor},
             Pair{"minor", device.minor, cudaDevAttrComputeCapabilityMinor},
             Pair{"warp size", device.warpSize, cudaDevAttrWarpSize},
             Pair{"registers", device.regsPerBlock, cudaDevAttrMaxRegistersPerBlock},
             Pair{"multiprocessors", device.multiProcessorCount, cudaDevAttrMultiProcessorCount},
             Pair{"threads per block", device.maxThreadsPerBlock, cudaDevAttrMaxThreadsPerBlock},
             Pair{"bus width", device.memoryBusWidth, cudaDevAttrGlobalMemoryBusWidth},
             Pair{"L2 cache", device.l2CacheSize, cudaDevAttrL2CacheSize},
             Pair{"pitch", static_cast<int>(device.memPitch), cudaDevAttrMaxPitch},
             Pair{"PCI bus", device.pciBusID, cudaDevAttrPciBusId},
         }) {
        int value = -1;
        CHECK(cudaDeviceGetAttribute(&value, pair.attribute, number));
        if (value != pair.property) {
            printf("  %s: the property is %d, the attribute %d\n", pair.what, pair.property, value);
            ++count;
        }
    }
    return count;
}

int attribute(cudaDeviceAttr which, int number) {
    int value = 0;
    CHECK(cudaDeviceGetAttribute(&value, which, number));
    return value;
}

const char *yes_or_no(int value) {
    return value != 0 ? "yes" : "no";
}

void print(const cudaDeviceProp &device, int number) {
    printf("Device %d: \"%s\"\n", number, device.name);
    printf("  CUDA capability: %d.%d\n", device.major, device.minor);
    printf("  global memory: %.0f MiB\n", static_cast<double>(device.totalGlobalMem) / (1 << 20));
    printf("  multiprocessors: %d\n", device.multiProcessorCount);
    printf("  maximal clock: %.0f MHz\n", attribute(cudaDevAttrClockRate, number) * 1e-3);
    printf("  memory bus: %d bit\n", device.memoryBusWidth);
    printf("  L2 cache: %d bytes\n", device.l2CacheSize);
    printf("  constant memory: %u bytes\n", static_cast<unsigned>(device.totalConstMem));
    printf("  shared memory per block: %u bytes\n",
           static_cast<unsigned>(device.sharedMemPerBlock));
    printf("  registers per block: %d\n", device.regsPerBlock);
    printf("  warp: %d threads\n", device.warpSize);
    printf("  threads: %d per multiprocessor, %d per block\n", device.maxThreadsPerMultiProcessor,
           device.maxThreadsPerBlock);
    printf("  largest block: %d x %d x %d\n", device.maxThreadsDim[0], device.maxThreadsDim[1],
           device.maxThreadsDim[2]);
    printf("  largest grid: %d x %d x %d\n", device.maxGridSize[0], device.maxGridSize[1],
           device.maxGridSize[2]);
    printf("  copy engines: %d\n", device.asyncEngineCount);
    printf("  unified addressing: %s\n", yes_or_no(device.unifiedAddressing));
    printf("  managed memory: %s\n", yes_or_no(device.managedMemory));
    printf("  cooperative launch: %s\n",
           yes_or_no(attribute(cudaDevAttrCooperativeLaunch, number)));
    char address[32] = "";
    CHECK(cudaDeviceGetPCIBusId(address, sizeof address, number));
    printf("  PCI address: %s\n", address);
}

int peers(int count) {
    int pairs = 0;
    for (int from = 0; from < count; ++from) {
        for (int to = 0; to < count; ++to) {
            int possible = 0;
            if (from != to) {
                CHECK(cudaDeviceCanAccessPeer(&possible, from, to));
            }
            pairs += possible;
        }
    }
    return pairs;
}

} // namespace

int main() {
    const int count = need_device();
    int driver = 0, runtime = 0, wrong = 0;
    CHECK(cudaDriverGetVersion(&driver));
    CHECK(cudaRuntimeGetVersion(&runtime));
    printf("%d devices, driver %d.%d, runtime %d.%d\n", count, driver / 1000, driver % 1000 / 10,
           runtime / 1000, runtime % 1000 / 10);
    for (int number = 0; number < count; ++number) {
        cudaDeviceProp device;
        std::memset(&device, 0, sizeof device);
        CHECK(cudaSetDevice(number));
        CHECK(cudaGetDeviceProperties(&device, number));
        print(device, number);
        wrong += differences(device, number);
    }
    printf("pairs with peer access: %d\n", peers(count));
    return wrong == 0 ? 0 : EXIT_WRONG_RESULT;
}
