// Faults of a lane.
#pragma once

#include "ptx/run/block.hpp"

namespace sim::ptx::inline SIM_PTX_FEATURES {

// Adds the block, the thread and the line to a fault, and throws it.
[[noreturn]] void fail(Warp &warp, const Step &step, int lane, KernelFault fault);

} // namespace sim::ptx::inline SIM_PTX_FEATURES
