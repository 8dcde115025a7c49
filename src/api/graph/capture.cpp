#include <cushim/capture.hpp>
#include <cushim/runtime_graph.hpp>

#include "adding.hpp"
#include "base/call.hpp"
#include "base/explained.hpp"
#include "base/ranges.hpp"
#include "context/stream_context.hpp"
#include "state.hpp"

namespace cushim {

using namespace detail;

namespace {

static_assert(int(CUDA_ERROR_STREAM_CAPTURE_UNJOINED) == int(cudaErrorStreamCaptureUnjoined));

using BeginCapture = Both<entry::cuStreamBeginCapture, entry::cudaStreamBeginCapture>;
using EndCapture = Both<entry::cuStreamEndCapture, entry::cudaStreamEndCapture>;
using NativeMode = Both<CUstreamCaptureMode, cudaStreamCaptureMode>;
using BeginCaptureTo =
    Both<entry::cuStreamBeginCaptureToGraph, entry::cudaStreamBeginCaptureToGraph>;
static_assert(int(cudaStreamCaptureModeRelaxed) == int(CaptureMode::relaxed));

constexpr const char *empty = "the Stream is empty";

// Ends the capture if at all possible, whatever the status. If the first call fails for a temporary
// reason, a second one ends it; *graph may then hold the captured graph too.
Result<void> end_at_last(Api api, CUstream stream, CUgraph *graph) noexcept {
    Result<void> ended = call_of<EndCapture>(api, stream, graph);
    if (ended) {
        return *graph != nullptr
                   ? Result<void>()
                   : Error::make({.kind = ErrorKind::capture_invalidated, .api = api});
    }
    *graph = nullptr;
    // If even this query fails, the capture may still be active.
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    const bool is_known = driver().cuStreamIsCapturing(stream, &status) == CUDA_SUCCESS;
    const bool may_go_on = !is_known || status != CU_STREAM_CAPTURE_STATUS_NONE;
    if (may_go_on && !call_of<EndCapture>(api, stream, graph)) {
        *graph = nullptr;
    }
    return explained(std::move(ended), CUDA_ERROR_ILLEGAL_STATE,
                     "the stream is not being captured");
}

// The driver needs no current context. If the runtime's cannot be entered, the driver ends the
// capture.
Result<void> end(Api api, const Stream &stream, CUcontext context, CUgraph *graph) noexcept {
    if (api == Api::driver) {
        return end_at_last(api, stream.native(), graph);
    }
    const auto scope = ContextScope::enter(context);
    if (scope) {
        return end_at_last(api, stream.native(), graph);
    }
    (void)end_at_last(Api::driver, stream.native(), graph);
    return scope.error();
}

// A capture that has ended.
struct Ended {
    using Kind = CaptureTarget::Kind;

