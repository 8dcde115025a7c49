// A graph keeps the resources of a node alive as long as the node can run, and no longer.
#include "harness/graph_scenario.hpp"
#include "harness/memory.hpp"
#include "harness/reports.hpp"

#include <vector>

#include <catch2/generators/catch_generators.hpp>
#include <cushim/device_buffer.hpp>
#include <cushim/graph_conditional.hpp>
#include <cushim/pinned_buffer.hpp>

using namespace api_test;
using namespace cushim;

GRAPH_SCENARIO_TEST("setting a node of an executable graph releases its former resources",
                    "[graph][G23]", (Api api, const Context &context, const StreamAside &aside)) {
    const Stream &stream = aside.stream;
    CUSHIM_TRY(Graph graph, create_graph(api, context));
    CUSHIM_TRY(const GraphNode call, graph.add_host_node({}, [] {}));
    CUSHIM_TRY(GraphExec exec, graph.instantiate());
    Watched first, second, third;
    CUSHIM_TRY_VOID(exec.set_host_node(call, first.closure()));
    CUSHIM_TRY_VOID(exec.set_host_node(call, second.closure()));
    CHECK(first.is_destroyed_soon()); // never launched
    CUSHIM_TRY_VOID(exec.launch(stream));
    CUSHIM_TRY_VOID(exec.set_host_node(call, third.closure()));
    CUSHIM_TRY_VOID(stream.synchronize());
    CHECK(second.is_destroyed_soon());
    CHECK(second.calls() == 1);
    CHECK_FALSE(third.is_destroyed());
    CUSHIM_TRY_VOID(launch_and_wait(exec, stream));
    CHECK(third.calls() == 1);
    return {};
}

GRAPH_SCENARIO_TEST("an update releases the resources of earlier node settings", "[graph][G23]",
                    (Api api, const Context &context, const StreamAside &aside)) {
    const Stream &stream = aside.stream;
    CUSHIM_TRY(Graph graph, create_graph(api, context));
    CUSHIM_TRY(const GraphNode call, graph.add_host_node({}, [] {}));
    CUSHIM_TRY(GraphExec exec, graph.instantiate());
    Watched own, updated;
    CUSHIM_TRY_VOID(exec.set_host_node(call, own.closure()));
    {
        CUSHIM_TRY(Graph other, create_graph(api, context));
        CUSHIM_TRY_VOID(other.add_host_node({}, updated.closure()));
        CUSHIM_TRY(const GraphUpdate update, exec.update(other));
        CHECK(update.result == GraphUpdateResult::success);
    }
    CHECK(own.is_destroyed_soon());
    CHECK_FALSE(updated.is_destroyed()); // only the executable graph keeps it alive
    CUSHIM_TRY_VOID(launch_and_wait(exec, stream));
    CHECK(updated.calls() == 1);
    return {};
}

GRAPH_SCENARIO_TEST("an executable graph keeps the resources of its new child graph alive",
                    "[graph][G14]", (Api api, const Context &context, const StreamAside &aside)) {
    const Stream &stream = aside.stream;
    CUSHIM_TRY(Graph inner, create_graph(api, context));
    CUSHIM_TRY_VOID(inner.add_host_node({}, [] {}));
    CUSHIM_TRY(Graph graph, create_graph(api, context));
    CUSHIM_TRY(const GraphNode child, graph.add_child_graph_node({}, inner));
    CUSHIM_TRY(GraphExec exec, graph.instantiate());
    Watched watched;
    {
        CUSHIM_TRY(Graph other, create_graph(api, context));
        CUSHIM_TRY_VOID(other.add_host_node({}, watched.closure()));
        CUSHIM_TRY_VOID(exec.set_child_graph_node(child, other));
    }
    wait_for_released_closures();
    CHECK_FALSE(watched.is_destroyed());
    CUSHIM_TRY_VOID(launch_and_wait(exec, stream));
    CHECK(watched.calls() == 1);
    return {};
}

