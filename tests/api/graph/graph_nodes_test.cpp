// Nodes of each type: their effects, and the resources that the graph keeps alive for them.
#include "harness/graph_scenario.hpp"
#include "harness/memory.hpp"

#include <cushim/device_buffer.hpp>
#include <cushim/exception.hpp>
#include <cushim/pinned_buffer.hpp>
#include <cushim/pitched_buffer.hpp>

#include <algorithm>
#include <memory>
#include <new>
#include <stdexcept>
#include <utility>
#include <vector>

using namespace api_test;
using namespace cushim;

GRAPH_SCENARIO_TEST("empty, memset and kernel nodes run in order", "[graph][G11][G12]",
                    (Trial &trial, Api api, const Context &context, const Stream &stream,
                     Graph &graph)) {
    CUSHIM_TRY(auto memory, DeviceBuffer<int>::allocate(context, 100));
    CUSHIM_TRY(auto kernel, graph_kernel<Fill>(trial, api, context, "fill"));
    CUSHIM_TRY(const GraphNode begin, graph.add_empty_node({}));
    CUSHIM_TRY(const GraphNode clear, graph.add_memset_node(begin, memory, 5));
    CUSHIM_TRY(const GraphNode fill,
               graph.add_kernel_node(clear, kernel, LaunchConfig::covering(50), memory, 9, 50u));
    CUSHIM_TRY(const KernelNodeParams params, graph.kernel_params(fill));
    CHECK(params.grid == Dim3(1));
    CHECK(params.block == Dim3(256));
    CHECK(params.function == kernel.native());
    CUSHIM_TRY_VOID(run_once(graph, stream));
    CUSHIM_TRY(const auto values, read(context, memory));
    CHECK(std::count(values.begin(), values.begin() + 50, 9) == 50);
    CHECK(std::count(values.begin() + 50, values.end(), 5) == 50);
    return {};
}

GRAPH_SCENARIO_TEST("memset nodes fill elements of 1, 2 and 4 bytes", "[graph][G12]",
                    (const Context &context, const Stream &stream, Graph &graph)) {
    CUSHIM_TRY(auto bytes, DeviceBuffer<unsigned char>::allocate(context, 10));
    CUSHIM_TRY(auto words, DeviceBuffer<unsigned short>::allocate(context, 10));
    CUSHIM_TRY(auto floats, DeviceBuffer<float>::allocate(context, 10));
    CUSHIM_TRY_VOID(graph.add_memset_node({}, bytes, 0xab));
    CUSHIM_TRY(const GraphNode two, graph.add_memset_node({}, words, 0xabcd));
    CUSHIM_TRY_VOID(graph.add_memset_node({}, floats, 1.5f));
    CUSHIM_TRY(const MemsetNodeParams params, graph.memset_params(two));
    CHECK(params.to.address == words.native());
    CHECK(params.to.extent.width == 10);
    CHECK(params.element_size == 2);
    CHECK(params.value == 0xabcd);
    CUSHIM_TRY_VOID(run_once(graph, stream));
    std::vector<unsigned char> of_bytes(10);
    std::vector<unsigned short> of_words(10);
    std::vector<float> of_floats(10);
    CUSHIM_TRY_VOID(copy(context, std::span(of_bytes), bytes.span()));
    CUSHIM_TRY_VOID(copy(context, std::span(of_words), words.span()));
    CUSHIM_TRY_VOID(copy(context, std::span(of_floats), floats.span()));
    CHECK(of_bytes == std::vector<unsigned char>(10, 0xab));
    CHECK(of_words == std::vector<unsigned short>(10, 0xabcd));
    CHECK(of_floats == std::vector<float>(10, 1.5f));
    return {};
}

