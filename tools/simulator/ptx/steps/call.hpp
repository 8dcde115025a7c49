// Calls of device functions.
#pragma once

#include "ptx/steps/decoder.hpp"

namespace sim::ptx::inline SIM_PTX_FEATURES {

// Where a lane has a parameter of a frame; not for predicates.
std::byte *place_of(const Program::Parameter &parameter, Warp &warp, Frame &frame, int lane);

bool build_call(Decoder &decoder, const Instruction &instruction);
// Of a device function; of a kernel, its lanes end.
bool build_return(Decoder &decoder, const Instruction &instruction);

} // namespace sim::ptx::inline SIM_PTX_FEATURES
