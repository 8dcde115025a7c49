// Changes an executable graph between launches without rebuilding it: the arguments of a kernel,
// the value of a fill, whether a node runs at all, and everything at once by another graph of the
// same shape.
//
// Without a GPU the program prints the reason and ends. With --without-kernels, for the simulator,
// the kernel's node is never enabled, and the program says so.
#include <cushim/copy.hpp>
#include <cushim/device_buffer.hpp>
#include <cushim/graph.hpp>
#include <cushim/module.hpp>
#include <cushim/pinned_buffer.hpp>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "example.hpp"
#include "vector_add.hpp"

namespace {

using cushim::GraphNode;
using cushim::LaunchConfig;
using cushim::Result;
using Add = void(const float *, const float *, float *, unsigned int);
using Vector = cushim::DeviceBuffer<float>;

constexpr unsigned int count = 1000, half = count / 2;

struct Parts {
    cushim::Stream stream;
    cushim::Kernel<Add> kernel;
    Vector ones, twos, tens, sum;
    cushim::PinnedBuffer<float> out;
};

Result<Vector> filled_with(const cushim::Context &context, float value) {
    CUSHIM_TRY(Vector vector, Vector::allocate(context, count));
    CUSHIM_TRY_VOID(cushim::fill(vector, value));
    return vector;
}

Result<Parts> prepare(const cushim::Context &context) {
    Parts parts;
    CUSHIM_TRY(parts.stream, cushim::Stream::create(context));
    CUSHIM_TRY(const auto module, cushim::Module::load(context, vector_add_ptx));
    CUSHIM_TRY(parts.kernel, module.kernel<Add>("add")); // keeps its module alive
    CUSHIM_TRY(parts.ones, filled_with(context, 1));
    CUSHIM_TRY(parts.twos, filled_with(context, 2));
    CUSHIM_TRY(parts.tens, filled_with(context, 10));
    CUSHIM_TRY(parts.sum, Vector::allocate(context, count));
    CUSHIM_TRY(parts.out, cushim::PinnedBuffer<float>::allocate(context, count));
    return parts;
}

struct Description {
    cushim::Graph graph;
    GraphNode clear, add;
};

// Clears the sums, adds, and copies the result back.
Result<Description> describe(const cushim::Context &context, Parts &parts, const Vector &a,
                             const Vector &b) {
    CUSHIM_TRY(cushim::Graph graph, cushim::Graph::create(context));
    CUSHIM_TRY(const GraphNode clear, graph.add_memset_node({}, parts.sum, 0));
    CUSHIM_TRY(const GraphNode add,
               graph.add_kernel_node(clear, parts.kernel, LaunchConfig::covering(count), a, b,
                                     parts.sum, count));
    CUSHIM_TRY_VOID(graph.add_memcpy_node(add, parts.out, parts.sum));
    return Description{std::move(graph), clear, add};
}

// The expected values of each half: those of the kernel, and those of the fill.
struct Expected {
    float head, tail;
    float fill = 0;
};

class Launches {
  public:
    Launches(const Parts &parts, cushim::GraphExec &exec, bool with_kernels)
        : parts_(parts), exec_(exec), with_kernels_(with_kernels) {}

    // Whether a launch has this result.
    Result<bool> expect(const char *what, const Expected &expected) const {
        CUSHIM_TRY_VOID(exec_.launch(parts_.stream));
        CUSHIM_TRY_VOID(parts_.stream.synchronize());
        const float head = with_kernels_ ? expected.head : expected.fill;
        const float tail = with_kernels_ ? expected.tail : expected.fill;
        const auto middle = parts_.out.begin() + half;
        const bool right =
            std::all_of(parts_.out.begin(), middle, [head](float n) { return n == head; }) &&
            std::all_of(middle, parts_.out.end(), [tail](float n) { return n == tail; });
        std::printf("%-42s %g and %g%s\n", what, static_cast<double>(head),
                    static_cast<double>(tail), right ? "" : ": WRONG");
        return right;
    }

  private:
    const Parts &parts_;
    const cushim::GraphExec &exec_;
    const bool with_kernels_;
};

// Changes single nodes.
Result<bool> change_nodes(Parts &parts, const Description &description, cushim::GraphExec &exec,
                          const Launches &launches, bool with_kernels) {
    CUSHIM_TRY(bool right, launches.expect("as it was described:", {3, 3}));

    CUSHIM_TRY_VOID(exec.set_kernel_node(description.add, parts.kernel,
                                         LaunchConfig::covering(count), parts.ones, parts.tens,
                                         parts.sum, count));
    CUSHIM_TRY(const bool summed, launches.expect("with another vector:", {11, 11}));

    CUSHIM_TRY_VOID(exec.set_memset_node(description.clear, parts.sum, -1));
    CUSHIM_TRY_VOID(exec.set_kernel_node(description.add, parts.kernel,
                                         LaunchConfig::covering(half), parts.ones, parts.tens,
                                         parts.sum, half));
    CUSHIM_TRY(const bool halved, launches.expect("half of it, and another fill:", {11, -1, -1}));

    CUSHIM_TRY_VOID(exec.set_enabled(description.add, false));
    CUSHIM_TRY(const bool filled, launches.expect("without the kernel:", {-1, -1, -1}));
    CUSHIM_TRY_VOID(exec.set_enabled(description.add, with_kernels));
    return right && summed && halved && filled;
}

// Changes everything by another graph, which must have the same shape.
Result<bool> change_whole(const cushim::Context &context, Parts &parts,
                          const Description &description, cushim::GraphExec &exec,
                          const Launches &launches, bool with_kernels) {
    CUSHIM_TRY(Description other, describe(context, parts, parts.twos, parts.tens));
    CUSHIM_TRY(const cushim::GraphUpdate same_shape, exec.update(other.graph));
    CUSHIM_TRY_VOID(exec.set_enabled(description.add, with_kernels));
    CUSHIM_TRY(const bool updated, launches.expect("by another graph:", {12, 12}));

    // A graph of another shape is not an error and changes nothing.
    CUSHIM_TRY_VOID(other.graph.add_empty_node(other.add));
    CUSHIM_TRY(const cushim::GraphUpdate more_nodes, exec.update(other.graph));
    CUSHIM_TRY(const bool unchanged, launches.expect("after one that has more nodes:", {12, 12}));
    return same_shape.is_success() && updated && unchanged &&
           more_nodes.result == cushim::GraphUpdateResult::topology_changed;
}

Result<bool> run(cushim::Device device, const example::Options &options) {
    const bool with_kernels = options.with_kernels;
    CUSHIM_TRY(const auto context, cushim::Context::primary(device));
    CUSHIM_TRY(Parts parts, prepare(context));
    CUSHIM_TRY(const Description description, describe(context, parts, parts.ones, parts.twos));
    CUSHIM_TRY(cushim::GraphExec exec, description.graph.instantiate());
    if (!with_kernels) {
        std::printf("skipped: adding, which needs a GPU that runs the kernel\n");
        CUSHIM_TRY_VOID(exec.set_enabled(description.add, false));
    }
    const Launches launches(parts, exec, with_kernels);
    CUSHIM_TRY(const bool by_nodes, change_nodes(parts, description, exec, launches, with_kernels));
    CUSHIM_TRY(const bool as_whole,
               change_whole(context, parts, description, exec, launches, with_kernels));
    return by_nodes && as_whole;
}

} // namespace

int main(int argc, char **argv) {
    return example::on_first_gpu(argc, argv, run, "every number is right");
}
