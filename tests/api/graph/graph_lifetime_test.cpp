// What the nodes of a graph use lives as long as anything can run them, and no longer. Executable
// graphs have no CUDA user objects, which make launches expensive.
#include "harness/graph_scenario.hpp"
#include "harness/memory.hpp"
#include "harness/reports.hpp"
#include "harness/spied_call.hpp"

#include <atomic>
#include <functional>
#include <memory>
#include <thread>

#include <catch2/generators/catch_generators.hpp>
#include <cushim/device_buffer.hpp>
#include <cushim/override.hpp>

using namespace api_test;
using namespace cushim;

namespace {

// Counts the CUDA user objects that exist.
class UserObjects {
  public:
    UserObjects() {
        alive_ = 0;
        original_ = override_.original();
    }
    bool are(int count) const {
        return soon([&] {
            wait_for_released_closures();
            return alive_ == count;
        });
    }

  private:
    struct Counted {
        CUhostFn destroy;
        void *user;
    };
    static void CUDA_CB count_down(void *user) {
        const std::unique_ptr<Counted> counted(static_cast<Counted *>(user));
        counted->destroy(counted->user);
        --alive_;
    }
    static CUresult CUDAAPI create(CUuserObject *object, void *user, CUhostFn destroy,
                                   unsigned int count, unsigned int flags) {
        std::unique_ptr<Counted> counted(new Counted{destroy, user});
        const CUresult status = original_(object, counted.get(), count_down, count, flags);
        if (status == CUDA_SUCCESS) {
            (void)counted.release();
            ++alive_;
        }
        return status;
    }

    static inline std::atomic<int> alive_{0};
    static inline entry::cuUserObjectCreate::pfn original_ = nullptr;
    const ScopedOverride<entry::cuUserObjectCreate> override_{create};
};

// The ways to an executable graph whose only node, at whatever depth, calls `watched`. All graphs
// are gone when it returns.
struct Way {
    const char *name;
    GraphExec (*make)(Api api, const Context &context, const Stream &stream, Watched &watched);
};

const Way ways[] = {
    {"a graph",
     [](Api api, const Context &context, const Stream &, Watched &watched) {
         return ok(call_graph(api, context, watched).instantiate());
     }},
    {"a clone",
     [](Api api, const Context &context, const Stream &, Watched &watched) {
         return ok(ok(call_graph(api, context, watched).clone()).instantiate());
     }},
    {"a child graph at depth 2",
     [](Api api, const Context &context, const Stream &, Watched &watched) {
         Graph middle = ok(create_graph(api, context));
         ok(middle.add_child_graph_node({}, call_graph(api, context, watched)));
         Graph graph = ok(create_graph(api, context));
         ok(graph.add_child_graph_node({}, middle));
         return ok(graph.instantiate());
     }},
    {"a node added inside a child graph",
     [](Api api, const Context &context, const Stream &, Watched &watched) {
         Graph graph = ok(create_graph(api, context));
         const GraphNode child = ok(graph.add_child_graph_node({}, ok(create_graph(api, context))));
         ok(ok(graph.child_graph_params(child)).add_host_node({}, watched.closure()));
         return ok(graph.instantiate());
     }},
    {"a clone of a graph inside a node",
     [](Api api, const Context &context, const Stream &, Watched &watched) {
         Graph graph = ok(create_graph(api, context));
         const GraphNode child =
             ok(graph.add_child_graph_node({}, call_graph(api, context, watched)));
         return ok(ok(ok(graph.child_graph_params(child)).clone()).instantiate());
     }},
    {"an update",
     [](Api api, const Context &context, const Stream &, Watched &watched) {
         Watched before;
         GraphExec exec = ok(call_graph(api, context, before).instantiate());
         CHECK(ok(exec.update(call_graph(api, context, watched))).is_success());
         CHECK(before.is_destroyed_soon());
         return exec;
     }},
    {"a changed node",
     [](Api api, const Context &context, const Stream &, Watched &watched) {
         Graph graph = ok(create_graph(api, context));
         const GraphNode node = ok(graph.add_host_node({}, [] {}));
         GraphExec exec = ok(graph.instantiate());
         ok(exec.set_host_node(node, watched.closure()));
         return exec;
     }},
    {"a changed child graph",
     [](Api api, const Context &context, const Stream &, Watched &watched) {
         Watched before;
         Graph graph = ok(create_graph(api, context));
         const GraphNode child =
             ok(graph.add_child_graph_node({}, call_graph(api, context, before)));
         GraphExec exec = ok(graph.instantiate());
         ok(exec.set_child_graph_node(child, call_graph(api, context, watched)));
         return exec;
     }},
    {"a capture",
     [](Api api, const Context &, const Stream &stream, Watched &watched) {
         return ok(ok(capture(api, stream, [&] {
                       return stream.launch_host_function(watched.closure());
                   })).instantiate());
     }},
    {"an adopted executable graph that is updated",
     [](Api api, const Context &context, const Stream &, Watched &watched) {
         Graph graph = ok(create_graph(api, context));
         ok(graph.add_host_node({}, [] {}));
         const CUgraphExec native = ok(graph.instantiate()).release();
         GraphExec exec = ok(api == Api::runtime ? rt::adopt_exec(context, native)
                                                 : GraphExec::adopt(context, native));
         CHECK(ok(exec.update(call_graph(api, context, watched))).is_success());
         return exec;
     }},
};

} // namespace

