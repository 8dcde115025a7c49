// Kernels compute correct results and memory keeps its contents, through the raw tables, on the
// device. Compiled once for each mode of the default stream.
#include <catch2/catch_test_macros.hpp>
#include <cushim/init.hpp>
#include <cushim/loader.hpp>
#include <cushim/table.hpp>

#include "../examples/vector_add.hpp"
#include "../support/in_threads.hpp"

#include <stdexcept>
#include <string>
#include <vector>

namespace {

void expect(CUresult status, const char *what) {
    if (status != CUDA_SUCCESS) {
        throw std::runtime_error(
            cushim::Error::status(cushim::Api::driver, status, what).message());
    }
}

// Adds `count` pairs in the default stream of the mode; returns the number of wrong sums.
std::size_t wrong_sums(unsigned int count) {
    const auto cuda = cushim::driver();
    cushim::init().value();
    CUdevice device;
    CUcontext context;
    CUmodule module;
    CUfunction kernel;
    expect(cuda.cuDeviceGet(&device, 0), "cuDeviceGet");
    expect(cuda.cuDevicePrimaryCtxRetain(&context, device), "cuDevicePrimaryCtxRetain");
    expect(cuda.cuCtxSetCurrent(context), "cuCtxSetCurrent");
    expect(cuda.cuModuleLoadData(&module, vector_add_ptx), "cuModuleLoadData");
    expect(cuda.cuModuleGetFunction(&kernel, module, "add"), "cuModuleGetFunction");
    std::vector<float> a(count), b(count), sum(count, -1.0F);
    for (unsigned int i = 0; i < count; ++i) {
        a[i] = static_cast<float>(i % 1000);
        b[i] = static_cast<float>(i % 777) * 0.5F;
    }
    const std::size_t size = count * sizeof(float);
    CUdeviceptr memory[3];
    for (CUdeviceptr &vector : memory) {
        expect(cuda.cuMemAlloc(&vector, size), "cuMemAlloc");
    }
    expect(cuda.cuMemcpyHtoDAsync(memory[0], a.data(), size, nullptr), "cuMemcpyHtoDAsync");
    expect(cuda.cuMemcpyHtoDAsync(memory[1], b.data(), size, nullptr), "cuMemcpyHtoDAsync");
    void *arguments[] = {&memory[0], &memory[1], &memory[2], &count};
    expect(cuda.cuLaunchKernel(kernel, (count + 255) / 256, 1, 1, 256, 1, 1, 0, nullptr, arguments,
                               nullptr),
           "cuLaunchKernel");
    expect(cuda.cuMemcpyDtoHAsync(sum.data(), memory[2], size, nullptr), "cuMemcpyDtoHAsync");
    expect(cuda.cuStreamSynchronize(nullptr), "cuStreamSynchronize");
    for (const CUdeviceptr vector : memory) {
        expect(cuda.cuMemFree(vector), "cuMemFree");
    }
    expect(cuda.cuModuleUnload(module), "cuModuleUnload");
    expect(cuda.cuDevicePrimaryCtxRelease(device), "cuDevicePrimaryCtxRelease");
    std::size_t wrong = 0;
    for (unsigned int i = 0; i < count; ++i) {
        wrong += sum[i] != a[i] + b[i];
    }
    return wrong;
}

} // namespace

TEST_CASE("a kernel on the default stream computes correct sums", "[gpu]") {
    CHECK(wrong_sums(1'000'003) == 0);
}

TEST_CASE("eight threads compute correct sums at the same time", "[gpu]") {
    std::size_t wrong[8];
    support::in_threads(8, [&wrong](unsigned int i) {
        try {
            wrong[i] = wrong_sums(50'000 + i);
        } catch (const std::exception &) {
            wrong[i] = 50'000 + i;
        }
    });
    for (const std::size_t count : wrong) {
        CHECK(count == 0);
    }
}

TEST_CASE("the runtime table computes on the same device", "[gpu]") {
    if (!cushim::load_runtime()) {
        SKIP(cushim::load_report().runtime.explanation);
    }
    const auto cuda = cushim::runtime();
    int devices = 0;
    REQUIRE(cuda.cudaGetDeviceCount(&devices) == cudaSuccess);
    REQUIRE(devices > 0);
    REQUIRE(cuda.cudaSetDevice(0) == cudaSuccess);
    std::vector<int> source(100'000), target(100'000, -1);
    for (std::size_t i = 0; i < source.size(); ++i) {
        source[i] = static_cast<int>(i * 7);
    }
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
    // The layout of the structure is that of the headers' major version, which the library also
    // has.
    cudaDeviceProp properties = {};
    REQUIRE(cuda.cudaGetDeviceProperties(&properties, 0) == cudaSuccess);
    std::size_t total = 0;
    CUdevice device;
    REQUIRE(cushim::driver().cuDeviceGet(&device, 0) == CUDA_SUCCESS);
    REQUIRE(cushim::driver().cuDeviceTotalMem(&total, device) == CUDA_SUCCESS);
    CHECK(properties.totalGlobalMem == total);
    CHECK(properties.major >= 5);
}
