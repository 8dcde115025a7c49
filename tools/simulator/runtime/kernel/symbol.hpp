// Variables and functions of device code that host code identifies by addresses that nvcc
// registers, or by kernel handles.
#pragma once

#include "runtime/base/failure.hpp"

#include <cstddef>

namespace sim::runtime {

struct Variable {
    CUdeviceptr address;
    std::size_t size; // bytes
};
// Fails with InvalidSymbol (13) if the address is not registered.
Variable variable_of(const void *symbol);
// The address of `count` bytes in a symbol, for a copy. Checks, in this order: the symbol; the
// range, with InvalidValue; the kind, with InvalidMemcpyDirection (21) unless it is `by_name`,
// device to device, or default, in which a symbol is device memory.
CUdeviceptr place_in(const void *symbol, std::size_t offset, std::size_t count, cudaMemcpyKind kind,
                     cudaMemcpyKind by_name);

// The function behind a registered host function, a cudaKernel_t or a cudaFunction_t, in the
// current context. Fails with InvalidDeviceFunction (98) for others.
CUfunction function_of(const void *function);
#if CUDART_VERSION >= 12000
CUkernel kernel_of(const void *function);
#endif
// The function for a launch: for a kernel, the driver finds it in the stream's context.
CUfunction launched(const void *function);

} // namespace sim::runtime
