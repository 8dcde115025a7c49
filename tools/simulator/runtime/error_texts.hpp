// The text of every error code of the runtime, as its library gives it.
#pragma once

namespace sim::runtime {

// Null where there is none.
const char *error_text(int code) noexcept;

} // namespace sim::runtime
