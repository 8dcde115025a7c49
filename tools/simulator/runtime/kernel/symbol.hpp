// Variables and functions of device code that host code names by the address of something of its
// own: what nvcc registers for a program, and handles of kernels.
#pragma once

#include "runtime/base/failure.hpp"

#include <cstddef>

namespace sim::runtime {

struct Variable {
    CUdeviceptr address;
    std::size_t size; // bytes
};
// Refuses with InvalidSymbol (13) what nobody registered.
Variable variable_of(const void *symbol);
// The place in it, of so many bytes, for a copy. Refuses in this order what is no symbol, what does
// not lie in it with InvalidValue, and with InvalidMemcpyDirection (21) kinds to which a symbol is
// no device memory: others than by_name, device to device, and the default.
CUdeviceptr place_in(const void *symbol, std::size_t offset, std::size_t count, cudaMemcpyKind kind,
                     cudaMemcpyKind by_name);

// The function behind a registered host function, a cudaKernel_t or a cudaFunction_t, in the
// current context. Refuses with InvalidDeviceFunction (98) what is none.
CUfunction function_of(const void *function);
#if CUDART_VERSION >= 12000
CUkernel kernel_of(const void *function);
#endif
// What a launch names: the driver finds a kernel's function in the context of the stream.
CUfunction launched(const void *function);

} // namespace sim::runtime
