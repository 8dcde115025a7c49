// Records which entry points are called through the tables and the statuses they return, so that a
// recording lists what it covers.
#pragma once

#include <cushim/entry.hpp>

#include <atomic>
#include <cstdint>
#include <mutex>
#include <type_traits>

namespace record::trace {

// Inserts a tracing function before every entry point. Loads no library: an entry point is still
// resolved at its first call.
void install();

// Prints a line for each entry point that was called: `-- calls cuMemAlloc_v2 0 1 2` with its
// statuses in ascending order, or `-- calls cudaGetErrorName called` if it returns no status. Then
// a line for each reason that the driver's log gave: `-- reason cuMemAlloc_v2 1 = Requested 0 byte
// allocation`, or `= (none)`.
void print();

// The section that calls an entry point with zero arguments.
enum class Zeros { none, driver, runtime };

constexpr int no_status = -2; // of a call that returns no status

// One entry point.
struct Row {
    static constexpr unsigned int limit = 1024; // above CUDA's highest status

    const char *name;
    cushim_function *slot;
    cushim_function first;     // contents of the slot before the first call
    cushim_function tracing;   // contents of the slot afterwards
    cushim_function (*find)(); // the library's function, or null
    int (*call_with_zeros)();  // returns the status, or no_status
    Zeros zeros = Zeros::none;
    Row *next = nullptr;
    std::once_flag once{};
    cushim_function function = nullptr;
    std::atomic<bool> called = false;
    std::atomic<std::uint64_t> seen[limit / 64] = {};

    void note(unsigned int status) {
        const unsigned int bit = status < limit ? status : limit - 1;
        seen[bit / 64] |= std::uint64_t(1) << bit % 64;
    }
};

// Notes what the driver's log says about the failure of the last call of this thread. Does nothing
// if the driver keeps no log (before CUDA 12.9).
void note_reason(const char *entry_point, int status);

// All rows, in the order of the tables.
Row *first_row();

// The library's own function. If it is missing, the slot keeps the function that returns the status
// for that.
cushim_function original(Row &row);

template <class Type>
inline constexpr bool is_status =
    std::is_same_v<Type, CUresult> || std::is_same_v<Type, cudaError_t>;

// Only the code that depends on the entry point's type, since it is instantiated a thousand times.
template <class Entry, class Function = std::remove_pointer_t<typename Entry::pfn>>
struct Traced;

template <class Entry, class Result, class... Arguments>
struct Traced<Entry, Result(Arguments...)> {
    static Result call(Arguments... arguments) {
        row.called = true;
        if constexpr (is_status<Result>) {
            const Result result = function()(arguments...);
            row.note(static_cast<unsigned int>(result));
            if (result != Result{}) {
                note_reason(row.name, static_cast<int>(result));
            }
            return result;
        } else {
            return function()(arguments...);
        }
    }

    static typename Entry::pfn function() {
        return reinterpret_cast<typename Entry::pfn>(original(row));
    }

    static cushim_function find() {
        int status = 0;
        return reinterpret_cast<cushim_function>(
            cushim::detail::resolve_entry<Entry>(cushim::detail::slot_of<Entry>(), status));
    }

    static int call_with_zeros() {
        if constexpr (is_status<Result>) {
            return static_cast<int>(function()(Arguments{}...));
        } else {
            function()(Arguments{}...);
            return no_status;
        }
    }

    static inline Row row{
        Entry::name,
        reinterpret_cast<cushim_function *>(cushim::detail::slot_of<Entry>()),
        reinterpret_cast<cushim_function>(cushim::detail::first_of<Entry>()),
        reinterpret_cast<cushim_function>(&call),
        &find,
        &call_with_zeros,
    };
};

// The untraced function; the table contains the tracing one.
template <class Entry>
typename Entry::pfn function_of() {
    return Traced<Entry>::function();
}

// Calls an entry point whose name is a macro for another one.
template <class Entry, class... Arguments>
auto call(Arguments... arguments) {
    return Traced<Entry>::call(arguments...);
}

} // namespace record::trace
