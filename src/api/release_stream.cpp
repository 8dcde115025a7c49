#include "release_stream.hpp"

#include "call.hpp"
#include "in_context.hpp"
#include "stream_context.hpp"

namespace cushim::detail {

Result<void> check_release_stream(const Stream &stream) noexcept {
    CUSHIM_TRY_VOID(need(stream, "the stream is empty"));
    if (is_default(stream.native())) {
        return Error::invalid_argument(
            "a default stream is another one wherever another context is current");
    }
    return {};
}

Destroyed wait_for_release(const Stream &release) noexcept {
    const CUstream stream = release.native();
    const State *const state = Access::state(release);
    if (stream == nullptr || (state != nullptr && state->is_gone())) {
        return {};
    }
    CUstreamCaptureStatus capture = CU_STREAM_CAPTURE_STATUS_NONE;
    Destroyed asked = CUSHIM_DESTROY(cuStreamIsCapturing, stream, stream, &capture);
    if (asked.status != CUDA_SUCCESS) {
        return asked;
    }
    if (capture != CU_STREAM_CAPTURE_STATUS_NONE) {
        asked.status = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
        return asked;
    }
    return CUSHIM_DESTROY(cuStreamSynchronize, stream, stream);
}

} // namespace cushim::detail
