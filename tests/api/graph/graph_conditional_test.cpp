// Conditional nodes: bodies, what refuses them, and which driver has them.
#include "harness/graph_scenario.hpp"
#include "harness/memory.hpp"
#include "support/failing_allocation.hpp"

using namespace api_test;
using namespace cushim;

namespace {

Result<int> first_of(const Context &context, const DeviceBuffer<int> &memory) {
    std::vector<int> values(memory.size());
    CUSHIM_TRY_VOID(copy(context, std::span(values), memory.span()));
    return values[0];
}

} // namespace

GRAPH_STREAM_SCENARIO_TEST("an if node runs its body", "[graph][conditional][G18]") {
    trial.needs_cuda(12, 3);
    CUSHIM_TRY(const auto memory, DeviceBuffer<int>::allocate(context, 4));
    for (const unsigned int value : {0u, 1u, 5u}) {
        CUSHIM_TRY(const Graph graph, create_graph(api, context));
        CUSHIM_TRY(const auto condition, graph.create_condition({.initial = value}));
        CHECK(condition.native() != 0);
        CUSHIM_TRY(const GraphNode clear, graph.add_memset_node({}, memory, 1));
        CUSHIM_TRY(const GraphBody branch, graph.add_if_node(clear, condition));
        CHECK_GIVES(graph.node_type(branch.node), GraphNodeType::conditional);
        CUSHIM_TRY(const GraphNode fill, branch.body.add_memset_node({}, memory, 2));
        CHECK_FALSE(graph.node_type(fill).has_value()); // it is the body's
        CUSHIM_TRY_VOID(run_once(graph, stream));
        CHECK_GIVES(first_of(context, memory), value == 0 ? 1 : 2);
    }
    return {};
}

GRAPH_STREAM_SCENARIO_TEST("an if-else node runs one of its bodies", "[graph][conditional][G18]") {
    trial.needs_cuda(12, 8);
    CUSHIM_TRY(const auto memory, DeviceBuffer<int>::allocate(context, 4));
    for (const unsigned int value : {0u, 1u}) {
        CUSHIM_TRY(const Graph graph, create_graph(api, context));
        CUSHIM_TRY(const auto condition, graph.create_condition({.initial = value}));
        CUSHIM_TRY(const GraphBranches branches, graph.add_if_else_node({}, condition));
        CUSHIM_TRY_VOID(branches.then_body.add_memset_node({}, memory, 7));
        CUSHIM_TRY_VOID(branches.else_body.add_memset_node({}, memory, 8));
        CUSHIM_TRY_VOID(run_once(graph, stream));
        CHECK_GIVES(first_of(context, memory), value == 0 ? 8 : 7);
    }
    return {};
}

GRAPH_STREAM_SCENARIO_TEST("a while node whose condition is 0 does not run",
                           "[graph][conditional][G18]") {
    trial.needs_cuda(12, 3);
    CUSHIM_TRY(const auto memory, DeviceBuffer<int>::allocate(context, 4));
    CUSHIM_TRY(const Graph graph, create_graph(api, context));
    CUSHIM_TRY(const auto condition, graph.create_condition({}));
    CUSHIM_TRY(const GraphNode clear, graph.add_memset_node({}, memory, 1));
    CUSHIM_TRY(const GraphBody loop, graph.add_while_node(clear, condition));
    CUSHIM_TRY_VOID(loop.body.add_memset_node({}, memory, 2));
    CUSHIM_TRY_VOID(run_once(graph, stream));
    CHECK_GIVES(first_of(context, memory), 1);
    return {};
}

GRAPH_STREAM_SCENARIO_TEST("a switch node runs the case of that number",
                           "[graph][conditional][G18]") {
    trial.needs_cuda(12, 8);
    CUSHIM_TRY(const auto memory, DeviceBuffer<int>::allocate(context, 4));
    for (const unsigned int value : {0u, 2u, 9u}) {
        CUSHIM_TRY(const Graph graph, create_graph(api, context));
        CUSHIM_TRY(const auto condition, graph.create_condition({.initial = value}));
        CUSHIM_TRY(const GraphNode clear, graph.add_memset_node({}, memory, -1));
        CUSHIM_TRY(const GraphCases cases, graph.add_switch_node(clear, condition, 3));
        CHECK(cases.bodies.size() == 3);
        for (std::size_t index = 0; index < cases.bodies.size(); ++index) {
            CUSHIM_TRY_VOID(
                cases.bodies[index].add_memset_node({}, memory, static_cast<int>(index)));
        }
        CUSHIM_TRY_VOID(run_once(graph, stream));
        CHECK_GIVES(first_of(context, memory), value < 3 ? static_cast<int>(value) : -1);
    }
    return {};
}

