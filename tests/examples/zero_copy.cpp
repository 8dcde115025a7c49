// Zero-copy memory: the host writes two vectors, the GPU adds them in host memory, and the host
// reads the sums there. No data is copied.
//
// Without a GPU the program prints the reason and ends. With --without-kernels, for the simulator,
// the GPU copies one of the vectors instead of the sums, and the program says so.
#include <cushim/copy.hpp>
#include <cushim/host_mapped_buffer.hpp>
#include <cushim/module.hpp>

#include <cstdio>

#include "example.hpp"
#include "vector_add.hpp"

namespace {

using cushim::Result;
using Vector = cushim::HostMappedBuffer<float>;
using Add = void(const float *, const float *, float *, unsigned int);

constexpr unsigned int count = 1'000'000;

void number(Vector &vector, float step) {
    float next = 0;
    for (float &value : vector.span()) {
        value = next;
        next += step;
    }
}

Result<void> queue_sum(const cushim::Context &context, const cushim::Stream &stream,
                       const Vector &a, const Vector &b, Vector &sum) {
    CUSHIM_TRY(const auto module, cushim::Module::load(context, vector_add_ptx));
    CUSHIM_TRY(const auto kernel, module.kernel<Add>("add"));
    // Each argument becomes its device address.
    CUSHIM_TRY_VOID(kernel.launch(stream, cushim::LaunchConfig::covering(count), a, b, sum, count));
    return stream.synchronize(); // before the module is destroyed
}

Result<bool> run(cushim::Device device, const example::Options &options) {
    const bool with_kernels = options.with_kernels;
    CUSHIM_TRY(const auto context, cushim::Context::primary(device));
    CUSHIM_TRY(const auto stream, cushim::Stream::create(context));
    // The host only writes these two.
    CUSHIM_TRY(auto a, Vector::allocate(context, count, {.write_combined = true}));
    CUSHIM_TRY(auto b, Vector::allocate(context, count, {.write_combined = true}));
    CUSHIM_TRY(auto sum, Vector::allocate(context, count));
    number(a, 0.5F);
    number(b, 0.25F);
    if (with_kernels) {
        CUSHIM_TRY_VOID(queue_sum(context, stream, a, b, sum));
    } else {
        CUSHIM_TRY_VOID(cushim::copy(stream, sum.device_span(), a.device_span()));
    }
    // Waits for the stream; otherwise the host would read data that the device has not yet written.
    CUSHIM_TRY(const auto sums, sum.synchronized_span(stream));
    const float step = with_kernels ? 0.75F : 0.5F;
    if (!example::matches<float>(sums,
                                 [&](std::size_t i) { return static_cast<float>(i) * step; })) {
        return false;
    }
    if (with_kernels) {
        std::printf("the GPU added %u pairs of floats in host memory: every sum is right\n", count);
    } else {
        std::printf("the GPU passed on %u floats in host memory\n"
                    "skipped: adding them, which needs a GPU that runs the kernel\n",
                    count);
    }
    return true;
}

} // namespace

int main(int argc, char **argv) {
    return example::on_first_gpu(argc, argv, run);
}
