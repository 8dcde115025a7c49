// Short forms for tests of memory pools. Each fails the test case if the driver fails.
#pragma once

#include "vmm_ranges.hpp"

namespace sim_test {

constexpr auto threshold = CU_MEMPOOL_ATTR_RELEASE_THRESHOLD,
               used_most = CU_MEMPOOL_ATTR_USED_MEM_HIGH,
               reserved_most = CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH;

inline CUmemPoolProps pool_properties(int ordinal = 0, unsigned int types = 0) {
    return {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
            .handleTypes = static_cast<CUmemAllocationHandleType>(types),
            .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = ordinal}};
}

inline CUmemoryPool create_pool(const CUmemPoolProps &properties = pool_properties()) {
    return got<CUmemoryPool>(&Driver::cuMemPoolCreate, out, &properties);
}

struct Pool : Owned<CUmemoryPool, destroy> {
    explicit Pool(const CUmemPoolProps &properties = pool_properties())
        : Owned(create_pool(properties)) {}
};

inline CUmemoryPool current_pool(int ordinal = 0) {
    return got<CUmemoryPool>(&Driver::cuDeviceGetMemPool, out, ordinal);
}

inline cuuint64_t bytes_of(CUmemoryPool pool, CUmemPool_attribute attribute) {
    return got<cuuint64_t>(&Driver::cuMemPoolGetAttribute, pool, attribute, out);
}

inline cuuint64_t used(CUmemoryPool pool) {
    return bytes_of(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT);
}
inline cuuint64_t reserved(CUmemoryPool pool) {
    return bytes_of(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT);
}

inline CUresult set_bytes(CUmemoryPool pool, CUmemPool_attribute attribute, cuuint64_t value) {
    return driver().cuMemPoolSetAttribute(pool, attribute, &value);
}

inline CUdeviceptr allocate(CUmemoryPool pool, std::size_t size) {
    return got<CUdeviceptr>(&Driver::cuMemAllocFromPoolAsync, out, size, pool, nullptr);
}

inline void free_async(CUdeviceptr address) {
    require_ok(driver().cuMemFreeAsync(address, nullptr));
}

// Synchronizes the null stream, which the short forms use.
inline void synchronize_stream() {
    require_ok(driver().cuStreamSynchronize(nullptr));
}

// Memory of a pool, allocated and freed in the null stream. The destructor waits for the free.
class PoolMemory : Unique {
  public:
    explicit PoolMemory(std::size_t size, CUmemoryPool pool = current_pool())
        : address_(allocate(pool, size)) {}
    ~PoolMemory() {
        ok(driver().cuMemFreeAsync(address_, nullptr));
        ok(driver().cuStreamSynchronize(nullptr));
    }
    operator CUdeviceptr() const { return address_; }

  private:
    CUdeviceptr address_;
};

} // namespace sim_test
