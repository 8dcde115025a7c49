// How long what a node uses is kept: as long as something may run the node, and not longer.
#include "harness/graph_scenario.hpp"
#include "harness/memory.hpp"
#include "harness/reports.hpp"
#include "harness/watched.hpp"

#include <vector>

#include <catch2/generators/catch_generators.hpp>

using namespace api_test;
using namespace cushim;
using support::ok;

GRAPH_SCENARIO_TEST("what a node of an executable graph used goes when it is set anew",
                    "[graph][G23]") {
    CUSHIM_TRY(const auto at, Workplace::first({.non_blocking = true}));
    CUSHIM_TRY(const Graph graph, create_graph(api, at.context));
    CUSHIM_TRY(const GraphNode call, graph.add_host_node({}, [] {}));
    CUSHIM_TRY(const GraphExec exec, graph.instantiate());
    Watched first, second, third;
    CUSHIM_TRY_VOID(exec.set_host_node(call, first.closure()));
    CUSHIM_TRY_VOID(exec.set_host_node(call, second.closure()));
    CHECK(soon([&] { return first.is_gone(); })); // was never launched
    CUSHIM_TRY_VOID(exec.launch(at.stream));
    CUSHIM_TRY_VOID(exec.set_host_node(call, third.closure()));
    CUSHIM_TRY_VOID(at.stream.synchronize());
    CHECK(soon([&] { return second.is_gone(); }));
    CHECK(second.calls() == 1);
    CHECK_FALSE(third.is_gone());
    CUSHIM_TRY_VOID(launch_and_wait(exec, at.stream));
    CHECK(third.calls() == 1);
    return {};
}

GRAPH_SCENARIO_TEST("an update lets go what nodes were set to before", "[graph][G23]") {
    CUSHIM_TRY(const auto at, Workplace::first({.non_blocking = true}));
    CUSHIM_TRY(const Graph graph, create_graph(api, at.context));
    CUSHIM_TRY(const GraphNode call, graph.add_host_node({}, [] {}));
    CUSHIM_TRY(const GraphExec exec, graph.instantiate());
    Watched own, updated;
    CUSHIM_TRY_VOID(exec.set_host_node(call, own.closure()));
    {
        CUSHIM_TRY(const Graph other, create_graph(api, at.context));
        CUSHIM_TRY_VOID(other.add_host_node({}, updated.closure()));
        CUSHIM_TRY(const GraphUpdate update, exec.update(other));
        CHECK(update.result == GraphUpdateResult::success);
    }
    CHECK(soon([&] { return own.is_gone(); }));
    CHECK_FALSE(updated.is_gone()); // the graph is gone, and the executable graph keeps it
    CUSHIM_TRY_VOID(launch_and_wait(exec, at.stream));
    CHECK(updated.calls() == 1);
    return {};
}

GRAPH_SCENARIO_TEST("an executable graph keeps the child graph that it is set to", "[graph][G14]") {
    CUSHIM_TRY(const auto at, Workplace::first({.non_blocking = true}));
    CUSHIM_TRY(const Graph inner, create_graph(api, at.context));
    CUSHIM_TRY_VOID(inner.add_host_node({}, [] {}));
    CUSHIM_TRY(const Graph graph, create_graph(api, at.context));
    CUSHIM_TRY(const GraphNode child, graph.add_child_graph_node({}, inner));
    CUSHIM_TRY(const GraphExec exec, graph.instantiate());
    Watched watched;
    {
        CUSHIM_TRY(const Graph other, create_graph(api, at.context));
        CUSHIM_TRY_VOID(other.add_host_node({}, watched.closure()));
        CUSHIM_TRY_VOID(exec.set_child_graph_node(child, other));
    }
    wait_for_released_closures();
    CHECK_FALSE(watched.is_gone());
    CUSHIM_TRY_VOID(launch_and_wait(exec, at.stream));
    CHECK(watched.calls() == 1);
    return {};
}

