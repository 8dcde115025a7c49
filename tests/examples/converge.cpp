// A loop that runs on the GPU until its result is good enough: square roots by Newton's iteration.
// The loop is a conditional node of a CUDA graph, and its kernel decides about another round. The
// host launches the graph once for each root and does not know the number of rounds.
//
// The kernel is linked at run time with CUDA's device runtime, libcudadevrt.a, from a CUDA toolkit:
// CUDA_PATH, CUDA_HOME, or /usr/local/cuda. Without it, without a GPU, or with a driver older than
// CUDA 12.3, the program prints the reason and ends. With --without-kernels, for the simulator, the
// loop has no rounds.
#include <cushim/device_buffer.hpp>
#include <cushim/graph.hpp>
#include <cushim/graph_conditional.hpp>
#include <cushim/library.hpp>
#include <cushim/pinned_buffer.hpp>

#include <cmath>
#include <cstdio>
#include <string>

#include "device_runtime.hpp"
#include "example.hpp"
#include "newton.hpp"

namespace {

using cushim::Error;
using cushim::GraphNode;
using cushim::Result;

constexpr double bound = 1e-10;
constexpr int cannot_run = 77; // Meson's status for a skipped test

// --- the kernel, with the device runtime

// Without the device runtime if the kernel will not run.
Result<cushim::Library> load(const cushim::Context &context, const std::string &device_runtime) {
    if (device_runtime.empty()) {
        return cushim::Library::load(newton_ptx);
    }
    CUSHIM_TRY(const auto scope, context.enter());
    example::Linker linker;
    CUSHIM_TRY(const auto image, linker.link(newton_ptx, device_runtime));
    return cushim::Library::load(image);
}

// --- the graph

// Copies the numbers to the GPU, loops, and copies them back. The graph keeps memory and kernel
// alive.
Result<cushim::Graph> describe(const cushim::Context &context, const cushim::Kernel<Newton> &newton,
                               cushim::PinnedBuffer<Root> &root, bool with_rounds) {
    CUSHIM_TRY(auto there, cushim::DeviceBuffer<Root>::allocate(context, 1));
    CUSHIM_TRY(cushim::Graph graph, cushim::Graph::create(context));
    // The initial value in each launch.
    CUSHIM_TRY(const auto more, graph.create_condition({.initial = with_rounds ? 1U : 0U}));
    CUSHIM_TRY(const GraphNode up, graph.add_memcpy_node({}, there, root));
    CUSHIM_TRY(cushim::GraphBody loop, graph.add_while_node(up, more));
    CUSHIM_TRY_VOID(loop.body.add_kernel_node({}, newton, {}, there, bound, more.native()));
    CUSHIM_TRY_VOID(graph.add_memcpy_node(loop.node, root, there));
    return graph;
}

bool right(const Root &found, bool with_rounds) {
    if (!with_rounds) {
        return found.x == found.value && found.steps == 0;
    }
    std::printf("the square root of %g is %.10f, after %g rounds\n", found.value, found.x,
                found.steps);
    return std::abs(found.x - std::sqrt(found.value)) <= bound && found.steps > 1;
}

Result<bool> run(cushim::Device device, const std::string &device_runtime) {
    const bool with_rounds = !device_runtime.empty();
    CUSHIM_TRY(const auto context, cushim::Context::primary(device));
    CUSHIM_TRY(const auto stream, cushim::Stream::create(context));
    CUSHIM_TRY(const auto library, load(context, device_runtime));
    CUSHIM_TRY(const auto newton, library.kernel<Newton>("newton"));
    CUSHIM_TRY(auto root, cushim::PinnedBuffer<Root>::allocate(context, 1));
    CUSHIM_TRY(auto graph, describe(context, newton, root, with_rounds));
    CUSHIM_TRY(const auto exec, graph.instantiate());
    for (const double value : {2.0, 10.0, 12345.678}) {
        *root.data() = {.x = value, .value = value, .steps = 0};
        CUSHIM_TRY_VOID(exec.launch(stream));
        CUSHIM_TRY_VOID(stream.synchronize());
        if (!right(*root.data(), with_rounds)) {
            return false;
        }
    }
    if (!with_rounds) {
        std::printf("the graph carried the numbers there and back\n"
                    "skipped: its loop, which needs a GPU that runs the kernel\n");
    }
    return true;
}

bool is_too_old(const Error &error) {
    return error.kind() == cushim::ErrorKind::requires_newer_driver ||
           error.kind() == cushim::ErrorKind::requires_newer_headers;
}

int not_here(const char *why, const example::Options &options) {
    std::printf("%s\n", why);
    return options.gpu_is_required ? cannot_run : 0;
}

} // namespace

int main(int argc, char **argv) {
    const example::Options options(argc, argv);
    const auto device = cushim::Device::get(0);
    if (!device) {
        return example::without_gpu(device.error(), options);
    }
    const std::string device_runtime = options.with_kernels ? example::find_device_runtime() : "";
    if (options.with_kernels && device_runtime.empty()) {
        return not_here("no device runtime to link with: libcudadevrt.a is part of the CUDA "
                        "toolkit; set CUDA_PATH to its folder",
                        options);
    }
    const auto done = run(*device, device_runtime);
    if (!done && is_too_old(done.error())) {
        return not_here(done.error().message(), options);
    }
    return example::status(done);
}
