// Which memory a kernel may use: what lives, and what its device can access.
#pragma once

#include "engine/context.hpp"
#include "engine/memory.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace sim {

// The arguments of a launch, a copy of each.
using KernelArguments = std::vector<std::vector<std::byte>>;

// Of the arguments, and of what structures among them hold, those that are addresses of living
// memory: freeing it before the kernel ran is a misuse.
std::vector<Use> uses_of(const KernelArguments &arguments);

// Notes a misuse for every pointer among the arguments of a kernel that runs now, whose memory has
// ended or is out of the device's reach. A pointer is an argument of 8 bytes that lies in such
// memory: no other integer is likely to, since addresses are not used again. Structures are left
// out: what a client did not set in them may be anything.
void check_pointers(const KernelArguments &arguments, const std::string &kernel,
                    const Context &context);

// False of memory that is out of reach of a context's device: another device's, without peer
// access, what another device opened of another process, what no node of a graph lets it in. Of
// host memory it is true, and of pools and reservations, which say themselves whom they let in:
// check_access_by().
bool in_reach(const Context &context, const Range &range);

// The calling thread runs the host function of a kernel in a context, for a scope.
class KernelScope {
  public:
    KernelScope(const Context &context, const char *kernel) noexcept;
    ~KernelScope();
    KernelScope(const KernelScope &) = delete;
    KernelScope &operator=(const KernelScope &) = delete;

    // False where the calling thread runs one whose device cannot access the memory at that
    // address.
    static bool may_view(CUdeviceptr address) noexcept;
    // Notes a misuse where it runs one that looks at memory through a null pointer.
    static void check_null(CUdeviceptr address, std::size_t size) noexcept;

  private:
    const Context *context_;
    const char *kernel_;
    const KernelScope *outer_;
};

} // namespace sim
