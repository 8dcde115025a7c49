// How long what nodes use is kept that were set inside an executable graph: in graphs that are
// inside its own.
#include "harness/graph_inside.hpp"
#include "harness/memory.hpp"
#include "harness/watched.hpp"

#include <catch2/generators/catch_generators.hpp>

using namespace api_test;
using namespace cushim;
using support::ok;

namespace {

// A graph with one node, which calls nothing that matters, or this.
Result<Graph> make_call(Api api, const Context &context, Watched *called = nullptr) {
    CUSHIM_TRY(Graph graph, create_graph(api, context));
    CUSHIM_TRY_VOID(called == nullptr ? graph.add_host_node({}, [] {})
                                      : graph.add_host_node({}, called->closure()));
    return graph;
}

} // namespace

GRAPH_SCENARIO_TEST("what a node of a child graph used goes when it is set anew",
                    "[graph][G14][G23]") {
    CUSHIM_TRY(const auto at, Workplace::first({.non_blocking = true}));
    CUSHIM_TRY(const Graph leaf, make_call(api, at.context));
    CUSHIM_TRY(const Parent parent, make_parent(api, at.context, leaf));
    CUSHIM_TRY(const GraphNode call, only_node(parent.inside));
    CUSHIM_TRY(GraphExec exec, parent.graph.instantiate());
    Watched first, second;
    CUSHIM_TRY_VOID(exec.set_host_node(call, first.closure()));
    wait_for_released_closures();
    CHECK_FALSE(first.is_gone());
    CUSHIM_TRY_VOID(launch_and_wait(exec, at.stream));
    CHECK(first.calls() == 1);
    CUSHIM_TRY_VOID(exec.set_host_node(call, second.closure()));
    CHECK(soon([&] { return first.is_gone(); }));
    CUSHIM_TRY_VOID(launch_and_wait(exec, at.stream));
    CHECK(second.calls() == 1);
    exec.reset();
    CHECK(soon([&] { return second.is_gone(); }));
    return {};
}

GRAPH_SCENARIO_TEST("an update lets go what nodes of a child graph were set to",
                    "[graph][G14][G25]") {
    CUSHIM_TRY(const auto at, Workplace::first({.non_blocking = true}));
    CUSHIM_TRY(const Graph leaf, make_call(api, at.context));
    CUSHIM_TRY(const Parent parent, make_parent(api, at.context, leaf));
    CUSHIM_TRY(const GraphNode call, only_node(parent.inside));
    CUSHIM_TRY(const GraphExec exec, parent.graph.instantiate());
    Watched own, updated;
    CUSHIM_TRY_VOID(exec.set_host_node(call, own.closure()));
    {
        CUSHIM_TRY(const Graph other_leaf, make_call(api, at.context, &updated));
        CUSHIM_TRY(const Parent other, make_parent(api, at.context, other_leaf));
        CUSHIM_TRY(const GraphUpdate update, exec.update(other.graph));
        CHECK(update.is_success());
    }
    CHECK(soon([&] { return own.is_gone(); }));
    CHECK_FALSE(updated.is_gone());
    CUSHIM_TRY_VOID(launch_and_wait(exec, at.stream));
    CHECK(updated.calls() == 1);
    return {};
}

GRAPH_SCENARIO_TEST("a child graph set anew lets go what nodes inside it were set to",
                    "[graph][G14][G23]") {
    CUSHIM_TRY(const auto at, Workplace::first({.non_blocking = true}));
    CUSHIM_TRY(const Graph leaf, make_call(api, at.context));
    CUSHIM_TRY(const Parent branch, make_parent(api, at.context, leaf));
    CUSHIM_TRY(const Graph graph, create_graph(api, at.context));
    CUSHIM_TRY(const GraphNode outer, graph.add_child_graph_node({}, branch.graph));
    CUSHIM_TRY(const GraphNode beside, graph.add_child_graph_node({}, leaf));
    CUSHIM_TRY(const Graph in_outer, graph.child_graph(outer));
    CUSHIM_TRY(const GraphNode inner, only_node(in_outer));
    CUSHIM_TRY(const Graph in_inner, in_outer.child_graph(inner));
    CUSHIM_TRY(const GraphNode call, only_node(in_inner));
    CUSHIM_TRY(const Graph in_beside, graph.child_graph(beside));
    CUSHIM_TRY(const GraphNode other_call, only_node(in_beside));
    CUSHIM_TRY(const GraphExec exec, graph.instantiate());

    Watched in_call, of_inner, call_again, of_outer, not_inside;
    CUSHIM_TRY_VOID(exec.set_host_node(other_call, not_inside.closure()));
    CUSHIM_TRY_VOID(exec.set_host_node(call, in_call.closure()));
    {
        CUSHIM_TRY(const Graph anew, make_call(api, at.context, &of_inner));
        CUSHIM_TRY_VOID(exec.set_child_graph_node(inner, anew));
    }
    CHECK(soon([&] { return in_call.is_gone(); }));
    CUSHIM_TRY_VOID(launch_and_wait(exec, at.stream));
    CHECK(of_inner.calls() == 1);

    CUSHIM_TRY_VOID(exec.set_host_node(call, call_again.closure()));
    CUSHIM_TRY_VOID(launch_and_wait(exec, at.stream));
    CHECK(call_again.calls() == 1);
    CHECK(of_inner.calls() == 1);
    {
        CUSHIM_TRY(const Graph anew_leaf, make_call(api, at.context, &of_outer));
        CUSHIM_TRY(const Parent anew, make_parent(api, at.context, anew_leaf));
        CUSHIM_TRY_VOID(exec.set_child_graph_node(outer, anew.graph));
    }
    CHECK(soon([&] { return call_again.is_gone() && of_inner.is_gone(); }));
    CHECK_FALSE(of_outer.is_gone());
    CHECK_FALSE(not_inside.is_gone());
    CUSHIM_TRY_VOID(launch_and_wait(exec, at.stream));
    CHECK(of_outer.calls() == 1);
    CHECK(not_inside.calls() == 3);
    return {};
}

