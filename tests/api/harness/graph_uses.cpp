// Uses of graphs and captures of the driver and runtime APIs.
#include "device_code.hpp"
#include "graph_scenario.hpp"
#include "uses.hpp"

#include <atomic>
#include <memory>

#include <cushim/device_buffer.hpp>
#include <cushim/graph_conditional.hpp>

namespace api_test {
namespace {

using namespace cushim;

constexpr unsigned int count = 1000;

Result<void> launch_twice(const Graph &graph, const Stream &stream) {
    CUSHIM_TRY(GraphExec exec, graph.instantiate());
    CUSHIM_TRY_VOID(exec.launch(stream));
    return launch_and_wait(exec, stream);
}

// Only the graph keeps the resources of its nodes alive.
Result<Graph> build(Api api, const Workplace &place, DeviceBuffer<int> &to,
                    const std::shared_ptr<std::atomic<int>> &called) {
    CUSHIM_TRY(Graph graph, create_graph(api, place.context));
    CUSHIM_TRY(auto from, DeviceBuffer<int>::allocate(place.context, count));
    CUSHIM_TRY(const Event event, Event::create(place.context));
    CUSHIM_TRY(const GraphNode clear, graph.add_memset_node({}, from, 31));
    CUSHIM_TRY(const GraphNode copied, graph.add_memcpy_node(clear, to, from));
    CUSHIM_TRY(const GraphNode counted, graph.add_host_node(copied, [called] { ++*called; }));
    CUSHIM_TRY(const GraphNode marked, graph.add_event_record_node(counted, event));
    CUSHIM_TRY_VOID(graph.add_empty_node(marked));
    return graph;
}

Result<void> use_graph(Api api, const Workplace &place) {
    CUSHIM_TRY(auto memory, DeviceBuffer<int>::allocate(place.context, count));
    const auto called = std::make_shared<std::atomic<int>>(0);
    CUSHIM_TRY(Graph graph, build(api, place, memory, called));
    CUSHIM_TRY(const Graph clone, graph.clone());
    CUSHIM_TRY_VOID(graph.close());
    CUSHIM_TRY_VOID(launch_twice(clone, place.stream));
    CUSHIM_TRY_VOID(must(*called == 2, "the closure was not called in each launch"));
    return must_be_filled(place.context, memory.span(), 31);
}

Result<void> use_kernels_in_graph(Api api, const Workplace &place) {
    CUSHIM_TRY(auto memory, DeviceBuffer<int>::allocate(place.context, count));
    CUSHIM_TRY(const Library library, Library::load(device_code));
    CUSHIM_TRY(const auto kernel, library.kernel<Fill>("fill"));
    CUSHIM_TRY(Graph graph, create_graph(api, place.context));
    const auto config = LaunchConfig::covering(count);
    CUSHIM_TRY(const GraphNode node, graph.add_kernel_node({}, kernel, config, memory, 32, count));
    CUSHIM_TRY(GraphExec exec, graph.instantiate());
    CUSHIM_TRY_VOID(launch_and_wait(exec, place.stream));
    CUSHIM_TRY_VOID(must_be_filled(place.context, memory.span(), 32));
    CUSHIM_TRY_VOID(exec.set_kernel_node(node, kernel, config, memory, 33, count));
    CUSHIM_TRY_VOID(launch_and_wait(exec, place.stream));
    return must_be_filled(place.context, memory.span(), 33);
}

Result<void> use_memory_of_graph(Api api, const Workplace &place) {
    CUSHIM_TRY(auto out, DeviceBuffer<int>::allocate(place.context, count));
    CUSHIM_TRY(Graph graph, create_graph(api, place.context));
    CUSHIM_TRY(const auto memory, graph.add_mem_alloc_node<int>({}, place.device, count));
    CUSHIM_TRY(const GraphNode clear, graph.add_memset_node(memory.node(), memory.span(), 34));
    CUSHIM_TRY(const GraphNode copied, graph.add_memcpy_node(clear, out, memory.span()));
    CUSHIM_TRY_VOID(graph.add_mem_free_node(copied, memory));
    CUSHIM_TRY_VOID(launch_twice(graph, place.stream));
    CUSHIM_TRY_VOID(must_be_filled(place.context, out.span(), 34));
    return trim_graph_memory(place.device);
}

// The parent graph keeps the resources of the child graph alive.
Result<void> use_child_graphs(Api api, const Workplace &place) {
    CUSHIM_TRY(auto memory, DeviceBuffer<int>::allocate(place.context, count));
    const auto called = std::make_shared<std::atomic<int>>(0);
    CUSHIM_TRY(Graph graph, create_graph(api, place.context));
    {
        CUSHIM_TRY(const Graph child, build(api, place, memory, called));
        CUSHIM_TRY(const GraphNode first, graph.add_child_graph_node({}, child));
        CUSHIM_TRY_VOID(graph.add_child_graph_node(first, child));
    }
    CUSHIM_TRY_VOID(launch_twice(graph, place.stream));
    CUSHIM_TRY_VOID(must(*called == 4, "the child graphs did not run in each launch"));
    return must_be_filled(place.context, memory.span(), 31);
}

Result<void> use_conditional_nodes(Api api, const Workplace &place) {
    CUSHIM_TRY(auto memory, DeviceBuffer<int>::allocate(place.context, count));
    CUSHIM_TRY_VOID(fill(place.context, memory.span(), 0));
    CUSHIM_TRY(Graph graph, create_graph(api, place.context));
    CUSHIM_TRY(const auto holds, graph.create_condition({.initial = 1}));
    CUSHIM_TRY(const auto does_not, graph.create_condition({.initial = 0}));
    CUSHIM_TRY(GraphBody runs, graph.add_if_node({}, holds));
    CUSHIM_TRY_VOID(runs.body.add_memset_node({}, memory, 38));
    CUSHIM_TRY(GraphBody never, graph.add_while_node(runs.node, does_not));
    CUSHIM_TRY_VOID(never.body.add_memset_node({}, memory, 39));
    CUSHIM_TRY_VOID(launch_twice(graph, place.stream));
    return must_be_filled(place.context, memory.span(), 38);
}

Result<void> use_capture(Api api, const Workplace &place) {
    CUSHIM_TRY(auto memory, DeviceBuffer<int>::allocate(place.context, count));
    CUSHIM_TRY(Graph graph,
               capture(api, place.stream, [&] { return fill(place.stream, memory.span(), 35); }));
    CUSHIM_TRY_VOID(launch_twice(graph, place.stream));
    CUSHIM_TRY_VOID(must_be_filled(place.context, memory.span(), 35));
    // A capture that fails halfway.
    const auto given_up = capture(api, place.stream, [&]() -> Result<void> {
        CUSHIM_TRY_VOID(fill(place.stream, memory.span(), 36));
        return Error::invalid_argument("given up");
    });
    CUSHIM_TRY_VOID(must(!given_up, "a failed capture reported success"));
    CUSHIM_TRY_VOID(fill(place.stream, memory.span(), 37));
    CUSHIM_TRY_VOID(place.stream.synchronize());
    return must_be_filled(place.context, memory.span(), 37);
}

template <Result<void> (*use)(Api, const Workplace &), Api api>
Result<void> by(const Workplace &place) {
    return use(api, place);
}

constexpr Use uses[] = {
    {"graphs", by<use_graph, Api::driver>},
    {"graphs of the runtime API", by<use_graph, Api::runtime>},
    {"kernels in graphs", by<use_kernels_in_graph, Api::driver>},
    {"kernels in graphs of the runtime API", by<use_kernels_in_graph, Api::runtime>},
    {"memory of graphs", by<use_memory_of_graph, Api::driver>},
    {"memory of graphs of the runtime API", by<use_memory_of_graph, Api::runtime>},
    {"child graphs", by<use_child_graphs, Api::driver>},
    {"child graphs of the runtime API", by<use_child_graphs, Api::runtime>},
    {"conditional nodes", by<use_conditional_nodes, Api::driver>},
    {"conditional nodes of the runtime API", by<use_conditional_nodes, Api::runtime>},
    {"captures", by<use_capture, Api::driver>},
    {"captures by the runtime API", by<use_capture, Api::runtime>},
};

} // namespace

std::span<const Use> graph_uses() {
    return uses;
}

} // namespace api_test
