// Captures of other code, captures into graphs of other code, and who then owns the graph.
#include "harness/graph_scenario.hpp"
#include "harness/workplace.hpp"

#include <cushim/device_buffer.hpp>

#include <string>
#include <vector>

using namespace api_test;
using namespace cushim;
using support::Workplace;

GRAPH_SCENARIO_TEST("end_capture_to() with another graph destroys the captured graph",
                    "[graph][capture][G2]",
                    (Api api, const Context &context, const Stream &stream, Graph &graph)) {
    CUSHIM_TRY(auto memory, DeviceBuffer<int>::allocate(context, 8));
    CUSHIM_TRY_VOID(api_test::begin_capture(api, stream));
    const Result<void> queued = fill(stream, memory.span(), 2);
    CUSHIM_TRY_VOID(refused(stream.end_capture_to(graph),
                            "the stream captured into a new graph; the capture has ended; next "
                            "time end it with Stream::end_capture()"));
    CUSHIM_TRY_VOID(queued);
    return check_gives(graph.node_count(), 0);
}

#if CUDA_VERSION >= 12030
GRAPH_SCENARIO_TEST(
    "a graph keeps its owner after a capture that cuStreamBeginCaptureToGraph began",
    "[graph][capture][G2]", (Trial &trial, Api api, const Stream &stream, Graph &graph)) {
    trial.needs_driver(12, 3);
    const CUresult begun = driver().cuStreamBeginCaptureToGraph(
        stream.native(), graph.native(), nullptr, nullptr, 0, CU_STREAM_CAPTURE_MODE_RELAXED);
    if (begun != CUDA_SUCCESS) {
        CUgraph captured = nullptr; // the capture may have begun
        (void)driver().cuStreamEndCapture(stream.native(), &captured);
        return begun != 36 ? answer(begun, "cuStreamBeginCaptureToGraph")
                           : Error::requires_newer_driver("cuStreamBeginCaptureToGraph",
                                                          Version::of(12, 3), driver_version());
    }
    CUSHIM_TRY(const Graph captured, api_test::end_capture(api, stream));
    CHECK(captured.native() == graph.native());
    return check_gives(graph.node_count(), 0);
}

namespace {

// A graph of other code, which no Graph owns.
class OthersGraph {
  public:
    OthersGraph() { REQUIRE(driver().cuGraphCreate(&native, 0) == CUDA_SUCCESS); }
    ~OthersGraph() {
        CHECK(driver().cuGraphDestroy(native) == CUDA_SUCCESS);
        CHECK(misuses() == std::vector<std::string>());
    }
    OthersGraph(const OthersGraph &) = delete;
    OthersGraph &operator=(const OthersGraph &) = delete;

    void begin_capture(const Stream &stream) const {
        REQUIRE(driver().cuStreamBeginCaptureToGraph(stream.native(), native, nullptr, nullptr, 0,
                                                     CU_STREAM_CAPTURE_MODE_RELAXED) ==
                CUDA_SUCCESS);
    }
    std::size_t node_count() const {
        std::size_t count = 0;
        CHECK(driver().cuGraphGetNodes(native, nullptr, &count) == CUDA_SUCCESS);
        return count;
    }

    CUgraph native = nullptr;
};

// The same, with a stream to capture.
struct OthersPlace {
    OthersPlace() {
        if (!supports(driver_version(), Feature::capture_to_graph)) {
            SKIP("needs a driver of CUDA 12.3");
        }
    }
    Graph lent(Api api) const {
        return ok(api == Api::driver ? Graph::borrow(place.context, graph.native)
                                     : rt::borrow_graph(place.context, graph.native));
    }
    void check_captured() {
        CHECK(ok(place.stream.capture_status()) == CaptureStatus::none);
        CHECK(graph.node_count() == 1);
    }

    Workplace place = make_place();
    DeviceBuffer<int> memory = ok(DeviceBuffer<int>::allocate(place.context, 8));
    OthersGraph graph;
};

} // namespace

GRAPH_TEST_CASE("a borrowed graph outlives a capture into it whose first borrower is gone",
                "[graph][capture][G2]", (Api api)) {
    OthersPlace at;
    Graph first = at.lent(api);
    ok(at.place.stream.begin_capture_to(first, {}));
    first.reset();
    ok(fill(at.place.stream, at.memory.span(), 1));
    ok(at.place.stream.end_capture_to(at.lent(api)));
    at.check_captured();
}

