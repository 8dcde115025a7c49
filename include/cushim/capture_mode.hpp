/* The modes of a stream capture, and its status. */
#ifndef CUSHIM_CAPTURE_MODE_HPP
#define CUSHIM_CAPTURE_MODE_HPP

#include <cushim/detail/cpp20.hpp>
#include <cushim/text.hpp>

namespace cushim {

/* During a capture, calls that it cannot contain (allocation, synchronization) fail with
 * CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED (900) and invalidate it. The mode says on which threads.
 * The values are those of CUDA. */
enum class CaptureMode : unsigned char {
    global = 0,     // on every thread, as long as any capture in this mode is active
    per_thread = 1, // on the thread that began the capture (CUDA: thread local)
    relaxed = 2     // on no thread; any thread may end the capture
};
CUSHIM_API Text to_text(CaptureMode mode) noexcept;

// Whether a stream is being captured. The values are those of CUDA.
enum class CaptureStatus : unsigned char {
    none = 0,       // not captured: work runs
    active = 1,     // enqueued work becomes part of a graph
    invalidated = 2 // invalidated by an error; must still be ended
};
CUSHIM_API Text to_text(CaptureStatus status) noexcept;

} // namespace cushim

#endif