    Result<void> result;
    CUgraph graph = nullptr;
    unsigned long long id = 0; // of the capture
    Kind kind = Kind::unknown;
};

Ended end_whatever(Api api, const Stream &stream, CUcontext context) noexcept {
    // After the end, CUDA does not tell whose graph it is, so a failed question is repeated.
    const auto asked = capture_in(stream.native());
    const auto known = asked ? asked : capture_in(stream.native());
    const auto capture = known ? *known : CaptureInProgress();
    Ended ended{{}, nullptr, capture.id, target_of(capture).kind};
    ended.result = end(api, stream, context, &ended.graph);
    if (ended.graph != nullptr) {
        forget_capture(capture);
    }
    if (!asked && (ended.result || ended.result.error().status() != asked.error().status())) {
        report_teardown({asked.error(), stream.native()});
    }
    return ended;
}

// Destroys a new graph that the caller does not receive.
void drop(const Ended &ended) noexcept {
    if (ended.graph != nullptr && ended.kind == Ended::Kind::made_by_capture) {
        report_teardown(destroy_guarded<entry::cuGraphDestroy>(ended.graph));
    }
}

Error not_begun(const Error &error, const Stream &stream) noexcept {
    if (error.status() == CUDA_ERROR_ILLEGAL_STATE) {
        return explained(error, "the stream is already being captured");
    }
    if (error.status() == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED &&
        stream.native() == CU_STREAM_LEGACY) {
        return explained(error, "the legacy default stream cannot be captured; create a "
                                "stream with Stream::create()");
    }
    return error;
}

// After a call that began a capture or failed; ends a capture that cannot be noted, or that a
// failed call may have begun, unless the stream captured before (401). `into`: of
// begin_capture_to().
Result<void> note_begun(Api api, const Stream &stream, CUcontext context, GraphState *into,
                        Result<void> &&called) noexcept {
    const bool is_called = called.has_value();
    Result<void> begun =
        is_called ? note_capture(stream.native(), context, into) : std::move(called);
    if (begun) {
        return begun;
    }
    const Error &error = begun.error();
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    if ((is_called || may_be_done(error)) && error.status() != CUDA_ERROR_ILLEGAL_STATE &&
        driver().cuStreamIsCapturing(stream.native(), &status) == CUDA_SUCCESS &&
        status != CU_STREAM_CAPTURE_STATUS_NONE) {
        CUgraph graph = nullptr;
        (void)end(api, stream, context, &graph);
        if (graph != nullptr && into == nullptr) {
            report_teardown(destroy_guarded<entry::cuGraphDestroy>(graph));
        }
    }
    return not_begun(error, stream);
}

Result<void> begin(Api api, const Stream &stream, CaptureMode mode) noexcept {
    CUSHIM_TRY_VOID(require(stream, empty));
    CUSHIM_TRY(const Context context, context_of(stream));
    CUSHIM_TRY(const ContextScope scope, context.enter());
    Result<void> called = by_api(api, [&](auto of) {
        return call<In<BeginCapture, of>>(stream.native(), static_cast<In<NativeMode, of>>(mode));
    });
    return note_begun(api, stream, context.native(), nullptr, std::move(called));
}

Result<Graph> end_new(Api api, const Stream &stream) noexcept {
    CUSHIM_TRY_VOID(require(stream, empty));
    // The capture ends whatever else fails.
    const auto context = context_of(stream);
    auto state =
        context ? make_graph_state(*context, api) : Result<NewState<GraphState>>(context.error());
    const Ended ended = end_whatever(api, stream, context ? context->native() : nullptr);
    if (!ended.result || !state) {
        drop(ended);
        // The runtime API needs a context to end it; report why it is missing.
        const bool lacks_context = !context && api == Api::runtime;
        if (!ended.result && !lacks_context) {
            return ended.result.error();
        }
        return state.error();
    }
    if (ended.kind == Ended::Kind::of_graph) {
        return Error::invalid_argument("this capture goes into an existing graph: end it with "
                                       "Stream::end_capture_to(). It has now ended");
    }
    (*state)->graph = ended.graph;
    const bool is_new = ended.kind == Ended::Kind::made_by_capture;
    Graph graph = is_new ? own_graph(*state) : lend_graph(*state);
    CUSHIM_TRY_VOID((*state)->uses().take_over(ended.id));
    return graph;
}

// The template that calls.
const char *capturing(Api api) noexcept {
    return api == Api::runtime ? "rt::capture" : "Stream::capture";
}

} // namespace

Result<void> detail::begin_capture(Api api, const Stream &stream, CaptureMode mode) noexcept {
    return named(capturing(api), begin(api, stream, mode));
}

Result<Graph> detail::end_capture(Api api, const Stream &stream) noexcept {
    return named(capturing(api), end_new(api, stream));
}

void detail::report_unheard(const Error &error) noexcept {
    // An unjoined stream is a consequence of f() returning early.
    const bool is_aftermath = error.kind() == ErrorKind::capture_invalidated ||
                              error.status() == CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
    if (!is_aftermath) {
        report_teardown({error, 0});
    }
}

Result<void> Stream::begin_capture(CaptureMode mode) const noexcept {
    return named("Stream::begin_capture", begin(Api::driver, *this, mode));
}

Result<Graph> Stream::end_capture() const noexcept {
    return named("Stream::end_capture", end_new(Api::driver, *this));
}

Result<void> rt::begin_capture(const Stream &stream, CaptureMode mode) noexcept {
    return named("rt::begin_capture", begin(Api::runtime, stream, mode));
}

Result<Graph> rt::end_capture(const Stream &stream) noexcept {
    return named("rt::end_capture", end_new(Api::runtime, stream));
}

Result<void> Stream::begin_capture_to(Graph &graph, const GraphDependencies &dependencies,
                                      CaptureMode mode) const noexcept {
    return named("Stream::begin_capture_to", [&]() noexcept -> Result<void> {
        CUSHIM_TRY_VOID(require(*this, empty));
        CUSHIM_TRY(GraphState *const state, state_of_graph(graph));
        NodeHandles before;
        CUSHIM_TRY_VOID(before.fill(*state, dependencies.nodes(), {"dependencies"}));
        CUSHIM_TRY(const ContextScope scope, state->enter());
        Result<void> called = needs(Feature::capture_to_graph, by_api(state->api, [&](auto of) {
                                        return call<In<BeginCaptureTo, of>>(
                                            native(), state->graph, before.data(), nullptr,
                                            before.size(), static_cast<In<NativeMode, of>>(mode));
                                    }));
        return note_begun(state->api, *this, state->context, state->outermost, std::move(called));
    });
}

Result<void> Stream::end_capture_to(const Graph &graph) const noexcept {
    return named("Stream::end_capture_to", [&]() noexcept -> Result<void> {
        CUSHIM_TRY_VOID(require(*this, empty));
        // The capture ends whatever is wrong with the graph.
        const auto state = state_of_graph(graph);
        const Ended ended = state ? end_whatever((*state)->api, *this, (*state)->context)
                                  : end_whatever(Api::driver, *this, nullptr);
        const bool is_given = state && ended.graph == (*state)->graph;
        if (!is_given) {
            drop(ended);
        }
        CUSHIM_TRY_VOID(ended.result);
        CUSHIM_TRY_VOID(state);
        if (!is_given) {
            return Error::invalid_argument(
                ended.kind == Ended::Kind::made_by_capture
                    ? "the stream captured into a new graph; the capture has ended; next time end "
                      "it with Stream::end_capture()"
                    : "the stream captured into another graph; the capture has ended; next time "
                      "pass the graph of Stream::begin_capture_to()");
        }
        return {};
    });
}

Result<CaptureStatus> Stream::capture_status() const noexcept {
    return named("Stream::capture_status", [&]() noexcept -> Result<CaptureStatus> {
        CUSHIM_TRY_VOID(require(*this, empty));
        CUstreamCaptureStatus status{};
        CUSHIM_TRY_VOID(call<entry::cuStreamIsCapturing>(native(), &status));
        return static_cast<CaptureStatus>(status);
    });
}

} // namespace cushim
