// Names and texts of runtime error codes.
#pragma once

#include "driver/base/error_texts.hpp"

namespace sim::runtime {

// Null if the code has none.
const char *error_name(int code) noexcept;
using sim::error_text;

} // namespace sim::runtime
