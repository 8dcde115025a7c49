// The name and the text of every error code of the runtime, as its library gives them.
#pragma once

#include "driver/base/error_texts.hpp"

namespace sim::runtime {

// Null where there is none.
const char *error_name(int code) noexcept;
using sim::error_text;

} // namespace sim::runtime
