// Memory pools: created and default ones, attributes, access of devices.
#include "pool_tools.hpp"

using namespace sim_test;

TEST_CASE("each device has a default pool, which needs no context and is not a leak", "[fresh]") {
    configure("devices=2");
    require_ok(driver().cuInit(0));
    ok(set_bytes(Pool(), threshold, 5));
    CHECK(default_pool(0) != default_pool(1));
    CHECK(leaks().empty());
}

TEST_CASE("a device without pools refuses them") {
    start("attribute.115=0");
    CUmemoryPool pool = nullptr;
    CUdeviceptr address = 0;
    const auto properties = pool_properties();
    check_all(CUDA_ERROR_NOT_SUPPORTED, {driver().cuDeviceGetDefaultMemPool(&pool, 0),
                                         driver().cuMemPoolCreate(&pool, &properties),
                                         driver().cuMemAllocAsync(&address, 16, nullptr)});
}

TEST_CASE("properties of a new pool are checked, a destroyed one is reported") {
    CUmemoryPool pool = nullptr;
    CUmemPoolProps reserved = pool_properties(), nowhere = reserved;
    reserved.reserved[3] = 1;
    nowhere.location.type = CU_MEM_LOCATION_TYPE_INVALID;
    const CUmemPoolProps fabric = pool_properties(0, 8);
    check_all(invalid, {driver().cuMemPoolCreate(&pool, &reserved),
                        driver().cuMemPoolCreate(&pool, &nowhere)});
    CHECK(driver().cuMemPoolCreate(&pool, &fabric) == CUDA_ERROR_NOT_PERMITTED);
    pool = create_pool();
    CHECK(leaks().size() == 1);
    destroy(pool);
    CHECK(reported(driver().cuMemPoolDestroy(pool), "use of a destroyed memory pool") == invalid);
}

TEST_CASE("cuMemAllocAsync allocates from the device's current pool") {
    start("devices=2");
    const Pool pool;
    ok(driver().cuDeviceSetMemPool(0, pool));
    CHECK(current_pool(1) == default_pool(1));
    const auto address = got<CUdeviceptr>(&Driver::cuMemAllocAsync, out, 1000, nullptr);
    CHECK(used(pool) == 1000);
    CHECK(used(default_pool()) == 0);
    free_async(address);
    synchronize_stream();
}

#if CUDA_VERSION >= 13000
TEST_CASE("the pools of a location need a location and a type") {
    CUmemLocation where = grant(0).location;
    CUmemoryPool pool = nullptr;
    check_all(invalid, {driver().cuMemGetMemPool(&pool, nullptr, CU_MEM_ALLOCATION_TYPE_PINNED),
                        driver().cuMemGetMemPool(&pool, &where, CU_MEM_ALLOCATION_TYPE_INVALID)});
    where.type = CU_MEM_LOCATION_TYPE_NONE;
    CHECK(driver().cuMemGetMemPool(&pool, &where, CU_MEM_ALLOCATION_TYPE_PINNED) == invalid);
}
#endif

TEST_CASE("attributes of a pool can be set, except for what it counts") {
    const Pool pool;
    for (const auto attribute : {CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES,
                                 CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC,
                                 CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES}) {
        int value = 0;
        ok(driver().cuMemPoolSetAttribute(pool, attribute, &value));
        CHECK(got<int>(&Driver::cuMemPoolGetAttribute, pool, attribute, out) == 0);
    }
    ok(set_bytes(pool, threshold, ~cuuint64_t(0)));
    CHECK(bytes_of(pool, threshold) == ~cuuint64_t(0));
    Calls{set_bytes}[invalid] = {{pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, 0},
                                 {pool, used_most, 1},
                                 {pool, static_cast<CUmemPool_attribute>(77), 0}};
}

TEST_CASE("a pool gives no access to a device that is not a peer, and no unknown access") {
    const auto other = grant(1), unknown = grant(1, static_cast<CUmemAccess_flags>(2));
    start("devices=2;peers=none");
    CHECK(driver().cuMemPoolSetAccess(Pool(), &other, 1) == CUDA_ERROR_INVALID_DEVICE);
    start("devices=2");
    CHECK(driver().cuMemPoolSetAccess(Pool(), &unknown, 1) == invalid);
}

TEST_CASE("pool memory outlives a reset of its device") {
    const auto address = allocate(default_pool(), 4096);
    ok(driver().cuDevicePrimaryCtxReset(0));
    require_ok(driver().cuDevicePrimaryCtxRelease(0));
    require_ok(driver().cuCtxSetCurrent(retain_primary(0)));
    CHECK(used(default_pool()) == 4096);
    ok(driver().cuMemsetD8(address, 1, 4096));
    ok(driver().cuMemFree(address));
    CHECK(used(default_pool()) == 0);
    ok(driver().cuDevicePrimaryCtxRelease(0));
}
