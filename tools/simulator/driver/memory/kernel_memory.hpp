// Checks of the memory that a kernel uses: it must be live and accessible to its device.
#pragma once

#include "engine/context.hpp"
#include "engine/memory.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace sim {

// Copies of the arguments of a launch.
using KernelArguments = std::vector<std::vector<std::byte>>;

// The arguments, and members of structure arguments, that are addresses of live memory. Freeing it
// before the kernel has run is a misuse.
std::vector<Use> uses_of(const KernelArguments &arguments);

// Called when a kernel runs. Records a misuse for every pointer argument to freed memory or to
// memory that the device cannot access. A pointer is an 8-byte argument that lies in such memory;
// other integers are unlikely to, since addresses are never reused. Structures are not checked:
// members that the client did not set may have any value. Returns the reported addresses.
std::vector<CUdeviceptr> check_pointers(const KernelArguments &arguments, const std::string &kernel,
                                        const Context &context);

// The bytes from an address to the end of its allocation, or of the memory that is mapped there
// without a gap.
struct MemoryRest {
    std::byte *view = nullptr; // null: they cannot be accessed
    std::size_t size = 0;
};
MemoryRest rest_of(CUdeviceptr address, bool write);

// Whether the context's device can access the memory. False for memory of another device without
// peer access, for memory that another device opened from another process, and for graph memory
// without access for the device. True for host memory, and for pools and reservations, which have
// access lists: check_access_by().
bool in_reach(const Context &context, const Range &range);

// A scope in which the calling thread runs a kernel's host function in a context.
class KernelScope {
  public:
    // `reported`: addresses that are reported already.
    KernelScope(const Context &context, const char *kernel,
                const std::vector<CUdeviceptr> &reported) noexcept;
    ~KernelScope();
    KernelScope(const KernelScope &) = delete;
    KernelScope &operator=(const KernelScope &) = delete;

    // False if the calling thread runs a kernel whose device cannot access the memory at that
    // address.
    static bool may_view(CUdeviceptr address) noexcept;
    // Records a misuse if the calling thread runs a kernel that accesses memory by a null pointer.
    static void check_null(CUdeviceptr address, std::size_t size) noexcept;
    // Records a misuse if the calling thread runs a kernel. The address is in no memory that the
    // kernel can access.
    static void report_address(CUdeviceptr address) noexcept;
    // Records a misuse if the calling thread runs a kernel that accesses memory past the end of the
    // allocation.
    static void check_end(CUdeviceptr address, std::size_t size) noexcept;

  private:
    const Context *context_;
    const char *kernel_;
    const std::vector<CUdeviceptr> &reported_;
    const KernelScope *outer_;
};

} // namespace sim
