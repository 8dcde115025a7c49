#include "failures.hpp"

#include "../../support/ok.hpp"
#include "harness/device_code.hpp"
#include "harness/simulator.hpp"

#include <cushim/device_buffer.hpp>
#include <cushim/graph_conditional.hpp>
#include <cushim/pitched_buffer.hpp>
#include <cushim/runtime_graph.hpp>

#include <cstdint>

using namespace api_test;
using namespace cushim;
using support::ok;

namespace {

const auto nothing = [] {};

// Nodes of a graph, of another graph, and one that was destroyed.
struct Nodes {
    explicit Nodes(const Context &context)
        : graph(ok(Graph::create(context))), other(ok(Graph::create(context))),
          of_runtime(ok(rt::create_graph(context))) {
        ok(graph.destroy_node(gone));
    }

    Graph graph, other, of_runtime;
    GraphNode node = ok(graph.add_empty_node({}));
    GraphNode foreign = ok(other.add_empty_node({}));
    GraphNode gone = ok(graph.add_empty_node({}));
};

void expect_failures_of_graphs(Failures &failures, const Context &context) {
    failures.expect("Graph::create: the Context is empty", Graph::create(Context()));
    failures.expect("Graph::adopt: the handle is null", Graph::adopt(context, nullptr));
    failures.expect("Graph::borrow: the handle is null", Graph::borrow(context, nullptr));
    failures.expect("rt::create_graph: the Context is empty", rt::create_graph(Context()));
    failures.expect("rt::adopt_graph: the handle is null", rt::adopt_graph(context, nullptr));
    failures.expect("rt::borrow_graph: the handle is null", rt::borrow_graph(context, nullptr));
    failures.expect("Graph::clone: the Graph is empty", Graph().clone());

    Nodes of(context);
    failures.expect("Graph::find_in_clone: the original Graph is empty",
                    of.graph.find_in_clone(Graph(), of.node));
    failures.expect("Graph::find_in_clone: the graph is not a clone of the original, or has no "
                    "copy of this node (cuGraphNodeFindInClone: CUDA_ERROR_INVALID_VALUE)",
                    of.other.find_in_clone(of.graph, of.node));
    failures.expect("Graph::keep_alive: the graph would keep itself alive, and never be destroyed",
                    of.graph.keep_alive(of.graph));
    const GraphNode child = ok(of.other.add_child_graph_node({}, of.graph));
    failures.expect("Graph::keep_alive: both graphs are parts of one graph, which would keep "
                    "itself alive, and never be destroyed",
                    of.other.keep_alive(ok(of.other.child_graph_params(child))));
    failures.expect("Graph::keep_alive: the Graph is empty", Graph().keep_alive(context));
    const Graph inner = ok(of.other.child_graph_params(child));
    ok(of.other.destroy_node(child));
    failures.expect("Graph::node_count: the node that contains this graph was destroyed",
                    inner.node_count());
    failures.expect("Graph::debug_dot: the Graph is empty", Graph().debug_dot("graph.dot"));
    failures.expect("Graph::debug_dot: the path is null", of.graph.debug_dot(nullptr));
}

void expect_failures_of_adding(Failures &failures, const Context &context) {
    Nodes of(context);
    Graph &graph = of.graph;
    auto memory = ok(DeviceBuffer<int>::allocate(context, 8));
    auto from = ok(DeviceBuffer<int>::allocate(context, 8));
    auto image = ok(PitchedBuffer<int>::allocate(context, Extent{5, 3, 2}));
    const auto part = ok(image.span().part({1, 1, 0}, {2, 2, 2}));
    const LaunchConfig config = LaunchConfig::covering(8);
    failures.expect("Graph::add_empty_node: dependencies[0] belongs to another graph",
                    graph.add_empty_node(of.foreign));
    failures.expect("Graph::add_kernel_node: the Kernel is empty",
                    graph.add_kernel_node({}, Kernel<void()>(), config));
    const auto kernel = ok(ok(load_device_code(context)).kernel<Fill>("fill"));
    LaunchConfig too_large = config;
    too_large.block = Dim3(2048);
    failures.expect(
        "Graph::add_kernel_node: block size 2048 x 1 x 1 exceeds the limits 1024 x 1024 x 64 "
        "(cuGraphAddKernelNode: CUDA_ERROR_INVALID_VALUE)",
        graph.add_kernel_node({}, kernel, too_large, memory, 1, 8u));
    LaunchConfig far_too_large = config;
    far_too_large.block = Dim3(1ll << 32);
    failures.expect("Graph::add_kernel_node: block size 4294967296 x 1 x 1 exceeds the limits "
                    "1024 x 1024 x 64",
                    graph.add_kernel_node({}, kernel, far_too_large, memory, 1, 8u));
    failures.expect("Graph::add_memcpy_node: dependencies[1] was destroyed",
                    graph.add_memcpy_node({of.node, of.gone}, memory, from));
    failures.expect("Graph::add_memset_node: layer pitch 3 rows, height 2 rows: the layers of a "
                    "memset node must be adjacent; add a memset node for each layer",
                    graph.add_memset_node({}, part, 0));
    failures.expect("Graph::add_memset_node: dependencies[0] is an empty GraphNode",
                    graph.add_memset_node(GraphNode(), DeviceSpan<int>(), 0));
    failures.expect("Graph::add_host_node: the Graph is empty", Graph().add_host_node({}, nothing));
    failures.expect("Graph::add_child_graph_node: the child Graph is empty",
                    graph.add_child_graph_node({}, Graph()));
    failures.expect("Graph::add_child_graph_node: the graph belongs to the driver API, the child "
                    "graph to the runtime API; create the child graph with Graph::create() or "
                    "Stream::capture()",
                    graph.add_child_graph_node({}, of.of_runtime), ErrorKind::unsupported_platform);
    const GraphNode fill = ok(graph.add_kernel_node({}, kernel, config, memory, 1, 8u));
    failures.expect(
        "Graph::set_kernel_node: block size 2048 x 1 x 1 exceeds the limits 1024 x 1024 x 64 "
        "(cuGraphKernelNodeSetParams: CUDA_ERROR_INVALID_VALUE)",
        graph.set_kernel_node(fill, kernel, too_large, memory, 1, 8u));
    LaunchConfig cooperative = config;
    cooperative.cooperative = true;
    failures.expect(
        "GraphExec::set_kernel_node: LaunchConfig::cooperative is true, but the node was "
        "instantiated with false; an executable graph cannot change it: set it in the Graph and "
        "instantiate again",
        ok(graph.instantiate()).set_kernel_node(fill, kernel, cooperative, memory, 1, 8u),
        ErrorKind::unsupported_platform);
    failures.expect("Graph::add_event_record_node: the Event is empty",
                    graph.add_event_record_node({}, Event()));
    failures.expect("Graph::add_event_wait_node: the Event is empty",
                    graph.add_event_wait_node({}, Event()));
    failures.expect("Graph::add_semaphore_signal_node: 0 signals passed, minimum 1",
                    graph.add_semaphore_signal_node({}, {}));
    failures.expect("Graph::add_semaphore_wait_node: 0 waits passed, minimum 1",
                    graph.add_semaphore_wait_node({}, {}));
    failures.expect("Graph::add_batch_mem_op_node: 0 operations passed, minimum 1",
                    graph.add_batch_mem_op_node({}, {}));
    const Device device = ok(context.device());
    failures.expect("Graph::add_mem_alloc_node: 0 elements requested, minimum 1",
                    graph.add_mem_alloc_node<int>({}, device, 0));
    failures.expect("Graph::add_mem_alloc_node: 4611686018427387904 elements of 4 bytes exceed the "
                    "address space",
                    graph.add_mem_alloc_node<int>({}, device, SIZE_MAX / 4 + 1));
    failures.expect("Graph::add_mem_alloc_node: 17179869184 bytes requested on device 0, "
                    "8589931426 free (cuGraphAddMemAllocNode: CUDA_ERROR_OUT_OF_MEMORY)",
                    graph.add_mem_alloc_node<int>({}, device, std::size_t(1) << 32));
    failures.expect("Graph::add_mem_free_node: the GraphAllocation is empty",
                    graph.add_mem_free_node({}, GraphAllocation<int>()));
    failures.expect("GraphAllocation::free_in: the GraphAllocation is empty",
                    GraphAllocation<int>().free_in(ok(Stream::create(context))));
    Graph with_memory = ok(Graph::create(context));
    const auto allocation = ok(with_memory.add_mem_alloc_node<int>({}, device, 8));
    failures.expect(
        "GraphAllocation::free_in: the memory is not allocated; launch the graph first, "
        "and free the memory once after each launch (cuMemFreeAsync: "
        "CUDA_ERROR_INVALID_VALUE)",
        allocation.free_in(ok(Stream::create(context))));
    failures.expect("Graph::clone: a graph with memory nodes cannot be cloned (cuGraphClone: "
                    "CUDA_ERROR_NOT_SUPPORTED)",
                    with_memory.clone());
    failures.expect("Graph::add_child_graph_node: a child graph must not have memory or "
                    "conditional nodes (cuGraphAddChildGraphNode: CUDA_ERROR_NOT_SUPPORTED)",
                    graph.add_child_graph_node({}, with_memory));
    failures.expect("Graph::destroy_node: nodes of a graph with memory nodes cannot be destroyed "
                    "(cuGraphDestroyNode: CUDA_ERROR_NOT_SUPPORTED)",
                    with_memory.destroy_node(allocation.node()));
    failures.expect("Graph::add_node_raw: the parameters are null",
                    graph.add_node_raw({}, nullptr));

    const GraphNode two[] = {of.node, of.node}, one[] = {of.foreign};
    failures.expect(
        "Graph::add_dependencies: `from` has size 2, but `to` has size 1; the sizes must "
        "be equal",
        graph.add_dependencies(two, one));
    failures.expect("Graph::remove_dependencies: from[0] belongs to another graph",
                    graph.remove_dependencies(one, one));
    const GraphEdge edges[] = {{of.node, of.gone}};
    failures.expect("Graph::add_dependencies: edges[0].to was destroyed",
                    graph.add_dependencies(edges));
    failures.expect("Graph::destroy_node: the node belongs to another graph",
                    graph.destroy_node(of.foreign));
}

void expect_failures_of_conditional_nodes(Failures &failures, const Context &context) {
    Nodes of(context);
    Graph &graph = of.graph;
    failures.expect("Graph::create_condition: the Graph is empty", Graph().create_condition({}));
    const GraphCondition condition = ok(graph.create_condition({}));
    failures.expect("Graph::add_if_node: the GraphCondition is empty",
                    graph.add_if_node({}, GraphCondition()));
    failures.expect("Graph::add_if_else_node: the condition belongs to another graph",
                    of.other.add_if_else_node({}, condition));
    ok(graph.add_if_node({}, condition));
    failures.expect("Graph::add_while_node: the condition already has a conditional node; create "
                    "a condition for each node with Graph::create_condition()",
                    graph.add_while_node({}, condition));
    failures.expect("Graph::add_switch_node: 0 cases requested, minimum 1, limit 4294967295",
                    graph.add_switch_node({}, condition, 0));
}

// The same for a graph and an executable graph.
template <class Set>
void expect_failures_of_setting(Failures &failures, const std::string &type, Set &set,
                                const Nodes &of, DeviceBuffer<int> &memory,
                                const std::string &remedy) {
    const auto expect = [&](const std::string &message, const Result<void> &result) {
        failures.expect((type + message).c_str(), result);
    };
    expect("::set_kernel_node: the Kernel is empty",
           set.set_kernel_node(of.node, Kernel<void()>(), LaunchConfig::covering(8)));
    expect("::set_memcpy_node: the copy has 0 elements; " + remedy,
           set.set_memcpy_node(of.node, DeviceSpan<int>(), DeviceSpan<int>()));
    expect("::set_memset_node: the node belongs to another graph",
           set.set_memset_node(of.foreign, memory, 0));
    expect("::set_memset_node: the fill has 0 elements; " + remedy,
           set.set_memset_node(of.node, DeviceSpan<int>(), 0));
    expect("::set_host_node: the node was destroyed", set.set_host_node(of.gone, nothing));
    expect("::set_event_record_node: the Event is empty",
           set.set_event_record_node(of.node, Event()));
    expect("::set_event_wait_node: the node is an empty GraphNode",
           set.set_event_wait_node(GraphNode(), Event()));
    expect("::set_semaphore_signal_node: 0 signals passed, minimum 1",
           set.set_semaphore_signal_node(of.node, {}));
    expect("::set_semaphore_wait_node: 0 waits passed, minimum 1",
           set.set_semaphore_wait_node(of.node, {}));
    expect("::set_batch_mem_op_node: 0 operations passed, minimum 1",
           set.set_batch_mem_op_node(of.node, {}));
}

void expect_failures_of_reading(Failures &failures, const Context &context) {
    failures.expect("Graph::node_count: the Graph is empty", Graph().node_count());
    failures.expect("Graph::nodes: the Graph is empty", Graph().nodes());
    failures.expect("Graph::root_nodes: the Graph is empty", Graph().root_nodes());
    failures.expect("Graph::edges: the Graph is empty", Graph().edges());

    Nodes of(context);
    Graph &graph = of.graph;
    failures.expect("Graph::dependencies: the node is an empty GraphNode",
                    graph.dependencies(GraphNode()));
    failures.expect("Graph::dependents: the node belongs to another graph",
                    graph.dependents(of.foreign));
    failures.expect("Graph::node_type: the node was destroyed", graph.node_type(of.gone));
    const auto expect_type = [&](const std::string &function, const std::string &type,
                                 const auto &result) {
        const std::string message = "Graph::" + function +
                                    ": the node has type GraphNodeType::empty, expected "
                                    "GraphNodeType::" +
                                    type;
        failures.expect(message.c_str(), result);
    };
    expect_type("kernel_params", "kernel", graph.kernel_params(of.node));
    expect_type("memcpy_params", "memcpy", graph.memcpy_params(of.node));
    expect_type("memset_params", "memset", graph.memset_params(of.node));
    expect_type("host_params", "host", graph.host_params(of.node));
    expect_type("event_params", "event_record or GraphNodeType::event_wait",
                graph.event_params(of.node));
    expect_type("semaphore_params", "semaphore_signal or GraphNodeType::semaphore_wait",
                graph.semaphore_params(of.node));
    expect_type("batch_mem_op_params", "batch_mem_op", graph.batch_mem_op_params(of.node));
    expect_type("mem_alloc_params", "mem_alloc", graph.mem_alloc_params(of.node));
    expect_type("mem_free_params", "mem_free", graph.mem_free_params(of.node));
    expect_type("child_graph_params", "child_graph", graph.child_graph_params(of.node));
    expect_type("conditional_params", "conditional", graph.conditional_params(of.node));
}

void expect_failures_of_executable_graphs(Failures &failures, const Context &context) {
    Nodes of(context);
    const Stream none;
    failures.expect("Graph::instantiate: the Stream for the upload is empty",
                    of.graph.instantiate({.upload = &none}));
    ok(of.other.create_condition({}));
    failures.expect("Graph::instantiate: a condition of the graph has no conditional node; pass "
                    "it to add_if_node(), add_while_node() or add_switch_node() "
                    "(cuGraphInstantiateWithParams: CUDA_ERROR_INVALID_VALUE)",
                    of.other.instantiate());
    failures.expect("GraphExec::adopt: the handle is null", GraphExec::adopt(context, nullptr));
    failures.expect("GraphExec::borrow: the Context is empty",
                    GraphExec::borrow(Context(), nullptr));
    failures.expect("rt::adopt_exec: the handle is null", rt::adopt_exec(context, nullptr));
    failures.expect("rt::borrow_exec: the handle is null", rt::borrow_exec(context, nullptr));

    GraphExec exec = ok(of.graph.instantiate());
    failures.expect("GraphExec::launch: the GraphExec is empty", GraphExec().launch(none));
    failures.expect("GraphExec::launch: the Stream is empty", exec.launch(none));
    failures.expect("GraphExec::launched: the Stream is empty", exec.launched(none));
    failures.expect("GraphExec::upload: the Stream is empty", exec.upload(none));
    failures.expect(
        "GraphExec::update: the executable graph belongs to the driver API, the graph "
        "to the runtime API; create the graph with Graph::create() or Stream::capture()",
        exec.update(of.of_runtime), ErrorKind::unsupported_platform);
    failures.expect("GraphExec::update: the executable graph belongs to the runtime API, the graph "
                    "to the driver API; create the graph with rt::create_graph() or rt::capture()",
                    ok(of.of_runtime.instantiate()).update(of.graph),
                    ErrorKind::unsupported_platform);
    failures.expect("GraphExec::set_child_graph_node: the child Graph is empty",
                    exec.set_child_graph_node(of.node, Graph()));
    GraphExec borrowed = ok(GraphExec::borrow(context, exec.native()));
    failures.expect("GraphExec::set_enabled: the executable graph is adopted or borrowed, and its "
                    "nodes are unknown; create it with Graph::instantiate()",
                    borrowed.set_enabled(of.node, false));
    failures.expect("GraphExec::is_enabled: the node was destroyed", exec.is_enabled(of.gone));
    failures.expect("GraphExec::set_enabled: the node has type GraphNodeType::empty; only kernel, "
                    "memcpy and memset nodes can be disabled (cuGraphNodeSetEnabled: "
                    "CUDA_ERROR_INVALID_VALUE)",
                    exec.set_enabled(of.node, false));
    failures.expect("GraphExec::launch: no context is current on the calling thread; make one "
                    "current with Context::enter() or Context::make_current() (cuGraphLaunch: "
                    "CUDA_ERROR_INVALID_CONTEXT)",
                    exec.launch(Stream::legacy()));
    failures.expect("GraphExec::flags: the GraphExec is empty", GraphExec().flags());

    auto memory = ok(DeviceBuffer<int>::allocate(context, 8));
    expect_failures_of_setting(failures, "Graph", of.graph, of, memory,
                               "to remove the node, call Graph::destroy_node()");
    expect_failures_of_setting(failures, "GraphExec", exec, of, memory,
                               "to skip the node, call GraphExec::set_enabled()");
    const Stream stream = ok(Stream::create(context));
    ok(stream.begin_capture());
    failures.expect("GraphExec::launch: the stream is being captured; add the graph with "
                    "Graph::add_child_graph_node() (cuGraphLaunch: "
                    "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED)",
                    exec.launch(stream));
    (void)stream.end_capture();
}

void expect_failures_of_captures(Failures &failures, const Context &context) {
    Graph graph = ok(Graph::create(context)), other = ok(Graph::create(context));
    const Stream none, stream = ok(Stream::create(context));
    Graph empty;
    ok(stream.begin_capture());
    failures.expect("Stream::begin_capture: the stream is already being captured "
                    "(cuStreamBeginCapture_v2: CUDA_ERROR_ILLEGAL_STATE)",
                    stream.begin_capture());
    failures.expect("Stream::end_capture_to: the stream captured into a new graph; the capture has "
                    "ended; next time end it with Stream::end_capture()",
                    stream.end_capture_to(graph));
    ok(stream.begin_capture_to(graph, {}));
    failures.expect("Stream::end_capture: this capture goes into an existing graph: end it with "
                    "Stream::end_capture_to(). It has now ended",
                    stream.end_capture());
    ok(stream.begin_capture_to(graph, {}));
    failures.expect("Stream::end_capture_to: the stream captured into another graph; the capture "
                    "has ended; next time pass the graph of Stream::begin_capture_to()",
                    stream.end_capture_to(other));
    failures.expect("Stream::begin_capture_to: the Graph is empty",
                    stream.begin_capture_to(empty, {}));
    {
        const ContextScope scope = ok(context.enter());
        failures.expect("Stream::begin_capture: the legacy default stream cannot be captured; "
                        "create a stream with Stream::create() (cuStreamBeginCapture_v2: "
                        "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED)",
                        Stream::legacy().begin_capture());
    }
    failures.expect("Stream::capture: the Stream is empty", none.capture(nothing));
    failures.expect("Stream::capture_to: the Stream is empty",
                    none.capture_to(graph, {}, CaptureMode::relaxed, nothing));
    failures.expect("Stream::capture_status: the Stream is empty", none.capture_status());
    failures.expect("Stream::is_capturing: the Stream is empty", none.is_capturing());
    failures.expect("Stream::launch_host_function: the Stream is empty",
                    none.launch_host_function(nothing));
    failures.expect("rt::begin_capture: the Stream is empty", rt::begin_capture(none));
    failures.expect("rt::end_capture: the stream is not being captured (cudaStreamEndCapture: "
                    "cudaErrorIllegalState)",
                    rt::end_capture(stream));
    failures.expect("rt::capture: the Stream is empty", rt::capture(none, nothing));
}

void expect_failures_of_graph_memory(Failures &failures, Device device) {
    always_fail_instead("cuDeviceGetGraphMemAttribute");
    always_fail_instead("cuDeviceSetGraphMemAttribute");
    always_fail_instead("cuDeviceGraphMemTrim");
    failures.expect("graph_memory_usage: unknown error (cuDeviceGetGraphMemAttribute: "
                    "CUDA_ERROR_UNKNOWN)",
                    graph_memory_usage(device));
    failures.expect("reset_graph_memory_high_marks: unknown error (cuDeviceSetGraphMemAttribute: "
                    "CUDA_ERROR_UNKNOWN)",
                    reset_graph_memory_high_marks(device));
    failures.expect("trim_graph_memory: unknown error (cuDeviceGraphMemTrim: CUDA_ERROR_UNKNOWN)",
                    trim_graph_memory(device));
}

} // namespace

void api_test::expect_graph_failures(Failures &failures) {
    restart("");
    const Device device = ok(Device::get(0));
    const Context context = ok(Context::primary(device));
    expect_failures_of_graphs(failures, context);
    expect_failures_of_adding(failures, context);
    expect_failures_of_conditional_nodes(failures, context);
    expect_failures_of_reading(failures, context);
    expect_failures_of_executable_graphs(failures, context);
    expect_failures_of_captures(failures, context);
    expect_failures_of_graph_memory(failures, device);
}