TEST_CASE("an executable graph keeps what its nodes use, without a user object",
          "[graph][G13][current]") {
    const Api api = GENERATE(Api::driver, Api::runtime);
    const UserObjects user_objects;
    for (const Way &way : ways) {
        INFO(way.name);
        const Context context = context_after_restart("mode=adversarial");
        const Stream stream = ok(Stream::create(context, {.non_blocking = true}));
        Watched watched;
        GraphExec exec = way.make(api, context, stream, watched);
        CHECK(user_objects.are(0));
        CHECK_FALSE(watched.is_destroyed());
        ok(exec.launch(stream));
        ok(exec.launch(stream));
        ok(stream.synchronize());
        CHECK(watched.calls() == 2);
        exec.reset();
        CHECK(watched.is_destroyed_soon());
        CHECK(misuses() == std::vector<std::string>());
    }
}

TEST_CASE("a running launch keeps what its nodes use after the executable graph is destroyed",
          "[graph][G13][current]") {
    const Api api = GENERATE(Api::driver, Api::runtime);
    for (const Way &way : ways) {
        INFO(way.name);
        const Context context = context_after_restart("mode=threaded");
        const Stream stream = ok(Stream::create(context, {.non_blocking = true}));
        Watched watched;
        GraphExec exec = way.make(api, context, stream, watched);
        const Gate gate;
        ok(gate.close(stream));
        ok(exec.launch(stream));
        exec.reset();
        wait_for_possible_releases();
        CHECK_FALSE(watched.is_destroyed());
        gate.open();
        CHECK(watched.is_destroyed_soon());
        CHECK(watched.calls() == 1);
    }
}

TEST_CASE("a running launch keeps what changed nodes of a graph that keeps nothing use",
          "[graph][G23][current]") {
    const Api api = GENERATE(Api::driver, Api::runtime);
    const Context context = context_after_restart("mode=threaded");
    const Stream stream = ok(Stream::create(context, {.non_blocking = true}));
    Graph graph = ok(create_graph(api, context));
    CUDA_HOST_NODE_PARAMS call{};
    call.fn = [](void *) {};
    CUgraphNode node = nullptr;
    CHECK(driver().cuGraphAddHostNode(&node, graph.native(), nullptr, 0, &call) == CUDA_SUCCESS);
    GraphExec exec = ok(graph.instantiate());
    Watched watched;
    ok(exec.set_host_node(ok(graph.nodes())[0], watched.closure()));
    const Gate gate;
    ok(gate.close(stream));
    ok(exec.launch(stream));
    ok(exec.set_host_node(ok(graph.nodes())[0], [] {}));
    wait_for_possible_releases();
    CHECK_FALSE(watched.is_destroyed());
    gate.open();
    CHECK(watched.is_destroyed_soon());
    CHECK(watched.calls() == 1);
}

TEST_CASE("a rejected update keeps what the executable graph uses", "[graph][G25][current]") {
    const Api api = GENERATE(Api::driver, Api::runtime);
    const Context context = context_after_restart("");
    const Stream stream = ok(Stream::create(context, {.non_blocking = true}));
    Watched watched, other;
    GraphExec exec = ok(call_graph(api, context, watched).instantiate());
    {
        Graph unlike = call_graph(api, context, other);
        ok(unlike.add_empty_node({}));
        CHECK_FALSE(ok(exec.update(unlike)).is_success());
    }
    CHECK(other.is_destroyed_soon());
    CHECK_FALSE(watched.is_destroyed());
    ok(launch_and_wait(exec, stream));
    CHECK(watched.calls() == 1);
}

