// cuInit's work, and what it leaves for the end of the process.
#pragma once

namespace sim {

// Devices, kernels, handlers. Refuses with what the settings say.
void initialise();

} // namespace sim
