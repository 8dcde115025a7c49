// Conditional nodes: their bodies, their errors, and the drivers that have them.
#include "harness/graph_scenario.hpp"
#include "harness/memory.hpp"

#include <cushim/device_buffer.hpp>
#include <cushim/graph_conditional.hpp>

using namespace api_test;
using namespace cushim;

GRAPH_SCENARIO_TEST("an if node runs its body", "[graph][conditional][G18]",
                    (Trial &trial, Api api, const Context &context, const Stream &stream)) {
    trial.needs_cuda(12, 3);
    CUSHIM_TRY(auto memory, DeviceBuffer<int>::allocate(context, 4));
    for (const unsigned int value : {0u, 1u, 5u}) {
        CUSHIM_TRY(Graph graph, create_graph(api, context));
        CUSHIM_TRY(const auto condition, graph.create_condition({.initial = value}));
        CHECK(condition.native() != 0);
        CUSHIM_TRY(const GraphNode clear, graph.add_memset_node({}, memory, 1));
        CUSHIM_TRY(GraphBody branch, graph.add_if_node(clear, condition));
        CUSHIM_TRY_VOID(check_gives(graph.node_type(branch.node), GraphNodeType::conditional));
        CUSHIM_TRY(const GraphNode fill, branch.body.add_memset_node({}, memory, 2));
        CHECK_FALSE(graph.node_type(fill).has_value()); // a node of the body
        CUSHIM_TRY_VOID(check_run(graph, stream, memory, value == 0 ? 1 : 2));
    }
    return {};
}

GRAPH_SCENARIO_TEST("an if-else node runs one of its bodies", "[graph][conditional][G18]",
                    (Trial &trial, Api api, const Context &context, const Stream &stream)) {
    trial.needs_cuda(12, 8);
    CUSHIM_TRY(auto memory, DeviceBuffer<int>::allocate(context, 4));
    for (const unsigned int value : {0u, 1u}) {
        CUSHIM_TRY(Graph graph, create_graph(api, context));
        CUSHIM_TRY(const auto condition, graph.create_condition({.initial = value}));
        CUSHIM_TRY(GraphBranches branches, graph.add_if_else_node({}, condition));
        CUSHIM_TRY_VOID(branches.then_body.add_memset_node({}, memory, 7));
        CUSHIM_TRY_VOID(branches.else_body.add_memset_node({}, memory, 8));
        CUSHIM_TRY_VOID(check_run(graph, stream, memory, value == 0 ? 8 : 7));
    }
    return {};
}

GRAPH_SCENARIO_TEST("a while node whose condition is 0 does not run", "[graph][conditional][G18]",
                    (Trial &trial, const Context &context, const Stream &stream, Graph &graph)) {
    trial.needs_cuda(12, 3);
    CUSHIM_TRY(auto memory, DeviceBuffer<int>::allocate(context, 4));
    CUSHIM_TRY(const auto condition, graph.create_condition({}));
    CUSHIM_TRY(const GraphNode clear, graph.add_memset_node({}, memory, 1));
    CUSHIM_TRY(GraphBody loop, graph.add_while_node(clear, condition));
    CUSHIM_TRY_VOID(loop.body.add_memset_node({}, memory, 2));
    return check_run(graph, stream, memory, 1);
}

GRAPH_SCENARIO_TEST("a switch node runs the body with the index of its condition",
                    "[graph][conditional][G18]",
                    (Trial &trial, Api api, const Context &context, const Stream &stream)) {
    trial.needs_cuda(12, 8);
    CUSHIM_TRY(auto memory, DeviceBuffer<int>::allocate(context, 4));
    for (const unsigned int value : {0u, 2u, 9u}) {
        CUSHIM_TRY(Graph graph, create_graph(api, context));
        CUSHIM_TRY(const auto condition, graph.create_condition({.initial = value}));
        CUSHIM_TRY(const GraphNode clear, graph.add_memset_node({}, memory, -1));
        CUSHIM_TRY(GraphCases cases, graph.add_switch_node(clear, condition, 3));
        CHECK(cases.bodies.size() == 3);
        for (std::size_t index = 0; index < cases.bodies.size(); ++index) {
            CUSHIM_TRY_VOID(
                cases.bodies[index].add_memset_node({}, memory, static_cast<int>(index)));
        }
        CUSHIM_TRY_VOID(check_run(graph, stream, memory, value < 3 ? static_cast<int>(value) : -1));
    }
    return {};
}

GRAPH_SCENARIO_TEST("an update changes the nodes of a body", "[graph][conditional][G25]",
                    (Trial &trial, const Context &context, const Stream &stream, Graph &graph)) {
    trial.needs_cuda(12, 3);
    CUSHIM_TRY(auto memory, DeviceBuffer<int>::allocate(context, 4));
    CUSHIM_TRY(const auto condition, graph.create_condition({.initial = 1}));
    CUSHIM_TRY(GraphBody branch, graph.add_if_node({}, condition));
    CUSHIM_TRY(const GraphNode fill, branch.body.add_memset_node({}, memory, 2));
    CUSHIM_TRY(GraphExec exec, graph.instantiate());
    CUSHIM_TRY_VOID(exec.set_memset_node(fill, memory, 4)); // the update replaces this
    CUSHIM_TRY_VOID(branch.body.set_memset_node(fill, memory, 3));
    CUSHIM_TRY(const GraphUpdate update, exec.update(graph));
    CHECK(update.is_success());
    return check_launch(exec, stream, memory, 3);
}

