// The name and the text of every error code of the runtime, as its library gives them.
#pragma once

namespace sim::runtime {

// Null where there is none.
const char *error_name(int code) noexcept;
const char *error_text(int code) noexcept;

} // namespace sim::runtime
