// Invalid launches: arguments, limits, contexts, attributes.
#include "images.hpp"
#include "launch_tools.hpp"
#include "memory_tools.hpp"

#include <optional>

using namespace sim_test;

namespace {

CUlaunchAttribute cluster(unsigned int x, unsigned int y, unsigned int z) {
    CUlaunchAttribute made = attribute(CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION);
    made.value.clusterDim.x = x;
    made.value.clusterDim.y = y;
    made.value.clusterDim.z = z;
    return made;
}

} // namespace

TEST_CASE("a launch with missing arguments fails") {
    const LoadedModule module;
    const CUfunction function = module.function("add");
    CUdeviceptr pointer = 0;
    void *parameters[] = {&pointer, &pointer, &pointer, &pointer};
    std::size_t size = 28;
    unsigned char buffer[32] = {};
    void *const buffer_is = CU_LAUNCH_PARAM_BUFFER_POINTER,
                *const size_is = CU_LAUNCH_PARAM_BUFFER_SIZE, *const end = CU_LAUNCH_PARAM_END;
    void *extra[] = {buffer_is, buffer, size_is, &size, end};
    void *without_size[] = {buffer_is, buffer, end}, *without_buffer[] = {size_is, &size, end};
    void *unknown[] = {reinterpret_cast<void *>(std::uintptr_t(77)), buffer, end};
    void *nothing[] = {end};
    const auto with = [&](void **kernel_parameters, void **extras) {
        return launch(function, {1, 1, 1}, {1, 1, 1}, 0, nullptr, kernel_parameters, extras);
    };
    check_all(CUDA_SUCCESS, {with(parameters, nullptr), with(nullptr, extra)});
    check_all(invalid, {with(nullptr, without_size), with(nullptr, without_buffer),
                        with(nullptr, unknown), with(nullptr, nothing)});
}

TEST_CASE("launches up to the limits of grid, block, registers and shared memory succeed") {
    const LoadedModule module("cushim-sim-image 1\nkernel k\nkernel greedy registers=128\n"
                              "kernel sharing shared=1024\n");
    const CUfunction k = module.function("k"), greedy = module.function("greedy"),
                     sharing = module.function("sharing");
    constexpr std::array one{1u, 1u, 1u};
    check_all(CUDA_SUCCESS,
              {launch(k, {2147483647, 1, 1}), launch(k, one, {1024, 1, 1}),
               launch(k, one, {1, 1, 64}), launch(k, one, one, 48 << 10),
               launch(sharing, one, one, 47 << 10), launch(greedy, one, {512, 1, 1})});
    ok(driver().cuFuncSetAttribute(k, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 100 << 10));
    ok(launch(k, one, one, 100 << 10));
    CHECK(launch(greedy, one, {513, 1, 1}) == CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
}

TEST_CASE("launching an invalid function handle fails and is reported") {
    static long long nothing[64] = {};
    const LoadedModule module;
    check_misuse(launch(reinterpret_cast<CUfunction>(nothing)), CUDA_ERROR_INVALID_HANDLE,
                 "is not a function handle");
    check_misuse(launch(reinterpret_cast<CUfunction>(module.get())), CUDA_ERROR_INVALID_HANDLE,
                 "a function handle was expected, but this is module");
}

TEST_CASE("launching a function in a stream of another context fails and is reported") {
    start("devices=2");
    const LoadedModule module;
    const CUfunction function = module.function("nothing");
    const Stream own;
    {
        const OnDevice second(1);
        const Stream other;
        for (const CUstream stream : {other.get(), CUstream(nullptr)}) {
            check_misuse(launch(function, {1, 1, 1}, {1, 1, 1}, 0, stream),
                         CUDA_ERROR_INVALID_HANDLE, "is used in another context");
        }
    }
    const WithoutContext none;
    ok(launch(function, {1, 1, 1}, {1, 1, 1}, 0, own));
    ok(driver().cuStreamSynchronize(own));
}

TEST_CASE("a cooperative launch fails if its blocks cannot all be resident") {
    std::optional<LoadedModule> module(std::in_place);
    const CUfunction function = module->function("nothing");
    int blocks = 0, multiprocessors = 0;
    require_ok(driver().cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function, 1024, 0));
    require_ok(driver().cuDeviceGetAttribute(&multiprocessors,
                                             CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 0));
    const auto most = static_cast<unsigned int>(blocks * multiprocessors);
    const auto cooperative = [&](unsigned int grid, CUfunction f = nullptr) {
        return driver().cuLaunchCooperativeKernel(f ? f : function, grid, 1, 1, 1024, 1, 1, 0,
                                                  nullptr, nullptr);
    };
    ok(cooperative(most));
    CUlaunchAttribute attribute_of = attribute(CU_LAUNCH_ATTRIBUTE_COOPERATIVE);
    attribute_of.value.cooperative = 1;
    CHECK(launch_with(function, {attribute_of}, {most * 64, 1, 1}) ==
          CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE);
    attribute_of.value.cooperative = 0;
    ok(launch_with(function, {attribute_of}, {most * 64, 1, 1}));
    module.reset();
    start("attribute.95=0"); // CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH
    const LoadedModule again;
    CHECK(cooperative(1, again.function("nothing")) == CUDA_ERROR_NOT_SUPPORTED);
}

