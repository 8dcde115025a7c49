// Kernels of PTX that run on the host.
#pragma once

#include "ptx/syntax.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

namespace sim::ptx {

// Consecutive bytes of device memory that a kernel can access.
struct Extent {
    std::uint64_t begin = 0, size = 0; // device addresses
    std::byte *view = nullptr;         // where the host accesses them
    bool writable = true;
};

// The device memory of a launch.
class Memory {
  public:
    virtual ~Memory() = default;
    // The bytes around an address; size 0 without memory there.
    virtual Extent find(std::uint64_t address) = 0;
    // Changes when an extent that was returned may have ended.
    virtual std::uint64_t generation() const noexcept = 0;
    // malloc and free of kernels. 0: no memory is left.
    virtual std::uint64_t allocate(std::size_t size) = 0;
    virtual void free(std::uint64_t address) = 0;
};

struct Launch {
    std::array<unsigned int, 3> grid{1, 1, 1}, block{1, 1, 1};
    std::size_t dynamic_shared = 0;                 // bytes
    std::span<const std::byte> parameters;          // in device layout
    std::function<void(const std::string &)> print; // what printf writes; may be empty
    // A launch whose warps branch, or wait for others, more often fails with no_progress, since it
    // would never end.
    std::uint64_t most_branches = std::uint64_t(1) << 42;
};

// Why a kernel ended early.
struct KernelFault {
    enum class Kind {
        illegal_address,
        misaligned_address,
        wrong_space,
        bad_program_counter,
        trap,
        assertion,
        no_progress, // it waits for what never happens, or exceeds the limit of its instructions
        stack_overflow,
    };
    Kind kind;
    std::uint64_t address = 0; // of memory
    std::size_t size = 0;      // bytes of the access
    bool write = false;
    Space space = Space::none;
    std::array<unsigned int, 3> block{}, thread{};
    int line = 0; // of the PTX
    std::string text = {};
};

// A kernel with an instruction that is not executed.
struct NotExecuted {
    int line = 0;
    std::string instruction; // with its modifiers
};

class Kernel {
  public:
    virtual ~Kernel() = default;
    // Static shared memory, bytes.
    virtual std::size_t shared() const noexcept = 0;
    // Throws KernelFault.
    virtual void run(const Launch &launch, Memory &memory) const = 0;
};

// The device address of a variable of the module.
using AddressOf = std::function<std::uint64_t(const Variable &)>;

// Makes a kernel of a module executable, by its place among the functions. Throws NotExecuted.
std::unique_ptr<Kernel> make_kernel(const Module &module, std::uint32_t kernel,
                                    const AddressOf &address_of);

} // namespace sim::ptx
