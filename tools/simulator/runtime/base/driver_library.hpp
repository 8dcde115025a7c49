// The simulated driver library that this runtime uses, looked up on first use.
#pragma once

#include "driver/process/runtime_hooks.hpp"

namespace sim::runtime {

// An exported function of the driver; null without a driver, or if it lacks the function.
void *driver_function(const char *name) noexcept;
bool has_driver() noexcept;
// Null without a driver.
const Hooks *driver_hooks() noexcept;
// Incremented by every reset of the simulator; state from an older epoch is invalid.
std::uint64_t epoch() noexcept;

} // namespace sim::runtime
