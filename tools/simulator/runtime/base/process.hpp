// The state of the process and of its threads: initialisation, devices, implicit primary contexts.
#pragma once

#include "runtime/base/runtime_headers.hpp"

namespace sim::runtime {

// Whether the runtime can work: 35 without a driver or with one of an older major version, what
// cuInit answers otherwise (34 the link stub, 100 no device, …). Initialises the driver.
cudaError_t ready() noexcept;
// What cuDriverGetVersion answers; 0 without a driver.
int driver_version() noexcept;

// Makes the primary context of the thread's device current where the thread has no context that
// lives. Throws Failure. To be called before a driver function that works on the current context;
// done by CU().
void need_context();
CUcontext current_context();

int device_count();
// The same, also where the driver may not be asked any more, as the runtime noted it: in a host
// function, and in a child of fork.
int known_device_count();
bool in_forked_child();
// Refuses with InvalidDevice (101) what is not a device.
int checked_device(int device);
// The device of the current context, else the one that the thread has chosen, else the first.
int current_device();
// Chooses the device of this thread.
void choose_device(int device);
void choose_first_of(const int *devices, int count);
// Its primary context, retained for the runtime.
CUcontext primary_context(int device);
// Ends the primary context of the current device; the next use makes a new one.
cudaError_t reset_device();

} // namespace sim::runtime
