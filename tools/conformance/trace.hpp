// Notes which entry points are called through the tables and what they answer, so that a recording tells by
// itself what it covers.
#pragma once

#include <cushim/override.hpp>

#include <atomic>
#include <cstdint>
#include <mutex>
#include <type_traits>

namespace record::trace {

// Puts a tracing function before every entry point. Loads no library: an entry point is looked for when it is
// first called, as without tracing.
void install();

// A line for each entry point that was called: `-- calls cuMemAlloc_v2 0 1 2`, its statuses in rising order, or
// `-- calls cudaGetErrorName called` where it answers something else.
void print();

struct Row {
    static constexpr unsigned int limit = 1024; // of the statuses; CUDA's are below

    const char *name;
    Row *next = nullptr;
    std::atomic<bool> called = false;
    std::atomic<std::uint64_t> seen[limit / 64] = {};

    void note(unsigned int status) {
        const unsigned int bit = status < limit ? status : limit - 1;
        seen[bit / 64] |= std::uint64_t(1) << bit % 64;
    }
};

template <class Type>
inline constexpr bool is_status =
    std::is_same_v<Type, CUresult> || std::is_same_v<Type, cudaError_t>;

template <class Entry, class Function = std::remove_pointer_t<typename Entry::pfn>>
struct Traced;

template <class Entry, class Result, class... Arguments>
struct Traced<Entry, Result(Arguments...)> {
    static inline Row row{Entry::name};
    static inline std::once_flag once;
    static inline typename Entry::pfn function = nullptr;

    static Result call(Arguments... arguments) {
        row.called = true;
        if constexpr (std::is_void_v<Result>) {
            original()(arguments...);
        } else {
            const Result result = original()(arguments...);
            if constexpr (is_status<Result>) {
                row.note(static_cast<unsigned int>(result));
            }
            return result;
        }
    }

    // The library's own. Where there is none, the slot is left to the function that says so.
    static typename Entry::pfn original() {
        std::call_once(once, [] {
            exchange(Entry::first());
            int status = 0;
            function = cushim::detail::find_entry<Entry>(status);
            if (function) {
                exchange(&call);
            } else {
                function = Entry::first();
            }
        });
        return function;
    }

    static void exchange(typename Entry::pfn next) {
        cushim_exchange_slot(reinterpret_cast<cushim_function *>(Entry::slot()),
                             reinterpret_cast<cushim_function>(next));
    }
};

// The function itself: what a table tells is the tracing one.
template <class Entry>
typename Entry::pfn function_of() {
    return Traced<Entry>::original();
}

// A call of an entry point whose name is a macro for another one.
template <class Entry, class... Arguments>
auto call(Arguments... arguments) {
    return Traced<Entry>::call(arguments...);
}

} // namespace record::trace
