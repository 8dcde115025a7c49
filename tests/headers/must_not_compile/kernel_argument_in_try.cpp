// refused: argument<1>::does_not_fit<int, unsigned int>
// lines: 20
#include <cushim/cushim.hpp>

// One error, which says which argument does not fit.
cushim::Result<void> use(const cushim::Kernel<void(int *, unsigned int)> &kernel,
                         const cushim::Stream &stream, const cushim::DeviceBuffer<int> &buffer) {
#ifdef MISUSE
    CUSHIM_TRY_VOID(kernel.launch(stream, {}, buffer, 10));
#else
    CUSHIM_TRY_VOID(kernel.launch(stream, {}, buffer, 10u));
#endif
    return {};
}
