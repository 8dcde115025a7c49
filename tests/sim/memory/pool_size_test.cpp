// What memory pools count as used and as reserved, and what of it is missing elsewhere.
#include "pool_tools.hpp"

using namespace sim_test;

TEST_CASE("what is used and what is reserved is counted, with watermarks") {
    start(GENERATE(from_range(all_modes())));
    const Pool pool;
    const auto before = free_memory();
    const auto first = allocate(pool, MiB), second = allocate(pool, 39 * MiB);
    CHECK(used(pool) == 40 * MiB);
    CHECK(reserved(pool) == 64 * MiB); // in steps of 32 MiB
    CHECK(free_memory() == before - 64 * MiB);
    free_async(second);
    CHECK(used(pool) == MiB);
    CHECK(reserved(pool) == 64 * MiB); // until the next synchronisation
    CHECK(bytes_of(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH) == 40 * MiB);
    synchronize_stream();
    CHECK(reserved(pool) == 32 * MiB);
    CHECK(bytes_of(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH) == 64 * MiB);
    CHECK(set_bytes(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH, 0) == good);
    CHECK(set_bytes(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH, 0) == good);
    CHECK(bytes_of(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH) == MiB);
    CHECK(bytes_of(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH) == 32 * MiB);
    free_async(first);
    synchronize_stream();
    CHECK(used(pool) == 0);
    CHECK(reserved(pool) == 0);
    CHECK(free_memory() == before);
}

TEST_CASE("a synchronisation with an event or the context releases memory, too") {
    start();
    const Pool pool;
    const Event event;
    free_async(allocate(pool, MiB));
    CHECK(reserved(pool) != 0);
    REQUIRE(d.cuEventRecord(event, nullptr) == good);
    REQUIRE(d.cuEventSynchronize(event) == good);
    CHECK(reserved(pool) == 0);
    free_async(allocate(pool, MiB));
    REQUIRE(d.cuCtxSynchronize() == good);
    CHECK(reserved(pool) == 0);
}

TEST_CASE("a release threshold keeps memory in the pool, trimming takes it") {
    start();
    const Pool pool;
    REQUIRE(set_bytes(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, 80 * MiB) == good);
    const auto keep = allocate(pool, MiB);
    free_async(allocate(pool, 100 * MiB));
    CHECK(reserved(pool) == 128 * MiB);
    synchronize_stream();
    CHECK(reserved(pool) == 80 * MiB);
    CHECK(d.cuMemPoolTrimTo(pool, 90 * MiB) == good); // has less
    CHECK(reserved(pool) == 80 * MiB);
    CHECK(d.cuMemPoolTrimTo(pool, 40 * MiB) == good);
    CHECK(reserved(pool) == 40 * MiB);
    CHECK(d.cuMemPoolTrimTo(pool, 0) == good);
    CHECK(reserved(pool) == 32 * MiB); // what is used
    CHECK(d.cuMemPoolTrimTo(nullptr, 0) == invalid);
    free_async(keep);
    synchronize_stream();
}

TEST_CASE("what a pool reserves is missing elsewhere") {
    start("budget=16MiB");
    const auto pool = default_pool();
    REQUIRE(set_bytes(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, ~cuuint64_t(0)) == good);
    free_async(allocate(pool, 12 * MiB));
    synchronize_stream();
    CUdeviceptr address = 0;
    CHECK(d.cuMemAlloc(&address, 8 * MiB) == CUDA_ERROR_OUT_OF_MEMORY);
    CHECK(d.cuMemPoolTrimTo(pool, 0) == good);
    CHECK(d.cuMemAlloc(&address, 8 * MiB) == good);
    CUdeviceptr more = 0;
    CHECK(d.cuMemAllocFromPoolAsync(&more, 9 * MiB, pool, nullptr) == CUDA_ERROR_OUT_OF_MEMORY);
    CHECK(more == 0xbdbdbdbdbdbdbdbd);
    more = allocate(pool, 8 * MiB);
    CHECK(d.cuMemFree(address) == good);
    free_async(more);
}

TEST_CASE("the budget need not be a multiple of anything") {
    start("budget=1000000");
    const auto address = allocate(default_pool(), 999999);
    CUdeviceptr more = 0;
    CHECK(d.cuMemAllocAsync(&more, 2, nullptr) == CUDA_ERROR_OUT_OF_MEMORY);
    CHECK(d.cuMemAllocAsync(&more, 1, nullptr) == good);
    free_async(address);
    free_async(more);
}

TEST_CASE("freed memory can be had again at once, though nothing ran") {
    start("budget=16MiB;" + GENERATE(from_range(all_modes())));
    for (int i = 0; i != 20; ++i) {
        free_async(allocate(default_pool(), 12 * MiB));
    }
    synchronize_stream();
}

#if CUDA_VERSION >= 12020
TEST_CASE("a pool stays below its maximal size") {
    start();
    auto properties = pool_properties();
    properties.maxSize = 3 * MiB;
    const Pool pool(properties);
    const auto address = allocate(pool, 2 * MiB);
    CUdeviceptr more = 0;
    CHECK(d.cuMemAllocFromPoolAsync(&more, 2 * MiB, pool, nullptr) == CUDA_ERROR_OUT_OF_MEMORY);
    more = allocate(pool, MiB);
    free_async(address);
    free_async(more);
    synchronize_stream();
}
#endif

TEST_CASE("a pool that is destroyed lives until its last allocation ends") {
    start(GENERATE(from_range(all_modes())));
    const auto before = free_memory();
    const auto pool = create_pool();
    const auto address = allocate(pool, MiB);
    write(address, 4);
    destroy(pool);
    CHECK(read(address) == 4);
    CHECK(leaks().size() == 1); // the allocation
    CUdeviceptr more = 0;
    CHECK(d.cuMemAllocFromPoolAsync(&more, 16, pool, nullptr) == invalid);
    expect_misuse("use of a destroyed memory pool");
    free_async(address);
    synchronize_stream();
    CHECK(free_memory() == before);
}
