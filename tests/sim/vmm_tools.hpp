// Short forms for tests of virtual memory management: each fails the test case where the driver
// refuses.
#pragma once

#include "sim.hpp"

#include <catch2/catch_test_macros.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace sim_test {

constexpr std::size_t default_granularity = std::size_t(2) << 20;

inline CUmemAllocationProp on_device(int ordinal = 0, unsigned int types = 0) {
    CUmemAllocationProp properties{};
    properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    properties.location.id = ordinal;
    properties.requestedHandleTypes = static_cast<CUmemAllocationHandleType>(types);
    return properties;
}

inline CUmemAccessDesc grant(int ordinal = 0,
                             CUmemAccess_flags flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE) {
    CUmemAccessDesc access{};
    access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    access.location.id = ordinal;
    access.flags = flags;
    return access;
}

inline CUmemGenericAllocationHandle create_memory(std::size_t size,
                                                  const CUmemAllocationProp &properties) {
    CUmemGenericAllocationHandle handle = 0;
    REQUIRE(cushim::driver().cuMemCreate(&handle, size, &properties, 0) == CUDA_SUCCESS);
    return handle;
}

inline CUdeviceptr reserve(std::size_t size, std::size_t alignment = 0) {
    CUdeviceptr address = 0;
    REQUIRE(cushim::driver().cuMemAddressReserve(&address, size, alignment, 0, 0) == CUDA_SUCCESS);
    return address;
}

inline void map(CUdeviceptr address, std::size_t size, CUmemGenericAllocationHandle handle) {
    REQUIRE(cushim::driver().cuMemMap(address, size, 0, handle, 0) == CUDA_SUCCESS);
}

inline void allow(CUdeviceptr address, std::size_t size, const CUmemAccessDesc &access = grant()) {
    REQUIRE(cushim::driver().cuMemSetAccess(address, size, &access, 1) == CUDA_SUCCESS);
}

inline void unmap(CUdeviceptr address, std::size_t size) {
    REQUIRE(cushim::driver().cuMemUnmap(address, size) == CUDA_SUCCESS);
}

inline void release_physical(CUmemGenericAllocationHandle handle) {
    REQUIRE(cushim::driver().cuMemRelease(handle) == CUDA_SUCCESS);
}

inline void free_reserved(CUdeviceptr address, std::size_t size) {
    REQUIRE(cushim::driver().cuMemAddressFree(address, size) == CUDA_SUCCESS);
}

inline void write(CUdeviceptr address, std::uint32_t value) {
    REQUIRE(cushim::driver().cuMemcpyHtoD(address, &value, sizeof value) == CUDA_SUCCESS);
}

inline std::uint32_t read(CUdeviceptr address) {
    std::uint32_t value = 0;
    REQUIRE(cushim::driver().cuMemcpyDtoH(&value, address, sizeof value) == CUDA_SUCCESS);
    return value;
}

inline CUresult set_access(CUdeviceptr address, std::size_t size, CUmemAccess_flags flags,
                           int device = 0) {
    const auto access = grant(device, flags);
    return cushim::driver().cuMemSetAccess(address, size, &access, 1);
}

inline unsigned long long access_of(CUdeviceptr address, int device = 0) {
    const CUmemLocation where = grant(device).location;
    unsigned long long flags = 99;
    REQUIRE(cushim::driver().cuMemGetAccess(&flags, &where, address) == CUDA_SUCCESS);
    return flags;
}

inline CUresult try_write(CUdeviceptr address) {
    const std::uint32_t value = 1;
    return cushim::driver().cuMemcpyHtoD(address, &value, sizeof value);
}

inline CUresult try_read(CUdeviceptr address) {
    std::uint32_t value = 0;
    return cushim::driver().cuMemcpyDtoH(&value, address, sizeof value);
}

// Memory that is reserved, mapped and accessible, and is taken down at the end of the scope.
class Mapped {
  public:
    explicit Mapped(std::size_t bytes, const CUmemAllocationProp &properties = on_device())
        : Mapped(bytes, create_memory(bytes, properties)) {}
    // Takes the handle over.
    Mapped(std::size_t bytes, CUmemGenericAllocationHandle memory)
        : size(bytes), handle(memory), address(reserve(bytes)) {
        map(address, size, handle);
        allow(address, size);
    }
    ~Mapped() {
        CHECK(cushim::driver().cuMemUnmap(address, size) == CUDA_SUCCESS);
        CHECK(cushim::driver().cuMemRelease(handle) == CUDA_SUCCESS);
        CHECK(cushim::driver().cuMemAddressFree(address, size) == CUDA_SUCCESS);
    }
    Mapped(const Mapped &) = delete;
    Mapped &operator=(const Mapped &) = delete;

    const std::size_t size;
    const CUmemGenericAllocationHandle handle;
    const CUdeviceptr address;
};

} // namespace sim_test
