/* Initialises the CUDA driver: the call of cuInit that all wrappers share. */
#ifndef CUSHIM_INIT_HPP
#define CUSHIM_INIT_HPP

#include <cushim/result.hpp>

namespace cushim {

/* Calls cuInit(0) until it has succeeded once in the process; afterwards a call takes a few
 * nanoseconds. cuInit takes 100 ms to half a second on a GPU. Wrappers call init() on their first
 * use; programs that only use the tables call it, or cuInit, themselves.
 *
 * Threads: any. Several first threads may each call cuInit, which CUDA allows.
 * Errors: library_not_found, stub_library, no_device, or the status of cuInit. A failure is not
 * remembered. A success is forgotten when an override of cuInit begins or ends. In the child of a
 * fork CUDA does not work: CUDA_ERROR_NOT_INITIALIZED (3).
 * cuInit. */
CUSHIM_API Result<void> init() noexcept;

} // namespace cushim

#endif
