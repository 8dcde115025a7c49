// refused: does_not_fit
#include <cushim/kernel.hpp>

// A count that may be more than the kernel can be told.
cushim::Result<void> use(const cushim::Kernel<void(float *, unsigned int)> &kernel,
                         const cushim::Stream &stream, float *values, std::size_t count) {
#ifdef MISUSE
    return kernel.launch(stream, {}, values, count);
#else
    return kernel.launch(stream, {}, values, static_cast<unsigned int>(count));
#endif
}