GRAPH_TEST_CASE("end_capture_to() leaves a graph that other code captures into to its owner",
                "[graph][capture][G2]", (Api api)) {
    OthersPlace at;
    at.graph.begin_capture(at.place.stream);
    ok(fill(at.place.stream, at.memory.span(), 1));
    ok(at.place.stream.end_capture_to(at.lent(api)));
    at.check_captured();
}

GRAPH_TEST_CASE("end_capture_to() with another graph leaves that of other code to its owner",
                "[graph][capture][G2]", (Api api)) {
    OthersPlace at;
    const Graph another = ok(create_graph(api, at.place.context));
    at.graph.begin_capture(at.place.stream);
    ok(fill(at.place.stream, at.memory.span(), 1));
    CHECK_FALSE(at.place.stream.end_capture_to(another).has_value());
    at.check_captured();
}

GRAPH_TEST_CASE("end_capture() borrows a graph that other code captures into",
                "[graph][capture][G2]", (Api api)) {
    OthersPlace at;
    at.graph.begin_capture(at.place.stream);
    ok(fill(at.place.stream, at.memory.span(), 1));
    Graph captured = ok(api_test::end_capture(api, at.place.stream));
    CHECK(captured.native() == at.graph.native);
    captured.reset();
    at.check_captured();
}

GRAPH_TEST_CASE("a capture of other code in a stream that was captured before is not taken for it",
                "[graph][capture][G2]", (Api api)) {
    OthersPlace at;
    const Stream &stream = at.place.stream;
    ok(api_test::begin_capture(api, stream));
    CUgraph ended = nullptr; // by other code
    REQUIRE(driver().cuStreamEndCapture(stream.native(), &ended) == CUDA_SUCCESS);
    at.graph.begin_capture(stream);
    ok(fill(stream, at.memory.span(), 1));
    ok(api_test::end_capture(api, stream)).reset();
    at.check_captured();
    CHECK(driver().cuGraphDestroy(ended) == CUDA_SUCCESS);
}

// Each context has its own per-thread stream, with the same handle.
TEST_CASE("captures of the per-thread streams of two contexts are owned", "[graph][capture][G2]") {
    const Context first = context_after_restart("");
    const Context second = ok(Context::create(ok(Device::get(0))));
    const auto in = [](const Context &context) { return ok(context.enter()); };
    {
        const ContextScope scope = in(first);
        ok(Stream::per_thread().begin_capture());
    }
    {
        const ContextScope scope = in(second);
        ok(Stream::per_thread().begin_capture());
        (void)ok(Stream::per_thread().end_capture());
    }
    const ContextScope scope = in(first);
    (void)ok(Stream::per_thread().end_capture()); // a graph that stays is reported as a leak
}

GRAPH_TEST_CASE("end_capture_to() with the graph of begin_capture() does not destroy it",
                "[graph][capture][G2]", (Api api)) {
    const auto [device, context, stream] = make_place();
    ok(api_test::begin_capture(api, stream));
    CUstreamCaptureStatus status{};
    CUgraph native = nullptr;
    REQUIRE(driver().cuStreamGetCaptureInfo_v2(stream.native(), &status, nullptr, &native, nullptr,
                                               nullptr) == CUDA_SUCCESS);
    const Graph lent = ok(Graph::borrow(context, native));
    ok(stream.end_capture_to(lent));
    const Graph owner = ok(Graph::adopt(context, native));
    CHECK(ok(owner.node_count()) == 0);
}

GRAPH_TEST_CASE("a graph of other code keeps a captured closure", "[graph][capture][G13]",
                (Api api)) {
    OthersPlace at;
    Watched watched;
    at.graph.begin_capture(at.place.stream);
    ok(at.place.stream.launch_host_function(watched.closure()));
    ok(at.place.stream.end_capture_to(at.lent(api)));
    wait_for_possible_releases();
    at.check_captured();
    CHECK_FALSE(watched.is_destroyed());
    ok(ok(at.lent(api).instantiate()).launch(at.place.stream));
    ok(at.place.stream.synchronize());
    CHECK(watched.calls() == 1);
}
#endif
