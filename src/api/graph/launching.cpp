// Launching executable graphs.
#include <cushim/graph_exec.hpp>

#include "api.hpp"
#include "base/explained.hpp"
#include "context/requirements.hpp"
#include "exec_state.hpp"

namespace cushim {

using namespace detail;

namespace {

constexpr const char *no_stream = "the Stream is empty";

Error not_launched(const Error &error, const Stream &stream) noexcept {
    CUstreamCaptureStatus capture = CU_STREAM_CAPTURE_STATUS_NONE;
    const bool is_captured =
        error.status() == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED &&
        driver().cuStreamIsCapturing(stream.native(), &capture) == CUDA_SUCCESS &&
        capture != CU_STREAM_CAPTURE_STATUS_NONE;
    return is_captured ? explained(error, "the stream is being captured; add the graph with "
                                          "Graph::add_child_graph_node()")
                       : error;
}

Result<void> launch_exec(GraphExecState &state, const Stream &stream) noexcept {
    using Launch = Both<entry::cuGraphLaunch, entry::cudaGraphLaunch>;
    const Result<void> launched = call_of<Launch>(state.api, state.exec, stream.native());
    if (state.uses && (launched || may_be_done(launched.error()))) {
        state.uses->launched(stream, launched.has_value());
    }
    return launched ? Result<void>() : not_launched(launched.error(), stream);
}

} // namespace

Result<void> GraphExec::launch(const Stream &stream) const noexcept {
    return named("GraphExec::launch", [&]() noexcept -> Result<void> {
        CUSHIM_TRY(GraphExecState *const state, state_of_exec(*this));
        CUSHIM_TRY_VOID(require(stream, no_stream));
        return with_context(state->api, state->context, false,
                            [&]() noexcept { return launch_exec(*state, stream); });
    });
}

Result<void> GraphExec::launched(const Stream &stream) const noexcept {
    return named("GraphExec::launched", [&]() noexcept -> Result<void> {
        CUSHIM_TRY(GraphExecState *const state, state_of_exec(*this));
        CUSHIM_TRY_VOID(require(stream, no_stream));
        if (state->uses) {
            state->uses->launched(stream);
        }
        return {};
    });
}

Result<void> GraphExec::upload(const Stream &stream) const noexcept {
    return named("GraphExec::upload", [&]() noexcept -> Result<void> {
        CUSHIM_TRY(GraphExecState *const state, state_of_exec(*this));
        CUSHIM_TRY_VOID(require(stream, no_stream));
        CUSHIM_TRY(const ContextScope scope, state->enter());
        return call_of<Both<entry::cuGraphUpload, entry::cudaGraphUpload>>(state->api, state->exec,
                                                                           stream.native());
    });
}

} // namespace cushim