GRAPH_SCENARIO_TEST("launches in streams of another context are waited for, too", "[graph][G23]") {
    CUSHIM_TRY(const auto at, Workplace::first({.non_blocking = true}));
    CUSHIM_TRY(const Device device, Device::get(0));
    CUSHIM_TRY(const Context other, Context::create(device));
    CUSHIM_TRY(const Stream stream, Stream::create(other, {.non_blocking = true}));
    CUSHIM_TRY(const Graph graph, create_graph(api, at.context));
    CUSHIM_TRY(const GraphNode call, graph.add_host_node({}, [] {}));
    CUSHIM_TRY(GraphExec exec, graph.instantiate());
    Watched watched;
    CUSHIM_TRY_VOID(exec.set_host_node(call, watched.closure()));
    CUSHIM_TRY_VOID(exec.launch(stream));
    CUSHIM_TRY_VOID(exec.set_host_node(call, [] {}));
    CUSHIM_TRY_VOID(stream.synchronize());
    CHECK(watched.calls() == 1);
    CHECK(soon([&] { return watched.is_gone(); }));
    return {};
}

TEST_CASE("nothing that a running launch uses goes", "[graph][G23][current]") {
    restart("mode=threaded");
    const Api api = GENERATE(Api::driver, Api::runtime);
    const auto context = Trial::context();
    REQUIRE(context.has_value());
    // An event tells of launches in streams of its own context only.
    const Context other = Context::create(Device::get(0).value()).value();
    const bool elsewhere = GENERATE(false, true);
    const Stream stream =
        Stream::create(elsewhere ? other : *context, {.non_blocking = true}).value();
    const Graph graph = create_graph(api, *context).value();
    const GraphNode call = graph.add_host_node({}, [] {}).value();
    const GraphExec exec = graph.instantiate().value();
    Watched watched;
    REQUIRE(exec.set_host_node(call, watched.closure()).has_value());
    const Gate gate;
    REQUIRE(gate.close(stream).has_value());
    REQUIRE(exec.launch(stream).has_value());
    REQUIRE(exec.set_host_node(call, [] {}).has_value());
    let_go_of_what_can();
    CHECK_FALSE(watched.is_gone());
    gate.open();
    REQUIRE(stream.synchronize().has_value());
    CHECK(soon([&] { return watched.is_gone(); }));
    CHECK(watched.calls() == 1);
}

TEST_CASE("a launch whose end could not be learned is through when a later one is",
          "[graph][G23][current]") {
    need_simulator("needs the simulator, whose calls can be made to fail");
    const Api api = GENERATE(Api::driver, Api::runtime);
    const auto [context, graph] = make_graph(
        api, "mode=threaded;fault=cuEventRecord:1:999:instead;fault=cuStreamSynchronize:1:999");
    const Reports reports;
    const Stream stream = ok(Stream::create(context, {.non_blocking = true}));
    const Stream another = ok(Stream::create(context, {.non_blocking = true}));
    const GraphNode call = ok(graph.add_host_node({}, [] {}));
    const GraphExec exec = ok(graph.instantiate());
    Watched watched;
    ok(exec.set_host_node(call, watched.closure()));
    const Gate gate;
    ok(gate.close(stream));
    ok(exec.launch(stream)); // neither recorded nor waited for
    CHECK(reports.names() == std::vector<std::string>{"cuEventRecord"});
    ok(exec.launch(another)); // comes after it all the same
    ok(exec.set_host_node(call, [] {}));
    let_go_of_what_can();
    CHECK_FALSE(watched.is_gone());
    gate.open();
    ok(another.synchronize());
    CHECK(soon([&] { return watched.is_gone(); }));
    CHECK(watched.calls() == 2);
}

