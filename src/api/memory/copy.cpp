#include <cushim/copy.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdio>

#include "base/call.hpp"
#include "base/explained.hpp"
#include "base/ranges.hpp"
#include "context/stream_context.hpp"
#include "memory_state.hpp"
#include "pitched_copy.hpp"

namespace cushim::detail {
namespace {

// --- what each operation is: whether it is valid and empty, how it is made and enqueued

// Host and devices share one address space.
bool overlap(unsigned long long a, unsigned long long b, std::size_t bytes) noexcept {
    return a < b ? b - a < bytes : a - b < bytes;
}

// Equal sizes and separate ranges; false without elements.
[[gnu::cold, gnu::noinline]] Result<bool> check(const Copy &copy) noexcept {
    if (copy.to_size != copy.from_size) {
        return invalid_argument("element counts differ: source %zu, destination %zu",
                                copy.from_size, copy.to_size);
    }
    CUSHIM_TRY(const std::size_t bytes, bytes_of(copy.from_size, copy.element_size));
    if (overlap(copy.to, copy.from, bytes)) {
        return invalid_argument("source [%#llx, %#llx) and destination [%#llx, %#llx) overlap",
                                copy.from, copy.from + bytes, copy.to, copy.to + bytes);
    }
    return copy.from_size != 0;
}
// The element size is 1, 2, 4 or 8.
[[gnu::cold, gnu::noinline]] Result<bool> check(const Fill &fill) noexcept {
    CUSHIM_TRY_VOID(bytes_of(fill.size, fill.element_size));
    if ((fill.to & (fill.element_size - 1)) != 0) {
        return invalid_argument("address %#llx is not a multiple of the element size of %u bytes",
                                static_cast<unsigned long long>(fill.to), fill.element_size);
    }
    return fill.size != 0;
}

// The usual operations, which need no further checks: valid and not empty.
bool is_plain(const Copy &copy) noexcept {
    const std::size_t bytes = copy.from_size * copy.element_size;
    return copy.to_size == copy.from_size &&
           !product_overflows(copy.from_size, copy.element_size) &&
           are_apart(copy.to, copy.from, bytes);
}
bool is_plain(const Fill &fill) noexcept {
    return fill.size != 0 && (fill.to & (fill.element_size - 1)) == 0 &&
           !product_overflows(fill.size, fill.element_size);
}

void *host(unsigned long long address) noexcept {
    return reinterpret_cast<void *>(static_cast<std::uintptr_t>(address));
}

template <class ToDevice, class ToHost, class Between, class... Stream>
[[gnu::always_inline]] inline Result<void> copy_by(const Copy &copy, Stream... stream) noexcept {
    const std::size_t bytes = copy.from_size * copy.element_size;
    switch (copy.kind) {
    case CopyKind::host_to_device:
        return call<ToDevice>(copy.to, host(copy.from), bytes, stream...);
    case CopyKind::device_to_host:
        return call<ToHost>(host(copy.to), copy.from, bytes, stream...);
    case CopyKind::device_to_device:
        break;
    }
    return call<Between>(copy.to, copy.from, bytes, stream...);
}

// The pitch may exceed the limit of the current context's device.
Error copy_failure(const Error &error, const PitchedCopy &copy) noexcept {
    const std::size_t pitch = std::max(copy.from.pitch.row, copy.to.pitch.row);
    CUdevice device = 0;
    int limit = 0;
    if (error.status() == CUDA_ERROR_INVALID_VALUE && call<entry::cuCtxGetDevice>(&device) &&
        call<entry::cuDeviceGetAttribute>(&limit, CU_DEVICE_ATTRIBUTE_MAX_PITCH, device) &&
        pitch > static_cast<std::size_t>(limit)) {
        return explained(error, "row pitch %zu exceeds the limit of %d bytes", pitch, limit);
    }
    return error;
}

template <class OneLayer, class Layers, class... Stream>
Result<void> copy_by(const PitchedCopy &copy, Stream... stream) noexcept {
    Result<void> copied;
    if (copy.to.extent.depth == 1) {
        const auto parameters = parameters_of<CUDA_MEMCPY2D>(copy);
        copied = call<OneLayer>(&parameters, stream...);
    } else {
        const CUDA_MEMCPY3D parameters = parameters_3d(copy);
        copied = call<Layers>(&parameters, stream...);
    }
    return copied ? copied : copy_failure(copied.error(), copy);
}

// In the current context. CUDA returns once pageable memory has been read, possibly before the copy
// has completed, and does not wait at all for copies on the device: only if the host is written.
Result<void> make(const Copy &copy) noexcept {
    // cuMemcpy also copies between devices, which cuMemcpyDtoD does not.
    return copy_by<entry::cuMemcpyHtoD, entry::cuMemcpyDtoH, entry::cuMemcpy>(copy);
}
Result<void> make(const PitchedCopy &copy) noexcept {
    // cuMemcpy2DUnaligned supports every pitch.
    return copy_by<entry::cuMemcpy2DUnaligned, entry::cuMemcpy3D>(copy);
}

[[gnu::always_inline]] inline Result<void> enqueue(const Copy &copy, CUstream stream) noexcept {
    return copy_by<entry::cuMemcpyHtoDAsync, entry::cuMemcpyDtoHAsync, entry::cuMemcpyAsync>(
        copy, stream);
}
Result<void> enqueue(const PitchedCopy &copy, CUstream stream) noexcept {
    return copy_by<entry::cuMemcpy2DAsync, entry::cuMemcpy3DAsync>(copy, stream);
}

// CUDA fills with at most four bytes.
Result<void> fill_with_eight_bytes(const Fill &fill, CUstream stream) noexcept {
    const auto low = static_cast<unsigned int>(fill.value);
    const auto high = static_cast<unsigned int>(fill.value >> 32);
    if (low == high) {
        return call<entry::cuMemsetD32Async>(fill.to, low, 2 * fill.size, stream);
    }
    const std::size_t pitch = 8, width = 1;
    CUSHIM_TRY_VOID(call<entry::cuMemsetD2D32Async>(fill.to, pitch, low, width, fill.size, stream));
    return call<entry::cuMemsetD2D32Async>(fill.to + 4, pitch, high, width, fill.size, stream);
}

[[gnu::always_inline]] inline Result<void> enqueue(const Fill &fill, CUstream stream) noexcept {
    switch (fill.element_size) {
    case 1:
        return call<entry::cuMemsetD8Async>(fill.to, static_cast<unsigned char>(fill.value),
                                            fill.size, stream);
    case 2:
        return call<entry::cuMemsetD16Async>(fill.to, static_cast<unsigned short>(fill.value),
                                             fill.size, stream);
    case 4:
        return call<entry::cuMemsetD32Async>(fill.to, static_cast<unsigned int>(fill.value),
                                             fill.size, stream);
    default:
        return fill_with_eight_bytes(fill, stream);
    }
}

// Fills `height` rows that begin at `address`.
Result<void> fill_rows(const PitchedFill &fill, CUdeviceptr address, std::size_t height,
                       CUstream stream) noexcept {
    const std::size_t pitch = fill.to.pitch.row, width = fill.to.extent.width;
    switch (fill.element.size) {
    case 1:
        return call<entry::cuMemsetD2D8Async>(
            address, pitch, static_cast<unsigned char>(fill.value), width, height, stream);
    case 2:
        return call<entry::cuMemsetD2D16Async>(
            address, pitch, static_cast<unsigned short>(fill.value), width, height, stream);
    default:
        return call<entry::cuMemsetD2D32Async>(address, pitch, fill.value, width, height, stream);
    }
}

Result<void> enqueue(const PitchedFill &fill, CUstream stream) noexcept {
    const auto &[address, extent, pitch] = fill.to;
    if (pitch.layer == extent.height) {
        return fill_rows(fill, static_cast<CUdeviceptr>(address), extent.height * extent.depth,
                         stream);
    }
    for (std::size_t layer = 0; layer < extent.depth; ++layer) {
        const unsigned long long begin = address + layer * pitch.layer * pitch.row;
        CUSHIM_TRY_VOID(fill_rows(fill, static_cast<CUdeviceptr>(begin), extent.height, stream));
    }
    return {};
}

// --- where an operation runs: in a context, in a stream, where a buffer was allocated

template <class Operation>
inline constexpr bool is_copy = requires(const Operation &operation) { operation.kind; };

template <class Operation>
Result<void> run(const Context &context, const Operation &operation) noexcept {
    CUSHIM_TRY_VOID(require(context, "the Context is empty"));
    if (!is_plain(operation)) [[unlikely]] {
        CUSHIM_TRY(const bool has_elements, check(operation));
        if (!has_elements) {
            return {};
        }
    }
    CUSHIM_TRY(const ContextScope scope, context.enter());
    if constexpr (is_copy<Operation>) {
        CUSHIM_TRY_VOID(make(operation));
        if (operation.kind == CopyKind::device_to_host) {
            return {};
        }
    } else {
        CUSHIM_TRY_VOID(enqueue(operation, CU_STREAM_LEGACY));
    }
    return call<entry::cuStreamSynchronize>(CU_STREAM_LEGACY);
}

template <class Operation>
[[gnu::always_inline]] inline Result<void> run(const Stream &stream,
                                               const Operation &operation) noexcept {
    CUSHIM_TRY_VOID(require(stream, "the Stream is empty"));
    if (!is_plain(operation)) [[unlikely]] {
        CUSHIM_TRY(const bool has_elements, check(operation));
        if (!has_elements) {
            return {};
        }
    }
    if constexpr (is_copy<Operation>) {
        return in_context_of(stream, [&] { return enqueue(operation, stream.native()); });
    } else {
        return enqueue(operation, stream.native());
    }
}

// A GrowableBuffer belongs to no context.
Result<Context> context_for(const MemoryState &memory) noexcept {
    return memory.context != nullptr ? memory.shared_context()
                                     : Context::primary(Device::from_native(memory.device_ordinal));
}

// `first` decides, if it has memory.
template <class Operation>
Result<void> run(const State *first, const State *second, const Operation &operation) noexcept {
    const State *const state = first != nullptr ? first : second;
    if (state == nullptr) {
        return run(Stream::legacy(), operation); // at most 0 elements on one side
    }
    const auto &memory = static_cast<const MemoryState &>(*state);
    const Stream order = memory.order();
    if (!order) {
        CUSHIM_TRY(const Context context, context_for(memory));
        return run(context, operation);
    }
    const auto run_in_order = [&]() -> Result<void> {
        CUSHIM_TRY_VOID(run(order, operation));
        return order.synchronize();
    };
    // A default stream is that of the current context.
    return is_default(order.native()) ? call_in(memory.context, run_in_order) : run_in_order();
}
template <class Operation>
Result<void> run(const Buffers &buffers, const Operation &operation) noexcept {
    if constexpr (is_copy<Operation>) {
        if (operation.kind == CopyKind::device_to_host) {
            return run(buffers.from, buffers.to, operation);
        }
    }
    return run(buffers.to, buffers.from, operation);
}

} // namespace

Result<void> copy(const Context &context, const Copy &copy) noexcept {
    return named("copy", run(context, copy));
}
Result<void> copy(const Context &context, const PitchedCopy &copy) noexcept {
    return named("copy", run(context, copy));
}
Result<void> fill(const Context &context, const Fill &fill) noexcept {
    return named("fill", run(context, fill));
}
Result<void> fill(const Context &context, const PitchedFill &fill) noexcept {
    return named("fill", run(context, fill));
}

[[gnu::flatten]] Result<void> copy(const Stream &stream, const Copy &copy) noexcept {
    return named("copy", [&] { return run(stream, copy); });
}
Result<void> copy(const Stream &stream, const PitchedCopy &copy) noexcept {
    return named("copy", [&] { return run(stream, copy); });
}
Result<void> fill(const Stream &stream, const Fill &fill) noexcept {
    return named("fill", [&] { return run(stream, fill); });
}
Result<void> fill(const Stream &stream, const PitchedFill &fill) noexcept {
    return named("fill", [&] { return run(stream, fill); });
}

Result<void> copy(const Buffers &buffers, const Copy &copy) noexcept {
    return named("copy", run(buffers, copy));
}
Result<void> copy(const Buffers &buffers, const PitchedCopy &copy) noexcept {
    return named("copy", run(buffers, copy));
}
Result<void> fill(const Buffers &buffers, const Fill &fill) noexcept {
    return named("fill", run(buffers, fill));
}
Result<void> fill(const Buffers &buffers, const PitchedFill &fill) noexcept {
    return named("fill", run(buffers, fill));
}

} // namespace cushim::detail
