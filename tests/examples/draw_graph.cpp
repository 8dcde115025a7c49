// Builds a CUDA graph, runs it twice, and draws it: graph.dot in the current folder and, if
// Graphviz is installed, graph.svg.
#include <cushim/device_buffer.hpp>
#include <cushim/graph.hpp>
#include <cushim/graph_conditional.hpp>
#include <cushim/pinned_buffer.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "example.hpp"

namespace {

using cushim::GraphNode;
using cushim::Result;

constexpr std::size_t count = 1024;

struct Description {
    cushim::Graph graph;
    GraphNode call; // calls the host function
};

// numbers -> device -> first part cleared -> numbers, with a host function in between.
Result<Description> describe(const cushim::Context &context, cushim::PinnedBuffer<int> &numbers,
                             int &calls) {
    CUSHIM_TRY(auto there, cushim::DeviceBuffer<int>::allocate(context, count));
    CUSHIM_TRY(const auto half, there.span().subspan(0, count / 2));
    CUSHIM_TRY(cushim::Graph graph, cushim::Graph::create(context));
    CUSHIM_TRY(const GraphNode in, graph.add_memcpy_node({}, there, numbers));
    CUSHIM_TRY(const GraphNode call, graph.add_host_node({}, [&calls] { ++calls; }));
    CUSHIM_TRY(const GraphNode clear, graph.add_memset_node(in, half, 0));
    CUSHIM_TRY(const GraphNode join, graph.add_empty_node({clear, call}));
    CUSHIM_TRY(const GraphNode out, graph.add_memcpy_node(join, numbers, there));

    // A conditional part, if the driver supports it.
    const auto condition = graph.create_condition({.initial = 1});
    if (condition) {
        CUSHIM_TRY(cushim::GraphBody branch, graph.add_if_node(out, *condition));
        CUSHIM_TRY_VOID(branch.body.add_memset_node({}, there, 7));
    } else {
        std::printf("without a conditional node: %s\n", condition.error().message());
    }
    return Description{std::move(graph), call};
}

bool make_picture() {
    std::printf("the graph is drawn in graph.dot\n");
    if (std::system("dot -V") != 0) {
        std::printf("Graphviz is not installed: no picture\n");
        return true;
    }
    if (std::system("dot -Tsvg -o graph.svg graph.dot") != 0) {
        std::fprintf(stderr, "Graphviz does not understand graph.dot\n");
        return false;
    }
    std::printf("and as a picture in graph.svg\n");
    return true;
}

// Returns whether all results are correct.
Result<bool> run(cushim::Device device, const example::Options &) {
    CUSHIM_TRY(const auto context, cushim::Context::primary(device));
    CUSHIM_TRY(const auto stream, cushim::Stream::create(context));
    CUSHIM_TRY(auto numbers, cushim::PinnedBuffer<int>::allocate(context, count));
    std::fill(numbers.begin(), numbers.end(), 3);
    int calls = 0;
    CUSHIM_TRY(const Description description, describe(context, numbers, calls));
    CUSHIM_TRY(cushim::GraphExec exec, description.graph.instantiate());
    CUSHIM_TRY_VOID(exec.launch(stream));
    // The second launch calls another function.
    CUSHIM_TRY_VOID(exec.set_host_node(description.call, [&calls] { calls += 10; }));
    CUSHIM_TRY_VOID(exec.launch(stream));
    CUSHIM_TRY_VOID(stream.synchronize());
    const auto middle = numbers.begin() + count / 2;
    const bool right = std::all_of(numbers.begin(), middle, [](int n) { return n == 0; }) &&
                       std::all_of(middle, numbers.end(), [](int n) { return n == 3; }) &&
                       calls == 11;
    std::printf("launched twice: %s\n", right ? "every number is right" : "WRONG numbers");
    CUSHIM_TRY_VOID(description.graph.debug_dot("graph.dot"));
    return make_picture() && right;
}

} // namespace

int main(int argc, char **argv) {
    return example::on_first_gpu(argc, argv, run);
}
