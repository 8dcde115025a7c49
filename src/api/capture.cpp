#include <cushim/capture.hpp>
#include <cushim/runtime_graph.hpp>

#include "call.hpp"
#include "graph_node_handles.hpp"
#include "graph_state.hpp"
#include "in_context.hpp"

namespace cushim {
namespace {

using detail::GraphApi;
using detail::GraphState;

constexpr const char *empty = "the stream is empty";

// That of the stream, kept by whatever keeps the stream's.
Result<Context> context_of(const Stream &stream) noexcept {
    if (detail::State *const state = detail::Access::state(stream)) {
        return static_cast<detail::InContext *>(state)->shared_context();
    }
    return stream.context();
}

Result<void> begin(const GraphApi &api, const Stream &stream, CaptureMode mode) noexcept {
    CUSHIM_TRY_VOID(detail::need(stream, empty));
    CUSHIM_TRY(const Context context, context_of(stream));
    CUSHIM_TRY(const ContextScope scope, context.enter());
    return api.capture.begin(stream.native(), mode);
}

// Whatever it answers, the stream is captured no more if that can be had: a capture that did not end for a reason
// that passes is ended at the second try, and what it was may be in *graph then, too.
Result<void> end_at_last(const GraphApi &api, CUstream stream, CUgraph *graph) noexcept {
    Result<void> ended = api.capture.end(stream, graph);
    if (ended) {
        return *graph != nullptr
                   ? Result<void>()
                   : Error::make({.kind = ErrorKind::capture_invalidated, .api = api.api});
    }
    *graph = nullptr;
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    (void)driver().cuStreamIsCapturing(stream, &status);
    if (status != CU_STREAM_CAPTURE_STATUS_NONE && !api.capture.end(stream, graph)) {
        *graph = nullptr;
    }
    return ended;
}

// The driver needs no current context for it. Where the runtime's cannot be entered, the driver ends it.
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

void drop(CUgraph graph) noexcept {
    if (graph != nullptr) {
        detail::report_teardown(detail::driver_graphs.destroy(graph));
    }
}

Result<Graph> end_new(const GraphApi &api, const Stream &stream) noexcept {
    CUSHIM_TRY_VOID(detail::need(stream, empty));
    // Whatever else fails, the capture ends.
    const auto context = context_of(stream);
    auto state = context ? detail::make_graph_state(*context, api)
                         : Result<detail::NewState<GraphState>>(context.error());
    CUgraph graph = nullptr;
    Result<void> ended = end(api, stream, context ? context->native() : nullptr, &graph);
    if (!ended || !state) {
        drop(graph);
        return ended ? state.error() : ended.error();
    }
    (*state)->graph = graph;
    return detail::own_graph(*state);
}

} // namespace

Result<void> detail::begin_capture(Api api, const Stream &stream, CaptureMode mode) noexcept {
    return begin(graphs_of(api), stream, mode);
}

Result<Graph> detail::end_capture(Api api, const Stream &stream) noexcept {
    return end_new(graphs_of(api), stream);
}

void detail::report_unheard(const Error &error) noexcept {
    if (error.kind() != ErrorKind::capture_invalidated) {
        report_teardown({error.status(), error.entry_point(), 0, error.api()});
    }
}

Result<void> Stream::begin_capture(CaptureMode mode) const noexcept {
    return begin(detail::driver_graphs, *this, mode);
}

Result<Graph> Stream::end_capture() const noexcept {
    return end_new(detail::driver_graphs, *this);
}

Result<void> rt::begin_capture(const Stream &stream, CaptureMode mode) noexcept {
    return begin(detail::runtime_graphs, stream, mode);
}

Result<Graph> rt::end_capture(const Stream &stream) noexcept {
    return end_new(detail::runtime_graphs, stream);
}

Result<void> Stream::begin_capture_to(const Graph &graph, const GraphDependencies &dependencies,
                                      CaptureMode mode) const noexcept {
    CUSHIM_TRY_VOID(detail::need(*this, empty));
    CUSHIM_TRY(GraphState *const state, detail::state_of_graph(graph));
    detail::NodeHandles before;
    CUSHIM_TRY_VOID(before.fill(*state->book, dependencies.nodes()));
    CUSHIM_TRY(const ContextScope scope, state->enter());
    return state->api().capture.begin_to(
        native(), {nullptr, state->graph, before.data(), before.size(), state->context}, mode);
}

Result<void> Stream::end_capture_to(const Graph &graph) const noexcept {
    CUSHIM_TRY_VOID(detail::need(*this, empty));
    CUSHIM_TRY(GraphState *const state, detail::state_of_graph(graph));
    CUgraph ended = nullptr;
    CUSHIM_TRY_VOID(end(state->api(), *this, state->context, &ended));
    if (ended != state->graph) {
        drop(ended);
        return Error::invalid_argument("the capture was into another graph");
    }
    return {};
}

Result<CaptureStatus> Stream::capture_status() const noexcept {
    CUSHIM_TRY_VOID(detail::need(*this, empty));
    CUstreamCaptureStatus status{};
    CUSHIM_TRY_VOID(CUSHIM_DRIVER(cuStreamIsCapturing, native(), &status));
    return static_cast<CaptureStatus>(status);
}

} // namespace cushim
