// Memory that graphs allocate and free.
#include "harness/graph_scenario.hpp"
#include "harness/memory.hpp"
#include "harness/simulator.hpp"

#include <catch2/matchers/catch_matchers_string.hpp>

#include <algorithm>

using namespace cushim;
using api_test::create_graph;

GRAPH_SCENARIO_TEST("a graph allocates, uses and frees", "[graph][memory][G16][G17][G22]") {
    CUSHIM_TRY(const Context context, trial.context());
    CUSHIM_TRY(const Device device, Device::get(0));
    CUSHIM_TRY(const Stream stream, Stream::create(context));
    CUSHIM_TRY(auto out, PinnedBuffer<int>::allocate(context, 100));
    CUSHIM_TRY(const Graph graph, create_graph(api, context));
    CUSHIM_TRY(const auto memory, graph.add_mem_alloc_node<int>({}, device, 100));
    CHECK(memory.size() == 100);
    CHECK(memory.address() != 0);
    CUSHIM_TRY(const GraphNode fill, graph.add_memset_node(memory.node(), memory.span(), 12));
    CUSHIM_TRY(const GraphNode back, graph.add_memcpy_node(fill, out, memory.span()));
    CUSHIM_TRY(const GraphNode free, graph.add_mem_free_node(back, memory));
    CUSHIM_TRY(const MemAllocNodeParams params, graph.mem_alloc_node_params(memory.node()));
    CHECK(params.address == memory.address());
    CHECK(params.bytes == 400);
    CHECK(params.device == 0);
    CUSHIM_TRY(const CUdeviceptr freed, graph.mem_free_ptr(free));
    CHECK(freed == memory.address());
    CUSHIM_TRY(const GraphExec exec, graph.instantiate());
    for (int launch = 0; launch < 2; ++launch) {
        std::fill(out.begin(), out.end(), 0);
        CUSHIM_TRY_VOID(exec.launch(stream));
        CUSHIM_TRY_VOID(stream.synchronize());
        CHECK(std::count(out.begin(), out.end(), 12) == 100);
    }
    return {};
}

GRAPH_SCENARIO_TEST("what a graph left allocated is freed in a stream", "[graph][memory][G16]") {
    CUSHIM_TRY(const Context context, trial.context());
    CUSHIM_TRY(const Device device, Device::get(0));
    CUSHIM_TRY(const Stream stream, Stream::create(context));
    CUSHIM_TRY(const Graph graph, create_graph(api, context));
    CUSHIM_TRY(const auto memory, graph.add_mem_alloc_node<int>({}, device, 16));
    CUSHIM_TRY(const GraphExec exec, graph.instantiate());
    for (int launch = 0; launch < 2; ++launch) {
        CUSHIM_TRY_VOID(exec.launch(stream));
        const Result<void> used = fill(stream, memory.span(), 3);
        CUSHIM_TRY_VOID(memory.free(stream));
        CUSHIM_TRY_VOID(used);
    }
    return stream.synchronize();
}

GRAPH_SCENARIO_TEST("what a graph left allocated is freed by the next launch",
                    "[graph][memory][G16]") {
    CUSHIM_TRY(const Context context, trial.context());
    CUSHIM_TRY(const Device device, Device::get(0));
    CUSHIM_TRY(const Stream stream, Stream::create(context));
    CUSHIM_TRY(const Graph graph, create_graph(api, context));
    CUSHIM_TRY(const auto memory, graph.add_mem_alloc_node<int>({}, device, 16));
    CUSHIM_TRY(const GraphExec exec, graph.instantiate({.auto_free_on_launch = true}));
    CUSHIM_TRY_VOID(exec.launch(stream));
    const Result<void> again = exec.launch(stream);
    CUSHIM_TRY_VOID(memory.free(stream));
    CUSHIM_TRY_VOID(again);
    return stream.synchronize();
}

GRAPH_SCENARIO_TEST("a graph with memory cannot be cloned or be a child", "[graph][memory][G14]") {
    CUSHIM_TRY(const Context context, trial.context());
    CUSHIM_TRY(const Device device, Device::get(0));
    CUSHIM_TRY(const Graph graph, create_graph(api, context));
    CUSHIM_TRY(const auto memory, graph.add_mem_alloc_node<int>({}, device, 16));
    CUSHIM_TRY(const GraphNode free, graph.add_mem_free_node(memory.node(), memory));
    (void)free;
    CUSHIM_TRY(const Graph around, create_graph(api, context));
    const auto clone = graph.clone();
    CHECK_FALSE(clone.has_value());
    if (clone.error().status() != 801) {
        return clone.error();
    }
    const auto child = around.add_child_graph_node({}, graph);
    CHECK_FALSE(child.has_value());
    return child.error().status() == 801 ? Result<void>() : child.error();
}

SCENARIO_TEST("how much memory graphs take is told and trimmed", "[graph][memory]") {
    CUSHIM_TRY(const Context context, trial.context());
    CUSHIM_TRY(const Device device, Device::get(0));
    CUSHIM_TRY(const Stream stream, Stream::create(context));
    CUSHIM_TRY_VOID(reset_graph_memory_high_marks(device));
    {
        CUSHIM_TRY(const Graph graph, Graph::create(context));
        CUSHIM_TRY(const auto memory, graph.add_mem_alloc_node<char>({}, device, 1 << 20));
        CUSHIM_TRY(const GraphNode free, graph.add_mem_free_node(memory.node(), memory));
        (void)free;
        CUSHIM_TRY_VOID(api_test::run_once(graph, stream));
        CUSHIM_TRY(const GraphMemoryUsage usage, graph_memory_usage(device));
        CHECK(usage.used_high >= 1 << 20);
        CHECK(usage.reserved_high >= usage.used_high);
    }
    CUSHIM_TRY_VOID(trim_graph_memory(device));
    CUSHIM_TRY(const GraphMemoryUsage after, graph_memory_usage(device));
    CHECK(after.used == 0);
    return {};
}

TEST_CASE("a node that allocates nothing, or too much", "[graph][memory]") {
    api_test::restart("");
    auto context = api_test::Trial::context();
    auto device = Device::get(0);
    REQUIRE((context && device));
    auto graph = Graph::create(*context);
    REQUIRE(graph.has_value());
    CHECK(api_test::refusal(graph->add_mem_alloc_node<int>({}, *device, 0)) ==
          "invalid argument: a node that allocates nothing");
    CHECK_THAT(api_test::refusal(graph->add_mem_alloc_node<int>({}, *device, ~std::size_t{0} / 2)),
               Catch::Matchers::ContainsSubstring("elements of 4 bytes"));
    auto stream = Stream::create(*context);
    REQUIRE(stream.has_value());
    CHECK(api_test::refusal(GraphAllocation<int>().free(*stream)) ==
          "invalid argument: the allocation is none");
}