GRAPH_SCENARIO_TEST("nodes copy and fill rows of pitched memory", "[graph][G12]",
                    (const Context &context, const Stream &stream, Graph &graph)) {
    CUSHIM_TRY(auto image, PitchedBuffer<int>::allocate(context, {5, 4}));
    CUSHIM_TRY(auto other, PitchedBuffer<int>::allocate(context, {5, 4}));
    std::vector<int> from = numbers(20), to(20);
    CUSHIM_TRY(const auto source,
               HostPitchedSpan<const int>::of(std::span(std::as_const(from)), {5, 4}));
    CUSHIM_TRY(const auto target, HostPitchedSpan<int>::of(std::span(to), {5, 4}));
    CUSHIM_TRY(const auto part, image.span().part({1, 1}, {2, 2}));
    CUSHIM_TRY(const GraphNode in, graph.add_memcpy_node({}, image, source));
    CUSHIM_TRY(const GraphNode fill, graph.add_memset_node(in, part, -1));
    CUSHIM_TRY(const GraphNode across, graph.add_memcpy_node(fill, other, image));
    CUSHIM_TRY(const GraphNode out, graph.add_memcpy_node(across, target, other));
    CUSHIM_TRY(const MemcpyNodeParams params, graph.memcpy_params(out));
    CHECK(params.to.address == reinterpret_cast<unsigned long long>(to.data()));
    CHECK(params.from.address == other.span().native());
    CHECK(params.from.extent.width == 5 * sizeof(int));
    CUSHIM_TRY_VOID(run_once(graph, stream));
    for (std::size_t index = 0; index < from.size(); ++index) {
        const bool is_in_part = index == 6 || index == 7 || index == 11 || index == 12;
        CHECK(to[index] == (is_in_part ? -1 : static_cast<int>(index)));
    }
    return {};
}

GRAPH_SCENARIO_TEST("nodes copy and fill layers of pitched memory", "[graph][G12]",
                    (const Context &context, const Stream &stream, Graph &graph)) {
    const Extent extent = {5, 3, 2};
    CUSHIM_TRY(auto image, PitchedBuffer<int>::allocate(context, extent));
    CUSHIM_TRY(auto other, PitchedBuffer<int>::allocate(context, extent));
    std::vector<int> from = numbers(30), to(30);
    CUSHIM_TRY(const auto source,
               HostPitchedSpan<const int>::of(std::span(std::as_const(from)), extent));
    CUSHIM_TRY(const auto target, HostPitchedSpan<int>::of(std::span(to), extent));
    CUSHIM_TRY(const auto part_of_image, image.span().part({1, 1, 0}, {2, 2, 2}));
    CUSHIM_TRY(const auto part_of_other, other.span().part({1, 1, 0}, {2, 2, 2}));
    CUSHIM_TRY(const GraphNode in, graph.add_memcpy_node({}, image, source));
    CUSHIM_TRY(const GraphNode fill, graph.add_memset_node({}, other, -1));
    CUSHIM_TRY(const GraphNode across,
               graph.add_memcpy_node({in, fill}, part_of_other, part_of_image));
    CUSHIM_TRY(const GraphNode out, graph.add_memcpy_node(across, target, other));
    CUSHIM_TRY(const MemcpyNodeParams params, graph.memcpy_params(out));
    CHECK(params.to.extent == Extent{5 * sizeof(int), 3, 2});
    CHECK(params.from.pitch.layer == 3);
    CUSHIM_TRY_VOID(run_once(graph, stream));
    for (std::size_t index = 0; index < from.size(); ++index) {
        const std::size_t x = index % 5, y = index / 5 % 3;
        const bool is_in_part = (x == 1 || x == 2) && (y == 1 || y == 2);
        CHECK(to[index] == (is_in_part ? static_cast<int>(index) : -1));
    }
    return refused(graph.add_memset_node({}, part_of_image, 0),
                   "layer pitch 3 rows, height 2 rows: the layers of a memset node must be "
                   "adjacent; add a memset node for each layer");
}

