// Primary contexts: one per device, shared by all who retain it.
#pragma once

#include "engine/context.hpp"

namespace sim {

// Counts one more who retains it, or one less.
Context &retain_primary(Device &device);
void release_primary(Device &device);

} // namespace sim
