// The control table that cushim_sim_control() returns.
#pragma once

#include "../../cushim_sim.h"

namespace sim {

const cushim_sim *control_table() noexcept;

} // namespace sim
