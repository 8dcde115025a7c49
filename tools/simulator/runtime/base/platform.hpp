// What the simulated runtime needs of the operating system. platform_posix.cpp,
// platform_windows.cpp.
#pragma once

namespace sim::runtime::platform {

// The simulated driver: the one that this process has loaded, else the one that lies beside this
// library. Null where there is neither. Never given back.
void *find_driver() noexcept;

// A function of that library, or null.
void *find_function(void *library, const char *name) noexcept;

// Calls the first in the parent before every fork from now on, and the others after it.
void around_fork(void (*before)(), void (*in_parent)(), void (*in_child)()) noexcept;

// Keeps this library in the process, whoever closes it.
void stay_loaded() noexcept;

} // namespace sim::runtime::platform
