// The driver's form of a launch configuration.
#pragma once

#include "runtime/base/failure.hpp"

namespace sim::runtime {

// Fails with InvalidValue for a null configuration.
CUlaunchConfig launch_configuration(const cudaLaunchConfig_t *config);

} // namespace sim::runtime
