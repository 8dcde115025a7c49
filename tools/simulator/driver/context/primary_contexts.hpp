// Primary contexts: one per device, reference-counted.
#pragma once

#include "engine/context.hpp"

namespace sim {

// Add and remove one reference.
Context &retain_primary(Device &device);
void release_primary(Device &device);

} // namespace sim