GRAPH_STREAM_SCENARIO_TEST("what a body does is changed by an update",
                           "[graph][conditional][G25]") {
    trial.needs_cuda(12, 3);
    CUSHIM_TRY(const auto memory, DeviceBuffer<int>::allocate(context, 4));
    CUSHIM_TRY(const Graph graph, create_graph(api, context));
    CUSHIM_TRY(const auto condition, graph.create_condition({.initial = 1}));
    CUSHIM_TRY(const GraphBody branch, graph.add_if_node({}, condition));
    CUSHIM_TRY(const GraphNode fill, branch.body.add_memset_node({}, memory, 2));
    CUSHIM_TRY(const GraphExec exec, graph.instantiate());
    CUSHIM_TRY_VOID(exec.set_memset_node(fill, memory, 4)); // which the update ends
    CUSHIM_TRY_VOID(branch.body.set_memset_node(fill, memory, 3));
    CUSHIM_TRY(const GraphUpdate update, exec.update(graph));
    CHECK(update.is_success());
    CUSHIM_TRY_VOID(launch_and_wait(exec, stream));
    CHECK_GIVES(first_of(context, memory), 3);
    return {};
}

GRAPH_STREAM_SCENARIO_TEST("a body keeps what its nodes use", "[graph][conditional]") {
    trial.needs_cuda(12, 3);
    CUSHIM_TRY(const Graph graph, create_graph(api, context));
    CUSHIM_TRY(const auto condition, graph.create_condition({.initial = 1}));
    CUSHIM_TRY(const auto out, DeviceBuffer<int>::allocate(context, 4));
    {
        CUSHIM_TRY(const GraphBody branch, graph.add_if_node({}, condition));
        CUSHIM_TRY(const auto memory, DeviceBuffer<int>::allocate(context, 4));
        CUSHIM_TRY(const GraphNode fill, branch.body.add_memset_node({}, memory, 2));
        CUSHIM_TRY(const GraphNode back, branch.body.add_memcpy_node(fill, out, memory.span()));
        CHECK(back);
    }
    CUSHIM_TRY_VOID(run_once(graph, stream));
    CHECK_GIVES(first_of(context, out), 2);
    return {};
}

GRAPH_STREAM_SCENARIO_TEST("a condition has one node at a time", "[graph][conditional][G18]") {
    trial.needs_cuda(12, 3);
    CUSHIM_TRY(const auto memory, DeviceBuffer<int>::allocate(context, 4));
    CUSHIM_TRY(const Graph graph, create_graph(api, context));
    CUSHIM_TRY(const auto condition, graph.create_condition({.initial = 1}));
    CUSHIM_TRY(const GraphBody first, graph.add_if_node({}, condition));
    CUSHIM_TRY_VOID(refused(graph.add_while_node({}, condition),
                            "invalid argument: the condition has a node already"));
    CUSHIM_TRY_VOID(graph.destroy_node(first.node));
    CUSHIM_TRY(const GraphBody second, graph.add_if_node({}, condition));
    CUSHIM_TRY(const GraphNode fill, second.body.add_memset_node({}, memory, 4));
    CHECK(fill);
    CUSHIM_TRY_VOID(run_once(graph, stream));
    CHECK_GIVES(first_of(context, memory), 4);
    return {};
}

GRAPH_TEST_CASE("a graph with conditional nodes is no child",
                "[graph][conditional][current][G14]") {
    need_cuda(12, 3);
    auto context = context_after_restart("");
    auto graph = required(create_graph(api, context));
    auto other = required(create_graph(api, context));
    auto condition = required(graph.create_condition({}));
    REQUIRE(graph.add_if_node({}, condition).has_value());
    const Error child = error_of(other.add_child_graph_node({}, graph));
    CHECK(child.kind() == ErrorKind::not_supported_by_device);
    CHECK(child.status() == CUDA_ERROR_NOT_SUPPORTED);
    CHECK(*other.node_count() == 0);
}

