// Registrations of nvcc's host code at program start: images of device code, and the host addresses
// of their functions and variables.
#pragma once

#include "runtime/base/failure.hpp"

namespace sim::runtime {

// The function or variable of a host address in the current context; 0 if it is not registered.
// Loads the image on first use. Throws Failure on errors.
#if CUDART_VERSION >= 12000
CUkernel registered_kernel(const void *host);
#endif
CUfunction registered_function(const void *host);
// Whether the address is that of a registered function; loads nothing.
bool is_registered_function(const void *host);
// The host address of a driver function of an image in the current context; null if it is not
// registered.
const void *registered_host(CUfunction function);
bool registered_variable(const void *host, CUdeviceptr &address, size_t &size);
// The context ends, with everything loaded into it; its next incarnation may have the same handle.
void forget_loaded(CUcontext context);

} // namespace sim::runtime
