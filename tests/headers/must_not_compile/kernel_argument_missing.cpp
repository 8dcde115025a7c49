// refused: wrong_number_of_arguments
#include <cushim/kernel.hpp>

cushim::Result<void> use(const cushim::Kernel<void(float *, unsigned int)> &kernel,
                         const cushim::Stream &stream, float *values) {
#ifdef MISUSE
    return kernel.launch(stream, {}, values);
#else
    return kernel.launch(stream, {}, values, 1U);
#endif
}
