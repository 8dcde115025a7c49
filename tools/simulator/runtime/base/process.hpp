// State of the process and its threads: initialization, devices, implicit primary contexts.
#pragma once

#include "runtime/base/runtime_headers.hpp"

namespace sim::runtime {

// Whether the runtime can work. Returns 35 without a driver or with one of an older major version,
// otherwise the status of cuInit (34 from the link stub, 100 without a device, …). Initializes the
// driver.
cudaError_t ready() noexcept;
// The version that cuDriverGetVersion returns; 0 without a driver.
int driver_version() noexcept;

// Makes the primary context of this thread's device current unless the thread has a live context.
// Throws Failure. Called before driver functions that use the current context; CU() does so.
void need_context();
CUcontext current_context();

int device_count();
// The same from the runtime's own state, where the driver must not be called: in a host function
// and in a child of fork.
int known_device_count();
bool in_forked_child();
// Fails with InvalidDevice (101) if the device does not exist. The error log has the runtime's
// reason, or the driver's, which names the driver's parameter, or none.
int checked_device(int device);
int checked_device(int device, const char *parameter);
int existing_device(int device);
// The device of the current context, or else the thread's chosen device, or else the first.
int current_device();
// Chooses the device of this thread.
void choose_device(int device);
void choose_first_of(const int *devices, int count);
// The primary context of a device, retained for the runtime.
CUcontext primary_context(int device);
// Resets the primary context of the current device; the next use revives it.
cudaError_t reset_device();
// Whether the primary context of a device was reset and not used since.
bool was_reset(int device);

} // namespace sim::runtime
