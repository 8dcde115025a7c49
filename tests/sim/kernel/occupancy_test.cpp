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

TEST_CASE("the preferred part of shared memory limits the blocks of a multiprocessor") {
    start(h200);
    const LoadedModule module(image);
    const CUfunction light = module.function("light");
    const auto prefer = [&](int percent) {
        require_ok(driver().cuFuncSetAttribute(
            light, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, percent));
    };
    prefer(0);
    CHECK(blocks(light, 64) == 8);         // 8 KiB, 1 KiB for each block
    CHECK(blocks(light, 64, 1024) == 4);   //
    CHECK(blocks(light, 64, 10000) == 1);  // 16 KiB: room for one block
    prefer(28);                            // 64 KiB
    CHECK(blocks(light, 64, 10000) == 5);  //
    prefer(29);                            // 100 KiB
    CHECK(blocks(light, 64, 10000) == 9);  //
    prefer(100);                           //
    CHECK(blocks(light, 64, 10000) == 20); //
    prefer(-1);
    ok(driver().cuCtxSetCacheConfig(CU_FUNC_CACHE_PREFER_L1));
    CHECK(blocks(light, 64, 1024) == 4);
    ok(driver().cuFuncSetCacheConfig(light, CU_FUNC_CACHE_PREFER_SHARED));
    CHECK(blocks(light, 64, 1024) == 32);
}

namespace {

// A query about clusters.
struct ClusterQuery {
    CUfunction function;
    unsigned int threads = 64, grid = 128, cluster = 0, policy = 0;

    CUresult ask(CUresult (Driver::*call)(int *, CUfunction, const CUlaunchConfig *) const,
                 int &answer) const {
        CUlaunchAttribute attributes[2] = {
            attribute(CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE),
            attribute(CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION)};
        attributes[0].value.clusterSchedulingPolicyPreference =
            static_cast<CUclusterSchedulingPolicy>(policy);
        attributes[1].value.clusterDim.x = cluster;
        attributes[1].value.clusterDim.y = attributes[1].value.clusterDim.z = cluster != 0;
        CUlaunchConfig config = launch_config({grid, 1, 1}, threads);
        config.attrs = attributes;
        config.numAttrs = cluster == 0 ? 1 : 2;
        return (driver().*call)(&answer, function, &config);
    }
    int number() const {
        int answer = -1;
        ok(ask(&Driver::cuOccupancyMaxActiveClusters, answer));
        return answer;
    }
    int size() const {
        int answer = -1;
        ok(ask(&Driver::cuOccupancyMaxPotentialClusterSize, answer));
        return answer;
    }
    CUresult status() const {
        int answer = -1;
        const CUresult first = ask(&Driver::cuOccupancyMaxActiveClusters, answer);
        CHECK(ask(&Driver::cuOccupancyMaxPotentialClusterSize, answer) == first);
        return first;
    }
};

constexpr auto invalid_cluster_size = static_cast<CUresult>(912);

void allow_large_clusters(CUfunction function) {
    constexpr auto allowed = static_cast<CUfunction_attribute>(14);
    require_ok(driver().cuFuncSetAttribute(function, allowed, 1));
}

} // namespace

TEST_CASE("the number of clusters follows from the groups of multiprocessors") {
    start(h200);
    const LoadedModule module("cushim-sim-image 1\nkernel free registers=16\n");
    ClusterQuery query{module.function("free")};
    CHECK(query.number() == 0); // without an attribute
    const auto numbers = [&](unsigned int threads) {
        std::vector<int> found;
        for (const unsigned int cluster : {1u, 2u, 4u, 8u, 16u, 32u}) {
            query.threads = threads;
            query.cluster = cluster;
            found.push_back(query.number());
        }
        return found;
    };
    allow_large_clusters(query.function);
    CHECK(numbers(64) == std::vector{1056, 528, 248, 124, 58, 0}); // 8 blocks of the 32
    CHECK(numbers(257) == std::vector{924, 462, 216, 107, 49, 0});
    CHECK(numbers(1024) == std::vector{264, 132, 62, 30, 14, 0});
    CHECK(numbers(1025) == std::vector{0, 0, 0, 0, 0, 0});
    constexpr unsigned int load_balancing = 2;
    CHECK(ClusterQuery{query.function, 64, 128, 8, load_balancing}.number() == 132);
}

TEST_CASE("devices of other sizes have the first groups of multiprocessors") {
    start("attribute.16=20");
    const LoadedModule module("cushim-sim-image 1\nkernel free registers=16\n");
    CHECK(ClusterQuery{module.function("free"), 1024, 128, 2}.number() == 20);
    CHECK(ClusterQuery{module.function("free"), 1024, 128, 8}.number() == 4); // 18 and 2
}

TEST_CASE("the largest cluster depends on the block and on the function's permission") {
    start(h200);
    const LoadedModule module("cushim-sim-image 1\nkernel free\nkernel fixed cluster=4,1,1\n"
                              "kernel small max_threads=64\n");
    CHECK(ClusterQuery{module.function("free")}.size() == 8);
    CHECK(ClusterQuery{module.function("fixed")}.size() == 8);
    CHECK(ClusterQuery{module.function("small"), 128}.size() == 8);
    CHECK(ClusterQuery{module.function("free"), 1025}.size() == 0);
    allow_large_clusters(module.function("free"));
    CHECK(ClusterQuery{module.function("free")}.size() == 16);
}

TEST_CASE("queries about clusters check their arguments as launches do") {
    start(h200);
    const LoadedModule module("cushim-sim-image 1\nkernel free\nkernel fixed cluster=4,1,1\n");
    const CUfunction free = module.function("free"), fixed = module.function("fixed");
    int answer = 0;
    CHECK(ClusterQuery{fixed, 1024}.number() == 62);
    CHECK(ClusterQuery{fixed, 64, 128, 2}.status() == invalid_cluster_size);
    CHECK(ClusterQuery{fixed, 64, 127}.status() == invalid_cluster_size);
    CHECK(ClusterQuery{free, 64, 127, 2}.status() == invalid_cluster_size);
    CHECK(ClusterQuery{free, 64, 128, 16}.status() == invalid_cluster_size);
    CHECK(ClusterQuery{free, 64, 0, 2}.status() == invalid);
    CHECK(ClusterQuery{free, 0, 128, 2}.status() == invalid);
    CHECK(ClusterQuery{free, 64, 128, 2, 3}.status() == invalid);
    CHECK(ClusterQuery{nullptr}.status() == invalid);
    CHECK(driver().cuOccupancyMaxActiveClusters(&answer, free, nullptr) == invalid);
}

TEST_CASE("directives of PTX limit the clusters of a kernel") {
    start(h200);
    const LoadedModule module(
        ".version 8.0\n.target sm_90\n.address_size 64\n"
        ".visible .entry some() .explicitcluster { ret; }\n"
        ".visible .entry few() .explicitcluster .maxclusterrank 4 { ret; }\n");
    const CUfunction some = module.function("some"), few = module.function("few");
    CHECK(ClusterQuery{some}.status() == invalid_cluster_size);
    CHECK(ClusterQuery{some, 64, 128, 8}.number() == 124);
    CHECK(ClusterQuery{few, 64, 128, 4}.number() == 248);
    CHECK(ClusterQuery{few, 64, 128, 8}.status() == invalid_cluster_size);
}
