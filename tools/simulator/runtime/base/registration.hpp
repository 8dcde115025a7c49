// What nvcc registers at a program's start: images of device code, and the host addresses that name
// the functions and variables in them.
#pragma once

#include "runtime/base/failure.hpp"

namespace sim::runtime {

// The function, or the variable, that a host address stands for, in the current context; 0 where
// nobody registered it. Loads its image at the first need. Throws Failure where that is not
// possible.
#if CUDART_VERSION >= 12000
CUkernel registered_kernel(const void *host);
#endif
CUfunction registered_function(const void *host);
// Whether it stands for a function; loads nothing.
bool is_registered_function(const void *host);
// The host address that names a function of the driver's, of the image's in the current context;
// null where nobody registered it.
const void *registered_host(CUfunction function);
bool registered_variable(const void *host, CUdeviceptr &address, size_t &size);
// The context ends, and with it what was loaded into it: its next incarnation may have the same
// handle.
void forget_loaded(CUcontext context);

} // namespace sim::runtime
