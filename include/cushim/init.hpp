/* Initialises the CUDA driver: the one call of cuInit that the wrappers share. */
#ifndef CUSHIM_INIT_HPP
#define CUSHIM_INIT_HPP

#include <cushim/result.hpp>

namespace cushim {

/* Calls cuInit(0) until it has succeeded once in the process: from then on a call costs a few
 * nanoseconds. Threads that are first at the same time may each call it, which CUDA allows. Wrappers
 * call it on their first use; programs that only use the tables call it, or cuInit, themselves. With 100 ms to half
 * a second on real hardware it is the expensive moment of a program's start.
 *
 * Errors: library_not_found, stub_library, no_device, or the status of cuInit. A failure is not
 * remembered, and a success is forgotten when an override of cuInit begins or ends. In the child of a fork the driver does not work again, and says so (status 3).
 * Threads: any. Entry points: cuInit. Since CUDA 2.0. */
CUSHIM_API Result<void> init() noexcept;

} // namespace cushim

#endif
