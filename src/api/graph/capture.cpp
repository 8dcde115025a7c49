#include <cushim/capture.hpp>
#include <cushim/runtime_graph.hpp>

#include "adding.hpp"
#include "base/call.hpp"
#include "base/ranges.hpp"
#include "base/runtime_call.hpp"
#include "context/stream_context.hpp"
#include "state.hpp"

namespace cushim {
namespace {

static_assert(int(CUDA_ERROR_STREAM_CAPTURE_UNJOINED) == int(cudaErrorStreamCaptureUnjoined));

using detail::context_of;
using detail::GraphApi;
using detail::GraphState;

constexpr const char *empty = "the Stream holds no stream";

// Ends the capture if at all possible, whatever the status. If the first call fails for a temporary
// reason, a second one ends it; *graph may then hold the captured graph too.
Result<void> end_at_last(const GraphApi &api, CUstream stream, CUgraph *graph) noexcept {
    Result<void> ended = api.capture.end(stream, graph);
    if (ended) {
        return *graph != nullptr
                   ? Result<void>()
                   : Error::make({.kind = ErrorKind::capture_invalidated, .api = api.api});
    }
    *graph = nullptr;
    // If even this query fails, the capture may still be active.
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    const bool is_known = driver().cuStreamIsCapturing(stream, &status) == CUDA_SUCCESS;
    const bool may_go_on = !is_known || status != CU_STREAM_CAPTURE_STATUS_NONE;
    if (may_go_on && !api.capture.end(stream, graph)) {
        *graph = nullptr;
    }
    return detail::explained(std::move(ended), CUDA_ERROR_ILLEGAL_STATE,
                             "the stream is not being captured");
}

// The driver needs no current context. If the runtime's cannot be entered, the driver ends the
// capture.
Result<void> end(const GraphApi &api, const Stream &stream, CUcontext context,
                 CUgraph *graph) noexcept {
    if (api.api == Api::driver) {
        return end_at_last(api, stream.native(), graph);
    }
    const auto scope = ContextScope::enter(context);
    if (scope) {
        return end_at_last(api, stream.native(), graph);
    }
    (void)end_at_last(detail::driver_graphs, stream.native(), graph);
    return scope.error();
}

// The graph of an ended capture, and whether it is new.
struct Ended {
    Result<void> result;
    CUgraph graph = nullptr;
    bool is_new = false;
};

Ended end_whatever(const GraphApi &api, const Stream &stream, CUcontext context) noexcept {
    const CUgraph target = detail::capture_ends(stream.native());
    CUgraph graph = nullptr;
    Result<void> result = end(api, stream, context, &graph);
    const bool is_new = graph != nullptr && graph != target && !detail::is_owned(graph);
    return {std::move(result), graph, is_new};
}

// Destroys a graph that the caller does not receive.
void drop(const Ended &ended) noexcept {
    if (ended.is_new) {
        detail::report_teardown(detail::driver_graphs.destroy(ended.graph));
    }
}

// Ends a capture that a failed begin may have started nevertheless, unless the stream captured
// before (401). Into `target`, unless that is null.
void undo_begin(const GraphApi &api, const Stream &stream, CUcontext context, GraphState *target,
                const Error &failure) noexcept {
    if (!detail::may_be_done(failure) || failure.status() == CUDA_ERROR_ILLEGAL_STATE) {
        return;
    }
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    if (driver().cuStreamIsCapturing(stream.native(), &status) == CUDA_SUCCESS &&
        status != CU_STREAM_CAPTURE_STATUS_NONE) {
        if (target != nullptr) {
            target->known.capture_begins(stream.native());
        }
        drop(end_whatever(api, stream, context));
    }
}

Error not_begun(const Error &error, const Stream &stream) noexcept {
    if (error.status() == CUDA_ERROR_ILLEGAL_STATE) {
        return detail::explained(error, "the stream is already being captured");
    }
    if (error.status() == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED &&
        stream.native() == CU_STREAM_LEGACY) {
        return detail::explained(error, "the legacy default stream cannot be captured; create a "
                                        "stream with Stream::create()");
    }
    return error;
}

Result<void> begin(const GraphApi &api, const Stream &stream, CaptureMode mode) noexcept {
    CUSHIM_TRY_VOID(detail::require(stream, empty));
    CUSHIM_TRY(const Context context, context_of(stream));
    CUSHIM_TRY(const ContextScope scope, context.enter());
    Result<void> begun = api.capture.begin(stream.native(), mode);
    if (!begun) {
        undo_begin(api, stream, context.native(), nullptr, begun.error());
        return not_begun(begun.error(), stream);
    }
    (void)detail::capture_ends(stream.native()); // which other code has ended
    return begun;
}

Result<Graph> end_new(const GraphApi &api, const Stream &stream) noexcept {
    CUSHIM_TRY_VOID(detail::require(stream, empty));
    // The capture ends whatever else fails.
    const auto context = context_of(stream);
    auto state = context ? detail::make_graph_state(*context, api)
                         : Result<detail::NewState<GraphState>>(context.error());
    const auto capture = detail::captures_keep_resources()
                             ? detail::capture_in(stream.native())
                             : Result<detail::CaptureInProgress>(detail::CaptureInProgress());
    const Ended ended = end_whatever(api, stream, context ? context->native() : nullptr);
    if (!ended.result || !state || !capture) {
        drop(ended);
        // The runtime API needs a context to end it; report why there is none.
        const bool lacks_context = !context && api.api == Api::runtime;
        if (!ended.result && !lacks_context) {
            return ended.result.error();
        }
        return !state ? state.error() : capture.error();
    }
    if (!ended.is_new) {
        return Error::invalid_argument("the stream captured into an existing graph; the capture "
                                       "has ended; next time end it with "
                                       "Stream::end_capture_to()");
    }
    (*state)->graph = ended.graph;
    Graph graph = detail::own_graph(*state);
    CUSHIM_TRY_VOID((*state)->uses().take_over(capture->id));
    return graph;
}

// The template that calls.
const char *capturing(Api api) noexcept {
    return api == Api::runtime ? "rt::capture" : "Stream::capture";
}

} // namespace

Result<void> detail::begin_capture(Api api, const Stream &stream, CaptureMode mode) noexcept {
    return named(begin(graphs_of(api), stream, mode), capturing(api));
}

Result<Graph> detail::end_capture(Api api, const Stream &stream) noexcept {
    return named(end_new(graphs_of(api), stream), capturing(api));
}

void detail::report_unheard(const Error &error) noexcept {
    // An unjoined stream is a consequence of f() returning early.
    const bool is_aftermath = error.kind() == ErrorKind::capture_invalidated ||
                              error.status() == CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
    if (!is_aftermath) {
        report_teardown({error.status(), error.entry_point(), 0, error.api()});
    }
}

Result<void> Stream::begin_capture(CaptureMode mode) const noexcept {
    return CUSHIM_NAMED(begin(detail::driver_graphs, *this, mode));
}

Result<Graph> Stream::end_capture() const noexcept {
    return CUSHIM_NAMED(end_new(detail::driver_graphs, *this));
}

Result<void> rt::begin_capture(const Stream &stream, CaptureMode mode) noexcept {
    return CUSHIM_NAMED(begin(detail::runtime_graphs, stream, mode));
}

Result<Graph> rt::end_capture(const Stream &stream) noexcept {
    return CUSHIM_NAMED(end_new(detail::runtime_graphs, stream));
}

Result<void> Stream::begin_capture_to(const Graph &graph, const GraphDependencies &dependencies,
                                      CaptureMode mode) const noexcept {
    CUSHIM_TRY_VOID(detail::require(*this, empty));
    CUSHIM_TRY(GraphState *const state, detail::state_of_graph(graph));
    detail::NodeHandles before;
    CUSHIM_TRY_VOID(before.fill(*state->identity, detail::nodes_before(dependencies)));
    CUSHIM_TRY(const ContextScope scope, state->enter());
    Result<void> begun = state->api().capture.begin_to(
        native(), {nullptr, state->graph, before.data(), before.size(), state->context}, mode);
    if (begun) {
        state->known.capture_begins(native());
        return begun;
    }
    undo_begin(state->api(), *this, state->context, state, begun.error());
    return CUSHIM_NAMED(not_begun(begun.error(), *this));
}

Result<void> Stream::end_capture_to(const Graph &graph) const noexcept {
    CUSHIM_TRY_VOID(detail::require(*this, empty));
    // The capture ends whatever is wrong with the graph.
    const auto state = detail::state_of_graph(graph);
    const Ended ended = state ? end_whatever((*state)->api(), *this, (*state)->context)
                              : end_whatever(detail::driver_graphs, *this, nullptr);
    drop(ended);
    CUSHIM_TRY_VOID(ended.result);
    CUSHIM_TRY_VOID(state);
    if (ended.graph != (*state)->graph) {
        return CUSHIM_NAMED(Error::invalid_argument(
            ended.is_new ? "the stream captured into a new graph; the capture has ended; next time "
                           "end it with Stream::end_capture()"
                         : "the stream captured into another graph; the capture has ended; next "
                           "time pass the graph of Stream::begin_capture_to()"));
    }
    return {};
}

Result<CaptureStatus> Stream::capture_status() const noexcept {
    CUSHIM_TRY_VOID(detail::require(*this, empty));
    CUstreamCaptureStatus status{};
    CUSHIM_TRY_VOID(CUSHIM_DRIVER(cuStreamIsCapturing, native(), &status));
    return static_cast<CaptureStatus>(status);
}

} // namespace cushim