GRAPH_SCENARIO_TEST("a copy and a fill of 0 elements are empty nodes", "[graph]",
                    (const Context &context, Graph &graph)) {
    CUSHIM_TRY(auto image, PitchedBuffer<int>::allocate(context, {5, 3, 2}));
    CUSHIM_TRY(const DevicePitchedSpan<int> none, image.span().part({1, 1, 0}, {0, 2, 2}));
    CUSHIM_TRY(const GraphNode layers, graph.add_memset_node({}, none, 1));
    CUSHIM_TRY_VOID(check_gives(graph.node_type(layers), GraphNodeType::empty));
    DeviceBuffer<int> nothing;
    CUSHIM_TRY(const GraphNode fill, graph.add_memset_node({}, nothing, 1));
    CUSHIM_TRY(const GraphNode moved, graph.add_memcpy_node(fill, nothing, nothing));
    CUSHIM_TRY_VOID(check_gives(graph.node_type(moved), GraphNodeType::empty));
    return check_gives(graph.dependencies(moved), std::vector{fill});
}

GRAPH_SCENARIO_TEST("a graph keeps all owners that a kernel node uses alive", "[graph]",
                    (Trial &trial, Api api, const Context &context, const Stream &stream,
                     Graph &graph)) {
    CUSHIM_TRY(auto sums, DeviceBuffer<float>::allocate(context, 8));
    {
        CUSHIM_TRY(const auto kernel, graph_kernel<Add>(trial, api, context, "add"));
        CUSHIM_TRY(auto ones, DeviceBuffer<float>::copy_of(context, std::vector<float>(8, 1)));
        CUSHIM_TRY(auto twos, DeviceBuffer<float>::copy_of(context, std::vector<float>(8, 2)));
        const auto config = LaunchConfig::covering(8);
        CUSHIM_TRY(const GraphNode clear, graph.add_memset_node({}, sums, 0.0f));
        CUSHIM_TRY(const GraphNode first,
                   graph.add_kernel_node(clear, kernel, config, ones, twos, sums, 8u));
        CUSHIM_TRY(const GraphNode second,
                   graph.add_kernel_node(first, kernel, config, sums, twos, sums, 8u));
        CUSHIM_TRY_VOID(
            graph.add_kernel_node({first, second}, kernel, config, sums, ones, sums, 8u));
    }
    CUSHIM_TRY_VOID(run_once(graph, stream));
    return check_gives(read(context, sums), std::vector<float>(8, 6));
}

GRAPH_SCENARIO_TEST("copies and host functions run in the order of their edges", "[graph][G13]",
                    (Api api, const Context &context, const Stream &stream)) {
    CUSHIM_TRY(auto memory, DeviceBuffer<int>::allocate(context, 16));
    CUSHIM_TRY(auto host, PinnedBuffer<int>::allocate(context, 16));
    Watched counter;
    {
        CUSHIM_TRY(Graph graph, create_graph(api, context));
        int *const values = host.data();
        CUSHIM_TRY(const GraphNode write,
                   graph.add_host_node({}, [values, count = counter.closure()] {
                       count();
                       std::fill_n(values, 16, 11);
                   }));
        CUSHIM_TRY(const GraphNode in, graph.add_memcpy_node(write, memory, host));
        CUSHIM_TRY(const GraphNode clear,
                   graph.add_host_node(in, [values] { std::fill_n(values, 16, 0); }));
        CUSHIM_TRY_VOID(graph.add_memcpy_node(clear, host, memory));
        CUSHIM_TRY(GraphExec exec, graph.instantiate());
        CUSHIM_TRY_VOID(exec.launch(stream));
        CUSHIM_TRY_VOID(launch_and_wait(exec, stream));
        CHECK(counter.calls() == 2);
        CHECK(std::count(host.begin(), host.end(), 11) == 16);
        CHECK_FALSE(counter.is_destroyed());
    }
    CHECK(counter.is_destroyed_soon());
    return {};
}

