/* The function of an entry point: the one in its slot, which is resolved first if necessary. */
#ifndef CUSHIM_DETAIL_RESOLVE_ENTRY_HPP
#define CUSHIM_DETAIL_RESOLVE_ENTRY_HPP

#include <cushim/detail/loader.h>
#include <cushim/driver_table.hpp>
#include <cushim/result.hpp>
#include <cushim/runtime_table.hpp>

namespace cushim {
namespace detail {

/* Why an entry point is missing, from the status of its table function. */
CUSHIM_API Error missing_entry(cushim_library library, const char *name, int introduced,
                               int status) noexcept;

/* A constant for the driver and the runtime, a function for further libraries: their numbers differ
 * between processes. */
template <class Entry>
CUSHIM_LOCAL cushim_library library_of() noexcept {
    if constexpr (requires { Entry::library(); }) {
        return Entry::library();
    } else {
        return Entry::library;
    }
}

/* The slot of an entry point, and its first-call function: see CUSHIM_ENTRY_ADDRESSES. */
template <class Entry>
struct EntryAddresses {
    typename Entry::pfn *slot;
    typename Entry::pfn first;
};
template <class Entry>
CUSHIM_LOCAL EntryAddresses<Entry> addresses_of() noexcept {
    if constexpr (requires { Entry::slot; }) {
        return {Entry::slot, Entry::first};
    } else {
        EntryAddresses<Entry> both = {};
        Entry::addresses(both.slot, both.first);
        return both;
    }
}
template <class Entry>
CUSHIM_LOCAL typename Entry::pfn *slot_of() noexcept {
    return addresses_of<Entry>().slot;
}
template <class Entry>
CUSHIM_LOCAL typename Entry::pfn first_of() noexcept {
    return addresses_of<Entry>().first;
}

/* The function in `slot`, which is resolved first if necessary. If the library lacks it, null and
 * the status of a call. `slot` is the entry point's own slot, or a copy of its earlier value. */
template <class Entry>
CUSHIM_LOCAL typename Entry::pfn resolve_entry(typename Entry::pfn *slot, int &status) noexcept {
    return reinterpret_cast<typename Entry::pfn>(
        cushim_resolve_entry(library_of<Entry>(), reinterpret_cast<cushim_function *>(slot),
                             reinterpret_cast<cushim_function>(first_of<Entry>()), Entry::name,
                             Entry::introduced, &status));
}

template <class Entry>
CUSHIM_LOCAL Result<typename Entry::pfn> pfn() {
    int status = 0;
    if (typename Entry::pfn function = resolve_entry<Entry>(slot_of<Entry>(), status)) {
        return function;
    }
    return missing_entry(library_of<Entry>(), Entry::name, Entry::introduced, status);
}

} // namespace detail

template <class Entry>
Result<typename Entry::pfn> DriverTable::pfn() const {
    static_assert(Entry::library == CUSHIM_LIBRARY_DRIVER,
                  "this entry point belongs to the runtime API. Use runtime().pfn().");
    return detail::pfn<Entry>();
}

template <class Entry>
Result<typename Entry::pfn> RuntimeTable::pfn() const {
    static_assert(Entry::library == CUSHIM_LIBRARY_RUNTIME,
                  "this entry point belongs to the driver API. Use driver().pfn().");
    return detail::pfn<Entry>();
}

} // namespace cushim

#endif
