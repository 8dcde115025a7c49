// What a destructor calls ruins no stream capture.
//
// While any stream is captured in the global mode, and on the thread that captures in the
// thread-local mode, CUDA forbids what it calls unsafe: cuMemFree, cuMemFreeHost, cuModuleUnload
// and others. Such a call answers status 900 without doing anything, and the capture is invalid
// from then on. Whoever lets an owner go cannot know what other threads capture.
#pragma once

#include <cushim/driver_table.hpp>

namespace cushim::detail {

// For as long as it lives, this thread may make such calls. Failures go to the teardown sink; a
// driver without this mode (before CUDA 10.1) has nothing to be told.
// cuThreadExchangeStreamCaptureMode.
class RelaxedCapture {
  public:
    RelaxedCapture() noexcept;
    ~RelaxedCapture();
    RelaxedCapture(const RelaxedCapture &) = delete;
    RelaxedCapture &operator=(const RelaxedCapture &) = delete;

  private:
    bool exchange() noexcept;

    CUstreamCaptureMode other_ =
        CU_STREAM_CAPTURE_MODE_RELAXED; // what the thread's mode is not now
    bool exchanged_;
};

} // namespace cushim::detail