TEST_CASE("a cluster must divide the grid and fit the device") {
    std::optional<LoadedModule> module(
        std::in_place, "cushim-sim-image 1\nkernel free\nkernel fixed cluster=2,1,1\n");
    const CUfunction free = module->function("free"), fixed = module->function("fixed");
    constexpr auto invalid_cluster_size = static_cast<CUresult>(912);
    ok(launch_with(free, {cluster(2, 1, 1)}, {4, 1, 1}));
    ok(launch_with(free, {cluster(8, 1, 1)}, {16, 1, 1}));
#if CUDA_VERSION >= 12000
    ok(driver().cuFuncSetAttribute(free, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1));
    ok(launch_with(free, {cluster(16, 1, 1)}, {16, 1, 1}));
#endif
    ok(launch(fixed, {4, 1, 1}, {1, 1, 1}));
    CHECK(launch(fixed, {3, 1, 1}, {1, 1, 1}) == invalid_cluster_size);
    CHECK(launch_with(fixed, {cluster(4, 1, 1)}, {4, 1, 1}) == invalid_cluster_size);
    ok(launch_with(fixed, {cluster(2, 1, 1)}, {4, 1, 1}));
    module.reset();
    start("cc=8.0;attribute.120=0"); // CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH
    const LoadedModule older;
    CHECK(launch_with(older.function("nothing"), {cluster(1, 1, 1)}) == CUDA_ERROR_NOT_SUPPORTED);
}

TEST_CASE("a cooperative launch on several devices needs one launch for each device") {
    start("devices=2");
    int runs = 0;
    sim_control().register_kernel("nothing", count_runs, &runs);
    struct Device {
        const LoadedModule module;
        const Stream stream;
        CUDA_LAUNCH_PARAMS parameters() const {
            return {module.function("nothing"), 1, 1, 1, 1, 1, 1, 0, stream, nullptr};
        }
    };
    const Device first;
    const OnDevice other(1);
    const Device second;
    CUDA_LAUNCH_PARAMS list[] = {first.parameters(), second.parameters()};
    const auto all = [&](unsigned int count, unsigned int flags) {
        return driver().cuLaunchCooperativeKernelMultiDevice(list, count, flags);
    };
    ok(all(2, 0));
    ok(all(2, 3));
    CHECK(all(0, 0) == invalid);
    list[1].gridDimX = 2;
    CHECK(all(2, 0) == invalid);
    list[1].gridDimX = 1;
    list[1].hStream = nullptr;
    CHECK(all(2, 0) == invalid);
    list[1] = list[0];
    CHECK(all(2, 0) == invalid); // the same device twice
    ok(driver().cuStreamSynchronize(first.stream));
    ok(driver().cuStreamSynchronize(second.stream));
    CHECK(runs == 4);
}
