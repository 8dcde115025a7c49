// refused: the signature of a kernel
#include <cushim/kernel.hpp>

#ifdef MISUSE
cushim::Kernel<int(float *)> kernel; // a kernel returns nothing
#else
cushim::Kernel<void(float *)> kernel;
#endif