GRAPH_SCENARIO_TEST("launches in a stream of another context keep resources alive", "[graph][G23]",
                    (Api api, const Context &context)) {
    CUSHIM_TRY(const Device device, Device::get(0));
    CUSHIM_TRY(Context other, Context::create(device));
    CUSHIM_TRY(const Stream elsewhere, Stream::create(other, {.non_blocking = true}));
    CUSHIM_TRY(Graph graph, create_graph(api, context));
    CUSHIM_TRY(const GraphNode call, graph.add_host_node({}, [] {}));
    CUSHIM_TRY(GraphExec exec, graph.instantiate());
    Watched watched;
    CUSHIM_TRY_VOID(exec.set_host_node(call, watched.closure()));
    CUSHIM_TRY_VOID(exec.launch(elsewhere));
    CUSHIM_TRY_VOID(exec.set_host_node(call, [] {}));
    CUSHIM_TRY_VOID(elsewhere.synchronize());
    CHECK(watched.calls() == 1);
    CHECK(watched.is_destroyed_soon());
    return {};
}

namespace {

// An executable graph with one node, which is set to call `watched`.
struct SetCall {
    SetCall(Api api, const std::string &settings) : SetCall(make_graph(api, settings)) {}
    explicit SetCall(Made made)
        : context(std::move(made.context)), graph(std::move(made.graph)),
          stream(ok(Stream::create(context, {.non_blocking = true}))),
          call(ok(graph.add_host_node({}, [] {}))), exec(ok(graph.instantiate())) {
        ok(exec.set_host_node(call, watched.closure()));
    }
    // Sets another closure, so that only launches use `watched`.
    void set_anew() {
        ok(exec.set_host_node(call, [] {}));
    }

    Context context;
    Graph graph;
    Stream stream;
    GraphNode call;
    GraphExec exec;
    Watched watched;
};

} // namespace

TEST_CASE("a running launch keeps its resources alive", "[graph][G23][current]") {
    const Api api = GENERATE(Api::driver, Api::runtime);
    // Events report only launches in streams of their own context.
    const bool elsewhere = GENERATE(false, true);
    SetCall at(api, "mode=threaded");
    Context other = ok(Context::create(ok(Device::get(0))));
    const Stream stream =
        ok(Stream::create(elsewhere ? other : at.context, {.non_blocking = true}));
    const Gate gate;
    ok(gate.close(stream));
    ok(at.exec.launch(stream));
    at.set_anew();
    wait_for_possible_releases();
    CHECK_FALSE(at.watched.is_destroyed());
    gate.open();
    ok(stream.synchronize());
    CHECK(at.watched.is_destroyed_soon());
    CHECK(at.watched.calls() == 1);
}

TEST_CASE("a launch whose end is unknown has ended once a later launch has",
          "[graph][G23][current]") {
    need_faults();
    const Api api = GENERATE(Api::driver, Api::runtime);
    SetCall at(api,
               "mode=threaded;fault=cuEventRecord:1:999:instead;fault=cuStreamSynchronize:1:999");
    const Reports reports;
    const Stream another = ok(Stream::create(at.context, {.non_blocking = true}));
    const Gate gate;
    ok(gate.close(at.stream));
    ok(at.exec.launch(Stream::borrow(at.stream.native()))); // event and synchronization fail
    CHECK(reports.names() == std::vector<std::string>{"cuEventRecord"});
    ok(at.exec.launch(another)); // runs after the first launch
    at.set_anew();
    wait_for_possible_releases();
    CHECK_FALSE(at.watched.is_destroyed());
    gate.open();
    ok(another.synchronize());
    CHECK(at.watched.is_destroyed_soon());
    CHECK(at.watched.calls() == 2);
}

TEST_CASE("replaced resources wait only for the launches before the change",
          "[graph][G23][current]") {
    SetCall at(GENERATE(Api::driver, Api::runtime), "mode=threaded");
    const Gate before, behind;
    ok(before.close(at.stream));
    ok(at.exec.launch(at.stream));
    at.set_anew();
    ok(behind.close(at.stream));
    ok(at.exec.launch(at.stream));
    wait_for_possible_releases();
    CHECK_FALSE(at.watched.is_destroyed());
    before.open();
    CHECK(at.watched.is_destroyed_soon());
    CHECK(at.watched.calls() == 1);
    behind.open();
    ok(at.stream.synchronize());
}

TEST_CASE("a failed change of a node adds no events to launches", "[graph][G23][current]") {
    need_faults();
    const Api api = GENERATE(Api::driver, Api::runtime);
    Made made =
        make_graph(api, "fault=" + graph_call(api, "ExecHostNodeSetParams") + ":1:1:instead");
    const Stream stream = made.stream();
    const GraphNode call = ok(made.graph.add_host_node({}, [] {}));
    GraphExec exec = ok(made.graph.instantiate());
    Watched watched;
    CHECK_FALSE(exec.set_host_node(call, watched.closure()).has_value());
    CHECK(watched.is_destroyed());
    const auto calls = calls_in([&] { ok(exec.launch(stream)); });
    CHECK(std::ranges::count(calls, "cuEventRecord") == 0);
    ok(stream.synchronize());
}