#ifdef API_TEST_ALLOCATIONS_FAIL
GRAPH_TEST_CASE("a conditional node whose bodies cannot be named is not left behind",
                "[graph][conditional][current]") {
    need_simulator("needs the simulator, which works while host allocations fail");
    need_cuda(12, 8);
    auto context = context_after_restart("");
    int without_memory = 0;
    for (long nth = 1; nth < 1000; ++nth) {
        INFO("allocation " << nth);
        auto graph = required(create_graph(api, context));
        auto condition = required(graph.create_condition({.initial = 1}));
        auto added = Result<GraphCases>(GraphCases());
        {
            const support::FailingAllocation failing(nth);
            added = graph.add_switch_node({}, condition, 3);
        }
        if (added) {
            CHECK(added->bodies.size() == 3);
            CHECK(*graph.node_count() == 1);
            break;
        }
        INFO(added.error().message());
        REQUIRE(added.error().kind() == ErrorKind::out_of_memory);
        if (added.error().status() == 0) { // else it was the simulated driver's
            ++without_memory;
            REQUIRE(*graph.node_count() == 0);
        }
    }
    CHECK(without_memory >= 8); // lists before, and a book and a state of each body
}
#endif

GRAPH_STREAM_SCENARIO_TEST("a capture goes into a body", "[graph][conditional][capture]") {
    trial.needs_cuda(12, 3);
    CUSHIM_TRY(const auto memory, DeviceBuffer<int>::allocate(context, 4));
    CUSHIM_TRY(const Graph graph, create_graph(api, context));
    CUSHIM_TRY(const auto condition, graph.create_condition({.initial = 1}));
    CUSHIM_TRY(const GraphBody branch, graph.add_if_node({}, condition));
    CUSHIM_TRY_VOID(stream.capture_to(branch.body, {}, CaptureMode::per_thread,
                                      [&] { return fill(stream, memory.span(), 6); }));
    CUSHIM_TRY_VOID(run_once(graph, stream));
    CHECK_GIVES(first_of(context, memory), 6);
    return {};
}

TEST_CASE("conditions are of one graph", "[graph][conditional][current]") {
    need_cuda(12, 3);
    auto context = context_after_restart("");
    auto graph = required(Graph::create(context)), other = required(Graph::create(context));
    auto condition = required(other.create_condition({}));
    CHECK(refusal(graph.add_if_node({}, condition)) ==
          "invalid argument: the condition is of another graph");
    CHECK(refusal(graph.add_while_node({}, GraphCondition())) ==
          "invalid argument: the condition is none");
    CHECK(refusal(other.add_switch_node({}, condition, 0)) ==
          "invalid argument: a switch of 0 cases");

    auto branch = required(other.add_if_node({}, condition));
    REQUIRE(other.destroy_node(branch.node).has_value());
    CHECK(refusal(branch.body.add_empty_node({})) ==
          "invalid argument: the node that this graph is inside of was destroyed");
}

// On every driver, old ones too, and with all headers.
TEST_CASE("conditions need a driver of CUDA 12.3, some bodies one of 12.8",
          "[graph][conditional][G18]") {
    auto context = context_after_restart("");
    auto graph = required(Graph::create(context));
    const auto condition = graph.create_condition({});
    const bool by_headers = !supports(headers_version(), Feature::graph_conditional_nodes);
    if (by_headers || !supports(driver_version(), Feature::graph_conditional_nodes)) {
        REQUIRE_FALSE(condition.has_value());
        CHECK(condition.error().kind() ==
              (by_headers ? ErrorKind::requires_newer_headers : ErrorKind::requires_newer_driver));
        CHECK(condition.error().required() == Version::of(12, 3));
        CHECK(std::string(condition.error().entry_point()) == "cuGraphConditionalHandleCreate");
        return;
    }
    REQUIRE(condition.has_value());
    const auto cases = graph.add_switch_node({}, *condition, 2);
    const auto another = required(graph.create_condition({}));
    const auto branches = graph.add_if_else_node({}, another);
    if (!supports(driver_version(), Feature::graph_conditional_switch)) {
        REQUIRE_FALSE(cases.has_value());
        CHECK(cases.error().kind() == ErrorKind::requires_newer_driver);
        CHECK(cases.error().required() == Version::of(12, 8));
        REQUIRE_FALSE(branches.has_value());
        CHECK(branches.error().kind() == ErrorKind::requires_newer_driver);
        CHECK(branches.error().required() == Version::of(12, 8));
    } else {
        CHECK(cases.has_value());
        CHECK(branches.has_value());
    }
}
