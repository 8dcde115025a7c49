#include "release_stream.hpp"

#include "base/call.hpp"
#include "in_context.hpp"
#include "stream_context.hpp"

namespace cushim::detail {
namespace {

// A stream that is borrowed: destroys nothing, and detects a reset.
struct LentStreamState final : InContext {
    explicit LentStreamState(const Context &in) noexcept : InContext(in, InCapture::safe) {}
    Destroyed destroy() noexcept override { return {}; }
};

} // namespace

Result<Stream> keep_for_release(const Stream &stream) noexcept {
    CUSHIM_TRY_VOID(require(stream, "the Stream is empty"));
    if (is_default(stream.native())) {
        return Error::invalid_argument(
            "Stream::legacy() and Stream::per_thread() depend on the current context; use a stream "
            "of Stream::create()");
    }
    if (Access::state(stream) != nullptr) {
        return stream.share();
    }
    CUSHIM_TRY(const Context context, stream.context());
    CUSHIM_TRY(auto state, make_state<LentStreamState>(context));
    Stream kept;
    Access::set(kept, stream.native(), state.take());
    return kept;
}

bool is_there(const Stream &kept) noexcept {
    const State *const state = Access::state(kept);
    return state != nullptr && !state->is_gone();
}

Destroyed wait_for_release(const Stream &kept) noexcept {
    if (!is_there(kept)) {
        return {};
    }
    const CUstream stream = kept.native();
    CUstreamCaptureStatus capture = CU_STREAM_CAPTURE_STATUS_NONE;
    const CUresult asked = status_of<entry::cuStreamIsCapturing>(stream, &capture);
    if (asked != CUDA_SUCCESS || capture != CU_STREAM_CAPTURE_STATUS_NONE) {
        return {failed<entry::cuStreamIsCapturing>(
                    asked != CUDA_SUCCESS ? asked : CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED),
                stream};
    }
    return {call<entry::cuStreamSynchronize>(stream), stream};
}

} // namespace cushim::detail
