// Kernels compute, memory holds what was put there: through the raw tables, on the device.
#include <catch2/catch_test_macros.hpp>

#include "compute.inc"

#include <thread>

std::size_t wrong_sums_legacy(unsigned int count) {
    return wrong_sums(count);
}

TEST_CASE("a kernel on the legacy default stream", "[gpu]") {
    CHECK(wrong_sums_legacy(1'000'003) == 0);
}

TEST_CASE("a kernel on the per-thread default stream", "[gpu]") {
    CHECK(wrong_sums_per_thread(1'000'003) == 0);
}

TEST_CASE("eight threads compute at once", "[gpu]") {
    std::size_t wrong[8];
    std::thread threads[8];
    for (unsigned int i = 0; i < 8; ++i)
        threads[i] = std::thread([&wrong, i] {
            try {
                wrong[i] = wrong_sums_per_thread(50'000 + i);
            } catch (const std::exception &) {
                wrong[i] = 50'000 + i;
            }
        });
    for (std::thread &thread : threads)
        thread.join();
    for (const std::size_t count : wrong)
        CHECK(count == 0);
}

TEST_CASE("the runtime table computes on the same device", "[gpu]") {
    if (!cushim::load_runtime())
        SKIP(cushim::load_report().runtime.explanation);
    const auto cuda = cushim::runtime();
    int devices = 0;
    REQUIRE(cuda.cudaGetDeviceCount(&devices) == cudaSuccess);
    REQUIRE(devices > 0);
    REQUIRE(cuda.cudaSetDevice(0) == cudaSuccess);
    std::vector<int> source(100'000), target(100'000, -1);
    for (std::size_t i = 0; i < source.size(); ++i)
        source[i] = static_cast<int>(i * 7);
    const std::size_t size = source.size() * sizeof(int);
    void *memory = nullptr;
    REQUIRE(cuda.cudaMalloc(&memory, size) == cudaSuccess);
    CHECK(cuda.cudaMemcpy(memory, source.data(), size, cudaMemcpyHostToDevice) == cudaSuccess);
    CHECK(cuda.cudaMemcpy(target.data(), memory, size, cudaMemcpyDeviceToHost) == cudaSuccess);
    CHECK(target == source);
    CHECK(cuda.cudaMemset(memory, 0xff, size) == cudaSuccess);
    CHECK(cuda.cudaMemcpy(target.data(), memory, size, cudaMemcpyDeviceToHost) == cudaSuccess);
    CHECK(target == std::vector<int>(source.size(), -1));
    CHECK(cuda.cudaFree(memory) == cudaSuccess);
    // The struct's layout is that of the headers' major version, and so of this very library.
    cudaDeviceProp properties = {};
    REQUIRE(cuda.cudaGetDeviceProperties(&properties, 0) == cudaSuccess);
    std::size_t total = 0;
    CUdevice device;
    REQUIRE(cushim::driver().cuDeviceGet(&device, 0) == CUDA_SUCCESS);
    REQUIRE(cushim::driver().cuDeviceTotalMem(&total, device) == CUDA_SUCCESS);
    CHECK(properties.totalGlobalMem == total);
    CHECK(properties.major >= 5);
}
