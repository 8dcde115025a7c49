// Memory pools: created and default ones, attributes, access of devices.
#include "pool_tools.hpp"

using namespace sim_test;

TEST_CASE("each device has a default pool, which needs no context and is not a leak", "[fresh]") {
    REQUIRE(d.cuInit(0) == good);
    CHECK(default_pool() == current_pool());
    CHECK(set_bytes(Pool(), threshold, 5) == good);
    start("devices=2");
    CHECK(default_pool(0) != default_pool(1));
    CHECK(default_pool(0) == default_pool(0));
    CHECK(d.cuMemPoolDestroy(default_pool(0)) == invalid);
    CHECK(leaks().empty());
    CUmemoryPool pool = nullptr;
    CHECK(d.cuDeviceGetDefaultMemPool(&pool, 2) == CUDA_ERROR_INVALID_DEVICE);
    CHECK(d.cuDeviceGetMemPool(&pool, -1) == CUDA_ERROR_INVALID_DEVICE);
    CHECK(d.cuDeviceGetDefaultMemPool(nullptr, 0) == invalid);
    CHECK(d.cuDeviceGetMemPool(nullptr, 0) == invalid);
    start("attribute.115=0"); // a device without pools
    CUdeviceptr address = 0;
    const auto properties = pool_properties();
    CHECK(d.cuDeviceGetDefaultMemPool(&pool, 0) == CUDA_ERROR_NOT_SUPPORTED);
    CHECK(d.cuMemPoolCreate(&pool, &properties) == CUDA_ERROR_NOT_SUPPORTED);
    CHECK(d.cuMemAllocAsync(&address, 16, nullptr) == CUDA_ERROR_NOT_SUPPORTED);
}

TEST_CASE("properties of a new pool are checked") {
    start("devices=2");
    CUmemoryPool pool = nullptr;
    CUmemPoolProps no_type = pool_properties(), nowhere = no_type, reserved = no_type;
    no_type.allocType = CU_MEM_ALLOCATION_TYPE_INVALID;
    nowhere.location.type = CU_MEM_LOCATION_TYPE_INVALID;
    reserved.reserved[3] = 1;
    const CUmemPoolProps valid = pool_properties(1), no_device = pool_properties(2),
                         fabric = pool_properties(0, 8);
    const Calls create(&Driver::cuMemPoolCreate);
    create[invalid] = {{nullptr, &valid}, {&pool, nullptr},  {&pool, &no_device},
                       {&pool, &no_type}, {&pool, &nowhere}, {&pool, &reserved}};
    create[CUDA_ERROR_NOT_PERMITTED] = {{&pool, &fabric}};
    CHECK(reinterpret_cast<std::uintptr_t>(pool) == 0xbdbdbdbdbdbdbdbd);
    create[good] = {{&pool, &valid}};
    CHECK(leaks().size() == 1);
    CHECK(d.cuMemPoolDestroy(pool) == good);
    CHECK(reported(d.cuMemPoolDestroy(pool), "use of a destroyed memory pool") == invalid);
    CHECK(d.cuMemPoolDestroy(nullptr) == invalid);
}

TEST_CASE("cuMemAllocAsync allocates from the device's current pool") {
    start("devices=2");
    const Pool elsewhere(pool_properties(1));
    {
        const Pool pool;
        const Calls set(&Driver::cuDeviceSetMemPool);
        set[good] = {{0, pool}};
        set[invalid] = {{0, elsewhere}, {0, nullptr}};
        set[CUDA_ERROR_INVALID_DEVICE] = {{2, pool}};
        CHECK(current_pool() == pool);
        CHECK(current_pool(1) == default_pool(1));
        CUdeviceptr address = 0;
        REQUIRE(d.cuMemAllocAsync(&address, 1000, nullptr) == good);
        CHECK(used(pool) == 1000);
        CHECK(used(default_pool()) == 0);
        free_async(address);
        synchronize_stream();
    }
    // Destroying the current pool makes the default pool current again.
    CHECK(current_pool() == default_pool());
}

