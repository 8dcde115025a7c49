// Calls that fail after CUDA has performed them: no object is destroyed twice, and objects that
// CUDA may still use are kept.
#include "harness/graph_scenario.hpp"
#include "harness/memory.hpp"

#include <cushim/override.hpp>

#include <atomic>

using namespace api_test;
using namespace cushim;

namespace {

constexpr const char *needs_faults = "needs the simulator, whose calls can be made to fail";
constexpr int injected = 719; // as after a fault of a kernel

void fail(const std::string &entry_point, cushim_sim_fault_kind kind) {
    cushim_sim_fault fault{};
    fault.entry = entry_point.c_str();
    fault.kind = kind;
    fault.code = injected;
    REQUIRE(simulator()->plan_fault(&fault) != 0);
}

void fail_after(const std::string &entry_point) {
    fail(entry_point, CUSHIM_SIM_FAULT_AFTER);
}

// A function that counts its copies.
class Counted {
  public:
    Counted(std::atomic<int> &alive, std::atomic<int> &calls) : alive_(alive), calls_(calls) {
        ++alive_;
    }
    Counted(const Counted &other) : alive_(other.alive_), calls_(other.calls_) { ++alive_; }
    Counted &operator=(const Counted &) = delete;
    ~Counted() { --alive_; }
    void operator()() const { ++calls_; }

  private:
    std::atomic<int> &alive_;
    std::atomic<int> &calls_;
};

struct Counts {
    Counted function() { return Counted(alive, calls); }
    std::atomic<int> alive{0}, calls{0};
};

} // namespace

TEST_CASE("a host function is destroyed once when CUDA enqueues it and reports a failure",
          "[after_effect]") {
    need_simulator(needs_faults);
    for (const char *settings : {"mode=immediate", "mode=threaded", "mode=adversarial"}) {
        INFO(settings);
        const Context context = context_after_restart(settings);
        const auto stream = ok(Stream::create(context));
        Counts counts;
        for (int round = 0; round != 20; ++round) {
            fail_after("cuStreamAddCallback");
            CHECK(error_of(stream.launch_host_function(counts.function())).status() == injected);
        }
        ok(stream.launch_host_function([] {}));
        ok(stream.synchronize());
        wait_for_released_closures();
        CHECK(counts.alive == 0);
    }
}

GRAPH_TEST_CASE("a graph keeps the closure of a host node whose addition fails after its effect",
                "[after_effect][graph]", (Api api)) {
    need_simulator(needs_faults);
    auto made = make_graph(api);
    Counts counts;
    fail_after(graph_call(api, "AddHostNode"));
    CHECK_FALSE(made.graph.add_host_node({}, counts.function()).has_value());
    CHECK(ok(made.graph.node_count()) == 1);
    const auto stream = made.stream();
    ok(run_once(made.graph, stream));
    CHECK(counts.calls == 1);
    made.graph.reset();
    CHECK(soon([&] { return counts.alive == 0; }));
    CHECK(misuses().empty());
}

GRAPH_TEST_CASE("a graph keeps the closure of a host node whose change fails after its effect",
                "[after_effect][graph]", (Api api)) {
    need_simulator(needs_faults);
    auto made = make_graph(api);
    Counts before, after;
    const auto node = ok(made.graph.add_host_node({}, before.function()));
    fail_after(graph_call(api, "HostNodeSetParams"));
    CHECK_FALSE(made.graph.set_host_node(node, after.function()).has_value());
    const auto stream = made.stream();
    ok(run_once(made.graph, stream));
    CHECK(before.calls == 0);
    CHECK(after.calls == 1);
    made.graph.reset();
    CHECK(soon([&] { return before.alive + after.alive == 0; }));
}

GRAPH_TEST_CASE("an executable graph keeps both closures of a host node when setting it fails",
                "[after_effect][graph]", (Api api)) {
    need_simulator(needs_faults);
    auto made = make_graph(api);
    const auto stream = made.stream();
    const auto node = ok(made.graph.add_host_node({}, [] {}));
    auto exec = ok(made.graph.instantiate());
    Counts first, failed, last;
    ok(exec.set_host_node(node, first.function()));
    fail_after(graph_call(api, "ExecHostNodeSetParams"));
    CHECK_FALSE(exec.set_host_node(node, failed.function()).has_value());
    CHECK(first.alive == 1);
    ok(launch_and_wait(exec, stream));
    CHECK(failed.calls == 1);
    ok(exec.set_host_node(node, last.function()));
    CHECK(soon([&] { return first.alive + failed.alive == 0; }));
    CHECK(last.alive == 1);
    exec.reset();
    CHECK(soon([&] { return last.alive == 0; }));
}

GRAPH_TEST_CASE("a graph holds one reference when retaining a user object fails after its effect",
                "[after_effect][graph]", (Api api)) {
    need_simulator(needs_faults);
    auto made = make_graph(api);
    Counts counts;
    fail_after("cuGraphRetainUserObject");
    CHECK_FALSE(made.graph.add_host_node({}, counts.function()).has_value());
    made.graph.reset();
    CHECK(soon([&] { return counts.alive == 0; }));
    CHECK(misuses().empty());
    made.context.reset();
    CHECK(leaks().empty());
}

GRAPH_TEST_CASE("a node that CUDA has destroyed is rejected even if the call failed",
                "[after_effect][graph]", (Api api)) {
    need_simulator(needs_faults);
    auto made = make_graph(api);
    auto inside = ok(create_graph(api, made.context));
    ok(inside.add_empty_node({}));
    const auto kept = ok(made.graph.add_empty_node({}));
    const auto node = ok(made.graph.add_child_graph_node({kept}, inside));
    auto child = ok(made.graph.child_graph_params(node));
    const std::string call = graph_call(api, "DestroyNode");
    fail_after(call);
    CHECK_FALSE(made.graph.destroy_node(node).has_value());
    CHECK(ok(made.graph.node_count()) == 1);
    check_no_calls([&] { CHECK(refused(made.graph.destroy_node(node))); });
    CHECK(refused(made.graph.add_empty_node({node})));
    CHECK(refused(child.add_empty_node({})));
    // If the call fails without its effect, the node exists, and nodes() returns it.
    fail(call, CUSHIM_SIM_FAULT_INSTEAD);
    CHECK_FALSE(made.graph.destroy_node(kept).has_value());
    CHECK_FALSE(made.graph.destroy_node(kept).has_value());
    const auto nodes = ok(made.graph.nodes());
    REQUIRE(nodes.size() == 1);
    ok(made.graph.destroy_node(nodes[0]));
    CHECK(misuses().empty());
}

// The outputs of a call that fails are not read: a driver may leave them unchanged.
TEST_CASE("end_capture() tries again if the end and the query of the capture status fail",
          "[after_effect][capture]") {
    const Context context = context_after_restart("");
    const auto stream = ok(Stream::create(context));
    ok(stream.begin_capture(CaptureMode::relaxed));
    {
        static int ends;
        ends = 0;
        static entry::cuStreamEndCapture::pfn real;
        const ScopedOverride<entry::cuStreamIsCapturing> question(
            [](CUstream, CUstreamCaptureStatus *) { return CUDA_ERROR_UNKNOWN; });
        const ScopedOverride<entry::cuStreamEndCapture> end([](CUstream of, CUgraph *graph) {
            return ends++ == 0 ? CUDA_ERROR_UNKNOWN : real(of, graph);
        });
        real = end.original();
        CHECK_FALSE(stream.end_capture().has_value());
    }
    CHECK(ok(stream.capture_status()) == CaptureStatus::none);
    CHECK(misuses().empty());
}