TEST_CASE("what is let go waits for the launches before it alone", "[graph][G23][current]") {
    const Api api = GENERATE(Api::driver, Api::runtime);
    const auto [context, graph] = make_graph(api, "mode=threaded");
    const Stream stream = ok(Stream::create(context, {.non_blocking = true}));
    const GraphNode call = ok(graph.add_host_node({}, [] {}));
    const GraphExec exec = ok(graph.instantiate());
    Watched first;
    ok(exec.set_host_node(call, first.closure()));
    const Gate before, behind;
    ok(before.close(stream));
    ok(exec.launch(stream));
    ok(exec.set_host_node(call, [] {}));
    ok(behind.close(stream));
    ok(exec.launch(stream));
    let_go_of_what_can();
    CHECK_FALSE(first.is_gone());
    before.open();
    CHECK(soon([&] { return first.is_gone(); }));
    CHECK(first.calls() == 1);
    behind.open();
    ok(stream.synchronize());
}

TEST_CASE("a refusal to set a node leaves launches as they were", "[graph][G23][current]") {
    need_simulator("needs the simulator, whose calls can be made to fail");
    const Api api = GENERATE(Api::driver, Api::runtime);
    const std::string set =
        api == Api::driver ? "cuGraphExecHostNodeSetParams" : "cudaGraphExecHostNodeSetParams";
    const auto [context, graph] = make_graph(api, "fault=" + set + ":1:1:instead");
    const Stream stream = ok(Stream::create(context));
    const GraphNode call = ok(graph.add_host_node({}, [] {}));
    const GraphExec exec = ok(graph.instantiate());
    Watched watched;
    CHECK_FALSE(exec.set_host_node(call, watched.closure()).has_value());
    CHECK(watched.is_gone());
    const auto calls = calls_in([&] { ok(exec.launch(stream)); });
    CHECK(std::ranges::count(calls, "cuEventRecord") == 0);
    ok(stream.synchronize());
}