#if CUDA_VERSION >= 13000
TEST_CASE("pools can be selected by location") {
    start("devices=2");
    constexpr auto pinned = CU_MEM_ALLOCATION_TYPE_PINNED;
    CUmemLocation where = grant(1).location;
    CUmemoryPool pool = nullptr;
    CHECK(d.cuMemGetDefaultMemPool(&pool, &where, pinned) == good);
    CHECK(pool == default_pool(1));
    const Pool own(pool_properties(1));
    CHECK(d.cuMemSetMemPool(&where, pinned, own) == good);
    CHECK(got(d.cuMemGetMemPool(&pool, &where, pinned), pool) == own);
    CHECK(current_pool(1) == own);
    where.id = 2;
    CHECK(d.cuMemGetMemPool(&pool, &where, pinned) == invalid);
    CHECK(d.cuMemGetMemPool(&pool, nullptr, pinned) == invalid);
    where.id = 0;
    CHECK(d.cuMemGetMemPool(&pool, &where, CU_MEM_ALLOCATION_TYPE_INVALID) == invalid);
    where.type = CU_MEM_LOCATION_TYPE_NONE;
    CHECK(d.cuMemGetMemPool(&pool, &where, pinned) == invalid);
    where.type = CU_MEM_LOCATION_TYPE_HOST;
    CHECK(d.cuMemGetMemPool(&pool, &where, pinned) == CUDA_ERROR_NOT_SUPPORTED);
}
#endif

TEST_CASE("attributes of a pool have defaults and can be set") {
    const Pool pool;
    for (const auto attribute : {CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES,
                                 CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC,
                                 CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES}) {
        int value = 0;
        CHECK(got<int>(&Driver::cuMemPoolGetAttribute, pool, attribute, out) == 1);
        CHECK(d.cuMemPoolSetAttribute(pool, attribute, &value) == good);
        CHECK(got<int>(&Driver::cuMemPoolGetAttribute, pool, attribute, out) == 0);
    }
    CHECK(bytes_of(pool, threshold) == 0);
    CHECK(set_bytes(pool, threshold, ~cuuint64_t(0)) == good);
    CHECK(bytes_of(pool, threshold) == ~cuuint64_t(0));

    cuuint64_t value = 0;
    for (const int number : {0, 77, -1}) {
        const auto unknown = static_cast<CUmemPool_attribute>(number);
        CHECK(d.cuMemPoolGetAttribute(pool, unknown, &value) == invalid);
        CHECK(set_bytes(pool, unknown, 0) == invalid);
    }
    CHECK(d.cuMemPoolGetAttribute(pool, threshold, nullptr) == invalid);
    CHECK(d.cuMemPoolSetAttribute(pool, threshold, nullptr) == invalid);
    CHECK(d.cuMemPoolGetAttribute(nullptr, threshold, &value) == invalid);
    const Calls set(set_bytes);
    set[invalid] = {{pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, 0},
                    {pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, 0},
                    {pool, used_most, 1},
                    {pool, reserved_most, 1}};
}

