// Memory pools: created ones and those of the devices, their attributes, and who may use their
// memory.
#include "pool_tools.hpp"

using namespace sim_test;

TEST_CASE("pools need no current context") {
    REQUIRE(d.cuInit(0) == good);
    CHECK(default_pool() == current_pool());
    const Pool pool;
    CHECK(set_bytes(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, 5) == good);
}

TEST_CASE("every device has a default pool, which is no leak and cannot be destroyed") {
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
}

TEST_CASE("a pool is created and destroyed") {
    start("devices=2");
    const auto pool = create_pool(pool_properties(1));
    CHECK(leaks().size() == 1);
    CHECK(d.cuMemPoolDestroy(pool) == good);
    CHECK(d.cuMemPoolDestroy(pool) == invalid);
    expect_misuse("use of a destroyed memory pool");
    CHECK(d.cuMemPoolDestroy(nullptr) == invalid);
    CUmemoryPool other = nullptr;
    auto properties = pool_properties();
    CHECK(d.cuMemPoolCreate(nullptr, &properties) == invalid);
    CHECK(d.cuMemPoolCreate(&other, nullptr) == invalid);
    properties.location.id = 2;
    CHECK(d.cuMemPoolCreate(&other, &properties) == invalid);
    properties = pool_properties();
    properties.allocType = CU_MEM_ALLOCATION_TYPE_INVALID;
    CHECK(d.cuMemPoolCreate(&other, &properties) == invalid);
    properties = pool_properties();
    properties.location.type = CU_MEM_LOCATION_TYPE_INVALID;
    CHECK(d.cuMemPoolCreate(&other, &properties) == invalid);
    properties = pool_properties();
    properties.reserved[3] = 1;
    CHECK(d.cuMemPoolCreate(&other, &properties) == invalid);
    properties = pool_properties(0, 8); // fabric
    CHECK(d.cuMemPoolCreate(&other, &properties) == CUDA_ERROR_NOT_PERMITTED);
    CHECK(reinterpret_cast<std::uintptr_t>(other) == 0xbdbdbdbdbdbdbdbd);
}

TEST_CASE("a device without pools has none") {
    start("attribute.115=0");
    CUmemoryPool pool = nullptr;
    CUdeviceptr address = 0;
    const auto properties = pool_properties();
    CHECK(d.cuDeviceGetDefaultMemPool(&pool, 0) == CUDA_ERROR_NOT_SUPPORTED);
    CHECK(d.cuMemPoolCreate(&pool, &properties) == CUDA_ERROR_NOT_SUPPORTED);
    CHECK(d.cuMemAllocAsync(&address, 16, nullptr) == CUDA_ERROR_NOT_SUPPORTED);
}

TEST_CASE("the current pool of a device is where cuMemAllocAsync takes from") {
    start("devices=2");
    const auto pool = create_pool();
    const Pool elsewhere(pool_properties(1));
    CHECK(d.cuDeviceSetMemPool(0, pool) == good);
    CHECK(current_pool() == pool);
    CHECK(current_pool(1) == default_pool(1));
    CHECK(d.cuDeviceSetMemPool(0, elsewhere) == invalid);
    CHECK(d.cuDeviceSetMemPool(0, nullptr) == invalid);
    CHECK(d.cuDeviceSetMemPool(2, pool) == CUDA_ERROR_INVALID_DEVICE);
    CUdeviceptr address = 0;
    REQUIRE(d.cuMemAllocAsync(&address, 1000, nullptr) == good);
    CHECK(used(pool) == 1000);
    CHECK(used(default_pool()) == 0);
    free_async(address);
    synchronize_stream();
    // The end of the current pool makes the default one current again.
    destroy(pool);
    CHECK(current_pool() == default_pool());
}

