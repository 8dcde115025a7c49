// Calls of device functions.
#pragma once

#include "ptx/steps/decoder.hpp"

namespace sim::ptx::inline SIM_PTX_FEATURES {

bool build_call(Decoder &decoder, const Instruction &instruction);
// Of a device function; of a kernel, its lanes end.
bool build_return(Decoder &decoder, const Instruction &instruction);

} // namespace sim::ptx::inline SIM_PTX_FEATURES
