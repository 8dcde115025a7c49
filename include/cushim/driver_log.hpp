/* The driver's log: why a driver call failed. With a driver and headers of CUDA 12.9
 * or newer, Error::message() contains the lines that the log has about the failed call; after raw
 * calls, programs request them here.
 *
 *     if (driver().cuMemMap(address, size, 0, memory, 0) != CUDA_SUCCESS) {
 *         std::puts(last_driver_log().c_str());
 *     }
 *
 * prints:
 *
 *     Requested mapping smaller than handle, (0x1000 < 0x200000)
 *     Returning 801 (CUDA_ERROR_NOT_SUPPORTED) from cuMemMap
 *
 * The driver keeps the lines of all threads, and discards the oldest. Programs must not parse them:
 * their texts differ between drivers, and for many failures the driver logs nothing.
 *
 * Threads: any. Context: see handle.hpp.
 * Errors: none. The text is empty if the driver is absent or keeps no log, and if other threads
 * have logged many lines since.
 * cuLogsCurrent, cuLogsDumpToMemory, since CUDA 12.9, in the driver and in the headers of the
 * build.
 */
#ifndef CUSHIM_DRIVER_LOG_HPP
#define CUSHIM_DRIVER_LOG_HPP

#include <cushim/detail/cpp20.hpp>

namespace cushim {

// Lines of the driver log, separated by newlines.
struct DriverLog {
    char characters[1024]; // null-terminated; longer text is cut

    // The text; valid as long as this object.
    const char *c_str() const noexcept CUSHIM_LIFETIMEBOUND { return characters; }
};

// The log lines of the last failed call of the calling thread, without timestamps and thread IDs.
CUSHIM_API DriverLog last_driver_log() noexcept;

} // namespace cushim

#endif