GRAPH_SCENARIO_TEST("a host function with one reference needs no memory", "[graph][G13]",
                    (Api api, const Context &context, const Stream &stream)) {
    int added = 0, set = 0;
    CUSHIM_TRY(Graph graph, create_graph(api, context));
    CUSHIM_TRY(const GraphNode call, graph.add_host_node({}, [&added] { ++added; }));
    CUSHIM_TRY(const HostNodeParams params, graph.host_params(call));
    CHECK(params.user == &added);
    CUSHIM_TRY(GraphExec exec, graph.instantiate());
    CUSHIM_TRY_VOID(launch_and_wait(exec, stream));
    CHECK(added == 1);
    CUSHIM_TRY_VOID(exec.set_host_node(call, [&set] { ++set; }));
    CUSHIM_TRY_VOID(launch_and_wait(exec, stream));
    CHECK(added == 1);
    CHECK(set == 1);
    return {};
}

GRAPH_SCENARIO_TEST("a closure is destroyed with the last graph that can call it", "[graph][G13]",
                    (Api api, const Context &context)) {
    Watched counter;
    CUSHIM_TRY(Graph graph, create_graph(api, context));
    CUSHIM_TRY_VOID(graph.add_host_node({}, counter.closure()));
    CUSHIM_TRY(Graph clone, graph.clone());
    CUSHIM_TRY(GraphExec exec, clone.instantiate());
    graph.reset();
    clone.reset();
    wait_for_released_closures();
    CHECK_FALSE(counter.is_destroyed());
    exec.reset();
    CHECK(counter.is_destroyed_soon());
    return {};
}

#ifdef API_TEST_ALLOCATIONS_FAIL
GRAPH_TEST_CASE("a node with a closure is not added if memory to keep the closure is short",
                "[graph][G13][current]", (Api api)) {
    need_simulator("needs the simulator, which works while host allocations fail");
    const Context context = context_after_restart("");
    Watched counter;
    Graph graph = ok(create_graph(api, context));
    const int refused =
        refusals_without_memory([&] { graph = ok(create_graph(api, context)); },
                                [&] { return graph.add_host_node({}, counter.closure()); },
                                [&] { REQUIRE(*graph.node_count() == 0); });
    CHECK(refused >= 2); // at least what the graph holds, and its list of closures
    CHECK(*graph.node_count() == 1);
    graph.reset();
    CHECK(counter.is_destroyed_soon());
}
#endif

GRAPH_SCENARIO_TEST("a graph runs a child graph and records and waits for an event",
                    "[graph][G14][G15]",
                    (Api api, const Context &context, const Stream &stream, Graph &graph)) {
    CUSHIM_TRY(Stream other, Stream::create(context, {.non_blocking = true}));
    CUSHIM_TRY(auto memory, DeviceBuffer<int>::allocate(context, 8));
    CUSHIM_TRY(const Event event, Event::create(context, {.timing = false}));
    CUSHIM_TRY(Graph inner, create_graph(api, context));
    CUSHIM_TRY(const GraphNode fill, inner.add_memset_node({}, memory, 4));
    CUSHIM_TRY(const GraphNode child, graph.add_child_graph_node({}, inner));
    CUSHIM_TRY(const GraphNode record, graph.add_event_record_node(child, event));
    CUSHIM_TRY(const GraphNode wait, graph.add_event_wait_node(record, event));
    CUSHIM_TRY(const Event recorded, graph.event_params(record));
    CHECK(recorded.native() == event.native());
    CUSHIM_TRY(const Event waited, graph.event_params(wait));
    CHECK(waited.native() == event.native());

    // The node has a copy of the inner graph with new nodes.
    CUSHIM_TRY(const Graph inside, graph.child_graph_params(child));
    CUSHIM_TRY(const auto nodes, inside.nodes());
    CHECK(nodes.size() == 1);
    CHECK(nodes[0] != fill);
    CHECK_FALSE(graph.node_type(nodes[0]).has_value());
    CUSHIM_TRY_VOID(check_gives(inside.node_type(nodes[0]), GraphNodeType::memset));

    CUSHIM_TRY(GraphExec exec, graph.instantiate());
    CUSHIM_TRY_VOID(exec.launch(stream));
    CUSHIM_TRY_VOID(other.wait_event(event));
    std::vector<int> values(8);
    CUSHIM_TRY_VOID(copy(other, std::span(values), memory.span()));
    CUSHIM_TRY_VOID(other.synchronize());
    CUSHIM_TRY_VOID(stream.synchronize());
    CHECK(values == std::vector<int>(8, 4));

    CUSHIM_TRY_VOID(graph.destroy_node(child));
    check_invalid(inside.nodes(), "the node that contains this graph was destroyed");
    return {};
}