TEST_CASE("each launch keeps what a changed node used then", "[graph][G23][current]") {
    const Api api = GENERATE(Api::driver, Api::runtime);
    const Context context = context_after_restart("mode=threaded");
    const Stream stream = ok(Stream::create(context, {.non_blocking = true}));
    Graph graph = ok(create_graph(api, context));
    const GraphNode node = ok(graph.add_host_node({}, [] {}));
    GraphExec exec = ok(graph.instantiate());
    Watched first, second;
    ok(exec.set_host_node(node, first.closure()));
    ok(exec.launch(stream));
    ok(exec.set_host_node(node, second.closure()));
    ok(stream.synchronize());
    CHECK(first.is_destroyed_soon());
    const Gate gate;
    ok(gate.close(stream));
    ok(exec.launch(stream));
    ok(exec.set_host_node(node, [] {}));
    wait_for_possible_releases();
    CHECK_FALSE(second.is_destroyed());
    gate.open();
    CHECK(second.is_destroyed_soon());
    CHECK(second.calls() == 1);
}

TEST_CASE("each of two graphs keeps what both use", "[graph][G12][current]") {
    const Api api = GENERATE(Api::driver, Api::runtime);
    const Context context = context_after_restart("");
    const Stream stream = ok(Stream::create(context, {.non_blocking = true}));
    auto memory = ok(DeviceBuffer<int>::allocate(context, 8));
    const DeviceSpan<const int> span = std::as_const(memory);
    Graph first = ok(create_graph(api, context));
    Graph second = ok(create_graph(api, context));
    ok(first.add_memset_node({}, memory, 1));
    ok(second.add_memset_node({}, memory, 2));
    memory.reset();
    first.reset();
    wait_for_released_closures();
    ok(run_once(second, stream));
    std::vector<int> values(8);
    ok(copy(context, std::span(values), span));
    CHECK(values == std::vector<int>(8, 2));
    CHECK(misuses() == std::vector<std::string>());
}

// --- where CUDA can run a graph without the wrappers

TEST_CASE("CUDA keeps what an executable graph of kept_by_cuda uses", "[graph][current]") {
    const Api api = GENERATE(Api::driver, Api::runtime);
    const UserObjects user_objects;
    const Context context = context_after_restart("");
    const Stream stream = ok(Stream::create(context, {.non_blocking = true}));
    Watched watched, updated;
    GraphExec exec = ok(call_graph(api, context, watched).instantiate({.kept_by_cuda = true}));
    CHECK(user_objects.are(1));
    const CUgraphExec native = exec.release();
    CHECK(driver().cuGraphLaunch(native, stream.native()) == CUDA_SUCCESS);
    ok(stream.synchronize());
    CHECK(watched.calls() == 1);
    exec = ok(api == Api::runtime ? rt::borrow_exec(context, native)
                                  : GraphExec::borrow(context, native));
    CHECK(ok(exec.update(call_graph(api, context, updated))).is_success());
    CHECK(watched.is_destroyed_soon());
    CHECK(user_objects.are(1));
    exec.reset();
    CHECK(driver().cuGraphExecDestroy(native) == CUDA_SUCCESS);
    CHECK(updated.is_destroyed_soon());
    CHECK(user_objects.are(0));
}

GRAPH_TEST_CASE("an executable graph releases what a changed node no longer uses",
                "[graph][current][G23]", (Api api)) {
    const Context context = context_after_restart("");
    auto first = ok(DeviceBuffer<int>::allocate(context, 8));
    auto second = ok(DeviceBuffer<int>::allocate(context, 8));
    Graph graph = ok(create_graph(api, context));
    const GraphNode node = ok(graph.add_memset_node({}, first, 1));
    GraphExec exec = ok(graph.instantiate());
    ok(exec.set_memset_node(node, second, 2));
    static std::atomic<CUdeviceptr> freed;
    freed = 0;
    const SpiedCall<entry::cuMemFree> spied([](CUdeviceptr address) { freed = address; });
    const CUdeviceptr address = second.native();
    second.reset();
    CHECK(freed == 0);
    ok(exec.set_memset_node(node, first.span(), 3)); // without an owner
    CHECK(soon([&] { return freed == address; }));
}

