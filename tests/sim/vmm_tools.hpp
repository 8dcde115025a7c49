// Short forms for tests of virtual memory management. Each fails the test case if the driver fails.
#pragma once

#include "handles.hpp"

namespace sim_test {

constexpr std::size_t default_granularity = std::size_t(2) << 20;

inline CUmemAllocationProp on_device(int ordinal = 0, unsigned int types = 0) {
    return {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
            .requestedHandleTypes = static_cast<CUmemAllocationHandleType>(types),
            .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = ordinal}};
}

inline CUmemAccessDesc grant(int ordinal = 0,
                             CUmemAccess_flags flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE) {
    return {.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = ordinal}, .flags = flags};
}

inline CUmemGenericAllocationHandle create_memory(std::size_t size,
                                                  const CUmemAllocationProp &properties) {
    return got<CUmemGenericAllocationHandle>(&Driver::cuMemCreate, out, size, &properties, 0);
}

inline CUdeviceptr reserve(std::size_t size, std::size_t alignment = 0) {
    return got<CUdeviceptr>(&Driver::cuMemAddressReserve, out, size, alignment, 0, 0);
}

inline void map(CUdeviceptr address, std::size_t size, CUmemGenericAllocationHandle handle) {
    require_ok(driver().cuMemMap(address, size, 0, handle, 0));
}

inline void allow(CUdeviceptr address, std::size_t size, const CUmemAccessDesc &access = grant()) {
    require_ok(driver().cuMemSetAccess(address, size, &access, 1));
}

inline void unmap(CUdeviceptr address, std::size_t size) {
    require_ok(driver().cuMemUnmap(address, size));
}

inline void release_physical(CUmemGenericAllocationHandle handle) {
    ok(driver().cuMemRelease(handle));
}
struct PhysicalMemory : Owned<CUmemGenericAllocationHandle, release_physical> {
    PhysicalMemory(std::size_t size, const CUmemAllocationProp &properties)
        : Owned(create_memory(size, properties)) {}
};

inline void free_reserved(CUdeviceptr address, std::size_t size) {
    require_ok(driver().cuMemAddressFree(address, size));
}

inline void write(CUdeviceptr address, std::uint32_t value) {
    require_ok(driver().cuMemcpyHtoD(address, &value, sizeof value));
}

inline std::uint32_t read(CUdeviceptr address) {
    return got<std::uint32_t>(&Driver::cuMemcpyDtoH, out, address, sizeof(std::uint32_t));
}

inline CUresult set_access(CUdeviceptr address, std::size_t size, CUmemAccess_flags flags,
                           int device = 0) {
    const auto access = grant(device, flags);
    return driver().cuMemSetAccess(address, size, &access, 1);
}

inline unsigned long long access_of(CUdeviceptr address, int device = 0) {
    const CUmemLocation where = grant(device).location;
    unsigned long long flags = 99;
    require_ok(driver().cuMemGetAccess(&flags, &where, address));
    return flags;
}

inline CUresult try_write(CUdeviceptr address) {
    const std::uint32_t value = 1;
    return driver().cuMemcpyHtoD(address, &value, sizeof value);
}

inline CUresult try_read(CUdeviceptr address) {
    std::uint32_t value = 0;
    return driver().cuMemcpyDtoH(&value, address, sizeof value);
}

// Reserved, mapped and accessible memory, unmapped and freed at the end of the scope.
class Mapped : Unique {
  public:
    explicit Mapped(std::size_t bytes, const CUmemAllocationProp &properties = on_device())
        : Mapped(bytes, create_memory(bytes, properties)) {}
    // Takes ownership of the handle.
    Mapped(std::size_t bytes, CUmemGenericAllocationHandle memory)
        : size(bytes), handle(memory), address(reserve(bytes)) {
        map(address, size, handle);
        allow(address, size);
    }
    ~Mapped() {
        ok(driver().cuMemUnmap(address, size));
        ok(driver().cuMemRelease(handle));
        ok(driver().cuMemAddressFree(address, size));
    }

    const std::size_t size;
    const CUmemGenericAllocationHandle handle;
    const CUdeviceptr address;
};

} // namespace sim_test
