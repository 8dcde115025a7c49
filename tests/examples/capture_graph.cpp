// Captures work in two streams as a CUDA graph and replays it with new numbers each time: two
// vectors are copied to the GPU in parallel, the GPU adds them, and the sums are copied back.
//
// Without a GPU the program prints the reason and ends. With --without-kernels, for the simulator,
// the graph copies one of the vectors instead of the sums, and the program says so.
#include <cushim/capture.hpp>
#include <cushim/copy.hpp>
#include <cushim/device_buffer.hpp>
#include <cushim/module.hpp>
#include <cushim/pinned_buffer.hpp>

#include <algorithm>
#include <cstdio>
#include <numeric>

#include "example.hpp"
#include "vector_add.hpp"

namespace {

using cushim::Result;
using Add = void(const float *, const float *, float *, unsigned int);

constexpr unsigned int count = 100'000;
constexpr int replays = 3;

// The source and the destination of a copy. Captured work keeps nothing alive, so these must live
// as long as the graph is replayed.
template <class Buffer>
struct Vectors {
    Buffer a, b, sum;

    static Result<Vectors> allocate(const cushim::Context &context) {
        Vectors vectors;
        for (Buffer *vector : {&vectors.a, &vectors.b, &vectors.sum}) {
            CUSHIM_TRY(*vector, Buffer::allocate(context, count));
        }
        return vectors;
    }
};
using OnHost = Vectors<cushim::PinnedBuffer<float>>;
using OnDevice = Vectors<cushim::DeviceBuffer<float>>;

// Null if kernels cannot run.
using Kernel = const cushim::Kernel<Add> *;

Result<cushim::Graph> capture(const cushim::Context &context, const cushim::Stream &stream,
                              OnHost &host, OnDevice &device, Kernel add) {
    const cushim::EventOptions only_order{.timing = false};
    CUSHIM_TRY(const auto other, cushim::Stream::create(context));
    CUSHIM_TRY(const auto fork, cushim::Event::create(context, only_order));
    CUSHIM_TRY(const auto join, cushim::Event::create(context, only_order));
    return stream.capture([&]() -> Result<void> {
        // The other stream joins the capture by waiting for this one; at the end this one waits for
        // it.
        CUSHIM_TRY_VOID(fork.record(stream));
        CUSHIM_TRY_VOID(other.wait_event(fork));
        CUSHIM_TRY_VOID(cushim::copy(stream, device.a, host.a));
        CUSHIM_TRY_VOID(cushim::copy(other, device.b, host.b));
        CUSHIM_TRY_VOID(join.record(other));
        CUSHIM_TRY_VOID(stream.wait_event(join));
        if (add != nullptr) {
            const auto config = cushim::LaunchConfig::covering(count);
            CUSHIM_TRY_VOID(add->launch(stream, config, device.a, device.b, device.sum, count));
        } else {
            CUSHIM_TRY_VOID(cushim::copy(stream, device.sum, device.a));
        }
        return cushim::copy(stream, host.sum, device.sum);
    });
}

// The input of each replay: whole numbers, whose sums are exact.
void number(OnHost &host, int replay) {
    std::iota(host.a.begin(), host.a.end(), 0.0F);
    std::fill(host.b.begin(), host.b.end(), static_cast<float>(replay * 1000));
}

bool right(const OnHost &host, bool with_kernels) {
    const auto a = host.a.span(), b = host.b.span();
    return example::matches<float>(
        host.sum.span(), [&](std::size_t i) { return with_kernels ? a[i] + b[i] : a[i]; });
}

Result<bool> run(cushim::Device device, const example::Options &options) {
    const bool with_kernels = options.with_kernels;
    CUSHIM_TRY(const auto context, cushim::Context::primary(device));
    CUSHIM_TRY(const auto stream, cushim::Stream::create(context));
    CUSHIM_TRY(const auto module, cushim::Module::load(context, vector_add_ptx));
    CUSHIM_TRY(const auto add, module.kernel<Add>("add"));
    CUSHIM_TRY(OnHost host, OnHost::allocate(context));
    CUSHIM_TRY(OnDevice there, OnDevice::allocate(context));
    CUSHIM_TRY(const auto graph,
               capture(context, stream, host, there, with_kernels ? &add : nullptr));
    CUSHIM_TRY(const auto nodes, graph.node_count());
    std::printf("captured %zu nodes\n", nodes);
    CUSHIM_TRY(const auto exec, graph.instantiate());
    for (int replay = 1; replay <= replays; ++replay) {
        number(host, replay);
        CUSHIM_TRY_VOID(exec.launch(stream));
        CUSHIM_TRY_VOID(stream.synchronize());
        if (!right(host, with_kernels)) {
            return false;
        }
    }
    if (with_kernels) {
        std::printf("replayed %d times, each with %u sums: every one is right\n", replays, count);
    } else {
        std::printf("replayed %d times: the GPU passed on %u floats\n"
                    "skipped: adding them, which needs a GPU that runs the kernel\n",
                    replays, count);
    }
    return true;
}

} // namespace

int main(int argc, char **argv) {
    return example::on_first_gpu(argc, argv, run);
}
