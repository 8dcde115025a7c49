// The simulated driver library that this runtime sits on, found at the first need.
#pragma once

#include "driver/process/runtime_hooks.hpp"

namespace sim::runtime {

// An exported function of the driver, or null: no driver, or none of that name in it.
void *driver_function(const char *name) noexcept;
bool has_driver() noexcept;
// Null without a driver.
const Hooks *driver_hooks() noexcept;
// Grows with every reset of the simulator: what belongs to an older one is to be forgotten.
std::uint64_t epoch() noexcept;

} // namespace sim::runtime