TEST_CASE("a graph keeps each of many events of its nodes alive", "[graph][G23][current]") {
    need_simulator("needs the simulator, which records the calls");
    const Api api = GENERATE(Api::driver, Api::runtime);
    auto [context, graph] = make_graph(api, "");
    std::vector<Event> events;
    for (int i = 0; i < 20; ++i) {
        events.push_back(ok(Event::create(context, {.timing = false})));
    }
    for (int round = 0; round < 2; ++round) {
        for (const Event &event : events) {
            (void)ok(graph.add_event_record_node({}, event));
        }
    }
    const auto destroyed_in = [](const auto &work) {
        const auto calls = calls_in([&] {
            work();
            wait_for_released_closures();
        });
        return std::ranges::count(calls, "cuEventDestroy_v2");
    };
    CHECK(destroyed_in([&] { events.clear(); }) == 0);
    CHECK(destroyed_in([&, &owner = graph] { owner.reset(); }) == 20);
}

TEST_CASE("a released executable graph keeps the resources of its nodes alive",
          "[graph][current]") {
    // Static, since cushim keeps the closure permanently.
    static SetCall at(Api::driver, "");
    const CUgraphExec native = at.exec.release();
    at.graph.reset();
    wait_for_released_closures();
    REQUIRE_FALSE(at.watched.is_destroyed());
    CHECK(driver().cuGraphLaunch(native, at.stream.native()) == CUDA_SUCCESS);
    CHECK(at.stream.synchronize().has_value());
    CHECK(at.watched.calls() == 1);
    CHECK(driver().cuGraphExecDestroy(native) == CUDA_SUCCESS);
    at.stream.reset();
    at.context.reset();
}

TEST_CASE("resources released by an executable graph do not invalidate a capture",
          "[graph][capture]") {
    SetCall at(Api::driver, "mode=threaded");
    const Stream captured = ok(Stream::create(at.context, {.non_blocking = true}));
    const Gate gate;
    ok(gate.close(at.stream));
    ok(at.exec.launch(at.stream));
    ok(captured.begin_capture(CaptureMode::global));
    at.exec.reset();
    for (int i = 0; i < 3; ++i) {
        wait_for_released_closures();
    }
    CHECK_FALSE(at.watched.is_destroyed());
    gate.open();
    CHECK(at.watched.is_destroyed_soon());
    CHECK(at.watched.calls() == 1);
    CHECK(*captured.capture_status() == CaptureStatus::active);
    CHECK(captured.end_capture().has_value());
    CHECK(at.stream.synchronize().has_value());
}

GRAPH_SCENARIO_TEST("free_async() does not free memory that a graph keeps alive", "[graph][G12]",
                    (Api api, const Context &context, const StreamAside &aside)) {
    const Stream &stream = aside.stream;
    for (const bool in_order : {false, true}) {
        CUSHIM_TRY(auto memory, in_order ? DeviceBuffer<int>::allocate_async(stream, 8)
                                         : DeviceBuffer<int>::allocate(context, 8));
        const DeviceSpan<int> span = memory;
        CUSHIM_TRY(Graph graph, create_graph(api, context));
        CUSHIM_TRY(const GraphNode fill, graph.add_memset_node({}, memory, 3));
        CHECK(fill);
        CUSHIM_TRY_VOID(refused(memory.free_async(Stream::per_thread()),
                                "Stream::legacy() and Stream::per_thread() depend on the current "
                                "context; use a stream of Stream::create()"));
        CHECK(memory);
        CUSHIM_TRY_VOID(memory.free_async(stream));
        CHECK_FALSE(memory);
        CUSHIM_TRY_VOID(run_once(graph, stream));
        std::vector<int> values(8);
        CUSHIM_TRY_VOID(copy(context, std::span(values), DeviceSpan<const int>(span)));
        CHECK(values == std::vector<int>(8, 3));
    }
    return {};
}

