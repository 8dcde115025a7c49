// refused: kernels are given bytes
#include <cushim/kernel.hpp>

#include <string>

#ifdef MISUSE
cushim::Kernel<void(std::string)> kernel;
#else
cushim::Kernel<void(const char *)> kernel;
#endif