GRAPH_SCENARIO_TEST("a graph keeps its events and the objects of keep_alive() alive",
                    "[graph][G15]", (const Context &context, const Stream &stream, Graph &graph)) {
    CUSHIM_TRY(auto out, PinnedBuffer<int>::allocate(context, 4));
    {
        CUSHIM_TRY(const Event event, Event::create(context, {.timing = false}));
        CUSHIM_TRY(auto memory, DeviceBuffer<int>::allocate(context, 4));
        CUSHIM_TRY(const GraphNode record, graph.add_event_record_node({}, event));
        CUSHIM_TRY(const GraphNode fill, graph.add_memset_node(record, memory.span(), 6));
        CUSHIM_TRY_VOID(graph.add_memcpy_node(fill, out.span(), memory.span()));
        CUSHIM_TRY_VOID(graph.keep_alive(memory));
        CUSHIM_TRY_VOID(graph.keep_alive(out));
    }
    CUSHIM_TRY_VOID(run_once(graph, stream));
    CHECK(std::count(out.begin(), out.end(), 6) == 4);
    return {};
}

SCENARIO_TEST("a batch memory operation node writes a value and waits for it", "[graph]",
              (Trial &trial, const Context &context, const Stream &stream)) {
    trial.needs_driver(11, 7);
    CUSHIM_TRY(auto memory, DeviceBuffer<unsigned int>::allocate(context, 2));
    CUstreamBatchMemOpParams operations[2] = {};
    operations[0].operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
    operations[0].writeValue.address = memory.native();
    operations[0].writeValue.value = 77;
    operations[1].operation = CU_STREAM_MEM_OP_WAIT_VALUE_32;
    operations[1].waitValue.address = memory.native();
    operations[1].waitValue.value = 77;
    operations[1].waitValue.flags = CU_STREAM_WAIT_VALUE_EQ;
    CUSHIM_TRY(Graph graph, Graph::create(context));
    CUSHIM_TRY(const GraphNode node, graph.add_batch_mem_op_node({}, operations));
    CUSHIM_TRY_VOID(check_gives(graph.node_type(node), GraphNodeType::batch_mem_op));
    CUSHIM_TRY(GraphExec exec, graph.instantiate());
    operations[0].writeValue.value = operations[1].waitValue.value = 78;
    CUSHIM_TRY_VOID(exec.set_batch_mem_op_node(node, operations));
    CUSHIM_TRY_VOID(launch_and_wait(exec, stream));
    std::vector<unsigned int> values(1);
    CUSHIM_TRY(const auto first, memory.span().subspan(0, 1));
    CUSHIM_TRY_VOID(copy(context, std::span(values), first));
    CHECK(values[0] == 78);
    return {};
}

GRAPH_SCENARIO_TEST("set functions change the nodes of a graph", "[graph]",
                    (const Context &context, const Stream &stream, Graph &graph)) {
    CUSHIM_TRY(auto first, DeviceBuffer<int>::allocate(context, 10));
    CUSHIM_TRY(auto second, DeviceBuffer<int>::allocate(context, 10));
    CUSHIM_TRY(auto out, PinnedBuffer<int>::allocate(context, 10));
    CUSHIM_TRY(const Event event, Event::create(context, {.timing = false}));
    CUSHIM_TRY(const Event later, Event::create(context, {.timing = false}));
    Watched before, after;
    CUSHIM_TRY(const GraphNode fill, graph.add_memset_node({}, first, 1));
    CUSHIM_TRY(const GraphNode move, graph.add_memcpy_node(fill, out, first));
    CUSHIM_TRY(const GraphNode call, graph.add_host_node(move, before.closure()));
    CUSHIM_TRY(const GraphNode record, graph.add_event_record_node(call, event));
    CUSHIM_TRY(const GraphNode wait, graph.add_event_wait_node(record, event));
    CUSHIM_TRY_VOID(graph.set_memset_node(fill, second, 8));
    CUSHIM_TRY_VOID(graph.set_memcpy_node(move, out, second));
    CUSHIM_TRY_VOID(graph.set_host_node(call, after.closure()));
    CUSHIM_TRY_VOID(graph.set_event_record_node(record, later));
    CUSHIM_TRY_VOID(graph.set_event_wait_node(wait, later));
    CUSHIM_TRY(const Event recorded, graph.event_params(record));
    CHECK(recorded.native() == later.native());
    CUSHIM_TRY_VOID(run_once(graph, stream));
    CHECK(std::count(out.begin(), out.end(), 8) == 10);
    CHECK(before.calls() == 0);
    CHECK(after.calls() == 1);
    return {};
}

