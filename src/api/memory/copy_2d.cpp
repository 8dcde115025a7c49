#include "pitched_copy.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <limits>

#include "base/call.hpp"
#include "base/ranges.hpp"
#include "context/in_context.hpp"
#include "context/stream_context.hpp"
#include "context/wrong_context.hpp"

namespace cushim::detail {

// Checks a view, which callers can construct with arbitrary numbers.
static Result<void> check(const PitchedView &view, const ElementType &element) noexcept {
    if (is_one_row(view, element)) {
        return {};
    }
    constexpr auto everything = std::numeric_limits<std::size_t>::max();
    CUSHIM_TRY_VOID(pitched_view(view.address, everything, view.extent, view.pitch, element));
    return {};
}

// The end of the last row.
static unsigned long long end_of(const PitchedView &view, const ElementType &element) noexcept {
    const auto &[address, extent, pitch] = view;
    const std::size_t rows = (extent.depth - 1) * pitch.layer + extent.height - 1;
    return address + rows * pitch.row + extent.width * element.size;
}

Result<void> check_rows(const PitchedCopy &copy) noexcept {
    const Extent &from = copy.from.extent, &to = copy.to.extent;
    if (from != to && !(from.empty() && to.empty())) {
        return invalid_argument(
            "extents differ: source %zu x %zu x %zu, destination %zu x %zu x %zu", from.width,
            from.height, from.depth, to.width, to.height, to.depth);
    }
    CUSHIM_TRY_VOID(check(copy.from, copy.element));
    CUSHIM_TRY_VOID(check(copy.to, copy.element));
    if (overlap(copy.to, copy.from, copy.element.size)) {
        return invalid_argument(
            "rows of source [%#llx, %#llx) and destination [%#llx, %#llx) overlap",
            copy.from.address, end_of(copy.from, copy.element), copy.to.address,
            end_of(copy.to, copy.element));
    }
    return {};
}

Result<void> check_rows(const PitchedFill &fill) noexcept {
    CUSHIM_TRY_VOID(check(fill.to, fill.element));
    const std::size_t within = fill.element.size - 1; // of 1, 2 or 4 bytes
    if (((fill.to.address | fill.to.pitch.row) & within) != 0) {
        return (fill.to.address & within) != 0
                   ? invalid_argument("address %#llx is not a multiple of the element size, %zu "
                                      "bytes",
                                      fill.to.address, fill.element.size)
                   : invalid_argument("row pitch %zu is not a multiple of the element size, %zu "
                                      "bytes",
                                      fill.to.pitch.row, fill.element.size);
    }
    return {};
}

namespace {

// The pitch may exceed the limit of the current context's device.
Error copy_failure(const FailedCall &call, const PitchedCopy &copy, const char *in) noexcept {
    const std::size_t pitch = std::max(copy.from.pitch.row, copy.to.pitch.row);
    CUdevice device = 0;
    int limit = 0;
    if (call.status == CUDA_ERROR_INVALID_VALUE &&
        driver().cuCtxGetDevice(&device) == CUDA_SUCCESS &&
        driver().cuDeviceGetAttribute(&limit, CU_DEVICE_ATTRIBUTE_MAX_PITCH, device) ==
            CUDA_SUCCESS &&
        pitch > static_cast<std::size_t>(limit)) {
        char text[100];
        std::snprintf(text, sizeof text, "row pitch %zu exceeds the limit, %d bytes", pitch, limit);
        return named(Error::status(Api::driver, call.status, call.entry_point, text), in);
    }
    return failure(call.status, call.entry_point, call.introduced, in);
}

// `in` is CUSHIM_HERE of the caller.
Result<void> copied(const FailedCall &call, const PitchedCopy &copy, const char *in) noexcept {
    return call.status == CUDA_SUCCESS ? Result<void>() : copy_failure(call, copy, in);
}

#define CUSHIM_COPIED(function, ...)                                                               \
    copied(CUSHIM_FAILED_CALL(function, driver().function(__VA_ARGS__)), copy, in)

Result<void> copy_now(const PitchedCopy &copy, const char *in) noexcept {
    if (copy.to.extent.depth == 1) {
        const auto parameters = parameters_of<CUDA_MEMCPY2D>(copy);
        // The function that supports every pitch.
        return CUSHIM_COPIED(cuMemcpy2DUnaligned, &parameters);
    }
    const CUDA_MEMCPY3D parameters = parameters_3d(copy);
    return CUSHIM_COPIED(cuMemcpy3D, &parameters);
}

Result<void> queue(const PitchedCopy &copy, CUstream stream, const char *in) noexcept {
    if (copy.to.extent.depth == 1) {
        const auto parameters = parameters_of<CUDA_MEMCPY2D>(copy);
        return CUSHIM_COPIED(cuMemcpy2DAsync, &parameters, stream);
    }
    const CUDA_MEMCPY3D parameters = parameters_3d(copy);
    return CUSHIM_COPIED(cuMemcpy3DAsync, &parameters, stream);
}

// --- fills

// Fills `height` rows that begin at `address`. `in` is CUSHIM_HERE of the caller.
Result<void> fill_rows(const Stream &stream, const PitchedFill &fill, CUdeviceptr address,
                       std::size_t height, const char *in) noexcept {
    const std::size_t pitch = fill.to.pitch.row, width = fill.to.extent.width;
    switch (fill.element.size) {
    case 1:
        return CUSHIM_DRIVER_IN(in, cuMemsetD2D8Async, address, pitch,
                                static_cast<unsigned char>(fill.value), width, height,
                                stream.native());
    case 2:
        return CUSHIM_DRIVER_IN(in, cuMemsetD2D16Async, address, pitch,
                                static_cast<unsigned short>(fill.value), width, height,
                                stream.native());
    default:
        return CUSHIM_DRIVER_IN(in, cuMemsetD2D32Async, address, pitch, fill.value, width, height,
                                stream.native());
    }
}

} // namespace

Result<void> copy(const Context &context, const PitchedCopy &copy) noexcept {
    CUSHIM_TRY_VOID(require(context, "the Context holds no context"));
    CUSHIM_TRY_VOID(check(copy));
    if (copy.to.extent.empty()) {
        return {};
    }
    CUSHIM_TRY(const ContextScope scope, context.enter());
    CUSHIM_TRY_VOID(copy_now(copy, CUSHIM_HERE));
    // As for linear copies: CUDA waits only if the host is written.
    return copy.kind == CopyKind::device_to_host
               ? Result<void>()
               : CUSHIM_DRIVER(cuStreamSynchronize, CU_STREAM_LEGACY);
}

Result<void> copy(const Stream &stream, const PitchedCopy &copy) noexcept {
    CUSHIM_TRY_VOID(require(stream, "the Stream holds no stream"));
    CUSHIM_TRY_VOID(check(copy));
    if (copy.to.extent.empty()) {
        return {};
    }
    constexpr const char *here = CUSHIM_HERE;
    return in_context_of(stream, here, [&] { return queue(copy, stream.native(), here); });
}

Result<void> fill(const Context &context, const PitchedFill &fill) noexcept {
    CUSHIM_TRY_VOID(require(context, "the Context holds no context"));
    CUSHIM_TRY_VOID(check(fill));
    if (fill.to.extent.empty()) {
        return {};
    }
    CUSHIM_TRY(const ContextScope scope, context.enter());
    CUSHIM_TRY_VOID(detail::fill(Stream::legacy(), fill));
    return CUSHIM_DRIVER(cuStreamSynchronize, CU_STREAM_LEGACY);
}

Result<void> fill(const Stream &stream, const PitchedFill &fill) noexcept {
    CUSHIM_TRY_VOID(require(stream, "the Stream holds no stream"));
    CUSHIM_TRY_VOID(check(fill));
    const auto &[address, extent, pitch] = fill.to;
    if (extent.empty()) {
        return {};
    }
    if (pitch.layer == extent.height) {
        return fill_rows(stream, fill, static_cast<CUdeviceptr>(address),
                         extent.height * extent.depth, CUSHIM_HERE);
    }
    for (std::size_t layer = 0; layer < extent.depth; ++layer) {
        const unsigned long long begin = address + layer * pitch.layer * pitch.row;
        CUSHIM_TRY_VOID(
            fill_rows(stream, fill, static_cast<CUdeviceptr>(begin), extent.height, nullptr));
    }
    return {};
}

} // namespace cushim::detail
