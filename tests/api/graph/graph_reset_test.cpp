// Graphs outlive a reset of their context, executable graphs do not. Measured on driver 580: after
// a reset cuGraphDestroy returns 0, and cuGraphExecDestroy never returns. Both release their
// resources.
#include "harness/graph_scenario.hpp"
#include "harness/memory.hpp"
#include "harness/reports.hpp"
#include "harness/spied_call.hpp"

#include <cushim/device_buffer.hpp>

using namespace api_test;
using namespace cushim;

namespace {

void reset_device() {
    REQUIRE(Context::reset_primary(Device::from_native(0)).has_value());
}

// Calls of f() that destroy graphs.
template <class F>
std::vector<std::string> destroyed_in(const F &f) {
    std::vector<std::string> calls = calls_in(f);
    std::erase_if(calls, [](const std::string &name) {
        return name.find("GraphDestroy") == std::string::npos &&
               name.find("GraphExecDestroy") == std::string::npos;
    });
    return calls;
}

// The graphs of a test may keep memory that a reset of the context frees.
void check_clean(std::size_t memory_left = 0) {
    CHECK(leaks().size() == (simulator() != nullptr ? memory_left : 0));
    CHECK(misuses().empty());
}

} // namespace

GRAPH_TEST_CASE("graphs release their resources after a reset of their context", "[graph][reset]",
                (Api api)) {
    auto made = make_graph(api);
    const Reports reports;
    Watched in_graph, in_child;
    auto child = ok(create_graph(api, made.context));
    ok(child.add_host_node({}, in_child.closure()));
    ok(made.graph.add_child_graph_node({}, child));
    ok(made.graph.add_host_node({}, in_graph.closure()));
    auto memory = ok(DeviceBuffer<int>::allocate(made.context, 8));
    ok(made.graph.add_memset_node({}, memory, 1));
    auto clone = ok(made.graph.clone());
    memory.reset();

    reset_device();
    const auto calls = destroyed_in([&] {
        CHECK(child.close().has_value());
        CHECK(made.graph.close().has_value());
        CHECK_FALSE(in_graph.is_destroyed()); // the clone keeps it alive
        CHECK_FALSE(in_child.is_destroyed());
        CHECK(clone.close().has_value());
    });
    if (simulator() != nullptr) {
        CHECK(calls == std::vector<std::string>(3, "cuGraphDestroy"));
    }
    CHECK(in_graph.is_destroyed_soon());
    CHECK(in_child.is_destroyed_soon());
    made.context.reset();
    CHECK(reports.lines().empty());
    check_clean(1);
}

GRAPH_TEST_CASE("a graph is destroyed after a reset and after its last context owner",
                "[graph][reset]", (Api api)) {
    auto made = make_graph(api);
    Watched kept;
    ok(made.graph.add_host_node({}, kept.closure()));
    reset_device();
    made.context.reset();
    CHECK(made.graph.close().has_value());
    CHECK(kept.is_destroyed_soon());
    check_clean();
}

GRAPH_TEST_CASE("an executable graph releases its resources after a reset, without a CUDA call",
                "[graph][reset]", (Api api)) {
    auto made = make_graph(api);
    const Reports reports;
    Watched in_graph, in_exec;
    const auto node = ok(made.graph.add_host_node({}, in_graph.closure()));
    auto exec = ok(made.graph.instantiate());
    ok(exec.set_host_node(node, in_exec.closure()));
    auto stream = ok(Stream::create(made.context));
    ok(exec.launch(stream));
    ok(stream.synchronize());
    CHECK(in_exec.calls() == 1);

    reset_device();
    const auto calls = destroyed_in([&] { CHECK(exec.close().has_value()); });
    CHECK(calls.empty());
    CHECK(in_exec.is_destroyed_soon());
    CHECK(made.graph.close().has_value());
    // Driver 580 keeps the executable graph's own reference until the process ends.
    if (simulator() != nullptr) {
        CHECK(in_graph.is_destroyed_soon());
    }
    stream.reset();
    made.context.reset();
    CHECK(reports.lines().empty());
    check_clean();
}

GRAPH_TEST_CASE("resources that an executable graph replaced before a reset are released",
                "[graph][reset]", (Api api)) {
    auto made = make_graph(api, "mode=adversarial");
    Watched first, second;
    const auto node = ok(made.graph.add_host_node({}, [] {}));
    auto exec = ok(made.graph.instantiate());
    ok(exec.set_host_node(node, first.closure()));
    auto stream = ok(Stream::create(made.context));
    ok(exec.launch(stream));
    ok(exec.set_host_node(node, second.closure())); // the launch may still call the first one
    reset_device();
    CHECK(first.is_destroyed_soon());
    exec.reset();
    CHECK(second.is_destroyed_soon());
    CHECK(misuses().empty());
}

namespace {

std::atomic<bool> is_resetting{false};
std::atomic<int> questions{0};
entry::cuDevicePrimaryCtxReset::pfn original_reset = nullptr;

} // namespace

TEST_CASE("cushim's thread does not ask about a stream while its context is being reset",
          "[graph][reset]") {
    need_simulator("needs the simulator: drivers were not asked about captured streams");
    auto made = make_graph(Api::driver, "");
    Watched watched;
    ok(made.graph.add_host_node({}, watched.closure()));
    auto exec = ok(made.graph.instantiate());
    made.graph.reset();
    const auto stream = ok(Stream::create(made.context, {.non_blocking = true}));
    ok(exec.launch(stream));
    // While the stream is captured, the thread asks again and again.
    ok(stream.begin_capture(CaptureMode::relaxed));
    exec.reset();
    const SpiedCall<entry::cuStreamIsCapturing> asked(
        [](CUstream, CUstreamCaptureStatus *) { questions += is_resetting ? 1 : 0; });
    const ScopedOverride<entry::cuDevicePrimaryCtxReset> slow([](CUdevice device) {
        is_resetting = true;
        std::this_thread::sleep_for(std::chrono::milliseconds(150));
        is_resetting = false;
        return original_reset(device);
    });
    original_reset = slow.original();
    reset_device();
    CHECK(questions == 0);
    CHECK(watched.is_destroyed_soon());
}
