#include <cushim/capture.hpp>
#include <cushim/runtime_graph.hpp>

#include "call.hpp"
#include "graph_node_handles.hpp"
#include "graph_state.hpp"
#include "runtime_call.hpp"
#include "stream_context.hpp"

namespace cushim {
namespace {

static_assert(int(CUDA_ERROR_STREAM_CAPTURE_UNJOINED) == int(cudaErrorStreamCaptureUnjoined));

using detail::context_of;
using detail::GraphApi;
using detail::GraphState;

constexpr const char *empty = "the stream is empty";

Result<void> begin(const GraphApi &api, const Stream &stream, CaptureMode mode) noexcept {
    CUSHIM_TRY_VOID(detail::need(stream, empty));
    CUSHIM_TRY(const Context context, context_of(stream));
    CUSHIM_TRY(const ContextScope scope, context.enter());
    CUSHIM_TRY_VOID(api.capture.begin(stream.native(), mode));
    (void)detail::capture_ends(stream.native()); // which somebody else has ended
    return {};
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

// A capture that was ended: what it left, and whether that is a graph of its own, or one that was there before.
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

// What nobody is going to have.
void drop(const Ended &ended) noexcept {
    if (ended.is_new) {
        detail::report_teardown(detail::driver_graphs.destroy(ended.graph));
    }
}

Result<Graph> end_new(const GraphApi &api, const Stream &stream) noexcept {
    CUSHIM_TRY_VOID(detail::need(stream, empty));
    // Whatever else fails, the capture ends.
    const auto context = context_of(stream);
    auto state = context ? detail::make_graph_state(*context, api)
                         : Result<detail::NewState<GraphState>>(context.error());
    const Ended ended = end_whatever(api, stream, context ? context->native() : nullptr);
    if (!ended.result || !state) {
        drop(ended);
        return ended.result ? state.error() : ended.result.error();
    }
    if (!ended.is_new) {
        return Error::invalid_argument(
            "the capture was into a graph that is there: end_capture_to() ends it");
    }
    (*state)->graph = ended.graph;
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
    // That streams which had been taken in were not waited for is what comes of f() leaving early.
    const bool is_aftermath = error.kind() == ErrorKind::capture_invalidated ||
                              error.status() == CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
    if (!is_aftermath) {
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
    CUSHIM_TRY_VOID(state->api().capture.begin_to(
        native(), {nullptr, state->graph, before.data(), before.size(), state->context}, mode));
    state->known.capture_begins(native());
    return {};
}

Result<void> Stream::end_capture_to(const Graph &graph) const noexcept {
    CUSHIM_TRY_VOID(detail::need(*this, empty));
    // Whatever is wrong with the graph, the capture ends.
    const auto state = detail::state_of_graph(graph);
    const Ended ended = state ? end_whatever((*state)->api(), *this, (*state)->context)
                              : end_whatever(detail::driver_graphs, *this, nullptr);
    drop(ended);
    CUSHIM_TRY_VOID(ended.result);
    CUSHIM_TRY_VOID(state);
    if (ended.graph != (*state)->graph) {
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
