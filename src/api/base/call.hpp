// Driver calls of the wrappers: through the table, with the status as a Result.
//
//     CUSHIM_TRY_VOID(CUSHIM_DRIVER(cuMemAlloc, &address, size));
//
// Names are spelled as in cuda.h, so they mean the ABI that its macros select. If an older ABI is
// sufficient, it is named explicitly: cuGraphAddDependencies_v1, cuEventElapsedTime_v1.
#pragma once

#include <cushim/detail/driver_entries.hpp>
#include <cushim/driver_table.hpp>
#include <cushim/result.hpp>

#include "function_name.hpp"

namespace cushim::detail {

// The Error for a status other than CUDA_SUCCESS. `introduced` is the version that introduced the
// entry point; an older driver lacks it. `in` is CUSHIM_HERE.
[[gnu::cold]] Error failure(CUresult status, const char *entry_point, int introduced = 0,
                            const char *in = nullptr) noexcept;

// Out of line, so that a call that succeeds is short.
[[gnu::cold]] Result<void> failed(CUresult status, const char *entry_point, int introduced,
                                  const char *in) noexcept;

inline Result<void> checked(CUresult status, const char *entry_point, int introduced = 0,
                            const char *in = nullptr) noexcept {
    if (status == CUDA_SUCCESS) [[likely]] {
        return {};
    }
    return failed(status, entry_point, introduced, in);
}

} // namespace cushim::detail

#define CUSHIM_DRIVER(function, ...) CUSHIM_DRIVER_IN(CUSHIM_HERE, function, __VA_ARGS__)
// The same in a helper of a hot function, which passes its CUSHIM_HERE down.
#define CUSHIM_DRIVER_IN(in, function, ...)                                                        \
    ::cushim::detail::checked(::cushim::driver().function(__VA_ARGS__),                            \
                              ::cushim::entry::function::name,                                     \
                              ::cushim::entry::function::introduced, in)
// The result of a destroy() that makes one call.
#define CUSHIM_DESTROY(function, handle, ...)                                                      \
    ::cushim::detail::Destroyed {                                                                  \
        ::cushim::driver().function(__VA_ARGS__), ::cushim::entry::function::name,                 \
            (unsigned long long)(handle)                                                           \
    }
