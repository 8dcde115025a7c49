// refused: does_not_fit
#include <cushim/device_buffer.hpp>
#include <cushim/kernel.hpp>

cushim::Result<void> use(const cushim::Kernel<void(float *, unsigned int)> &kernel,
                         const cushim::Stream &stream) {
#ifdef MISUSE
    const cushim::DeviceBuffer<double> values;
#else
    const cushim::DeviceBuffer<float> values;
#endif
    return kernel.launch(stream, {}, values, 1U);
}