GRAPH_TEST_CASE("keep_alive() rejects the graph itself", "[graph][G6]", (Api api)) {
    const char *const itself = "the graph would keep itself alive, and never be destroyed";
    const char *const outermost = "both graphs are parts of one graph, which would keep itself "
                                  "alive, and never be destroyed";
    {
        auto [context, graph] = make_graph(api);
        Graph other = ok(create_graph(api, context));
        const GraphNode child = ok(graph.add_child_graph_node({}, other));
        Graph inside = ok(graph.child_graph_params(child));
        const Graph same = graph.share();
        CHECK(refusal(graph.keep_alive(graph)) == itself);
        CHECK(refusal(graph.keep_alive(same)) == itself);
        CHECK(refusal(graph.keep_alive(inside)) == outermost);
        CHECK(refusal(inside.keep_alive(graph)) == outermost);
        ok(graph.keep_alive(other));
        ok(inside.keep_alive(other));
    }
    wait_for_released_closures();
    if (simulator() != nullptr && api == Api::driver) {
        CHECK(leaks() == std::vector<std::string>());
    }
}

TEST_CASE("a graph has one user object for the resources of all nodes", "[graph][current]") {
    need_simulator("needs the simulator, which records the calls");
    const Api api = GENERATE(Api::driver, Api::runtime);
    auto [context, graph] = make_graph(api);
    const Event event = ok(Event::create(context, {.timing = false}));
    Watched watched;
    const auto calls = calls_in([&, &to = graph] {
        for (int i = 0; i < 100; ++i) {
            ok(to.add_event_record_node({}, event));
            ok(to.set_host_node(ok(to.add_host_node({}, watched.closure())), watched.closure()));
        }
    });
    CHECK(std::ranges::count(calls, "cuUserObjectCreate") == 1);
}

TEST_CASE("a graph without resources to keep alive has no user object", "[graph][current]") {
    need_simulator("needs the simulator, which records the calls");
    const Api api = GENERATE(Api::driver, Api::runtime);
    auto [context, graph] = make_graph(api);
    const Event event = ok(Event::create(context, {.timing = false}));
    auto memory = ok(DeviceBuffer<int>::allocate(context, 16));
    const auto kept_in = [&, &to = graph](const Event &recorded, auto &&filled) {
        const auto calls = calls_in([&] {
            ok(to.add_event_record_node({}, recorded));
            ok(to.add_memset_node({}, filled, 1));
        });
        return std::ranges::count(calls, "cuUserObjectCreate");
    };
    CHECK(kept_in(Event::borrow(event.native()), memory.span()) == 0);
    CHECK(kept_in(event, memory) == 1);
}

// --- resources of nodes in child graphs and bodies

namespace {

// A graph with one host node, which calls `called` or an empty function.
Result<Graph> make_call(Api api, const Context &context, Watched *called = nullptr) {
    CUSHIM_TRY(Graph graph, create_graph(api, context));
    CUSHIM_TRY_VOID(called == nullptr ? graph.add_host_node({}, [] {})
                                      : graph.add_host_node({}, called->closure()));
    return graph;
}

} // namespace

GRAPH_SCENARIO_TEST("setting a node of a child graph releases its former resources",
                    "[graph][G14][G23]",
                    (Api api, const Context &context, const StreamAside &aside)) {
    const Stream &stream = aside.stream;
    CUSHIM_TRY(const Graph leaf, make_call(api, context));
    CUSHIM_TRY(Parent parent, make_parent(api, context, leaf));
    CUSHIM_TRY(const GraphNode call, only_node(parent.inside));
    CUSHIM_TRY(GraphExec exec, parent.graph.instantiate());
    Watched first, second;
    CUSHIM_TRY_VOID(exec.set_host_node(call, first.closure()));
    wait_for_released_closures();
    CHECK_FALSE(first.is_destroyed());
    CUSHIM_TRY_VOID(launch_and_wait(exec, stream));
    CHECK(first.calls() == 1);
    CUSHIM_TRY_VOID(exec.set_host_node(call, second.closure()));
    CHECK(first.is_destroyed_soon());
    CUSHIM_TRY_VOID(launch_and_wait(exec, stream));
    CHECK(second.calls() == 1);
    exec.reset();
    CHECK(second.is_destroyed_soon());
    return {};
}

