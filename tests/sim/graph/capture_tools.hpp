// Stream captures for tests: begun, asked for, ended.
#pragma once

#include "graph_tools.hpp"

namespace sim_test {

inline constexpr auto global = CU_STREAM_CAPTURE_MODE_GLOBAL,
                      thread_local_ = CU_STREAM_CAPTURE_MODE_THREAD_LOCAL,
                      relaxed = CU_STREAM_CAPTURE_MODE_RELAXED;

inline CUresult begin_capture(CUstream stream, CUstreamCaptureMode mode = relaxed) {
    return d.cuStreamBeginCapture(stream, mode);
}

inline CUstreamCaptureStatus status_of(CUstream stream) {
    CUstreamCaptureStatus status{};
    REQUIRE(d.cuStreamIsCapturing(stream, &status) == good);
    return status;
}
inline bool is_active(CUstream stream) {
    return status_of(stream) == CU_STREAM_CAPTURE_STATUS_ACTIVE;
}
inline bool is_invalidated(CUstream stream) {
    return status_of(stream) == CU_STREAM_CAPTURE_STATUS_INVALIDATED;
}

inline CUgraph end_capture(CUstream stream) {
    CUgraph graph = nullptr;
    REQUIRE(d.cuStreamEndCapture(stream, &graph) == good);
    REQUIRE(graph != nullptr);
    return graph;
}
// The status of an end that fails; checks that no graph comes of it.
inline CUresult failed_end(CUstream stream) {
    CUgraph graph = garbage<CUgraph>();
    const CUresult status = d.cuStreamEndCapture(stream, &graph);
    CHECK((graph == nullptr) == (status != good));
    return status;
}
// Ends a capture that is invalidated.
inline void end_invalidated(CUstream stream) {
    CHECK(is_invalidated(stream));
    CHECK(failed_end(stream) == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    CHECK(status_of(stream) == CU_STREAM_CAPTURE_STATUS_NONE);
}

// A call that the driver takes for unsafe.
inline CUresult unsafe_call() {
    CUdeviceptr address = 0;
    const CUresult status = d.cuMemAlloc(&address, 64);
    if (status == good) {
        CHECK(d.cuMemFree(address) == good);
    }
    return status;
}

// Non-blocking, for captures that fork.
struct TwoStreams {
    CUstream one = make_stream(non_blocking), two = make_stream(non_blocking);
    CUevent event = make_event(CU_EVENT_DISABLE_TIMING);
    ~TwoStreams() {
        destroy(one);
        destroy(two);
        destroy(event);
    }
};

} // namespace sim_test
