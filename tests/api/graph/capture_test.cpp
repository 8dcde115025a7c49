// Captures: how they begin and end, with success and with errors.
#include "harness/graph_scenario.hpp"
#include "harness/memory.hpp"
#include "harness/reports.hpp"
#include "harness/workplace.hpp"

#include <cushim/device_buffer.hpp>
#include <cushim/graph_conditional.hpp>
#include <cushim/override.hpp>
#include <cushim/pinned_buffer.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <functional>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <thread>
#include <utility>

using namespace api_test;
using namespace cushim;
using support::Workplace;

static_assert(static_cast<int>(CaptureMode::global) == CU_STREAM_CAPTURE_MODE_GLOBAL);
static_assert(static_cast<int>(CaptureMode::per_thread) == CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
static_assert(static_cast<int>(CaptureMode::relaxed) == CU_STREAM_CAPTURE_MODE_RELAXED);
static_assert(static_cast<int>(CaptureStatus::invalidated) == CU_STREAM_CAPTURE_STATUS_INVALIDATED);

namespace {

// A call that CUDA forbids during a capture, unless in relaxed mode.
Result<void> unsafe_call(const Context &context) {
    CUSHIM_TRY(const ContextScope scope, context.enter());
    CUdeviceptr address = 0;
    CUSHIM_TRY_VOID(answer(driver().cuMemAlloc(&address, 16), "cuMemAlloc_v2"));
    CHECK(driver().cuMemFree(address) == CUDA_SUCCESS);
    return {};
}

// The outcome of an unsafe call, and the status of the capture after it.
struct Ruin {
    bool is_refused;
    CaptureStatus capture;
    friend bool operator==(const Ruin &, const Ruin &) = default;
};
constexpr Ruin refused_and_ruined = {true, CaptureStatus::invalidated};
constexpr Ruin allowed = {false, CaptureStatus::active};

Ruin by_this_thread(const Workplace &place) {
    const bool is_refused = !unsafe_call(place.context).has_value();
    return {is_refused, support::ok(place.stream.capture_status())};
}
Ruin by_another_thread(const Workplace &place) {
    Ruin ruin{};
    std::thread([&] { ruin = by_this_thread(place); }).join();
    return ruin;
}

constexpr const char *is_ended_by_capture_to =
    "this capture goes into an existing graph: end it with Stream::end_capture_to(). It has now "
    "ended";

// A wrong way to end a capture, and the error.
struct Ending {
    const char *why;
    std::function<Result<void>()> end;
};

template <class T>
Result<void> without_value(const Result<T> &result) {
    return result ? Result<void>() : Result<void>(result.error());
}

} // namespace

GRAPH_SCENARIO_TEST("a captured graph with a kernel is launched twice",
                    "[graph][capture][G1][G2][G3][G4]",
                    (Api api, const Context &context, const Stream &stream)) {
    CUSHIM_TRY(const Module module, load_device_code(context));
    CUSHIM_TRY(const auto add, module.kernel<Add>("add"));
    CUSHIM_TRY(auto a, DeviceBuffer<float>::allocate(context, 32));
    CUSHIM_TRY(auto b, DeviceBuffer<float>::allocate(context, 32));
    CUSHIM_TRY(auto sum, DeviceBuffer<float>::allocate(context, 32));
    CUSHIM_TRY(auto out, PinnedBuffer<float>::allocate(context, 32));
    CUSHIM_TRY_VOID(fill(context, b.span(), 0.5f));
    CUSHIM_TRY(Graph graph, capture(api, stream, [&]() -> Result<void> {
                   CUSHIM_TRY_VOID(check_gives(stream.is_capturing(), true));
                   CUSHIM_TRY_VOID(fill(stream, a.span(), 1.0f));
                   CUSHIM_TRY_VOID(add.launch(stream, LaunchConfig::covering(32), a, b, sum, 32u));
                   return copy(stream, out.span(), sum.span());
               }));
    CHECK(graph.api() == api);
    CUSHIM_TRY_VOID(check_gives(stream.is_capturing(), false));
    CUSHIM_TRY(const std::size_t count, graph.node_count());
    CHECK(count == 3);
    CUSHIM_TRY(const GraphExec exec, graph.instantiate());
    for (int launch = 0; launch < 2; ++launch) {
        std::fill(out.begin(), out.end(), 0.0f);
        CUSHIM_TRY_VOID(launch_and_wait(exec, stream));
        CHECK(std::count(out.begin(), out.end(), 1.5f) == 32);
    }
    return {};
}

GRAPH_SCENARIO_TEST("a capture includes a second stream between fork and join events",
                    "[graph][capture][G4]",
                    (Api api, const Context &context, const Stream &stream)) {
    CUSHIM_TRY(const Stream other, Stream::create(context));
    CUSHIM_TRY(const Event fork, Event::create(context, {.timing = false}));
    CUSHIM_TRY(const Event join, Event::create(context, {.timing = false}));
    CUSHIM_TRY(auto memory, DeviceBuffer<int>::allocate(context, 8));
    CUSHIM_TRY(auto second, DeviceBuffer<int>::allocate(context, 8));
    CUSHIM_TRY(Graph graph, capture(api, stream, CaptureMode::global, [&]() -> Result<void> {
                   CUSHIM_TRY_VOID(fork.record(stream));
                   CUSHIM_TRY_VOID(other.wait_event(fork));
                   CUSHIM_TRY_VOID(check_gives(other.is_capturing(), true));
                   CUSHIM_TRY_VOID(fill(stream, memory.span(), 1));
                   CUSHIM_TRY_VOID(fill(other, second.span(), 2));
                   CUSHIM_TRY_VOID(join.record(other));
                   return stream.wait_event(join);
               }));
    CUSHIM_TRY(const auto roots, graph.root_nodes());
    CHECK(roots.size() == 2);
    return check_run(graph, stream, second, 2);
}

GRAPH_SCENARIO_TEST("an error of the captured function ends the capture and is returned",
                    "[graph][capture][G4]",
                    (Api api, const Context &context, const Stream &stream)) {
    CUSHIM_TRY(auto memory, DeviceBuffer<int>::allocate(context, 8));
    auto graph = capture(api, stream, [&]() -> Result<void> {
        CUSHIM_TRY_VOID(fill(stream, memory.span(), 1));
        return Error::invalid_argument("what the caller says");
    });
    CUSHIM_TRY_VOID(refused(graph, "what the caller says"));
    CUSHIM_TRY_VOID(check_gives(stream.capture_status(), CaptureStatus::none));
    // The stream is usable.
    CUSHIM_TRY_VOID(fill(stream, memory.span(), 3));
    return stream.synchronize();
}

GRAPH_SCENARIO_TEST("each launch calls a captured host function", "[graph][capture][G13]",
                    (Api api, const Stream &stream)) {
    Watched function;
    {
        CUSHIM_TRY(Graph graph, capture(api, stream, [&]() -> Result<void> {
                       return stream.launch_host_function(function.closure());
                   }));
        CUSHIM_TRY(const GraphExec exec, graph.instantiate());
        CUSHIM_TRY_VOID(exec.launch(stream));
        CUSHIM_TRY_VOID(launch_and_wait(exec, stream));
        CHECK(function.calls() == 2);
        CHECK_FALSE(function.is_destroyed());
    }
    CHECK(function.is_destroyed_soon());
    return {};
}

GRAPH_SCENARIO_TEST("a capture into an existing graph adds nodes after its dependencies",
                    "[graph][capture][G2]",
                    (Trial &trial, const Context &context, const Stream &stream, Graph &graph)) {
    trial.needs_cuda(12, 3);
    CUSHIM_TRY(auto memory, DeviceBuffer<int>::allocate(context, 8));
    CUSHIM_TRY(const GraphNode first, graph.add_memset_node({}, memory, 1));
    CUSHIM_TRY_VOID(stream.capture_to(graph, first, CaptureMode::per_thread,
                                      [&] { return fill(stream, memory.span(), 2); }));
    CUSHIM_TRY(const auto after, graph.dependents(first));
    CHECK(after.size() == 1);
    return check_run(graph, stream, memory, 2);
}

GRAPH_SCENARIO_TEST("a capture into a graph that is destroyed meanwhile succeeds",
                    "[graph][capture][G2]",
                    (Trial &trial, Api api, const Context &context, const Stream &stream)) {
    trial.needs_cuda(12, 3);
    CUSHIM_TRY(auto memory, DeviceBuffer<int>::allocate(context, 8));
    CUSHIM_TRY(Graph graph, create_graph(api, context));
    CUSHIM_TRY_VOID(stream.capture_to(graph, {}, CaptureMode::per_thread, [&] {
        graph.reset();
        return fill(stream, memory.span(), 2);
    }));
    return check_gives(stream.capture_status(), CaptureStatus::none);
}

GRAPH_SCENARIO_TEST("a capture succeeds if its stream is moved or destroyed meanwhile",
                    "[graph][capture][G4]", (Api api, const Context &context)) {
    CUSHIM_TRY(auto memory, DeviceBuffer<int>::allocate(context, 8));
    CUSHIM_TRY(Stream stream, Stream::create(context));
    Stream moved;
    CUSHIM_TRY(Graph graph, capture(api, stream, [&]() -> Result<void> {
                   CUSHIM_TRY_VOID(fill(stream, memory.span(), 1));
                   moved = std::move(stream);
                   return {};
               }));
    CUSHIM_TRY_VOID(check_gives(graph.node_count(), 1));
    CUSHIM_TRY_VOID(check_gives(moved.capture_status(), CaptureStatus::none));
    CUSHIM_TRY(const Graph another, capture(api, moved, [&] { moved.reset(); }));
    return check_gives(another.node_count(), 0);
}

GRAPH_SCENARIO_TEST("a capture into a graph succeeds if its stream is moved meanwhile",
                    "[graph][capture][G2]", (Trial &trial, const Context &context, Graph &graph)) {
    trial.needs_cuda(12, 3);
    CUSHIM_TRY(Stream stream, Stream::create(context));
    Stream moved;
    CUSHIM_TRY_VOID(
        stream.capture_to(graph, {}, CaptureMode::per_thread, [&] { moved = std::move(stream); }));
    return check_gives(moved.capture_status(), CaptureStatus::none);
}

GRAPH_SCENARIO_TEST("ending a capture into a graph in a wrong way leaves the graph to its owner",
                    "[graph][capture][G2]",
                    (Trial &trial, Api api, const Context &context, const Stream &stream,
                     Graph &graph)) {
    trial.needs_cuda(12, 3);
    CUSHIM_TRY(auto memory, DeviceBuffer<int>::allocate(context, 8));
    CUSHIM_TRY(const Graph another, create_graph(api, context));
    const Ending endings[] = {
        {"the stream captured into another graph; the capture has ended; next time pass the graph "
         "of Stream::begin_capture_to()",
         [&] { return stream.end_capture_to(another); }},
        {"the Graph is empty", [&] { return stream.end_capture_to(Graph()); }},
        {is_ended_by_capture_to, [&] { return without_value(stream.end_capture()); }},
        {is_ended_by_capture_to,
         [&] { return without_value(api_test::end_capture(api, stream)); }}};
    for (const Ending &ending : endings) {
        CUSHIM_TRY_VOID(stream.begin_capture_to(graph, {}));
        const Result<void> queued = fill(stream, memory.span(), 2);
        CUSHIM_TRY_VOID(refused(ending.end(), ending.why));
        CUSHIM_TRY_VOID(queued);
        CUSHIM_TRY_VOID(check_gives(stream.capture_status(), CaptureStatus::none));
    }
    CUSHIM_TRY_VOID(check_gives(graph.node_count(), std::size(endings)));
    return run_once(graph, stream);
}

GRAPH_SCENARIO_TEST("a body and a borrowed graph keep their owner after a capture into them",
                    "[graph][capture][conditional][G2]",
                    (Trial &trial, Api api, const Context &context, const Stream &stream,
                     Graph &graph)) {
    trial.needs_cuda(12, 3);
    CUSHIM_TRY(auto memory, DeviceBuffer<int>::allocate(context, 8));
    CUSHIM_TRY(const auto condition, graph.create_condition({.initial = 1}));
    CUSHIM_TRY(GraphBody branch, graph.add_if_node({}, condition));
    CUSHIM_TRY(Graph lent, Graph::borrow(context, graph.native()));
    for (Graph *const to : {&branch.body, &lent}) {
        CUSHIM_TRY_VOID(stream.begin_capture_to(*to, {}));
        const Result<void> queued = fill(stream, memory.span(), 2);
        CUSHIM_TRY_VOID(refused(api_test::end_capture(api, stream), is_ended_by_capture_to));
        CUSHIM_TRY_VOID(queued);
    }
    return run_once(graph, stream);
}

GRAPH_TEST_CASE("an exception ends the capture", "[graph][capture][G4]", (Api api)) {
    const auto [device, context, stream] = make_place();
    auto memory = ok(DeviceBuffer<int>::allocate(context, 8));
    CHECK_THROWS_AS(capture(api, stream,
                            [&, &of = stream] {
                                (void)fill(of, memory.span(), 1);
                                throw std::runtime_error("out");
                            }),
                    std::runtime_error);
    CHECK(*stream.capture_status() == CaptureStatus::none);
    CHECK(stream.synchronize().has_value());
    CHECK(leaks().size() == (simulator() == nullptr ? 0 : 3));
}

GRAPH_TEST_CASE("a capture whose begin fails after its effect is ended",
                "[graph][capture][current][G3]", (Api api)) {
    need_faults();
    const std::string call =
        api == Api::runtime ? "cudaStreamBeginCapture" : "cuStreamBeginCapture_v2";
    const Context context = context_after_restart("fault=" + call + ":1:999:after");
    const Stream stream = ok(Stream::create(context));
    CHECK(error_of(api_test::begin_capture(api, stream)).status() == 999);
    CHECK(*stream.capture_status() == CaptureStatus::none);
}

GRAPH_TEST_CASE("ending an invalidated capture fails with capture_invalidated",
                "[graph][capture][G3][G5]", (Api api)) {
    const auto [device, context, stream] = make_place();
    REQUIRE(api_test::begin_capture(api, stream).has_value());
    CHECK(refused(unsafe_call(context), ErrorKind::not_permitted));
    CHECK(*stream.capture_status() == CaptureStatus::invalidated);
    CHECK_FALSE(*stream.is_capturing());
    const Error graph = error_of(api_test::end_capture(api, stream));
    CHECK(graph.kind() == ErrorKind::capture_invalidated);
    CHECK(graph.api() == api);
    CHECK(*stream.capture_status() == CaptureStatus::none);
}

// The driver ends captures without a current context, the runtime does not.
GRAPH_TEST_CASE("the failed end of a capture is reported even if the context is unknown",
                "[graph][capture][G3]", (Api api)) {
    const auto [device, context, stream] = make_place();
    const Stream borrowed = Stream::borrow(stream.native());
    const ScopedOverride<entry::cuStreamGetCtx_v1> unknown(
        [](CUstream, CUcontext *) { return CUDA_ERROR_UNKNOWN; });
    const Error error = error_of(api_test::end_capture(api, borrowed)); // it does not capture
    CHECK(error.status() == (api == Api::runtime ? CUDA_ERROR_UNKNOWN : CUDA_ERROR_ILLEGAL_STATE));
}

GRAPH_TEST_CASE("capture() returns the error that invalidated the capture", "[graph][capture][G4]",
                (Api api)) {
    const auto [device, context, stream] = make_place();
    const Reports reports;
    const Error first = error_of(capture(api, stream, [&in = context] { return unsafe_call(in); }));
    CHECK(first.kind() == ErrorKind::not_permitted);
    CHECK(first.status() == 900);
    // If the function ignores the error, the end of the capture reports it.
    const auto ignored = capture(api, stream, [&in = context] { (void)unsafe_call(in); });
    CHECK(refused(ignored, ErrorKind::capture_invalidated));
    CHECK(reports.failures.empty());
}

GRAPH_TEST_CASE("a capture with unjoined streams fails", "[graph][capture][G4]", (Api api)) {
    const auto [device, context, stream] = make_place();
    const auto other = ok(Stream::create(context));
    const auto fork_event = ok(Event::create(context, {.timing = false}));
    auto memory = ok(DeviceBuffer<int>::allocate(context, 8));
    const auto fork = [&, &from = stream]() -> Result<void> {
        CUSHIM_TRY_VOID(fork_event.record(from));
        CUSHIM_TRY_VOID(other.wait_event(fork_event));
        return fill(other, memory.span(), 1);
    };
    CHECK(error_of(capture(api, stream, fork)).status() == CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
    CHECK(*stream.capture_status() == CaptureStatus::none);
    CHECK(*other.capture_status() == CaptureStatus::none);

    // The error of the function is returned; the unjoined streams are not reported.
    const Reports reports;
    const auto left = capture(api, stream, [&]() -> Result<void> {
        CUSHIM_TRY_VOID(fork());
        return Error::invalid_argument("between fork and join");
    });
    check_invalid(left, "between fork and join");
    CHECK(reports.failures.empty());
    CHECK(*other.capture_status() == CaptureStatus::none);
    CHECK(fill(other, memory.span(), 2).has_value());
    CHECK(other.synchronize().has_value());
}

GRAPH_TEST_CASE("the capture mode selects the threads whose unsafe calls invalidate a capture",
                "[graph][capture][G1]", (Api api)) {
    const Workplace place = make_place();
    const struct {
        CaptureMode mode;
        Ruin by_other, by_own;
    } cases[] = {{CaptureMode::global, refused_and_ruined, refused_and_ruined},
                 {CaptureMode::per_thread, allowed, refused_and_ruined},
                 {CaptureMode::relaxed, allowed, allowed}};
    for (const auto &[mode, by_other, by_own] : cases) {
        INFO("mode " << static_cast<int>(mode));
        REQUIRE(api_test::begin_capture(api, place.stream, mode).has_value());
        CHECK((by_another_thread(place) == by_other));
        CHECK(api_test::end_capture(api, place.stream).has_value() ==
              (by_other.capture == CaptureStatus::active));
        REQUIRE(api_test::begin_capture(api, place.stream, mode).has_value());
        CHECK((by_this_thread(place) == by_own));
        CHECK(api_test::end_capture(api, place.stream).has_value() ==
              (by_own.capture == CaptureStatus::active));
    }
}

GRAPH_TEST_CASE("the default capture mode is thread-local", "[graph][capture][G1]", (Api api)) {
    const Workplace place = make_place();
    const bool is_runtime = api == Api::runtime;
    const auto begin = [&] {
        return is_runtime ? rt::begin_capture(place.stream) : place.stream.begin_capture();
    };
    REQUIRE(begin().has_value());
    CHECK((by_another_thread(place) == allowed));
    CHECK((by_this_thread(place) == refused_and_ruined));
    CHECK_FALSE(api_test::end_capture(api, place.stream).has_value());

    const auto use = [&]() -> Result<void> {
        CHECK((by_another_thread(place) == allowed));
        CHECK((by_this_thread(place) == refused_and_ruined));
        return {};
    };
    CHECK_FALSE(
        (is_runtime ? rt::capture(place.stream, use) : place.stream.capture(use)).has_value());
}

GRAPH_TEST_CASE("ending a capture on another thread fails unless it is relaxed",
                "[graph][capture][G1]", (Api api)) {
    const auto [device, context, stream] = make_place();
    auto memory = ok(DeviceBuffer<int>::allocate(context, 8));
    for (const CaptureMode mode : {CaptureMode::per_thread, CaptureMode::relaxed}) {
        REQUIRE(api_test::begin_capture(api, stream, mode).has_value());
        CHECK(fill(stream, memory.span(), 1).has_value());
        auto graph = Result<Graph>(Graph());
        std::thread([&, &of = stream] { graph = api_test::end_capture(api, of); }).join();
        CHECK(*stream.capture_status() == CaptureStatus::none);
        if (mode == CaptureMode::relaxed) {
            CHECK(graph.has_value());
        } else {
            REQUIRE_FALSE(graph.has_value());
            CHECK(graph.error().status() == CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
        }
    }
    CHECK(stream.synchronize().has_value());
}

TEST_CASE("an unsafe call is allowed in a relaxed capture", "[graph][capture][G1]") {
    const auto [device, context, stream] = make_place();
    DeviceBuffer<int> memory;
    auto graph = stream.capture(CaptureMode::relaxed, [&, &in = context]() -> Result<void> {
        CUSHIM_TRY(memory, DeviceBuffer<int>::allocate(in, 8));
        return {};
    });
    CHECK(graph.has_value());
}

TEST_CASE("captures begin once, end once and need a created stream", "[graph][capture]") {
    const auto [device, context, stream] = make_place();
    REQUIRE(stream.begin_capture().has_value());
    CHECK(stream.begin_capture().error().status() == 401);
    REQUIRE(stream.end_capture().has_value());
    CHECK_FALSE(stream.end_capture().has_value());
    check_invalid(Stream().begin_capture(), "the Stream is empty");
    check_invalid(Stream().end_capture(), "the Stream is empty");
    check_invalid(Stream().capture_status(), "the Stream is empty");
    auto scope = ok(context.enter());
    CHECK(Stream::legacy().begin_capture().error().status() == 900);
}

GRAPH_TEST_CASE("destructors of graphs do not invalidate a capture", "[graph][capture]",
                (Api api)) {
    const auto [device, context, stream] = make_place();
    for (const CaptureMode mode : {CaptureMode::global, CaptureMode::per_thread}) {
        auto memory = ok(DeviceBuffer<int>::allocate(context, 8));
        auto graph = ok(create_graph(api, context));
        REQUIRE(graph.add_memset_node({}, memory, 1).has_value());
        REQUIRE(graph.keep_alive(memory).has_value());
        memory.reset();
        auto exec = ok(graph.instantiate());
        REQUIRE(api_test::begin_capture(api, stream, mode).has_value());
        exec.reset();
        graph.reset(); // and the memory
        wait_for_released_closures();
        CHECK(*stream.capture_status() == CaptureStatus::active);
        CHECK(api_test::end_capture(api, stream).has_value());
    }
}

TEST_CASE("a teardown sink may capture a host function", "[graph][capture][G13]") {
    const auto [device, context, stream] = make_place();
    struct Sink {
        const Stream &stream;
        Watched watched;
        std::vector<CUuserObject> objects;
    } sink{stream, {}, {}};
    ok(stream.begin_capture());
    const TeardownSinkSetting before =
        set_teardown_sink({[](const TeardownFailure &failure, void *user) {
                               Sink &to = *static_cast<Sink *>(user);
                               to.objects.push_back(reinterpret_cast<CUuserObject>(failure.handle));
                               ok(to.stream.launch_host_function(to.watched.closure()));
                           },
                           &sink});
    {
        const ScopedOverride<entry::cuUserObjectRelease> fails(
            [](CUuserObject, unsigned int) { return CUDA_ERROR_UNKNOWN; });
        ok(stream.launch_host_function(sink.watched.closure()));
    }
    set_teardown_sink(before);
    const Graph captured = ok(stream.end_capture());
    REQUIRE(sink.objects.size() == 1);
    CHECK(driver().cuUserObjectRelease(sink.objects[0], 1) == CUDA_SUCCESS);
    ok(ok(captured.instantiate()).launch(stream));
    ok(stream.synchronize());
    CHECK(sink.watched.calls() == 2);
}

GRAPH_TEST_CASE("two threads capture at once", "[graph][capture]", (Api api)) {
    const Context context = context_after_restart("");
    std::atomic<int> good{0};
    const auto work = [&](int value) -> Result<void> {
        // Non-blocking: work in the legacy stream invalidates captures of blocking streams.
        CUSHIM_TRY(const Stream stream, Stream::create(context, {.non_blocking = true}));
        CUSHIM_TRY(auto memory, DeviceBuffer<int>::allocate(context, 64));
        for (int round = 0; round < 20; ++round) {
            CUSHIM_TRY(Graph graph, capture(api, stream, [&]() -> Result<void> {
                           CUSHIM_TRY_VOID(fill(stream, memory.span(), value));
                           return fill(stream, memory.span(), value + round);
                       }));
            CUSHIM_TRY_VOID(run_once(graph, stream));
            std::vector<int> values(64);
            CUSHIM_TRY_VOID(copy(stream, std::span(values), memory.span()));
            CUSHIM_TRY_VOID(stream.synchronize());
            good += values == std::vector<int>(64, value + round) ? 1 : 0;
        }
        return {};
    };
    std::array<Result<void>, 2> done;
    {
        const std::jthread first([&] { done[0] = work(0); });
        const std::jthread second([&] { done[1] = work(1000); });
    }
    for (const Result<void> &result : done) {
        INFO((result ? "" : result.error().message()));
        CHECK(result.has_value());
    }
    CHECK(good == 40);
}
