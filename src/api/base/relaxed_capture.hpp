// Prevents calls in destructors from invalidating stream captures.
//
// While any stream captures in global mode, or the calling thread captures in thread-local mode,
// CUDA does not permit unsafe calls: cuMemFree, cuMemFreeHost, cuModuleUnload and others. Such a
// call returns status 900 without any effect and invalidates the capture. A destructor cannot know
// what other threads capture.
#pragma once

#include "call.hpp"

namespace cushim::detail {

// During its lifetime, the calling thread may make such calls. Failures are reported to the
// teardown sink. Does nothing with a driver without this mode (before CUDA 10.1).
// cuThreadExchangeStreamCaptureMode.
class RelaxedCapture {
  public:
    RelaxedCapture() noexcept : exchanged_(exchange()) {}
    ~RelaxedCapture() {
        if (exchanged_) [[likely]] {
            exchange();
        }
    }
    RelaxedCapture(const RelaxedCapture &) = delete;
    RelaxedCapture &operator=(const RelaxedCapture &) = delete;

  private:
    bool exchange() noexcept {
        const CUresult status = status_of<entry::cuThreadExchangeStreamCaptureMode>(&other_);
        if (status != CUDA_SUCCESS) [[unlikely]] {
            report(status);
        }
        return status == CUDA_SUCCESS;
    }
    [[gnu::cold]] static void report(CUresult status) noexcept;

    CUstreamCaptureMode other_ = CU_STREAM_CAPTURE_MODE_RELAXED; // exchanged for the thread's mode
    bool exchanged_;
};

} // namespace cushim::detail
