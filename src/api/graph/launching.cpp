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

template <class Launch>
Result<void> launch_native(GraphExecState &state, const Stream &stream) noexcept {
    const Result<void> launched = call<Launch>(state.exec, stream.native());
    if (!launched) [[unlikely]] {
        if (state.uses && may_be_done(launched.error())) {
            state.uses->maybe_launched(stream);
        }
        return not_launched(launched.error(), stream);
    }
    if (state.uses) {
        state.uses->launched(stream);
    }
    return {};
}

} // namespace

Result<void> GraphExec::launch(const Stream &stream) const noexcept {
    return named("GraphExec::launch", [&]() noexcept -> Result<void> {
        CUSHIM_TRY(GraphExecState *const state, state_of_exec(*this));
        CUSHIM_TRY_VOID(require(stream, no_stream));
        // The driver launches without a current context; the runtime would initialize one.
        if (state->api == Api::driver) {
            return launch_native<entry::cuGraphLaunch>(*state, stream);
        }
        CUSHIM_TRY(const ContextScope scope, state->enter());
        return launch_native<entry::cudaGraphLaunch>(*state, stream);
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