GRAPH_SCENARIO_TEST("an executable graph keeps what a node of a body is set to",
                    "[graph][conditional][G18]") {
    trial.needs_cuda(12, 3);
    CUSHIM_TRY(const auto at, Workplace::first({.non_blocking = true}));
    CUSHIM_TRY(const auto memory, DeviceBuffer<int>::allocate(at.context, 8));
    CUSHIM_TRY(auto out, PinnedBuffer<int>::allocate(at.context, 8));
    CUSHIM_TRY(const Graph graph, create_graph(api, at.context));
    CUSHIM_TRY(const auto condition, graph.create_condition({.initial = 1}));
    CUSHIM_TRY(const GraphBody branch, graph.add_if_node({}, condition));
    CUSHIM_TRY(const GraphNode node, branch.body.add_memset_node({}, memory, 1));
    CUSHIM_TRY(const GraphExec exec, graph.instantiate());
    DeviceSpan<const int> kept;
    {
        CUSHIM_TRY(const auto other, DeviceBuffer<int>::allocate(at.context, 8));
        kept = other.span();
        CUSHIM_TRY_VOID(exec.set_memset_node(node, other, 2));
    }
    CUSHIM_TRY_VOID(exec.launch(at.stream));
    CUSHIM_TRY_VOID(copy(at.stream, out.span(), kept));
    CUSHIM_TRY_VOID(at.stream.synchronize());
    CHECK(std::count(out.begin(), out.end(), 2) == 8);
    return {};
}

GRAPH_SCENARIO_TEST("an executable graph keeps what a graph inside a node uses that it is set to",
                    "[graph][G14]") {
    CUSHIM_TRY(const auto at, Workplace::first({.non_blocking = true}));
    CUSHIM_TRY(const Graph leaf, make_call(api, at.context));
    CUSHIM_TRY(const Parent parent, make_parent(api, at.context, leaf));
    CUSHIM_TRY(GraphExec exec, parent.graph.instantiate());
    Watched watched;
    CUSHIM_TRY(Graph other_leaf, make_call(api, at.context, &watched));
    CUSHIM_TRY(const Parent other, make_parent(api, at.context, other_leaf));
    other_leaf.reset();
    CUSHIM_TRY_VOID(exec.set_child_graph_node(parent.child, other.inside));
    CUSHIM_TRY_VOID(other.graph.destroy_node(other.child)); // with the graph inside
    for (int i = 0; i < 3; ++i) {
        wait_for_released_closures();
    }
    CHECK_FALSE(watched.is_gone());
    CUSHIM_TRY_VOID(launch_and_wait(exec, at.stream));
    CHECK(watched.calls() == 1);
    exec.reset();
    CHECK(soon([&] { return watched.is_gone(); }));
    return {};
}

namespace {

// An executable graph in whose child graph a call was set.
struct SetInside {
    SetInside(Api api, const char *settings, Watched &watched)
        : context(start(settings)), stream(ok(Stream::create(context, {.non_blocking = true}))),
          leaf(ok(make_call(api, context))), parent(ok(make_parent(api, context, leaf))),
          exec(ok(parent.graph.instantiate())) {
        ok(exec.set_host_node(ok(only_node(parent.inside)), watched.closure()));
    }
    static Context start(const char *settings) {
        restart(settings);
        return ok(Trial::context());
    }

    const Context context;
    const Stream stream;
    const Graph leaf;
    const Parent parent;
    const GraphExec exec;
};

} // namespace

TEST_CASE("nothing goes that a running launch uses when a child graph is set anew",
          "[graph][G14][G23][current]") {
    Watched watched;
    const SetInside at(GENERATE(Api::driver, Api::runtime), "mode=threaded", watched);
    const Gate gate;
    ok(gate.close(at.stream));
    ok(at.exec.launch(at.stream));
    ok(at.exec.set_child_graph_node(at.parent.child, at.leaf));
    let_go_of_what_can();
    CHECK_FALSE(watched.is_gone());
    gate.open();
    ok(at.stream.synchronize());
    CHECK(soon([&] { return watched.is_gone(); }));
    CHECK(watched.calls() == 1);
}

TEST_CASE("a child graph that could not be set leaves what nodes inside it were set to",
          "[graph][G14][G23][current]") {
    const Api api = GENERATE(Api::driver, Api::runtime);
    Watched watched;
    const SetInside at(api, "", watched);
    const Graph unlike = ok(create_graph(api, at.context));
    (void)ok(unlike.add_empty_node({}));
    CHECK_FALSE(at.exec.set_child_graph_node(at.parent.child, unlike).has_value());
    wait_for_released_closures();
    CHECK_FALSE(watched.is_gone());
    ok(launch_and_wait(at.exec, at.stream));
    CHECK(watched.calls() == 1);
}

TEST_CASE("a closure for a node that was added inside a graph later is not kept",
          "[graph][G13][current]") {
    const Api api = GENERATE(Api::driver, Api::runtime);
    const Context context = context_after_restart("");
    const Graph leaf = ok(make_call(api, context));
    const Parent parent = ok(make_parent(api, context, leaf));
    const GraphExec exec = ok(parent.graph.instantiate());
    const GraphNode late = ok(parent.inside.add_host_node({}, [] {}));
    Watched watched;
    CHECK_FALSE(exec.set_host_node(late, watched.closure()).has_value());
    CHECK(watched.is_gone());
}
