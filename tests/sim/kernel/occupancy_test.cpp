// Occupancy: how many blocks fit on a multiprocessor, and the block size that fills it best.
#include "launch_tools.hpp"

using namespace sim_test;

namespace {

// A multiprocessor of the H200, independent of the recorded device.
constexpr char h200[] = "attribute.39=2048;attribute.82=65536;attribute.81=233472;attribute.106=32;"
                        "attribute.111=1024;attribute.16=132;attribute.97=232448";

constexpr char image[] = R"(cushim-sim-image 1
kernel light registers=16
kernel plain registers=32
kernel heavy registers=128
kernel shared registers=16 shared=40960
kernel bounded registers=16 max_threads=96
)";

int blocks(CUfunction function, int block_size, std::size_t dynamic = 0) {
    return got<int>(&Driver::cuOccupancyMaxActiveBlocksPerMultiprocessor, out, function, block_size,
                    dynamic);
}

std::vector<int> asked;

} // namespace

TEST_CASE("threads, registers, shared memory and blocks limit occupancy") {
    start(h200);
    const LoadedModule module(image);
    const CUfunction light = module.function("light"), heavy = module.function("heavy"),
                     shared = module.function("shared");
    CHECK(blocks(light, 1024) == 2); // 2048 threads
    CHECK(blocks(light, 256) == 8);  //
    CHECK(blocks(light, 33) == 32);  // blocks
    CHECK(blocks(light, 1) == 32);   //
    CHECK(blocks(light, 96) == 21);  // 64 warps, 3 for each block
    CHECK(blocks(heavy, 256) == 2);  // 16 warps of 4096 registers
    CHECK(blocks(heavy, 512) == 1);  //
    CHECK(blocks(heavy, 32) == 16);  // 4 blocks for each partition
    CHECK(blocks(shared, 256) == 5); // 233472 / (40960 + 1024)
    CHECK(blocks(light, 256, 48 << 10) == 4);
    CHECK(blocks(light, 256, 20000) == 8);
    CHECK(blocks(module.function("bounded"), 96) == 21);
    CHECK(blocks(module.function("bounded"), 97) == 0);
    // More shared memory than the function may use.
    CHECK(blocks(light, 256, (48 << 10) + 1) == 0);
    ok(driver().cuFuncSetAttribute(light, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                   200 << 10));
    CHECK(blocks(light, 256, 200 << 10) == 1);
}

TEST_CASE("arguments of occupancy queries are checked") {
    start(h200);
    const LoadedModule module(image);
    const CUfunction light = module.function("light");
    int grid = 0, block = 0;
    std::size_t bytes = 0;
    check_all(invalid,
              {driver().cuOccupancyMaxActiveBlocksPerMultiprocessor(&block, light, -1, 0),
               driver().cuOccupancyMaxPotentialBlockSize(&grid, &block, light, nullptr, 0, -1),
               driver().cuOccupancyAvailableDynamicSMemPerBlock(&bytes, light, 0, 256)});
    CHECK(blocks(light, 32, ~std::size_t(0)) == 0);
}

TEST_CASE("the suggested block size fills the device") {
    start(h200);
    const LoadedModule module(image);
    const auto best = [](CUfunction function, std::size_t dynamic, int limit) {
        int grid = -1, block = -1;
        ok(driver().cuOccupancyMaxPotentialBlockSize(&grid, &block, function, nullptr, dynamic,
                                                     limit));
        return std::pair(grid, block);
    };
    CHECK(best(module.function("light"), 0, 0) == std::pair(264, 1024));
    CHECK(best(module.function("light"), 0, 256) == std::pair(132 * 8, 256));
    CHECK(best(module.function("light"), 0, 100) == std::pair(132 * 32, 64));
    CHECK(best(module.function("heavy"), 0, 0) == std::pair(132, 512));
    CHECK(best(module.function("bounded"), 0, 0) == std::pair(132 * 32, 64));
}

TEST_CASE("the client's function returns the shared memory for each block size") {
    start(h200);
    const LoadedModule module(image);
    asked.clear();
    int grid = 0, block = 0;
    // 256 bytes for each thread: 48 KiB allow 192 threads.
    const auto needs = [](int block_size) -> std::size_t {
        int version = 0;
        asked.push_back(driver().cuDriverGetVersion(&version) == CUDA_SUCCESS ? block_size : -1);
        return static_cast<std::size_t>(block_size) * 256;
    };
    ok(driver().cuOccupancyMaxPotentialBlockSize(&grid, &block, module.function("light"), needs, 0,
                                                 0));
    CHECK(block <= 192);
    CHECK(block >= 32);
    CHECK(asked.front() == 1024);
    CHECK(std::find(asked.begin(), asked.end(), block) != asked.end());
    CHECK(std::find(asked.begin(), asked.end(), -1) == asked.end());
}

TEST_CASE("the available shared memory is divided among the blocks") {
    start(h200);
    const LoadedModule module(image);
    const auto available = [](CUfunction function, int count, int size) {
        return got<std::size_t>(&Driver::cuOccupancyAvailableDynamicSMemPerBlock, out, function,
                                count, size);
    };
    CHECK(available(module.function("light"), 1, 256) == 49152); // the default limit of a function
    CHECK(available(module.function("light"), 8, 256) == 233472 / 8 - 1024);
    CHECK(available(module.function("shared"), 2, 256) == 49152 - 40960);
    const auto allow = [](CUfunction function, int dynamic) {
        require_ok(driver().cuFuncSetAttribute(
            function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, dynamic));
    };
    allow(module.function("light"), 232448);
    allow(module.function("shared"), 232448 - 40960);
    CHECK(available(module.function("light"), 1, 256) == 232448);
    CHECK(available(module.function("light"), 2, 256) == 233472 / 2 - 1024);
    CHECK(available(module.function("shared"), 2, 256) == 233472 / 2 - 1024 - 40960);
}

TEST_CASE("cluster queries return the largest size and how many clusters fit") {
    start(h200);
    const LoadedModule module("cushim-sim-image 1\nkernel free\nkernel fixed cluster=4,1,1\n");
    const CUfunction free = module.function("free"), fixed = module.function("fixed");
    CUlaunchAttribute cluster = attribute(CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION);
    cluster.value.clusterDim.x = 2;
    cluster.value.clusterDim.y = cluster.value.clusterDim.z = 1;
    CUlaunchConfig config = launch_config({1024, 1, 1}, 1024);
    int answer = 0;
    const auto size_of = [&](CUfunction function) {
        return driver().cuOccupancyMaxPotentialClusterSize(&answer, function, &config);
    };
    const auto number_of = [&](CUfunction function) {
        return driver().cuOccupancyMaxActiveClusters(&answer, function, &config);
    };
    CHECK(got(size_of(free), answer) == 8);
    CHECK(got(size_of(fixed), answer) == 4);
    CHECK(number_of(free) == invalid);
    CHECK(got(number_of(fixed), answer) == 132 * 2 / 4);
    config.attrs = &cluster;
    config.numAttrs = 1;
    CHECK(got(number_of(free), answer) == 132);
    CHECK(number_of(fixed) == static_cast<CUresult>(912));
    CHECK(driver().cuOccupancyMaxActiveClusters(&answer, free, nullptr) == invalid);
    config.blockDimX = 4096;
    CHECK(got(number_of(free), answer) == 0);
    config.blockDimX = 0;
    CHECK(size_of(free) == invalid);
}
