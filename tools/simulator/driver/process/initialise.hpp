// The work of cuInit, and the exit handler that it registers.
#pragma once

namespace sim {

// Devices, kernels, handlers. Fails with the status from the settings.
void initialise();

} // namespace sim
