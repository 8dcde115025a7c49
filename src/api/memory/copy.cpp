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

// Returns the number of bytes.
Result<std::size_t> check(const Copy &copy) noexcept {
    if (copy.to_size != copy.from_size) {
        return invalid_argument("element counts differ: source %zu, destination %zu",
                                copy.from_size, copy.to_size);
    }
    CUSHIM_TRY(const std::size_t bytes, bytes_of(copy.from_size, copy.element_size));
    if (overlap(copy.to, copy.from, bytes)) {
        return invalid_argument("source [%#llx, %#llx) and destination [%#llx, %#llx) overlap",
                                copy.from, copy.from + bytes, copy.to, copy.to + bytes);
    }
    return bytes;
}

// `in` is CUSHIM_HERE of the caller.
Result<void> queue(const Copy &copy, std::size_t bytes, CUstream stream, const char *in) noexcept {
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

Result<void> check(const Fill &fill) noexcept {
    CUSHIM_TRY_VOID(bytes_of(fill.size, fill.element_size));
    if (fill.to % fill.element_size != 0) {
        return invalid_argument("address %#llx is not a multiple of the element size, %u bytes",
                                static_cast<unsigned long long>(fill.to), fill.element_size);
    }
    return {};
}

} // namespace

Result<void> copy(const Context &context, const Copy &copy) noexcept {
    CUSHIM_TRY_VOID(require(context, "the Context holds no context"));
    CUSHIM_TRY(const std::size_t bytes, check(copy));
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

Result<void> copy(const Stream &stream, const Copy &copy) noexcept {
    CUSHIM_TRY_VOID(require(stream, "the Stream holds no stream"));
    CUSHIM_TRY(const std::size_t bytes, check(copy));
    if (bytes == 0) {
        return {};
    }
    constexpr const char *here = CUSHIM_HERE;
    return in_context_of(stream, here, [&] { return queue(copy, bytes, stream.native(), here); });
}

Result<void> fill(const Context &context, const Fill &fill) noexcept {
    CUSHIM_TRY_VOID(require(context, "the Context holds no context"));
    CUSHIM_TRY_VOID(check(fill));
    if (fill.size == 0) {
        return {};
    }
    CUSHIM_TRY(const ContextScope scope, context.enter());
    CUSHIM_TRY_VOID(detail::fill(Stream::legacy(), fill));
    return CUSHIM_DRIVER(cuStreamSynchronize, CU_STREAM_LEGACY);
}

Result<void> fill(const Stream &stream, const Fill &fill) noexcept {
    CUSHIM_TRY_VOID(require(stream, "the Stream holds no stream"));
    CUSHIM_TRY_VOID(check(fill));
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
