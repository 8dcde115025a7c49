// Stream captures for tests: begin, query, end.
#pragma once

#include "graph_tools.hpp"

namespace sim_test {

inline constexpr auto global = CU_STREAM_CAPTURE_MODE_GLOBAL,
                      thread_local_ = CU_STREAM_CAPTURE_MODE_THREAD_LOCAL,
                      relaxed = CU_STREAM_CAPTURE_MODE_RELAXED;

inline constexpr auto unsupported = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
                      implicit = CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
inline constexpr auto not_capturing = CU_STREAM_CAPTURE_STATUS_NONE;

inline CUresult begin_capture(CUstream stream, CUstreamCaptureMode mode = relaxed) {
    return driver().cuStreamBeginCapture(stream, mode);
}

inline CUstreamCaptureStatus status_of(CUstream stream) {
    return got<CUstreamCaptureStatus>(&Driver::cuStreamIsCapturing, stream, out);
}
inline bool is_active(CUstream stream) {
    return status_of(stream) == CU_STREAM_CAPTURE_STATUS_ACTIVE;
}
inline bool is_invalidated(CUstream stream) {
    return status_of(stream) == CU_STREAM_CAPTURE_STATUS_INVALIDATED;
}

inline CUgraph end_capture(CUstream stream) {
    const auto graph = got<CUgraph>(&Driver::cuStreamEndCapture, stream, out);
    REQUIRE(graph != nullptr);
    return graph;
}
// The status of an end that fails; checks that it makes no graph.
inline CUresult failed_end(CUstream stream) {
    CUgraph graph = garbage<CUgraph>();
    const CUresult status = driver().cuStreamEndCapture(stream, &graph);
    CHECK((graph == nullptr) == (status != CUDA_SUCCESS));
    return status;
}
// Ends a capture that is invalidated.
inline void end_invalidated(CUstream stream) {
    CHECK(is_invalidated(stream));
    CHECK(failed_end(stream) == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    CHECK(status_of(stream) == not_capturing);
}

// Checks that the call returns this status in a capture of the stream and invalidates the capture.
template <class Call>
void check_breaks(CUstream stream, CUresult expected, const Call &call,
                  CUstreamCaptureMode mode = relaxed) {
    require_ok(begin_capture(stream, mode));
    CHECK(call() == expected);
    end_invalidated(stream);
}

// The graph that the second version of the query reports for the capture of a stream.
inline CUgraph captured_graph(CUstream stream) {
    CUstreamCaptureStatus status{};
    return got<CUgraph>(&Driver::cuStreamGetCaptureInfo_v2, stream, &status, nullptr, out, nullptr,
                        nullptr);
}

// Sets the mode of this thread and returns the previous mode.
inline CUstreamCaptureMode exchange_mode(CUstreamCaptureMode mode) {
    require_ok(driver().cuThreadExchangeStreamCaptureMode(&mode));
    return mode;
}

// Non-blocking, for captures that fork.
struct TwoStreams {
    const Stream one{non_blocking}, two{non_blocking};
    const Event event{CU_EVENT_DISABLE_TIMING};
    // Orders later work in `second` after earlier work in `first`.
    CUresult order(CUstream first, CUstream second) const {
        const CUresult recorded = driver().cuEventRecord(event, first);
        return recorded == CUDA_SUCCESS ? driver().cuStreamWaitEvent(second, event, 0) : recorded;
    }
};

} // namespace sim_test
