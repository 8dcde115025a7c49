// Used and reserved bytes of memory pools, and their effect on free memory.
#include "pool_tools.hpp"

using namespace sim_test;

TEST_CASE("a pool counts used and reserved bytes, with high watermarks") {
    start(GENERATE(from_range(all_modes())));
    const Pool pool;
    const auto before = free_memory();
    {
        const PoolMemory first(MiB, pool);
        const auto second = allocate(pool, 39 * MiB);
        CHECK(used(pool) == 40 * MiB);
        CHECK(reserved(pool) == 64 * MiB); // in blocks of 32 MiB
        CHECK(free_memory() == before - 64 * MiB);
        free_async(second);
        CHECK(used(pool) == MiB);
        CHECK(reserved(pool) == 64 * MiB); // until the next synchronization
        CHECK(bytes_of(pool, used_most) == 40 * MiB);
        synchronize_stream();
        CHECK(reserved(pool) == 32 * MiB);
        CHECK(bytes_of(pool, reserved_most) == 64 * MiB);
        ok(set_bytes(pool, used_most, 0));
        ok(set_bytes(pool, reserved_most, 0));
        CHECK(bytes_of(pool, used_most) == MiB);
        CHECK(bytes_of(pool, reserved_most) == 32 * MiB);
    }
    CHECK(used(pool) == 0);
    CHECK(reserved(pool) == 0);
    CHECK(free_memory() == before);
}

TEST_CASE("synchronizing an event or the context also releases unused memory") {
    const Pool pool;
    const Event event;
    free_async(allocate(pool, MiB));
    CHECK(reserved(pool) != 0);
    require_ok(driver().cuEventRecord(event, nullptr));
    require_ok(driver().cuEventSynchronize(event));
    CHECK(reserved(pool) == 0);
    free_async(allocate(pool, MiB));
    synchronize();
    CHECK(reserved(pool) == 0);
}

TEST_CASE("a pool keeps memory up to its release threshold until it is trimmed") {
    const Pool pool;
    require_ok(set_bytes(pool, threshold, 80 * MiB));
    const PoolMemory keep(MiB, pool);
    free_async(allocate(pool, 100 * MiB));
    CHECK(reserved(pool) == 128 * MiB);
    synchronize_stream();
    CHECK(reserved(pool) == 80 * MiB);
    // The limit is above what is reserved, below it, and below what is used.
    for (const auto &[limit, left] :
         {std::pair{90 * MiB, 80 * MiB}, {40 * MiB, 40 * MiB}, {std::size_t(0), 32 * MiB}}) {
        ok(driver().cuMemPoolTrimTo(pool, limit));
        CHECK(reserved(pool) == left);
    }
}

TEST_CASE("memory reserved by a pool is unavailable to cuMemAlloc") {
    start("budget=16MiB;" + GENERATE(from_range(all_modes())));
    const auto pool = default_pool();
    for (int i = 0; i != 20; ++i) { // freed memory can be reused at once, before the free has run
        free_async(allocate(pool, 12 * MiB));
    }
    require_ok(set_bytes(pool, threshold, ~cuuint64_t(0)));
    synchronize_stream();
    CUdeviceptr address = 0, more = 0;
    CHECK(driver().cuMemAlloc(&address, 8 * MiB) == CUDA_ERROR_OUT_OF_MEMORY);
    ok(driver().cuMemPoolTrimTo(pool, 0));
    const DeviceMemory half(8 * MiB);
    CHECK(driver().cuMemAllocFromPoolAsync(&more, 9 * MiB, pool, nullptr) ==
          CUDA_ERROR_OUT_OF_MEMORY);
    CHECK(more == 0xbdbdbdbdbdbdbdbd);
    const PoolMemory rest(8 * MiB, pool);
}

TEST_CASE("a pool is limited by the budget and by its maximum size") {
    start("budget=1000000");
    auto properties = pool_properties();
    std::size_t most = 999999, least = 1;
#if CUDA_VERSION >= 12020
    if (GENERATE(false, true)) {
        start();
        properties.maxSize = 3 * MiB;
        most = 2 * MiB, least = MiB;
    }
#endif
    const Pool pool(properties);
    const PoolMemory first(most, pool);
    CUdeviceptr more = 0;
    CHECK(driver().cuMemAllocFromPoolAsync(&more, ~std::size_t(0), pool, nullptr) ==
          CUDA_ERROR_OUT_OF_MEMORY);
    CHECK(driver().cuMemAllocFromPoolAsync(&more, least + 1, pool, nullptr) ==
          CUDA_ERROR_OUT_OF_MEMORY);
    const PoolMemory rest(least, pool);
}

TEST_CASE("a destroyed pool lives until its last allocation is freed") {
    start(GENERATE(from_range(all_modes())));
    const auto before = free_memory();
    const auto pool = create_pool();
    const auto address = allocate(pool, MiB);
    write(address, 4);
    destroy(pool);
    CHECK(read(address) == 4);
    CHECK(leaks().size() == 1); // the allocation
    CUdeviceptr more = 0;
    CHECK(driver().cuMemAllocFromPoolAsync(&more, 16, pool, nullptr) == invalid);
    expect_misuse("use of a destroyed memory pool");
    free_async(address);
    synchronize_stream();
    CHECK(free_memory() == before);
}
