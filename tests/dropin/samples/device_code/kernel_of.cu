// A kernel of the program, launched by the wrappers: they check its arguments.
#include "../check_runtime.h"

#include <cushim/context.hpp>
#include <cushim/device_buffer.hpp>
#include <cushim/kernel.hpp>
#include <cushim/stream.hpp>

#include <vector>

namespace {

constexpr unsigned int count = 1000;

__global__ void scale(float *values, float by, unsigned int size) {
    const unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < size) {
        values[i] *= by;
    }
}

template <class T>
__global__ void fill(T *values, T value, unsigned int size) {
    const unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < size) {
        values[i] = value;
    }
}

std::vector<float> scaled() {
    using namespace cushim;
    const Context context = Context::primary(Device::get(0).value()).value();
    const Stream stream = Stream::create(context).value();
    auto values = DeviceBuffer<float>::allocate(context, count).value();
    const auto fill_floats = kernel_of(context, fill<float>).value();
    const auto scale_floats = kernel_of(context, scale).value();
    fill_floats.launch_covering(stream, values.size(), values, 21.0F, values.size()).value();
    scale_floats.launch_covering(stream, values.size(), values, 2.0F, values.size()).value();
    stream.synchronize().value();
    return values.to_vector().value();
}

} // namespace

int main() {
    need_device();
    unsigned int wrong = 0;
    for (const float value : scaled()) {
        wrong += value == 42.0F ? 0 : 1;
    }
    printf("%u values, wrong: %u\n", count, wrong);
    return wrong == 0 ? 0 : EXIT_WRONG_RESULT;
}