#if CUDA_VERSION >= 13000
TEST_CASE("pools by location") {
    start("devices=2");
    CUmemLocation where = grant(1).location;
    CUmemoryPool pool = nullptr;
    CHECK(d.cuMemGetDefaultMemPool(&pool, &where, CU_MEM_ALLOCATION_TYPE_PINNED) == good);
    CHECK(pool == default_pool(1));
    const auto own = create_pool(pool_properties(1));
    CHECK(d.cuMemSetMemPool(&where, CU_MEM_ALLOCATION_TYPE_PINNED, own) == good);
    CHECK(got(d.cuMemGetMemPool(&pool, &where, CU_MEM_ALLOCATION_TYPE_PINNED), pool) == own);
    CHECK(current_pool(1) == own);
    destroy(own);
    where.id = 2;
    CHECK(d.cuMemGetMemPool(&pool, &where, CU_MEM_ALLOCATION_TYPE_PINNED) == invalid);
    CHECK(d.cuMemGetMemPool(&pool, nullptr, CU_MEM_ALLOCATION_TYPE_PINNED) == invalid);
    where.id = 0;
    CHECK(d.cuMemGetMemPool(&pool, &where, CU_MEM_ALLOCATION_TYPE_INVALID) == invalid);
    where.type = CU_MEM_LOCATION_TYPE_NONE;
    CHECK(d.cuMemGetMemPool(&pool, &where, CU_MEM_ALLOCATION_TYPE_PINNED) == invalid);
    where.type = CU_MEM_LOCATION_TYPE_HOST;
    CHECK(d.cuMemGetMemPool(&pool, &where, CU_MEM_ALLOCATION_TYPE_PINNED) ==
          CUDA_ERROR_NOT_SUPPORTED);
}
#endif

TEST_CASE("memory of a pool is mapped 32 MiB at a time") {
    start();
    constexpr auto mapping_size = static_cast<CUpointer_attribute>(18); // of CUDA 11.7 on
    CUdeviceptr address = 0;
    REQUIRE(d.cuMemAllocAsync(&address, 4096, nullptr) == good);
    CHECK(got<std::size_t>(&Driver::cuPointerGetAttribute, out, mapping_size, address) == 32 * MiB);
    free_async(address);
    synchronize_stream();
}

TEST_CASE("attributes have their defaults, and what they are set to") {
    start();
    const Pool pool;
    for (const auto attribute : {CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES,
                                 CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC,
                                 CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES}) {
        int value = 7;
        CHECK(got(d.cuMemPoolGetAttribute(pool, attribute, &value), value) == 1);
        value = 0;
        CHECK(d.cuMemPoolSetAttribute(pool, attribute, &value) == good);
        value = 7;
        CHECK(got(d.cuMemPoolGetAttribute(pool, attribute, &value), value) == 0);
    }
    CHECK(bytes_of(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD) == 0);
    CHECK(set_bytes(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, ~cuuint64_t(0)) == good);
    CHECK(bytes_of(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD) == ~cuuint64_t(0));

    cuuint64_t value = 0;
    for (const int unknown : {0, 77, -1}) {
        CHECK(d.cuMemPoolGetAttribute(pool, static_cast<CUmemPool_attribute>(unknown), &value) ==
              invalid);
        CHECK(set_bytes(pool, static_cast<CUmemPool_attribute>(unknown), 0) == invalid);
    }
    CHECK(d.cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, nullptr) == invalid);
    CHECK(d.cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, nullptr) == invalid);
    CHECK(d.cuMemPoolGetAttribute(nullptr, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &value) == invalid);
    CHECK(set_bytes(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, 0) == invalid);
    CHECK(set_bytes(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, 0) == invalid);
    CHECK(set_bytes(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH, 1) == invalid);
    CHECK(set_bytes(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH, 1) == invalid);
}

