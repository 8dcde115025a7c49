// Device query, runtime API: the properties of the devices, which must agree with their attributes.
#include "check_runtime.h"

#include <cstring>
#include <initializer_list>

namespace {

struct Pair {
    const char *what;
    int property;
    cudaDeviceAttr attribute;
};

int attribute(cudaDeviceAttr which, int number) {
    int value = 0;
    CHECK(cudaDeviceGetAttribute(&value, which, number));
    return value;
}

// Prints the properties. Returns how many differ from their attributes.
int print(const cudaDeviceProp &device, int number) {
    char address[32] = "";
    CHECK(cudaDeviceGetPCIBusId(address, sizeof address, number));
    printf("Device %d: \"%s\" at %s\n", number, device.name, address);
    printf("  CUDA capability: %d.%d\n", device.major, device.minor);
    printf("  global memory: %.0f MiB\n", static_cast<double>(device.totalGlobalMem) / (1 << 20));
    printf("  largest block: %d x %d x %d\n", device.maxThreadsDim[0], device.maxThreadsDim[1],
           device.maxThreadsDim[2]);
    int count = 0;
    for (const Pair &pair : {
             Pair{"major", device.major, cudaDevAttrComputeCapabilityMajor},
             Pair{"minor", device.minor, cudaDevAttrComputeCapabilityMinor},
             Pair{"threads per warp", device.warpSize, cudaDevAttrWarpSize},
             Pair{"registers per block", device.regsPerBlock, cudaDevAttrMaxRegistersPerBlock},
             Pair{"multiprocessors", device.multiProcessorCount, cudaDevAttrMultiProcessorCount},
             Pair{"threads per block", device.maxThreadsPerBlock, cudaDevAttrMaxThreadsPerBlock},
             Pair{"threads per multiprocessor", device.maxThreadsPerMultiProcessor,
                  cudaDevAttrMaxThreadsPerMultiProcessor},
             Pair{"memory bus width", device.memoryBusWidth, cudaDevAttrGlobalMemoryBusWidth},
             Pair{"L2 cache", device.l2CacheSize, cudaDevAttrL2CacheSize},
             Pair{"pitch", static_cast<int>(device.memPitch), cudaDevAttrMaxPitch},
             Pair{"copy engines", device.asyncEngineCount, cudaDevAttrAsyncEngineCount},
             Pair{"managed memory", device.managedMemory, cudaDevAttrManagedMemory},
             Pair{"PCI bus", device.pciBusID, cudaDevAttrPciBusId},
         }) {
        const int value = attribute(pair.attribute, number);
        printf("  %s: %d\n", pair.what, pair.property);
        if (value != pair.property) {
            printf("  %s: the attribute is %d\n", pair.what, value);
            ++count;
        }
    }
    return count;
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
        wrong += print(device, number);
    }
    printf("pairs with peer access: %d\n", peers(count));
    return wrong == 0 ? 0 : EXIT_WRONG_RESULT;
}
