// The states of a process: before cuInit, initialised, in a child of fork, exiting.
#pragma once

#include "base/cuda_headers.hpp"

namespace sim {

// With what a call is refused now: 3 before cuInit and in a child of a process that called it, 4
// from the exit handler on that cuInit registered; CUDA_SUCCESS otherwise.
CUresult process_state() noexcept;
bool is_initialised() noexcept;
// In a child of a process that had called cuInit.
bool is_forked() noexcept;
bool is_exiting() noexcept;

void set_initialised() noexcept;
void set_forked() noexcept; // in the child
void set_exiting() noexcept;
// As in a fresh process.
void restart_process() noexcept;

} // namespace sim
