// How the wrappers call the driver: through the table, with the status as a Result.
//
//     CUSHIM_TRY_VOID(CUSHIM_DRIVER(cuMemAlloc, &address, size));
//
// Names are spelled as cuda.h spells them, so they mean the ABI that its macros choose; where an
// older one does the job, it is written out: cuGraphAddDependencies_v1, cuEventElapsedTime_v1.
#pragma once

#include <cushim/detail/driver_entries.hpp>
#include <cushim/driver_table.hpp>
#include <cushim/result.hpp>

namespace cushim::detail {

// What a call that did not answer CUDA_SUCCESS means. `introduced` is the version that brought the
// entry point: a driver that is older lacks it.
Error failure(CUresult status, const char *entry_point, int introduced = 0) noexcept;

inline Result<void> checked(CUresult status, const char *entry_point, int introduced = 0) noexcept {
    if (status == CUDA_SUCCESS) [[likely]] {
        return {};
    }
    return failure(status, entry_point, introduced);
}

} // namespace cushim::detail

#define CUSHIM_DRIVER(function, ...)                                                               \
    ::cushim::detail::checked(::cushim::driver().function(__VA_ARGS__),                            \
                              ::cushim::entry::function::name,                                     \
                              ::cushim::entry::function::introduced)
// What a destroy() returns.
#define CUSHIM_DESTROY(function, handle, ...)                                                      \
    ::cushim::detail::Destroyed {                                                                  \
        ::cushim::driver().function(__VA_ARGS__), ::cushim::entry::function::name,                 \
            (unsigned long long)(handle)                                                           \
    }