GRAPH_SCENARIO_TEST("an update releases the resources of nodes of a child graph",
                    "[graph][G14][G25]",
                    (Api api, const Context &context, const StreamAside &aside)) {
    const Stream &stream = aside.stream;
    CUSHIM_TRY(const Graph leaf, make_call(api, context));
    CUSHIM_TRY(Parent parent, make_parent(api, context, leaf));
    CUSHIM_TRY(const GraphNode call, only_node(parent.inside));
    CUSHIM_TRY(GraphExec exec, parent.graph.instantiate());
    Watched own, updated;
    CUSHIM_TRY_VOID(exec.set_host_node(call, own.closure()));
    {
        CUSHIM_TRY(const Graph other_leaf, make_call(api, context, &updated));
        CUSHIM_TRY(Parent other, make_parent(api, context, other_leaf));
        CUSHIM_TRY(const GraphUpdate update, exec.update(other.graph));
        CHECK(update.is_success());
    }
    CHECK(own.is_destroyed_soon());
    CHECK_FALSE(updated.is_destroyed());
    CUSHIM_TRY_VOID(launch_and_wait(exec, stream));
    CHECK(updated.calls() == 1);
    return {};
}

GRAPH_SCENARIO_TEST("replacing a child graph releases the resources of its nodes",
                    "[graph][G14][G23]",
                    (Api api, const Context &context, const StreamAside &aside)) {
    const Stream &stream = aside.stream;
    CUSHIM_TRY(const Graph leaf, make_call(api, context));
    CUSHIM_TRY(Parent branch, make_parent(api, context, leaf));
    CUSHIM_TRY(Graph graph, create_graph(api, context));
    CUSHIM_TRY(const GraphNode outer, graph.add_child_graph_node({}, branch.graph));
    CUSHIM_TRY(const GraphNode beside, graph.add_child_graph_node({}, leaf));
    CUSHIM_TRY(const Graph in_outer, graph.child_graph_params(outer));
    CUSHIM_TRY(const GraphNode inner, only_node(in_outer));
    CUSHIM_TRY(const Graph in_inner, in_outer.child_graph_params(inner));
    CUSHIM_TRY(const GraphNode call, only_node(in_inner));
    CUSHIM_TRY(const Graph in_beside, graph.child_graph_params(beside));
    CUSHIM_TRY(const GraphNode other_call, only_node(in_beside));
    CUSHIM_TRY(GraphExec exec, graph.instantiate());

    Watched in_call, of_inner, call_again, of_outer, not_inside;
    CUSHIM_TRY_VOID(exec.set_host_node(other_call, not_inside.closure()));
    CUSHIM_TRY_VOID(exec.set_host_node(call, in_call.closure()));
    {
        CUSHIM_TRY(const Graph anew, make_call(api, context, &of_inner));
        CUSHIM_TRY_VOID(exec.set_child_graph_node(inner, anew));
    }
    CHECK(in_call.is_destroyed_soon());
    CUSHIM_TRY_VOID(launch_and_wait(exec, stream));
    CHECK(of_inner.calls() == 1);

    CUSHIM_TRY_VOID(exec.set_host_node(call, call_again.closure()));
    CUSHIM_TRY_VOID(launch_and_wait(exec, stream));
    CHECK(call_again.calls() == 1);
    CHECK(of_inner.calls() == 1);
    {
        CUSHIM_TRY(const Graph anew_leaf, make_call(api, context, &of_outer));
        CUSHIM_TRY(const Parent anew, make_parent(api, context, anew_leaf));
        CUSHIM_TRY_VOID(exec.set_child_graph_node(outer, anew.graph));
    }
    CHECK(soon([&] { return call_again.is_destroyed() && of_inner.is_destroyed(); }));
    CHECK_FALSE(of_outer.is_destroyed());
    CHECK_FALSE(not_inside.is_destroyed());
    CUSHIM_TRY_VOID(launch_and_wait(exec, stream));
    CHECK(of_outer.calls() == 1);
    CHECK(not_inside.calls() == 3);
    return {};
}