TEST_CASE("a graph keeps each of many things that its nodes use", "[graph][G23][current]") {
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

TEST_CASE("what was set in an executable graph that is released stays", "[graph][current]") {
    const auto context = context_after_restart("");
    const Stream stream = Stream::create(context).value();
    // For ever: this test lets it go.
    static Watched watched;
    Graph graph = Graph::create(context).value();
    const GraphNode call = graph.add_host_node({}, [] {}).value();
    GraphExec exec = graph.instantiate().value();
    REQUIRE(exec.set_host_node(call, watched.closure()).has_value());
    const CUgraphExec native = exec.release();
    graph.reset();
    wait_for_released_closures();
    REQUIRE_FALSE(watched.is_gone());
    CHECK(driver().cuGraphLaunch(native, stream.native()) == CUDA_SUCCESS);
    CHECK(stream.synchronize().has_value());
    CHECK(watched.calls() == 1);
    CHECK(driver().cuGraphExecDestroy(native) == CUDA_SUCCESS);
}

TEST_CASE("what an executable graph lets go ruins no capture", "[graph][capture]") {
    const auto context = context_after_restart("mode=threaded");
    const Stream stream = Stream::create(context, {.non_blocking = true}).value();
    const Stream captured = Stream::create(context, {.non_blocking = true}).value();
    const Graph graph = Graph::create(context).value();
    const GraphNode call = graph.add_host_node({}, [] {}).value();
    GraphExec exec = graph.instantiate().value();
    Watched watched;
    REQUIRE(exec.set_host_node(call, watched.closure()).has_value());
    const Gate gate;
    REQUIRE(gate.close(stream).has_value());
    REQUIRE(exec.launch(stream).has_value());
    REQUIRE(captured.begin_capture(CaptureMode::global).has_value());
    exec.reset();
    for (int i = 0; i < 3; ++i) {
        wait_for_released_closures();
    }
    CHECK_FALSE(watched.is_gone());
    gate.open();
    CHECK(soon([&] { return watched.is_gone(); }));
    CHECK(watched.calls() == 1);
    CHECK(*captured.capture_status() == CaptureStatus::active);
    CHECK(captured.end_capture().has_value());
    CHECK(stream.synchronize().has_value());
}

GRAPH_SCENARIO_TEST("memory that a graph keeps is not freed beneath it", "[graph][G12]") {
    CUSHIM_TRY(const auto at, Workplace::first({.non_blocking = true}));
    for (const bool in_order : {false, true}) {
        CUSHIM_TRY(auto memory, in_order ? DeviceBuffer<int>::allocate_async(at.stream, 8)
                                         : DeviceBuffer<int>::allocate(at.context, 8));
        const DeviceSpan<int> span = memory;
        CUSHIM_TRY(const Graph graph, create_graph(api, at.context));
        CUSHIM_TRY(const GraphNode fill, graph.add_memset_node({}, memory, 3));
        CHECK(fill);
        CUSHIM_TRY_VOID(refused(memory.free_async(Stream::per_thread()),
                                "invalid argument: a default stream depends on the "
                                "current context; use a created stream"));
        CHECK(memory);
        CUSHIM_TRY_VOID(memory.free_async(at.stream));
        CHECK_FALSE(memory);
        CUSHIM_TRY_VOID(run_once(graph, at.stream));
        std::vector<int> values(8);
        CUSHIM_TRY_VOID(copy(at.context, std::span(values), DeviceSpan<const int>(span)));
        CHECK(values == std::vector<int>(8, 3));
    }
    return {};
}

GRAPH_TEST_CASE("a graph does not keep itself", "[graph][G6]") {
    const char *const why = "invalid argument: Graph::keep_alive: a graph cannot keep itself alive";
    {
        const auto [context, graph] = make_graph(api);
        const Graph other = ok(create_graph(api, context));
        const GraphNode child = ok(graph.add_child_graph_node({}, other));
        const Graph inside = ok(graph.child_graph(child));
        const Graph same = graph.share();
        CHECK(refusal(graph.keep_alive(graph)) == why);
        CHECK(refusal(graph.keep_alive(same)) == why);
        CHECK(refusal(graph.keep_alive(inside)) == why);
        CHECK(refusal(inside.keep_alive(graph)) == why);
        ok(graph.keep_alive(other));
        ok(inside.keep_alive(other));
    }
    wait_for_released_closures();
    if (simulator() != nullptr && api == Api::driver) {
        CHECK(leaks() == std::vector<std::string>());
    }
}

TEST_CASE("a graph has one user object, whatever its nodes use", "[graph][current]") {
    restart("");
    need_simulator("needs the simulator, which records the calls");
    const Api api = GENERATE(Api::driver, Api::runtime);
    const auto context = required(Trial::context());
    const Graph graph = create_graph(api, context).value();
    const Event event = Event::create(context, {.timing = false}).value();
    Watched watched;
    const auto calls = calls_in([&] {
        for (int i = 0; i < 100; ++i) {
            REQUIRE(graph.add_event_record_node({}, event).has_value());
            const auto call = required(graph.add_host_node({}, watched.closure()));
            REQUIRE(graph.set_host_node(call, watched.closure()).has_value());
        }
    });
    CHECK(std::ranges::count(calls, api == Api::driver ? "cuUserObjectCreate"
                                                       : "cudaUserObjectCreate") == 1);
}

TEST_CASE("a graph that has nothing to keep has no user object", "[graph][current]") {
    restart("");
    need_simulator("needs the simulator, which records the calls");
    const Api api = GENERATE(Api::driver, Api::runtime);
    const auto context = required(Trial::context());
    const Graph graph = create_graph(api, context).value();
    const Event event = Event::create(context, {.timing = false}).value();
    const auto memory = DeviceBuffer<int>::allocate(context, 16).value();
    const auto kept_in = [&](const Event &recorded, const auto &filled) {
        const auto calls = calls_in([&] {
            REQUIRE(graph.add_event_record_node({}, recorded).has_value());
            REQUIRE(graph.add_memset_node({}, filled, 1).has_value());
        });
        return std::ranges::count(calls, api == Api::driver ? "cuUserObjectCreate"
                                                            : "cudaUserObjectCreate");
    };
    CHECK(kept_in(Event::borrow(event.native()), memory.span()) == 0);
    CHECK(kept_in(event, memory) == 1);
}
