// refused: does_not_fit
#include <cushim/kernel.hpp>

// An array would turn into a pointer, which a kernel cannot follow.
cushim::Result<void> use(const cushim::Kernel<void(const float *, unsigned int)> &kernel,
                         const cushim::Stream &stream) {
    [[maybe_unused]] const float values[4] = {};
#ifdef MISUSE
    return kernel.launch(stream, {}, values, 4U);
#else
    return kernel.launch(stream, {}, cushim::DeviceSpan<const float>(), 4U);
#endif
}