GRAPH_SCENARIO_TEST("an executable graph keeps the resources of a changed body node alive",
                    "[graph][conditional][G18]",
                    (Trial &trial, Api api, const Context &context, const StreamAside &aside)) {
    const Stream &stream = aside.stream;
    trial.needs_cuda(12, 3);
    CUSHIM_TRY(auto memory, DeviceBuffer<int>::allocate(context, 8));
    CUSHIM_TRY(auto out, PinnedBuffer<int>::allocate(context, 8));
    CUSHIM_TRY(Graph graph, create_graph(api, context));
    CUSHIM_TRY(const auto condition, graph.create_condition({.initial = 1}));
    CUSHIM_TRY(GraphBody branch, graph.add_if_node({}, condition));
    CUSHIM_TRY(const GraphNode node, branch.body.add_memset_node({}, memory, 1));
    CUSHIM_TRY(GraphExec exec, graph.instantiate());
    DeviceSpan<const int> kept;
    {
        CUSHIM_TRY(auto other, DeviceBuffer<int>::allocate(context, 8));
        kept = other.span();
        CUSHIM_TRY_VOID(exec.set_memset_node(node, other, 2));
    }
    CUSHIM_TRY_VOID(exec.launch(stream));
    CUSHIM_TRY_VOID(copy(stream, out.span(), kept));
    CUSHIM_TRY_VOID(stream.synchronize());
    CHECK(std::count(out.begin(), out.end(), 2) == 8);
    return {};
}

GRAPH_SCENARIO_TEST("set_child_graph_node() keeps the resources of a graph inside a node alive",
                    "[graph][G14]", (Api api, const Context &context, const StreamAside &aside)) {
    const Stream &stream = aside.stream;
    CUSHIM_TRY(const Graph leaf, make_call(api, context));
    CUSHIM_TRY(Parent parent, make_parent(api, context, leaf));
    CUSHIM_TRY(GraphExec exec, parent.graph.instantiate());
    Watched watched;
    CUSHIM_TRY(Graph other_leaf, make_call(api, context, &watched));
    CUSHIM_TRY(Parent other, make_parent(api, context, other_leaf));
    other_leaf.reset();
    CUSHIM_TRY_VOID(exec.set_child_graph_node(parent.child, other.inside));
    CUSHIM_TRY_VOID(other.graph.destroy_node(other.child)); // destroys the nested graph
    for (int i = 0; i < 3; ++i) {
        wait_for_released_closures();
    }
    CHECK_FALSE(watched.is_destroyed());
    CUSHIM_TRY_VOID(launch_and_wait(exec, stream));
    CHECK(watched.calls() == 1);
    exec.reset();
    wait_for_released_closures();
    CHECK_FALSE(watched.is_destroyed()); // the graph has used it
    other = {};
    CHECK(watched.is_destroyed_soon());
    return {};
}

namespace {

// An executable graph with a changed host node in its child graph.
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
    GraphExec exec;
};

} // namespace

TEST_CASE("a running launch keeps the resources of a replaced child graph alive",
          "[graph][G14][G23][current]") {
    Watched watched;
    SetInside at(GENERATE(Api::driver, Api::runtime), "mode=threaded", watched);
    const Gate gate;
    ok(gate.close(at.stream));
    ok(at.exec.launch(at.stream));
    ok(at.exec.set_child_graph_node(at.parent.child, at.leaf));
    wait_for_possible_releases();
    CHECK_FALSE(watched.is_destroyed());
    gate.open();
    ok(at.stream.synchronize());
    CHECK(watched.is_destroyed_soon());
    CHECK(watched.calls() == 1);
}

TEST_CASE("a failed replacement of a child graph keeps the resources of its nodes",
          "[graph][G14][G23][current]") {
    const Api api = GENERATE(Api::driver, Api::runtime);
    Watched watched;
    SetInside at(api, "", watched);
    Graph unlike = ok(create_graph(api, at.context));
    (void)ok(unlike.add_empty_node({}));
    CHECK_FALSE(at.exec.set_child_graph_node(at.parent.child, unlike).has_value());
    wait_for_released_closures();
    CHECK_FALSE(watched.is_destroyed());
    ok(launch_and_wait(at.exec, at.stream));
    CHECK(watched.calls() == 1);
}

TEST_CASE("a closure for a node added to a child graph after instantiation is destroyed",
          "[graph][G13][current]") {
    const Api api = GENERATE(Api::driver, Api::runtime);
    const Context context = context_after_restart("");
    const Graph leaf = ok(make_call(api, context));
    Parent parent = ok(make_parent(api, context, leaf));
    GraphExec exec = ok(parent.graph.instantiate());
    const GraphNode late = ok(parent.inside.add_host_node({}, [] {}));
    Watched watched;
    CHECK_FALSE(exec.set_host_node(late, watched.closure()).has_value());
    CHECK(watched.is_destroyed());
}
