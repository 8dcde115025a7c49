/* Entry points as types: ask whether one is available, get its exact pointer.
 *
 *     if (cushim::is_available<cushim::entry::cuGreenCtxCreate>()) ...
 *     CUSHIM_TRY(auto get_name, cushim::driver().pfn<cushim::entry::cuDeviceGetName>());
 *
 * cushim::entry has one tag type per entry point, with the name that cuda.h uses, and these
 * members:
 *     pfn         the exact function pointer type
 *     name        the exported name
 *     introduced  the CUDA version that introduced it, packed; 0 if no header states it (cuda*)
 *     library     the library that it belongs to; for further libraries a function that returns it
 *
 * Threads: any, at any time.
 */
#ifndef CUSHIM_ENTRY_HPP
#define CUSHIM_ENTRY_HPP

#include <cushim/detail/driver_entries.hpp>
#include <cushim/detail/resolve_entry.hpp>
#include <cushim/detail/runtime_entries.hpp>
#include <cushim/version.hpp>

namespace cushim {

/* Whether a call reaches a function: the library has it, or it is overridden. Loads the library. */
template <class Entry>
CUSHIM_LOCAL bool is_available() noexcept {
    int status = 0;
    return detail::resolve_entry<Entry>(detail::slot_of<Entry>(), status) != nullptr;
}
template <class Entry>
CUSHIM_LOCAL bool is_available(Entry) noexcept {
    return is_available<Entry>();
}

/* The CUDA version that introduced exactly this ABI, such as cuMemAlloc_v2; unknown if no header
 * states it. */
template <class Entry>
constexpr Version introduced_in() noexcept {
    return Version(Entry::introduced);
}
template <class Entry>
constexpr Version introduced_in(Entry) noexcept {
    return Version(Entry::introduced);
}

} // namespace cushim

#endif
