/* Entry points as things of their own: ask whether one is available, take its exact pointer.
 *
 *     if (cushim::is_available<cushim::entry::cuGreenCtxCreate>()) ...
 *     CUSHIM_TRY(auto get_name, cushim::driver().pfn<cushim::entry::cuDeviceGetName>());
 *
 * cushim::entry has one tag type per entry point, spelled as cuda.h spells the function, with:
 *     pfn         the exact function pointer type
 *     name        the exported name
 *     introduced  the CUDA version that brought it, packed; 0 where no header tells (cuda*)
 *     library     the library that it belongs to
 * All functions here may be called from any thread at any time, and load the library they ask.
 */
#ifndef CUSHIM_ENTRY_HPP
#define CUSHIM_ENTRY_HPP

#include <cushim/driver_entries.hpp>
#include <cushim/result.hpp>
#include <cushim/runtime_entries.hpp>
#include <cushim/version.hpp>

namespace cushim {

namespace detail {

/* Why an entry point is missing, from the status that its table function answers. */
CUSHIM_API Error missing_entry(cushim_library library, const char *name, int introduced,
                               int status) noexcept;

/* The function that `slot` holds, or that it leads to: the entry point's own slot, or a copy of its earlier value. */
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

/* Whether a call would reach a function: the library is there and has it, or an override stands. */
template <class Entry>
CUSHIM_LOCAL bool is_available() noexcept {
    int status = 0;
    return detail::find_entry<Entry>(Entry::slot(), status) != nullptr;
}

template <class Entry>
CUSHIM_LOCAL bool is_available(Entry) noexcept {
    return is_available<Entry>();
}

/* The CUDA version that introduced exactly this ABI; unknown where no header tells. */
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
