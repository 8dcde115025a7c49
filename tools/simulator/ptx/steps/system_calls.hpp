// Functions that the driver provides: vprintf, __assertfail, malloc, free.
#pragma once

#include "ptx/steps/decoder.hpp"

namespace sim::ptx::inline SIM_PTX_FEATURES {

// A call of one; false if none has that name.
bool build_system_call(Decoder &decoder, std::string_view name,
                       const std::vector<Program::Parameter> &arguments,
                       const std::vector<Program::Parameter> &results);

} // namespace sim::ptx::inline SIM_PTX_FEATURES
