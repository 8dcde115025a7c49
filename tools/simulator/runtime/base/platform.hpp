// Operating system services for the simulated runtime. platform_posix.cpp, platform_windows.cpp.
#pragma once

namespace sim::runtime::platform {

// The simulated driver: the loaded one, or else the one next to this library. Null if there is
// neither. Never unloaded.
void *find_driver() noexcept;

// A function of that library, or null.
void *find_function(void *library, const char *name) noexcept;

// Calls the first function in the parent before every later fork, and the others after it.
void around_fork(void (*before)(), void (*in_parent)(), void (*in_child)()) noexcept;

// Keeps this library in the process even if the program closes it.
void stay_loaded() noexcept;

} // namespace sim::runtime::platform
