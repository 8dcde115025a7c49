/* Which calls may be made while a stream is captured, and how a capture stands. */
#ifndef CUSHIM_CAPTURE_MODE_HPP
#define CUSHIM_CAPTURE_MODE_HPP

#include <cushim/config.h>
#include <cushim/text.hpp>

namespace cushim {

/* Calls that a capture cannot contain (allocating, waiting, and the like) fail with 900 and ruin captures:
 * CUDA's own numbers. */
enum class CaptureMode : unsigned char {
    global = 0,     // such calls of any thread, as long as one captures in this mode
    per_thread = 1, // such calls of the thread that began the capture: CUDA's thread-local mode
    relaxed = 2     // none; and any thread may end it
};
CUSHIM_API Text to_text(CaptureMode mode) noexcept;

enum class CaptureStatus : unsigned char {
    none = 0,
    active = 1,
    invalidated = 2 // ruined by an error; to be ended still
};
CUSHIM_API Text to_text(CaptureStatus status) noexcept;

} // namespace cushim

#endif
