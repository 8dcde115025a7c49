// Calls of a further library through its table, with the status as a Result.
//
//     CUSHIM_TRY_VOID(call_library<NvrtcStatus, entry::nvrtcCompileProgram>(program, count,
//     options));
//
// Unlike a member of the table, which returns a status in place of a function that is missing, this
// reports an absent library and a missing function as what they are.
#pragma once

#include <cushim/entry.hpp>
#include <cushim/result.hpp>

#include <string_view>

#include "base/function_name.hpp"

namespace cushim::detail {

// What a library's status means. The name lives as long as the program.
struct StatusMeaning {
    const char *name;
    ErrorKind kind = ErrorKind::status;
};

// A call that returned a status other than 0.
struct FailedLibraryCall {
    cushim_library library;
    const char *entry_point;
    int status;
    StatusMeaning meaning;
};
[[gnu::cold]] Error failure(const FailedLibraryCall &call) noexcept;

// The same error with the version that introduced the function, if that is missing.
[[gnu::cold]] Error with_introduction(const Error &error, Version introduced) noexcept;

// Whether the library has the function; `introduced` is the version of the library that added it.
template <class Entry>
Result<void> require_entry(Version introduced) noexcept {
    const Result<typename Entry::pfn> function = pfn<Entry>();
    return function ? Result<void>() : with_introduction(function.error(), introduced);
}

// The library's status of a call, which may be of any kind; a failure only without the function.
template <class Entry, class... Arguments>
Result<int> ask_library(Arguments... arguments) noexcept {
    CUSHIM_TRY(const auto function, pfn<Entry>());
    return static_cast<int>(function(arguments...));
}

// Status::meaning_of() explains a status.
template <class Status, class Entry, class... Arguments>
Result<void> call_library(Arguments... arguments) noexcept {
    CUSHIM_TRY(const int status, ask_library<Entry>(arguments...));
    if (status == 0) [[likely]] {
        return {};
    }
    return failure({Entry::library(), Entry::name, status, Status::meaning_of(status)});
}

// The version of a library that reports two numbers.
template <class Status, class Entry, class Number>
Result<Version> library_version() noexcept {
    Number major = 0, minor = 0;
    CUSHIM_TRY_VOID((call_library<Status, Entry>(&major, &minor)));
    return Version::of(static_cast<int>(major), static_cast<int>(minor));
}

} // namespace cushim::detail