#if CUDA_VERSION >= 12020
GRAPH_SCENARIO_TEST("add_node_raw() adds a node with CUDA's parameters", "[graph][G19]",
                    (Trial &trial, Api api, const Context &context, const Stream &stream,
                     Graph &graph)) {
    trial.needs_driver(12, 2);
    CUSHIM_TRY(auto memory, DeviceBuffer<int>::allocate(context, 8));
    CUSHIM_TRY(const GraphNode first, graph.add_memset_node({}, memory, 1));
    const auto add_second = [&]<class Parameters>(Parameters parameters) {
        parameters.memset.value = 2;
        parameters.memset.elementSize = 4;
        parameters.memset.width = 8;
        parameters.memset.height = 1;
        return graph.add_node_raw(first, &parameters);
    };
    CUgraphNodeParams of_driver{};
    of_driver.type = CU_GRAPH_NODE_TYPE_MEMSET;
    of_driver.memset.dst = memory.native();
    of_driver.memset.ctx = context.native();
    cudaGraphNodeParams of_runtime{};
    of_runtime.type = cudaGraphNodeTypeMemset;
    of_runtime.memset.dst = memory.span().data();
    CUSHIM_TRY(const GraphNode second,
               api == Api::driver ? add_second(of_driver) : add_second(of_runtime));
    CUSHIM_TRY_VOID(check_gives(graph.node_type(second), GraphNodeType::memset));
    CUSHIM_TRY_VOID(check_gives(graph.dependencies(second), std::vector{first}));
    return check_run(graph, stream, memory, 2);
}
#endif

TEST_CASE("a closure is destroyed if its node cannot be added", "[graph][G13]") {
    auto context = context_after_restart("");
    auto graph = ok(Graph::create(context));
    Watched counter;
    CHECK_FALSE(graph.add_host_node(GraphNode(), counter.closure()).has_value());
    CHECK_FALSE(Graph().add_host_node({}, counter.closure()).has_value());
    CHECK(counter.is_destroyed_soon());
}

TEST_CASE("a rejected closure whose destructor adds a node does not change the result", "[graph]") {
    const Context context = context_after_restart("");
    Graph graph = ok(Graph::create(context)), other = ok(Graph::create(context));
    const GraphNode foreign = ok(other.add_empty_node({}));
    // Its destructor adds a node that is rejected, too.
    const auto closure = [&other] {
        const auto add = [&other](const int *) { CHECK_FALSE(other.add_empty_node(GraphNode())); };
        return [kept = std::shared_ptr<const int>(nullptr, add)] {};
    };
    check_invalid(graph.add_host_node(foreign, closure()),
                  "dependencies[0] belongs to another graph");
    check_invalid(graph.add_host_node(GraphNode(), closure()),
                  "dependencies[0] is an empty GraphNode");
    check_invalid(Graph().add_host_node({}, closure()), "the Graph is empty");
}

