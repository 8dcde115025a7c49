// Runtime calls of the wrappers: through the table, with the status as a Result; see call.hpp.
//
//     CUSHIM_TRY_VOID(CUSHIM_RUNTIME(cudaGraphCreate, &graph, 0));
//
// libcudart has the headers' major version, and names and signatures are those of the headers. The
// driver may be older than both within that major version; CUSHIM_RUNTIME_NEEDS states the required
// driver.
#pragma once

#include <cushim/detail/runtime_entries.hpp>
#include <cushim/feature.hpp>
#include <cushim/result.hpp>
#include <cushim/runtime_table.hpp>

#include "function_name.hpp"

namespace cushim::detail {

// The Error for a status other than cudaSuccess. `required` is the driver that the call needs;
// unknown: any driver of libcudart's major version.
Error failure(cudaError_t status, const char *entry_point, Version required = Version(),
              const char *in = nullptr) noexcept;

inline Result<void> checked(cudaError_t status, const char *entry_point,
                            Version required = Version(), const char *in = nullptr) noexcept {
    if (status == cudaSuccess) [[likely]] {
        return {};
    }
    return failure(status, entry_point, required, in);
}

} // namespace cushim::detail

#define CUSHIM_RUNTIME(function, ...)                                                              \
    ::cushim::detail::checked(                                                                     \
        ::cushim::runtime().function(__VA_ARGS__), ::cushim::entry::function::name,                \
        ::cushim::Version(::cushim::entry::function::introduced), CUSHIM_HERE)
#define CUSHIM_RUNTIME_NEEDS(feature, function, ...)                                               \
    ::cushim::detail::checked(::cushim::runtime().function(__VA_ARGS__),                           \
                              ::cushim::entry::function::name,                                     \
                              ::cushim::required_version(feature), CUSHIM_HERE)
// The result of a destroy() that makes one call.
#define CUSHIM_RUNTIME_DESTROY(function, handle, ...)                                              \
    ::cushim::detail::Destroyed {                                                                  \
        ::cushim::runtime().function(__VA_ARGS__), ::cushim::entry::function::name,                \
            (unsigned long long)(handle), ::cushim::Api::runtime                                   \
    }
