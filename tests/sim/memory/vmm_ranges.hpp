// Reservations, physical memory and its descriptors, for tests.
#pragma once

#include "base/checks.hpp"
#include "memory_tools.hpp"
#include "vmm_tools.hpp"

namespace sim_test {

constexpr std::size_t G = default_granularity;
constexpr auto no_access = CU_MEM_ACCESS_FLAGS_PROT_NONE, read_only = CU_MEM_ACCESS_FLAGS_PROT_READ,
               read_write = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
constexpr auto posix_fd = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;

// Reserved addresses. The destructor unmaps and frees them.
class Reservation : Unique {
  public:
    explicit Reservation(std::size_t bytes, std::size_t alignment = 0)
        : size_(bytes), address_(reserve(bytes, alignment)) {}
    ~Reservation() {
        ok(driver().cuMemUnmap(address_, size_));
        ok(driver().cuMemAddressFree(address_, size_));
    }
    operator CUdeviceptr() const { return address_; }

  private:
    std::size_t size_;
    CUdeviceptr address_;
};

inline CUresult try_create(std::size_t size, const CUmemAllocationProp &properties = on_device()) {
    CUmemGenericAllocationHandle handle = 0;
    const CUresult status = driver().cuMemCreate(&handle, size, &properties, 0);
    if (status == CUDA_SUCCESS) {
        release_physical(handle);
    }
    return status;
}

inline CUmemAllocationProp exportable(int ordinal = 0) {
    return on_device(ordinal, posix_fd);
}

inline void *as_os_handle(int fd) {
    return reinterpret_cast<void *>(static_cast<std::intptr_t>(fd));
}

inline int export_fd(CUmemGenericAllocationHandle memory) {
    return got<int>(&Driver::cuMemExportToShareableHandle, out, memory, posix_fd, 0);
}

inline CUmemGenericAllocationHandle import_fd(int fd) {
    return got<CUmemGenericAllocationHandle>(&Driver::cuMemImportFromShareableHandle, out,
                                             as_os_handle(fd), posix_fd);
}

} // namespace sim_test