TEST_CASE("invalid node parameters are rejected", "[graph]") {
    auto context = context_after_restart("");
    auto graph = ok(Graph::create(context));
    auto memory = ok(DeviceBuffer<int>::allocate(context, 8));
    check_invalid(graph.add_event_record_node({}, Event()), "the Event is empty");
    check_invalid(graph.add_kernel_node({}, Kernel<void()>(), {}), "the Kernel is empty");
    const std::vector<int> four(4);
    check_invalid(graph.add_memcpy_node({}, memory, std::span(four)),
                  "extents differ: source 4 x 1 x 1, destination 8 x 1 x 1");
    check_invalid(graph.add_memcpy_node({}, memory, std::span(four).first(0)),
                  "extents differ: source 0 x 1 x 1, destination 8 x 1 x 1");
    check_invalid(graph.add_batch_mem_op_node({}, {}), "0 operations passed, minimum 1");
    check_invalid(graph.add_semaphore_signal_node({}, {}), "0 signals passed, minimum 1");
    check_invalid(graph.add_node_raw({}, nullptr), "the parameters are null");
    check_invalid(graph.add_mem_free_node({}, GraphAllocation<int>()),
                  "the GraphAllocation is empty");
    auto fill = ok(graph.add_memset_node({}, memory, 0));
    check_invalid(graph.set_memset_node(fill, DeviceBuffer<int>(), 0),
                  "the fill has 0 elements; to remove the node, call Graph::destroy_node()");
    check_invalid(graph.kernel_params(fill),
                  "the node has type GraphNodeType::memset, expected GraphNodeType::kernel");
    CHECK(graph.add_empty_node({}).has_value());
    CHECK(ok(graph.node_count()) == 2);
}

GRAPH_TEST_CASE("a memcpy node may copy between ranges that touch, but not that overlap", "[graph]",
                (Api api)) {
    const auto context = context_after_restart("");
    auto memory = ok(DeviceBuffer<int>::allocate(context, 100));
    auto graph = ok(create_graph(api, context));
    const GraphNode begin = ok(graph.add_empty_node({}));
    const auto part = [&](std::size_t from, std::size_t size) {
        return ok(memory.span().subspan(from, size));
    };
    ok(graph.add_memcpy_node(begin, part(0, 50), part(50, 50)));
    ok(graph.add_memcpy_node(begin, part(50, 50), part(0, 50)));
    for (const auto &dependencies : {GraphDependencies(), GraphDependencies(begin)}) {
        for (const auto &[to, from] : {std::pair(0, 49), std::pair(49, 0), std::pair(7, 7)}) {
            const auto added = graph.add_memcpy_node(dependencies, part(to, 50), part(from, 50));
            api_test::check_refused(added, "overlap");
        }
        check_invalid(graph.add_memcpy_node(dependencies, part(0, 49), part(50, 50)),
                      "extents differ: source 50 x 1 x 1, destination 49 x 1 x 1");
    }
    CHECK(ok(graph.node_count()) == 3);
}

// --- host functions whose copy constructor throws

namespace {

template <class Exception>
struct Unwilling {
    Unwilling() = default;
    Unwilling(const Unwilling &) { refuse(); }
    void operator()() const {}

  private:
    [[noreturn]] static void refuse() {
        if constexpr (std::is_same_v<Exception, std::bad_alloc>) {
            throw std::bad_alloc();
        } else {
            throw Exception("it is not copied");
        }
    }
};

template <class Exception>
void check_refused(const Stream &stream, Graph &graph) {
    const Unwilling<Exception> function;
    CHECK(detail::make_closure(function).object == nullptr);
    CHECK(error_of(stream.launch_host_function(function)).kind() == ErrorKind::out_of_memory);
    CHECK(error_of(graph.add_host_node({}, function)).kind() == ErrorKind::out_of_memory);
}

} // namespace

TEST_CASE("a host function whose copy throws fails with out_of_memory", "[closure]") {
    const auto context = context_after_restart("");
    const auto stream = ok(Stream::create(context));
    auto graph = ok(Graph::create(context));
    check_refused<std::bad_alloc>(stream, graph);
    check_refused<std::runtime_error>(stream, graph);
    CHECK(ok(graph.node_count()) == 0);
    CHECK(stream.synchronize().has_value());
}
