#include <cushim/copy.hpp>

#include <cstdint>

#include "base/call.hpp"
#include "base/ranges.hpp"
#include "context/in_context.hpp"
#include "context/stream_context.hpp"

namespace cushim::detail {
namespace {

void *host(unsigned long long address) noexcept {
    return reinterpret_cast<void *>(static_cast<std::uintptr_t>(address));
}

// Host and devices share one address space.
bool overlap(unsigned long long a, unsigned long long b, std::size_t bytes) noexcept {
    return a < b ? b - a < bytes : a - b < bytes;
}

// Why a copy is rejected.
[[gnu::cold, gnu::noinline]] Error rejected(const Copy &copy) noexcept {
    if (copy.to_size != copy.from_size) {
        return invalid_argument("element counts differ: source %zu, destination %zu",
                                copy.from_size, copy.to_size);
    }
    if (product_overflows(copy.from_size, copy.element_size)) {
        return too_many_bytes(copy.from_size, copy.element_size, nullptr);
    }
    const std::size_t bytes = copy.from_size * copy.element_size;
    return invalid_argument("source [%#llx, %#llx) and destination [%#llx, %#llx) overlap",
                            copy.from, copy.from + bytes, copy.to, copy.to + bytes);
}

// Whether the sizes are equal and the ranges are separate. `bytes` receives their size.
[[gnu::always_inline]] inline bool is_valid(const Copy &copy, std::size_t &bytes) noexcept {
    bytes = copy.from_size * copy.element_size;
    return copy.to_size == copy.from_size &&
           !product_overflows(copy.from_size, copy.element_size) &&
           !overlap(copy.to, copy.from, bytes);
}

// `in` is CUSHIM_HERE of the caller.
[[gnu::always_inline]] inline Result<void> queue(const Copy &copy, std::size_t bytes,
                                                 CUstream stream, const char *in) noexcept {
    switch (copy.kind) {
    case CopyKind::host_to_device:
        return CUSHIM_DRIVER_IN(in, cuMemcpyHtoDAsync, copy.to, host(copy.from), bytes, stream);
    case CopyKind::device_to_host:
        return CUSHIM_DRIVER_IN(in, cuMemcpyDtoHAsync, host(copy.to), copy.from, bytes, stream);
    case CopyKind::device_to_device:
        break;
    }
    return CUSHIM_DRIVER_IN(in, cuMemcpyAsync, copy.to, copy.from, bytes, stream);
}

// The element size is 1, 2 or 4.
inline bool is_valid(const Fill &fill) noexcept {
    return (fill.to & (fill.element_size - 1)) == 0 &&
           !product_overflows(fill.size, fill.element_size);
}

[[gnu::cold, gnu::noinline]] Error rejected(const Fill &fill) noexcept {
    return product_overflows(fill.size, fill.element_size)
               ? too_many_bytes(fill.size, fill.element_size, nullptr)
               : invalid_argument("address %#llx is not a multiple of the element size, %u bytes",
                                  static_cast<unsigned long long>(fill.to), fill.element_size);
}

} // namespace

Result<void> copy(const Context &context, const Copy &copy) noexcept {
    CUSHIM_TRY_VOID(require(context, "the Context holds no context"));
    std::size_t bytes = 0;
    if (!is_valid(copy, bytes)) [[unlikely]] {
        return CUSHIM_NAMED(rejected(copy));
    }
    if (bytes == 0) {
        return {};
    }
    CUSHIM_TRY(const ContextScope scope, context.enter());
    switch (copy.kind) {
    case CopyKind::host_to_device:
        CUSHIM_TRY_VOID(CUSHIM_DRIVER(cuMemcpyHtoD, copy.to, host(copy.from), bytes));
        break;
    case CopyKind::device_to_host:
        return CUSHIM_DRIVER(cuMemcpyDtoH, host(copy.to), copy.from, bytes);
    case CopyKind::device_to_device:
        // Also between devices, which cuMemcpyDtoD does not support.
        CUSHIM_TRY_VOID(CUSHIM_DRIVER(cuMemcpy, copy.to, copy.from, bytes));
        break;
    }
    // CUDA returns once pageable memory has been read, possibly before the copy has completed, and
    // does not wait at all for copies on the device.
    return CUSHIM_DRIVER(cuStreamSynchronize, CU_STREAM_LEGACY);
}

[[gnu::flatten]] Result<void> copy(const Stream &stream, const Copy &copy) noexcept {
    CUSHIM_TRY_VOID(require(stream, "the Stream holds no stream"));
    std::size_t bytes = 0;
    if (!is_valid(copy, bytes)) [[unlikely]] {
        return CUSHIM_NAMED(rejected(copy));
    }
    if (bytes == 0) {
        return {};
    }
    constexpr const char *here = CUSHIM_HERE;
    return in_context_of(stream, here, [&] { return queue(copy, bytes, stream.native(), here); });
}

Result<void> fill(const Context &context, const Fill &fill) noexcept {
    CUSHIM_TRY_VOID(require(context, "the Context holds no context"));
    if (!is_valid(fill)) [[unlikely]] {
        return CUSHIM_NAMED(rejected(fill));
    }
    if (fill.size == 0) {
        return {};
    }
    CUSHIM_TRY(const ContextScope scope, context.enter());
    CUSHIM_TRY_VOID(detail::fill(Stream::legacy(), fill));
    return CUSHIM_DRIVER(cuStreamSynchronize, CU_STREAM_LEGACY);
}

Result<void> fill(const Stream &stream, const Fill &fill) noexcept {
    CUSHIM_TRY_VOID(require(stream, "the Stream holds no stream"));
    if (!is_valid(fill)) [[unlikely]] {
        return CUSHIM_NAMED(rejected(fill));
    }
    if (fill.size == 0) {
        return {};
    }
    switch (fill.element_size) {
    case 1:
        return CUSHIM_DRIVER(cuMemsetD8Async, fill.to, static_cast<unsigned char>(fill.value),
                             fill.size, stream.native());
    case 2:
        return CUSHIM_DRIVER(cuMemsetD16Async, fill.to, static_cast<unsigned short>(fill.value),
                             fill.size, stream.native());
    default:
        return CUSHIM_DRIVER(cuMemsetD32Async, fill.to, fill.value, fill.size, stream.native());
    }
}

} // namespace cushim::detail