GRAPH_SCENARIO_TEST("a body keeps the resources of its nodes alive", "[graph][conditional]",
                    (Trial &trial, const Context &context, const Stream &stream, Graph &graph)) {
    trial.needs_cuda(12, 3);
    CUSHIM_TRY(const auto condition, graph.create_condition({.initial = 1}));
    CUSHIM_TRY(auto out, DeviceBuffer<int>::allocate(context, 4));
    {
        CUSHIM_TRY(GraphBody branch, graph.add_if_node({}, condition));
        CUSHIM_TRY(auto memory, DeviceBuffer<int>::allocate(context, 4));
        CUSHIM_TRY(const GraphNode fill, branch.body.add_memset_node({}, memory, 2));
        CUSHIM_TRY(const GraphNode back, branch.body.add_memcpy_node(fill, out, memory.span()));
        CHECK(back);
    }
    return check_run(graph, stream, out, 2);
}

GRAPH_SCENARIO_TEST("a condition has one node at a time", "[graph][conditional][G18]",
                    (Trial &trial, const Context &context, const Stream &stream, Graph &graph)) {
    trial.needs_cuda(12, 3);
    CUSHIM_TRY(auto memory, DeviceBuffer<int>::allocate(context, 4));
    CUSHIM_TRY(const auto condition, graph.create_condition({.initial = 1}));
    CUSHIM_TRY(const GraphBody first, graph.add_if_node({}, condition));
    CUSHIM_TRY_VOID(refused(graph.add_while_node({}, condition),
                            "the condition already has a conditional node; create a condition for "
                            "each node with Graph::create_condition()"));
    CUSHIM_TRY_VOID(graph.destroy_node(first.node));
    CUSHIM_TRY(GraphBody second, graph.add_if_node({}, condition));
    CUSHIM_TRY(const GraphNode fill, second.body.add_memset_node({}, memory, 4));
    CHECK(fill);
    return check_run(graph, stream, memory, 4);
}

GRAPH_TEST_CASE("adding a child graph with conditional nodes fails",
                "[graph][conditional][current][G14]", (Api api)) {
    need_cuda(12, 3);
    auto [context, graph] = make_graph(api);
    Graph other = ok(create_graph(api, context));
    REQUIRE(graph.add_if_node({}, ok(graph.create_condition({}))).has_value());
    const Error child = error_of(other.add_child_graph_node({}, graph));
    CHECK(child.kind() == ErrorKind::not_supported_by_device);
    CHECK(child.status() == CUDA_ERROR_NOT_SUPPORTED);
    CHECK(*other.node_count() == 0);
}

#ifdef API_TEST_ALLOCATIONS_FAIL
GRAPH_TEST_CASE("a conditional node is removed if memory for its bodies is short",
                "[graph][conditional][current]", (Api api)) {
    need_simulator("needs the simulator, which works while host allocations fail");
    need_cuda(12, 8);
    const auto context = context_after_restart("");
    Graph graph = ok(create_graph(api, context));
    auto condition = ok(graph.create_condition({.initial = 1}));
    const int refused = refusals_without_memory(
        [&] {
            graph = ok(create_graph(api, context));
            condition = ok(graph.create_condition({.initial = 1}));
        },
        [&] { return graph.add_switch_node({}, condition, 3); },
        [&] { REQUIRE(*graph.node_count() == 0); });
    CHECK(refused >= 8); // lists, and the identity and the state of each body
    CHECK(*graph.node_count() == 1);
}
#endif

GRAPH_SCENARIO_TEST("a capture into a body adds nodes to it", "[graph][conditional][capture]",
                    (Trial &trial, const Context &context, const Stream &stream, Graph &graph)) {
    trial.needs_cuda(12, 3);
    CUSHIM_TRY(auto memory, DeviceBuffer<int>::allocate(context, 4));
    CUSHIM_TRY(const auto condition, graph.create_condition({.initial = 1}));
    CUSHIM_TRY(GraphBody branch, graph.add_if_node({}, condition));
    CUSHIM_TRY_VOID(stream.capture_to(branch.body, {}, CaptureMode::per_thread,
                                      [&] { return fill(stream, memory.span(), 6); }));
    return check_run(graph, stream, memory, 6);
}

TEST_CASE("a condition of another graph is rejected", "[graph][conditional][current]") {
    need_cuda(12, 3);
    auto context = context_after_restart("");
    auto graph = ok(Graph::create(context)), other = ok(Graph::create(context));
    auto condition = ok(other.create_condition({}));
    check_invalid(graph.add_if_node({}, condition), "the condition belongs to another graph");
    check_invalid(graph.add_while_node({}, GraphCondition()), "the GraphCondition is empty");
    check_invalid(other.add_switch_node({}, condition, 0),
                  "0 cases requested, minimum 1, limit 4294967295");

    auto branch = ok(other.add_if_node({}, condition));
    REQUIRE(other.destroy_node(branch.node).has_value());
    check_invalid(branch.body.add_empty_node({}),
                  "the node that contains this graph was destroyed");
}

// Runs on every driver and with all headers.
TEST_CASE("conditions require CUDA 12.3, else and switch bodies CUDA 12.8",
          "[graph][conditional][G18]") {
    auto [context, graph] = make_graph(Api::driver);
    const auto condition = graph.create_condition({});
    if (!condition) { // driver_versions_test.cpp has the versions
        CHECK(std::string(condition.error().entry_point()) == "cuGraphConditionalHandleCreate");
        return;
    }
    const auto cases = graph.add_switch_node({}, *condition, 2);
    auto branches = graph.add_if_else_node({}, ok(graph.create_condition({})));
    if (supports(driver_version(), Feature::graph_conditional_switch)) {
        CHECK(cases.has_value());
        CHECK(branches.has_value());
        return;
    }
    for (const Error &error : {error_of(cases), error_of(branches)}) {
        CHECK(error.kind() == ErrorKind::requires_newer_driver);
        CHECK(error.required() == Version::of(12, 8));
    }
}
