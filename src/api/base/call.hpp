// The way from a wrapper to CUDA: calls an entry point, and returns its status as a Result.
//
//     CUSHIM_TRY_VOID(call<entry::cuMemAlloc>(&address, size));
//     CUSHIM_TRY_VOID(call<entry::nvrtcCompileProgram>(program, count, options));
//
// The macros of cuda.h rename the tag as they rename the function: entry::cuMemAlloc means
// cuMemAlloc_v2. If an older ABI suffices, it is named: cuEventElapsedTime_v1.
#pragma once

#include <cushim/entry.hpp>
#include <cushim/feature.hpp>
#include <cushim/result.hpp>

namespace cushim::detail {

// What a status of a further library means. Its wrapper specializes meaning_of() for the type of
// its status. The name lives as long as the program.
struct StatusMeaning {
    const char *name;
    ErrorKind kind = ErrorKind::status;
};
template <class Status>
StatusMeaning meaning_of(Status status) noexcept;

// The Error for a status other than success. `introduced` is the version that introduced the entry
// point; an older driver lacks it.
[[gnu::cold]] Error failure(CUresult status, const char *entry_point, int introduced) noexcept;
[[gnu::cold]] Error failure(cudaError_t status, const char *entry_point, int introduced) noexcept;
[[gnu::cold]] Error failure(cushim_library library, int status, const char *entry_point,
                            StatusMeaning meaning) noexcept;

template <class Entry, class Status>
Error failure_of(Status status) noexcept {
    if constexpr (requires { Entry::library(); }) {
        int found = 0;
        if (resolve_entry<Entry>(slot_of<Entry>(), found) == nullptr) {
            return missing_entry(Entry::library(), Entry::name, Entry::introduced, found);
        }
        return failure(Entry::library(), static_cast<int>(status), Entry::name, meaning_of(status));
    } else {
        return failure(status, Entry::name, Entry::introduced);
    }
}

// Out of line, so that a call that succeeds is short.
template <class Entry, class Status>
[[gnu::cold, gnu::noinline]] Result<void> failed(Status status) noexcept {
    return failure_of<Entry>(status);
}

// The function in the slot: at first one of cushim, which finds the library's and stores it there.
template <class Entry>
typename Entry::pfn function_of() noexcept {
    return CUSHIM_LOAD_SLOT(*slot_of<Entry>());
}

// Calls the entry point, for statuses that are not failures, such as CUDA_ERROR_NOT_READY.
template <class Entry, class... Arguments>
auto status_of(Arguments... arguments) noexcept {
    return function_of<Entry>()(arguments...);
}

// The status as a Result.
template <class Entry, class Status>
Result<void> checked(Status status) noexcept {
    if (status == Status{}) [[likely]] {
        return {};
    }
    return failed<Entry>(status);
}

// A function that an API or its headers lack (missing_entries.hpp): calls of it fail with this
// error.
template <class Entry>
concept Lacking = requires { Entry::error(); };

// Calls the entry point.
template <class Entry, class... Arguments>
Result<void> call(Arguments... arguments) noexcept {
    if constexpr (Lacking<Entry>) {
        return Entry::error();
    } else {
        return checked<Entry>(status_of<Entry>(arguments...));
    }
}

// The result of a runtime function. It fails with status 36 if the driver lacks `feature`; the
// error then gets the version that the feature requires, and that of the driver.
Result<void> needs(Feature feature, Result<void> &&called) noexcept;

} // namespace cushim::detail
