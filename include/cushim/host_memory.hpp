/* Options of pinned host memory.
 *
 * Pinned memory is never moved or paged out, so that devices copy from and to it directly. If it is
 * mapped, kernels access it in place. Its owners are PinnedBuffer, HostMappedBuffer and
 * HostRegistration.
 */
#ifndef CUSHIM_HOST_MEMORY_HPP
#define CUSHIM_HOST_MEMORY_HPP

#include <cushim/detail/config.h>

namespace cushim {

// How PinnedBuffer and HostMappedBuffer allocate.
struct PinnedOptions {
    // Pinned for the devices of all contexts. Always the case if host and devices share one address
    // space, as on all 64-bit systems.
    bool portable = false;
    // Fast for devices to read, slow for the host to read: for memory that the host only writes.
    bool write_combined = false;
    // Initialises every element to T(). invalid_argument if T has no default constructor; the
    // constructor must not throw (std::terminate). If false, the elements are uninitialised.
    bool value_initialize = true;
};

} // namespace cushim

#endif
