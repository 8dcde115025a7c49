// Copies to, from and between arrays.
#include "runtime/base/driver_api.hpp"
#include "runtime/base/driver_equivalents.hpp"
#include "runtime/memory/channel_format.hpp"
#include "runtime/memory/copy_parameters.hpp"
#include "runtime/memory/copy_submit.hpp"

#include <algorithm>

namespace sim::runtime {
namespace {

// An empty copy succeeds, whatever its other arguments.
constexpr bool is_empty(size_t width, size_t height) {
    return width == 0 || height == 0;
}

// Recorded: an array that was destroyed with its context is reported before any other problem.
void check_array(CUarray array) {
    descriptor_of(array);
}

CUDA_MEMCPY3D to_array(cudaArray_t array, size_t x, size_t y, const void *source, size_t pitch,
                       size_t width, size_t height, cudaMemcpyKind kind) {
    if (is_empty(width, height)) {
        return {};
    }
    check_pitch(pitch, width);
    const Ends ends = ends_of(kind);
    require(kind != cudaMemcpyHostToHost && kind != cudaMemcpyDeviceToHost,
            cudaErrorInvalidMemcpyDirection);
    require(array != nullptr, cudaErrorInvalidResourceHandle);
    check_array(array_of(array));
    return copy_between(in_array(array, x, y), linear(ends.source, source, pitch, height), width,
                        height);
}

CUDA_MEMCPY3D from_array(void *destination, size_t pitch, cudaArray_const_t array, size_t x,
                         size_t y, size_t width, size_t height, cudaMemcpyKind kind) {
    if (is_empty(width, height)) {
        return {};
    }
    check_pitch(pitch, width);
    const Ends ends = ends_of(kind);
    require(kind != cudaMemcpyHostToHost && kind != cudaMemcpyHostToDevice,
            cudaErrorInvalidMemcpyDirection);
    require(array != nullptr, cudaErrorInvalidResourceHandle);
    check_array(array_of(array));
    return copy_between(linear(ends.destination, destination, pitch, height), in_array(array, x, y),
                        width, height);
}

CUDA_MEMCPY3D between_arrays(const End &to, const End &from, size_t width, size_t height,
                             cudaMemcpyKind kind) {
    if (is_empty(width, height)) {
        return {};
    }
    require(kind == cudaMemcpyDeviceToDevice || kind == cudaMemcpyDefault,
            cudaErrorInvalidMemcpyDirection);
    require(to.array != nullptr);
    require(from.array != nullptr, cudaErrorInvalidResourceHandle);
    check_array(to.array);
    check_array(from.array);
    return copy_between(to, from, width, height);
}

// A position in an array for copies of consecutive bytes. Recorded: after the end of a row, the
// copy continues with the next row.
struct Cursor {
    cudaArray_const_t array;
    size_t x, y, row;

    Cursor(cudaArray_const_t in, size_t at_x, size_t at_y) : array(in), x(at_x), y(at_y), row(0) {
        require(array != nullptr, cudaErrorInvalidResourceHandle);
        const CUDA_ARRAY3D_DESCRIPTOR shape = descriptor_of(array_of(array));
        row = shape.Width * element_size(Format{shape.Format, shape.NumChannels});
        require(row != 0 && !__builtin_add_overflow(y, x / row, &y));
        x %= row;
    }
    size_t left_in_row() const { return row - x; }
    void advance(size_t count) {
        x += count;
        if (x == row) {
            x = 0;
            ++y;
        }
    }
};

// Recorded: for consecutive bytes, an invalid kind counts as the default kind.
cudaMemcpyKind known_kind(cudaMemcpyKind kind) {
    return static_cast<unsigned int>(kind) <= cudaMemcpyDefault ? kind : cudaMemcpyDefault;
}

} // namespace

cudaError_t copy_2d_to_array(cudaArray_t array, size_t x, size_t y, const void *from, size_t pitch,
                             size_t width, size_t height, cudaMemcpyKind kind,
                             const InStream &stream) {
    return run_copy(to_array(array, x, y, from, pitch, width, height, kind), stream);
}

cudaError_t copy_2d_from_array(void *to, size_t pitch, cudaArray_const_t array, size_t x, size_t y,
                               size_t width, size_t height, cudaMemcpyKind kind,
                               const InStream &stream) {
    return run_copy(from_array(to, pitch, array, x, y, width, height, kind), stream);
}

EXPORT cudaError_t cudaMemcpy2DArrayToArray(cudaArray_t dst, size_t wOffsetDst, size_t hOffsetDst,
                                            cudaArray_const_t src, size_t wOffsetSrc,
                                            size_t hOffsetSrc, size_t width, size_t height,
                                            cudaMemcpyKind kind) {
    return run_copy(between_arrays(in_array(dst, wOffsetDst, hOffsetDst),
                                   in_array(src, wOffsetSrc, hOffsetSrc), width, height, kind));
}

// --- consecutive bytes, across the ends of rows

namespace {

// copy(cursor, offset, bytes) copies a part of a row.
template <class CopyPart>
cudaError_t copy_parts(Cursor at, size_t count, const CopyPart &copy) {
    for (size_t done = 0; done < count;) {
        const size_t part = std::min(count - done, at.left_in_row());
        demand(copy(at, done, part));
        at.advance(part);
        done += part;
    }
    return cudaSuccess;
}

} // namespace

cudaError_t bytes_to_array(cudaArray_t array, size_t x, size_t y, const void *source, size_t count,
                           cudaMemcpyKind kind, const InStream &stream) {
    need_context();
    const auto *bytes = static_cast<const std::byte *>(source);
    const auto copy = [&](const Cursor &at, size_t done, size_t part) {
        return copy_2d_to_array(array, at.x, at.y, bytes + done, part, part, 1, known_kind(kind),
                                stream);
    };
    return count == 0 ? cudaSuccess : copy_parts({array, x, y}, count, copy);
}

cudaError_t bytes_from_array(void *destination, cudaArray_const_t array, size_t x, size_t y,
                             size_t count, cudaMemcpyKind kind, const InStream &stream) {
    need_context();
    auto *bytes = static_cast<std::byte *>(destination);
    const auto copy = [&](const Cursor &at, size_t done, size_t part) {
        return copy_2d_from_array(bytes + done, part, array, at.x, at.y, part, 1, known_kind(kind),
                                  stream);
    };
    return count == 0 ? cudaSuccess : copy_parts({array, x, y}, count, copy);
}

EXPORT cudaError_t cudaMemcpyArrayToArray(cudaArray_t dst, size_t wOffsetDst, size_t hOffsetDst,
                                          cudaArray_const_t src, size_t wOffsetSrc,
                                          size_t hOffsetSrc, size_t count, cudaMemcpyKind kind) {
    need_context();
    if (count == 0) {
        return cudaSuccess;
    }
    require(kind == cudaMemcpyDeviceToDevice || kind == cudaMemcpyDefault,
            cudaErrorInvalidMemcpyDirection);
    Cursor to(dst, wOffsetDst, hOffsetDst), from(src, wOffsetSrc, hOffsetSrc);
    for (size_t done = 0; done < count;) {
        const size_t part = std::min({count - done, to.left_in_row(), from.left_in_row()});
        demand(run_copy(
            copy_between(in_array(dst, to.x, to.y), in_array(src, from.x, from.y), part, 1)));
        to.advance(part);
        from.advance(part);
        done += part;
    }
    return cudaSuccess;
}

} // namespace sim::runtime
