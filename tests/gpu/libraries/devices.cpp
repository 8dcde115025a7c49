// NVML describes the GPUs, and NCCL adds numbers over all of them in one process.
#include "call.hpp"

#if defined(USE_TABLES)
#include <cushim/nccl_table.hpp>
#include <cushim/nvml_table.hpp>
#else
#include <nccl.h>
#include <nvml.h>
#endif

#include <memory>

namespace {

void query() {
    std::printf("NVML: %s\n", CALL(nvml, nvmlErrorString)(NVML_ERROR_LIBRARY_NOT_FOUND));
    REQUIRE_OK(CALL(nvml, nvmlInit)());
    unsigned int count = 0;
    REQUIRE_OK(CALL(nvml, nvmlDeviceGetCount)(&count));
    for (unsigned int i = 0; i < count; ++i) {
        nvmlDevice_t device;
        char name[96], uuid[96];
        nvmlMemory_t memory;
        REQUIRE_OK(CALL(nvml, nvmlDeviceGetHandleByIndex)(i, &device));
        REQUIRE_OK(CALL(nvml, nvmlDeviceGetName)(device, name, sizeof name));
        REQUIRE_OK(CALL(nvml, nvmlDeviceGetUUID)(device, uuid, sizeof uuid));
        REQUIRE_OK(CALL(nvml, nvmlDeviceGetMemoryInfo)(device, &memory));
        std::printf("GPU %u: %s, %s, %llu bytes\n", i, name, uuid, memory.total);
    }
    REQUIRE_OK(CALL(nvml, nvmlShutdown)());
}

void add_over_all() {
    int version = 0, count = 0;
    REQUIRE_OK(CALL(nccl, ncclGetVersion)(&version));
    REQUIRE_OK(CALL(runtime, cudaGetDeviceCount)(&count));
    std::vector<ncclComm_t> communicators(static_cast<std::size_t>(count));
    REQUIRE_OK(CALL(nccl, ncclCommInitAll)(communicators.data(), count, nullptr));
    std::vector<std::unique_ptr<OnDevice<float>>> memory;
    for (int i = 0; i < count; ++i) {
        REQUIRE_OK(CALL(runtime, cudaSetDevice)(i));
        memory.push_back(
            std::make_unique<OnDevice<float>>(std::vector<float>(1000, static_cast<float>(i + 1))));
    }
    REQUIRE_OK(CALL(nccl, ncclGroupStart)());
    for (int i = 0; i < count; ++i) {
        float *data = memory[static_cast<std::size_t>(i)]->data();
        REQUIRE_OK(CALL(nccl, ncclAllReduce)(data, data, 1000, ncclFloat, ncclSum,
                                             communicators[static_cast<std::size_t>(i)], nullptr));
    }
    REQUIRE_OK(CALL(nccl, ncclGroupEnd)());
    std::printf("NCCL %d, %d GPUs\n", version, count);
    for (int i = 0; i < count; ++i) {
        REQUIRE_OK(CALL(runtime, cudaSetDevice)(i));
        REQUIRE_OK(CALL(runtime, cudaDeviceSynchronize)());
        print_values("ncclAllReduce", memory[static_cast<std::size_t>(i)]->values());
        REQUIRE_OK(CALL(nccl, ncclCommDestroy)(communicators[static_cast<std::size_t>(i)]));
    }
}

} // namespace

int library_calls() {
    query();
    add_over_all();
    return 0;
}
