/* Entry points as types: ask whether one is available, get its exact pointer.
 *
 *     if (cushim::is_available<cushim::entry::cuGreenCtxCreate>()) ...
 *     CUSHIM_TRY(auto get_name, cushim::driver().pfn<cushim::entry::cuDeviceGetName>());
 *
 * cushim::entry has one tag type per entry point, with the name that cuda.h uses, and these
 * members:
 *     pfn         the exact function pointer type
 *     name        the exported name
 *     introduced  the CUDA version that introduced it, packed; 0 if no header says so (cuda*)
 *     library     the library that it belongs to
 *
 * Threads: any, at any time. The functions load the library that they ask.
 */
#ifndef CUSHIM_ENTRY_HPP
#define CUSHIM_ENTRY_HPP

#include <cushim/detail/driver_entries.hpp>
#include <cushim/detail/runtime_entries.hpp>
#include <cushim/result.hpp>
#include <cushim/version.hpp>

namespace cushim {

namespace detail {

/* Why an entry point is missing, from the status of its table function. */
CUSHIM_API Error missing_entry(cushim_library library, const char *name, int introduced,
                               int status) noexcept;

/* The function that `slot` holds or resolves to. `slot` is the entry point's own slot, or a copy of
 * its earlier value. */
template <class Entry>
CUSHIM_LOCAL typename Entry::pfn find_entry(typename Entry::pfn *slot, int &status) noexcept {
    return reinterpret_cast<typename Entry::pfn>(
        cushim_resolve_entry(Entry::library, reinterpret_cast<cushim_function *>(slot),
                             reinterpret_cast<cushim_function>(Entry::first()), Entry::name,
                             Entry::introduced, &status));
}

template <class Entry>
CUSHIM_LOCAL Result<typename Entry::pfn> pfn() {
    int status = 0;
    if (typename Entry::pfn function = find_entry<Entry>(Entry::slot(), status))
        return function;
    return missing_entry(Entry::library, Entry::name, Entry::introduced, status);
}

} // namespace detail

template <class Entry>
Result<typename Entry::pfn> DriverTable::pfn() const {
    static_assert(Entry::library == CUSHIM_LIBRARY_DRIVER, "an entry point of the runtime API");
    return detail::pfn<Entry>();
}

template <class Entry>
Result<typename Entry::pfn> RuntimeTable::pfn() const {
    static_assert(Entry::library == CUSHIM_LIBRARY_RUNTIME, "an entry point of the driver API");
    return detail::pfn<Entry>();
}

/* Whether a call reaches a function: the library has it, or it is overridden. */
template <class Entry>
CUSHIM_LOCAL bool is_available() noexcept {
    int status = 0;
    return detail::find_entry<Entry>(Entry::slot(), status) != nullptr;
}

template <class Entry>
CUSHIM_LOCAL bool is_available(Entry) noexcept {
    return is_available<Entry>();
}

/* The CUDA version that introduced exactly this ABI; unknown if no header says so. */
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