TEST_CASE("CUDA's copies of a graph keep what its nodes use", "[graph][current]") {
    const Api api = GENERATE(Api::driver, Api::runtime);
    const UserObjects user_objects;
    const Context context = context_after_restart("");
    Watched watched;
    Graph graph = call_graph(api, context, watched);
    const GraphExec instantiated_before = ok(graph.instantiate());
    const ContextScope scope = ok(context.enter());

    CUgraph clone = nullptr, outer = nullptr;
    CUgraphExec exec = nullptr;
    CUgraphNode node = nullptr;
    CHECK(driver().cuGraphClone(&clone, graph.native()) == CUDA_SUCCESS);
    CHECK(driver().cuGraphInstantiateWithFlags(&exec, graph.native(), 0) == CUDA_SUCCESS);
    CHECK(driver().cuGraphCreate(&outer, 0) == CUDA_SUCCESS);
    CHECK(driver().cuGraphAddChildGraphNode(&node, outer, nullptr, 0, graph.native()) ==
          CUDA_SUCCESS);
    const CUgraph released = graph.release();
    // Each of them alone keeps it.
    const std::function<CUresult()> destroy[] = {
        [&] { return driver().cuGraphDestroy(released); },
        [&] { return driver().cuGraphDestroy(clone); },
        [&] { return driver().cuGraphExecDestroy(exec); },
        [&] { return driver().cuGraphDestroy(outer); },
    };
    for (const auto &each : destroy) {
        CHECK(user_objects.are(1));
        CHECK_FALSE(watched.is_destroyed());
        CHECK(each() == CUDA_SUCCESS);
    }
    CHECK(user_objects.are(0));
    CHECK_FALSE(watched.is_destroyed()); // for instantiated_before
}

TEST_CASE("a node that is added later does not enter earlier executable graphs",
          "[graph][G13][current]") {
    const Api api = GENERATE(Api::driver, Api::runtime);
    const Context context = context_after_restart("");
    Watched first, second, third;
    Graph graph = call_graph(api, context, first);
    GraphExec before = ok(graph.instantiate());
    ok(graph.add_host_node({}, second.closure()));
    GraphExec between = ok(graph.instantiate());
    ok(graph.add_host_node({}, third.closure()));
    graph.reset();
    CHECK(third.is_destroyed_soon());
    CHECK_FALSE(second.is_destroyed());
    between.reset();
    CHECK(second.is_destroyed_soon());
    CHECK_FALSE(first.is_destroyed());
    before.reset();
    CHECK(first.is_destroyed_soon());
}

TEST_CASE("a graph that was instantiated very often is destroyed", "[graph][current]") {
    const Context context = context_after_restart("");
    Graph graph = ok(Graph::create(context));
    std::vector<Watched> watched(2000);
    for (Watched &each : watched) {
        ok(graph.add_host_node({}, each.closure()));
        ok(graph.instantiate());
    }
}

TEST_CASE("graphs that contained one another very often are destroyed", "[graph][current]") {
    const Context context = context_after_restart("");
    Watched watched;
    {
        Graph graphs[] = {call_graph(Api::driver, context, watched),
                          call_graph(Api::driver, context, watched)};
        for (int i = 0; i < 50'000; ++i) {
            Graph &graph = graphs[i % 2];
            ok(graph.destroy_node(ok(graph.add_child_graph_node({}, graphs[(i + 1) % 2]))));
        }
    }
    CHECK(watched.is_destroyed_soon());
}

TEST_CASE("one thread launches while another releases graphs that share resources",
          "[graph][G13][current]") {
    const Api api = GENERATE(Api::driver, Api::runtime);
    const Context context = context_after_restart("mode=threaded");
    Watched watched;
    Graph graph = call_graph(api, context, watched);
    GraphExec exec = ok(graph.instantiate());
    std::vector<GraphExec> others;
    std::vector<Graph> clones;
    for (int i = 0; i < 200; ++i) {
        others.push_back(ok(graph.instantiate()));
        clones.push_back(ok(graph.clone()));
    }
    std::thread releasing([&] {
        while (!others.empty()) {
            others.pop_back();
            clones.pop_back();
        }
    });
    const Stream stream = ok(Stream::create(context, {.non_blocking = true}));
    for (int i = 0; i < 200; ++i) {
        ok(exec.launch(stream));
    }
    ok(stream.synchronize());
    releasing.join();
    CHECK(watched.calls() == 200);
}
