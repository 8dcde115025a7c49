// The configuration of a launch, as the driver takes it.
#pragma once

#include "runtime/base/failure.hpp"

namespace sim::runtime {

// Refuses a null configuration with InvalidValue.
CUlaunchConfig launch_configuration(const cudaLaunchConfig_t *config);

} // namespace sim::runtime
