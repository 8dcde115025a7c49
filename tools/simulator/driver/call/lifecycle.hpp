// States of a process: before cuInit, initialized, child of fork, exiting.
#pragma once

#include "base/cuda_headers.hpp"

namespace sim {

// The status that every call fails with now: 3 before cuInit and in a child of a process that
// called it; 4 after the exit handler that cuInit registered has begun; otherwise CUDA_SUCCESS.
CUresult process_state() noexcept;
bool is_initialised() noexcept;
// Whether this is a child of a process that had called cuInit.
bool is_forked() noexcept;
bool is_exiting() noexcept;

void set_initialised() noexcept; // also ends a resume_by()
void set_forked() noexcept;      // in the child
void set_exiting() noexcept;
// Restores the state of a new process.
void restart_process() noexcept;

// After a reset, the next call that needs cuInit begins with `initialise`, which may throw Refusal.
void resume_by(void (*initialise)()) noexcept;
void resume() noexcept; // under the lock, which it may release
// Whether a thread is inside that `initialise`.
bool is_resuming() noexcept;

} // namespace sim