TEST_CASE("access of other devices to a pool can be granted and revoked") {
    const auto access = grant(1);
    start("devices=2;peers=none");
    CHECK(d.cuMemPoolSetAccess(Pool(), &access, 1) == CUDA_ERROR_INVALID_DEVICE);
    start("devices=3");
    const Pool pool;
    const auto access_to = [&](int device) {
        CUmemLocation where = grant(device).location;
        return got<CUmemAccess_flags>(&Driver::cuMemPoolGetAccess, out, pool.get(), &where);
    };
    const auto set = [&](const CUmemAccessDesc &access) {
        return d.cuMemPoolSetAccess(pool, &access, 1);
    };
    CHECK(access_to(0) == read_write);
    CHECK(access_to(1) == no_access);
    CHECK(set(access) == good);
    CHECK(access_to(1) == read_write);

    CUmemAccess_flags flags{};
    CUmemLocation where = grant(1).location, nowhere{};
    CHECK(d.cuMemPoolSetAccess(pool, &access, 0) == good); // for 0 devices
    CHECK(d.cuMemPoolSetAccess(pool, nullptr, 1) == invalid);
    CHECK(d.cuMemPoolSetAccess(nullptr, &access, 1) == invalid);
    CHECK(d.cuMemPoolGetAccess(nullptr, pool, &where) == invalid);
    CHECK(d.cuMemPoolGetAccess(&flags, pool, nullptr) == invalid);
    CHECK(d.cuMemPoolGetAccess(&flags, pool, &nowhere) == invalid);
    const CUmemAccessDesc partly[] = {grant(1, no_access), grant(3)};
    CHECK(d.cuMemPoolSetAccess(pool, partly, 2) == CUDA_ERROR_INVALID_DEVICE);
    CHECK(access_to(1) == read_write);
    CHECK(set(grant(0)) == good);
    CHECK(set(grant(0, no_access)) == CUDA_ERROR_INVALID_DEVICE);
    CHECK(set(grant(0, read_only)) == CUDA_ERROR_NOT_SUPPORTED);
    CHECK(set(grant(1, static_cast<CUmemAccess_flags>(2))) == invalid);
}

TEST_CASE("copies and memsets fail at once on a device without access to the pool") {
    start("devices=2");
    const Pool pool;
    const PoolMemory memory(4096, pool);
    synchronize_stream();
    const bool let_in = GENERATE(true, false);
    if (let_in) {
        const auto access = grant(1);
        REQUIRE(d.cuMemPoolSetAccess(pool, &access, 1) == good);
    }
    const CUresult expected = let_in ? good : invalid;
    const OnDevice other(1);
    std::uint32_t words[4] = {};
    CHECK(d.cuMemsetD8Async(memory, 1, 16, nullptr) == expected);
    CHECK(d.cuMemcpyDtoH(words, memory, 16) == expected);
    CHECK(d.cuMemcpyHtoD(memory, words, 16) == expected);
    CHECK(d.cuMemcpyDtoD(memory, memory + 16, 16) == expected);
    CHECK(d.cuStreamWriteValue32_v2(nullptr, memory, 1, 0) == expected);
    CHECK(d.cuCtxSynchronize() == good); // the context has not failed
    CHECK(misuses().empty());
}

// As recorded.
TEST_CASE("pool memory survives a reset of the primary context if its device has another context") {
    start(GENERATE(from_range(all_modes())));
    CUcontext other = nullptr;
    const CUcontext primary = current();
    REQUIRE(d.cuCtxCreate_v2(&other, 0, 0) == good);
    const bool own = GENERATE(true, false), of_primary = GENERATE(true, false);
    const auto pool = own ? create_pool() : default_pool();
    REQUIRE(d.cuCtxSetCurrent(of_primary ? primary : other) == good);
    const auto address = allocate(pool, 4096);
    REQUIRE(d.cuMemsetD8Async(address, 7, 4096, nullptr) == good);
    synchronize_stream();
    REQUIRE(d.cuCtxSetCurrent(other) == good);
    CHECK(d.cuDevicePrimaryCtxReset(0) == good);
    CHECK(used(pool) == 4096);
    CHECK(got<char>(&Driver::cuMemcpyDtoH, out, address, 1) == 7);
    free_async(address);
    synchronize_stream();
    CHECK(used(pool) == 0);
    if (own) {
        destroy(pool);
    }
    CHECK(d.cuCtxDestroy(other) == good);
    REQUIRE(d.cuCtxSetCurrent(primary) == good);
}

TEST_CASE("pool memory is freed by a reset of the last context of its device") {
    start("devices=2");
    CUcontext other = nullptr;
    REQUIRE(d.cuCtxCreate_v2(&other, 0, 1) == good);
    REQUIRE(d.cuCtxPopCurrent(&other) == good);
    allocate(default_pool(), 4096);
    CHECK(d.cuDevicePrimaryCtxReset(0) == good);
    CHECK(used(default_pool()) == 0);
    CHECK(d.cuCtxDestroy(other) == good);
}