TEST_CASE("the access of other devices") {
    start("devices=3");
    const Pool pool;
    CUmemAccess_flags flags{};
    CUmemLocation where = grant(0).location;
    CHECK(d.cuMemPoolGetAccess(&flags, pool, &where) == good);
    CHECK(flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    where = grant(1).location;
    CHECK(got(d.cuMemPoolGetAccess(&flags, pool, &where), flags) == CU_MEM_ACCESS_FLAGS_PROT_NONE);
    auto access = grant(1);
    CHECK(d.cuMemPoolSetAccess(pool, &access, 1) == good);
    CHECK(d.cuMemPoolGetAccess(&flags, pool, &where) == good);
    CHECK(flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE);

    CHECK(d.cuMemPoolSetAccess(pool, &access, 0) == good); // of nobody
    CHECK(d.cuMemPoolSetAccess(pool, nullptr, 1) == invalid);
    CHECK(d.cuMemPoolSetAccess(nullptr, &access, 1) == invalid);
    CHECK(d.cuMemPoolGetAccess(nullptr, pool, &where) == invalid);
    CHECK(d.cuMemPoolGetAccess(&flags, pool, nullptr) == invalid);
    const CUmemAccessDesc partly[] = {grant(1, CU_MEM_ACCESS_FLAGS_PROT_NONE), grant(3)};
    CHECK(d.cuMemPoolSetAccess(pool, partly, 2) == CUDA_ERROR_INVALID_DEVICE);
    CHECK(d.cuMemPoolGetAccess(&flags, pool, &where) == good);
    CHECK(flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    access = grant(0);
    CHECK(d.cuMemPoolSetAccess(pool, &access, 1) == good);
    access = grant(0, CU_MEM_ACCESS_FLAGS_PROT_NONE);
    CHECK(d.cuMemPoolSetAccess(pool, &access, 1) == CUDA_ERROR_INVALID_DEVICE);
    access = grant(0, CU_MEM_ACCESS_FLAGS_PROT_READ);
    CHECK(d.cuMemPoolSetAccess(pool, &access, 1) == CUDA_ERROR_NOT_SUPPORTED);
    access = grant(1, static_cast<CUmemAccess_flags>(2));
    CHECK(d.cuMemPoolSetAccess(pool, &access, 1) == invalid);
    where.type = CU_MEM_LOCATION_TYPE_INVALID;
    CHECK(d.cuMemPoolGetAccess(&flags, pool, &where) == invalid);
}

TEST_CASE("a device that a pool does not let in is refused at once") {
    start("devices=2");
    const Pool pool;
    const auto address = allocate(pool, 4096);
    synchronize_stream();
    CUcontext other = retain_primary(1);
    REQUIRE(d.cuCtxPushCurrent(other) == good);
    const bool let_in = GENERATE(true, false);
    if (let_in) {
        const auto access = grant(1);
        REQUIRE(d.cuMemPoolSetAccess(pool, &access, 1) == good);
    }
    const CUresult expected = let_in ? good : invalid;
    std::uint32_t words[4] = {};
    CHECK(d.cuMemsetD8Async(address, 1, 16, nullptr) == expected);
    CHECK(d.cuMemcpyDtoH(words, address, 16) == expected);
    CHECK(d.cuMemcpyHtoD(address, words, 16) == expected);
    CHECK(d.cuMemcpyDtoD(address, address + 16, 16) == expected);
    CHECK(d.cuStreamWriteValue32_v2(nullptr, address, 1, 0) == expected);
    CHECK(d.cuCtxSynchronize() == good); // nothing is lost by it
    CHECK(misuses().empty());
    CHECK(d.cuCtxPopCurrent(&other) == good);
    CHECK(d.cuDevicePrimaryCtxRelease(1) == good);
    free_async(address);
    synchronize_stream();
}

TEST_CASE("a device without peer access is not let in") {
    start("devices=2;peers=none");
    const Pool pool;
    const auto access = grant(1);
    CHECK(d.cuMemPoolSetAccess(pool, &access, 1) == CUDA_ERROR_INVALID_DEVICE);
}

// As recorded.
TEST_CASE("a pool's memory outlives a reset where another context of the device lives") {
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

TEST_CASE("a pool's memory goes with a reset where only other devices have contexts") {
    start("devices=2");
    CUcontext other = nullptr;
    REQUIRE(d.cuCtxCreate_v2(&other, 0, 1) == good);
    REQUIRE(d.cuCtxPopCurrent(&other) == good);
    allocate(default_pool(), 4096);
    CHECK(d.cuDevicePrimaryCtxReset(0) == good);
    CHECK(used(default_pool()) == 0);
    CHECK(d.cuCtxDestroy(other) == good);
}
