// Adds two vectors of a million floats on the GPU, through the wrappers, and checks every sum.
#include <cushim/copy.hpp>
#include <cushim/device_buffer.hpp>
#include <cushim/module.hpp>

#include <cstdio>
#include <vector>

#include "example.hpp"
#include "vector_add.hpp"

namespace {

using cushim::Result;
using Add = void(const float *, const float *, float *, unsigned int);

constexpr unsigned int count = 1'000'000;

std::vector<float> numbers(float step) {
    std::vector<float> values(count);
    for (unsigned int i = 0; i != count; ++i) {
        values[i] = static_cast<float>(i) * step;
    }
    return values;
}

// Returns whether every sum is correct.
Result<bool> add(cushim::Device device, const example::Options &options) {
    const bool with_kernels = options.with_kernels;
    CUSHIM_TRY(const auto context, cushim::Context::primary(device));
    CUSHIM_TRY(const auto stream, cushim::Stream::create(context));
    CUSHIM_TRY(const auto module, cushim::Module::load(context, vector_add_ptx));
    CUSHIM_TRY(const auto kernel, module.kernel<Add>("add"));
    const std::vector<float> a = numbers(0.5F), b = numbers(0.25F);
    CUSHIM_TRY(auto a_there, cushim::DeviceBuffer<float>::copy_of(context, a));
    CUSHIM_TRY(auto b_there, cushim::DeviceBuffer<float>::copy_of(context, b));
    CUSHIM_TRY(auto sum_there, cushim::DeviceBuffer<float>::allocate(context, count));
    if (!with_kernels) {
        std::printf("skipped: adding them, which needs a GPU that runs the kernel\n");
        return true;
    }
    CUSHIM_TRY_VOID(kernel.launch(stream, cushim::LaunchConfig::covering(count), a_there, b_there,
                                  sum_there, count));
    CUSHIM_TRY_VOID(stream.synchronize());
    CUSHIM_TRY(const auto sum, sum_there.to_vector());
    if (!example::matches<float>(sum, [&](std::size_t i) { return a[i] + b[i]; })) {
        return false;
    }
    std::printf("added %u pairs of floats: every sum is right\n", count);
    return true;
}

} // namespace

int main(int argc, char **argv) {
    return example::on_first_gpu(argc, argv, add);
}
