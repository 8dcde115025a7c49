// Allocations whose failure says how many bytes were requested, and how many are available.
#pragma once

#include <cushim/device.hpp>
#include <cushim/stream.hpp>

#include <cstddef>
#include <optional>

#include "base/call.hpp"

namespace cushim::detail {

// What CUDA reports, in bytes.
struct Available {
    std::optional<std::size_t> free;           // memory of the device
    std::optional<std::size_t> used_from_pool; // by all allocations from the pool
};

// Nothing is known: memory of the host.
inline Available unknown() noexcept {
    return {};
}
// In the current context.
Available available_here() noexcept;
// In the context of the stream.
Available available_to(const Stream &stream) noexcept;
// On the device, unless its primary context would have to be created.
Available available_on(Device device) noexcept;

struct AllocationCall {
    CUresult status;
    const char *entry_point;
    int introduced;
    const char *in; // CUSHIM_HERE
};

Error allocation_failure(const AllocationCall &call, std::size_t bytes,
                         const Available &available) noexcept;

template <class F>
[[gnu::cold, gnu::noinline]] Error not_allocated(const AllocationCall &call, std::size_t bytes,
                                                 const F &available) noexcept {
    return call.status == CUDA_ERROR_OUT_OF_MEMORY
               ? allocation_failure(call, bytes, available())
               : failure(call.status, call.entry_point, call.introduced, call.in);
}

// `available` is called only if the memory is exhausted.
template <class F>
[[gnu::always_inline]] inline Result<void> allocated(CUresult status, const char *entry_point,
                                                     int introduced, const char *in,
                                                     std::size_t bytes, F available) noexcept {
    if (status == CUDA_SUCCESS) [[likely]] {
        return {};
    }
    return not_allocated({status, entry_point, introduced, in}, bytes, available);
}

} // namespace cushim::detail

// CUSHIM_DRIVER for an allocation of `bytes` bytes.
#define CUSHIM_ALLOCATE(bytes, available, function, ...)                                           \
    ::cushim::detail::allocated(                                                                   \
        ::cushim::driver().function(__VA_ARGS__), ::cushim::entry::function::name,                 \
        ::cushim::entry::function::introduced, CUSHIM_HERE, bytes, available)
