// Batched copies. They are not ordered among themselves; adversarial mode reverses them.
#include "call/settings.hpp"
#include "driver_functions.hpp"
#include "engine/context.hpp"
#include "engine/stream.hpp"
#include "memory/copy.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#if CUDA_VERSION >= 12080

namespace sim {
namespace {

// One checked copy of a batch.
struct Entry {
    CUDA_MEMCPY3D_PEER parameters;
    CUmemcpySrcAccessOrder order;
};

void check_attributes(CUmemcpySrcAccessOrder order, unsigned int flags,
                      std::optional<std::size_t> index = {}) {
    if (order != CU_MEMCPY_SRC_ACCESS_ORDER_STREAM &&
        order != CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL &&
        order != CU_MEMCPY_SRC_ACCESS_ORDER_ANY) {
        if (index) {
            explain("Invalid srcAccessOrder specified at index: %zu of attributes array", *index);
            explain("Invalid attributes specified in attrs[%zu]", *index);
        }
        refuse(CUDA_ERROR_INVALID_VALUE);
    }
    require((flags & ~static_cast<unsigned int>(CU_MEMCPY_FLAG_PREFER_OVERLAP_WITH_COMPUTE)) == 0);
}

// Batches can run neither in the null stream nor in a capturing stream.
Stream &batch_stream(CUstream handle) {
    constexpr char legacy[] = "Legacy NULL stream is not supported with batched memcpy API(s).";
    require(handle != nullptr, legacy);
    Stream &stream = stream_of(handle);
    require(!stream.legacy, legacy);
    check_usable(*stream.context);
    require(current_or_null() != nullptr); // as recorded
    require(stream.capture == nullptr, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    return stream;
}

// When the source is read: in stream order, now, or at any time, which may be now.
bool is_read_now(CUmemcpySrcAccessOrder order) {
    return order == CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL ||
           (order == CU_MEMCPY_SRC_ACCESS_ORDER_ANY && settings().mode == Mode::adversarial);
}

void submit_batch(Stream &stream, std::vector<Entry> entries, const char *what) {
    std::vector<Work> works;
    for (const Entry &entry : entries) {
        const Copy copy(entry.parameters);
        works.push_back(is_read_now(entry.order) ? staged_work(copy, entry.parameters, what)
                                                 : work_of(copy, entry.parameters, what));
    }
    if (settings().mode == Mode::adversarial) {
        std::reverse(works.begin(), works.end());
    }
    const InUse in_use(stream);
    for (Work &work : works) {
        submit(stream, std::move(work));
    }
}

void check_attribute_list(const CUmemcpyAttributes *attributes, const size_t *first_with,
                          size_t attribute_count, size_t count) {
    const std::pair<bool, const char *> problems[] = {
        {attributes == nullptr, "Parameter attrs cannot be NULL"},
        {first_with == nullptr, "Parameter attrsIdxs cannot be NULL"},
        {attribute_count == 0, "Parameter numAttrs cannot be 0"},
    };
    bool complete = true;
    for (const auto &[is_problem, text] : problems) {
        if (is_problem) {
            explain("%s", text);
            complete = false;
        }
    }
    require(complete, "Batch attributes unspecified");
    if (attribute_count > count) {
        refuse(CUDA_ERROR_INVALID_VALUE,
               "Specified more attributes(numAttrs: %zu) than copies(count: %zu)", attribute_count,
               count);
    }
    require(first_with[0] == 0);
}

void batch_1d(CUdeviceptr *destinations, CUdeviceptr *sources, size_t *sizes, size_t count,
              CUmemcpyAttributes *attributes, size_t *first_with, size_t attribute_count,
              CUstream handle, size_t *failed) {
    if (failed != nullptr) {
        *failed = ~std::size_t(0);
    }
    Stream &stream = batch_stream(handle);
    require(count != 0, "Parameter count cannot be 0");
    require(destinations != nullptr && sources != nullptr && sizes != nullptr);
    check_attribute_list(attributes, first_with, attribute_count, count);
    for (std::size_t i = 0; i < attribute_count; ++i) {
        require(first_with[i] < count && (i == 0 || first_with[i] > first_with[i - 1]));
        check_attributes(attributes[i].srcAccessOrder, attributes[i].flags, i);
    }
    std::vector<Entry> entries;
    std::size_t attribute = 0;
    for (std::size_t i = 0; i < count; ++i) {
        if (failed != nullptr) {
            *failed = i;
        }
        if (attribute + 1 < attribute_count && first_with[attribute + 1] == i) {
            ++attribute;
        }
        require(sizes[i] != 0, "Copy size cannot be 0");
        entries.push_back({linear_copy(CU_MEMORYTYPE_UNIFIED, destinations[i],
                                       CU_MEMORYTYPE_UNIFIED, sources[i], sizes[i]),
                           attributes[attribute].srcAccessOrder});
        Copy(entries.back().parameters).check_access_by(stream.context->device);
    }
    submit_batch(stream, std::move(entries), "cuMemcpyBatchAsync");
}

std::size_t element_bytes(CUarray handle) {
    const Array &array = checked(handle, CUDA_ERROR_INVALID_VALUE);
    return element_size(array.descriptor.Format, array.descriptor.NumChannels);
}

std::size_t scaled(std::size_t elements, std::size_t bytes) {
    std::size_t result = 0;
    require(!__builtin_mul_overflow(elements, bytes, &result));
    return result;
}

// Bytes per element of the array in the copy, otherwise 1.
std::size_t scale_of(const CUDA_MEMCPY3D_BATCH_OP &operation) {
    if (operation.src.type == CU_MEMCPY_OPERAND_TYPE_ARRAY) {
        return element_bytes(operation.src.op.array.array);
    }
    return operation.dst.type == CU_MEMCPY_OPERAND_TYPE_ARRAY
               ? element_bytes(operation.dst.op.array.array)
               : 1;
}

// The members of the general form for one side.
struct Side {
    CUmemorytype type;
    CUdeviceptr address;
    CUarray array;
    std::size_t x, y, z, pitch, height;
};

Side side_of(const CUmemcpy3DOperand &operand, std::size_t scale) {
    if (operand.type == CU_MEMCPY_OPERAND_TYPE_POINTER) {
        const auto &pointer = operand.op.ptr;
        return {
            CU_MEMORYTYPE_UNIFIED, pointer.ptr, nullptr, 0, 0, 0, scaled(pointer.rowLength, scale),
            pointer.layerHeight};
    }
    require(operand.type == CU_MEMCPY_OPERAND_TYPE_ARRAY);
    const auto &array = operand.op.array;
    return {CU_MEMORYTYPE_ARRAY,
            0,
            array.array,
            scaled(array.offset.x, scale),
            array.offset.y,
            array.offset.z,
            0,
            0};
}

CUDA_MEMCPY3D_PEER general_form(const CUDA_MEMCPY3D_BATCH_OP &operation) {
    const std::size_t scale = scale_of(operation);
    const Side from = side_of(operation.src, scale), to = side_of(operation.dst, scale);
    CUDA_MEMCPY3D_PEER copy{};
    copy.srcMemoryType = from.type;
    copy.srcDevice = from.address;
    copy.srcArray = from.array;
    copy.srcXInBytes = from.x;
    copy.srcY = from.y;
    copy.srcZ = from.z;
    copy.srcPitch = from.pitch;
    copy.srcHeight = from.height;
    copy.dstMemoryType = to.type;
    copy.dstDevice = to.address;
    copy.dstArray = to.array;
    copy.dstXInBytes = to.x;
    copy.dstY = to.y;
    copy.dstZ = to.z;
    copy.dstPitch = to.pitch;
    copy.dstHeight = to.height;
    copy.WidthInBytes = scaled(operation.extent.width, scale);
    copy.Height = operation.extent.height;
    copy.Depth = operation.extent.depth;
    return copy;
}

void check_extent(const CUDA_MEMCPY3D_BATCH_OP &operation, std::size_t index) {
    const auto &extent = operation.extent;
    if (extent.width == 0 || extent.height == 0 || extent.depth == 0) {
        refuse(CUDA_ERROR_INVALID_VALUE, "Invalid extent specified for copy at index:(%zu)", index);
    }
    for (const auto &[side, name] : {std::pair(&operation.src, "src"), {&operation.dst, "dst"}}) {
        const std::size_t row =
            side->type == CU_MEMCPY_OPERAND_TYPE_POINTER ? side->op.ptr.rowLength : 0;
        if (row != 0 && row < extent.width) {
            refuse(CUDA_ERROR_INVALID_VALUE,
                   "Invalid rowLength specified for %s of copy at index:(%zu), rowLength:(%zu) and "
                   "width:(%zu)",
                   name, index, row, extent.width);
        }
    }
}

void batch_3d(size_t count, CUDA_MEMCPY3D_BATCH_OP *operations, unsigned long long flags,
              CUstream handle, size_t *failed) {
    if (failed != nullptr) {
        *failed = ~std::size_t(0);
    }
    Stream &stream = batch_stream(handle);
    require(count != 0, "Argument numOps cannot be 0");
    require(operations != nullptr);
    require(flags == 0, "flags must be 0");
    std::vector<Entry> entries;
    for (std::size_t i = 0; i < count; ++i) {
        if (failed != nullptr) {
            *failed = i;
        }
        const CUDA_MEMCPY3D_BATCH_OP &operation = operations[i];
        check_attributes(operation.srcAccessOrder, operation.flags);
        check_extent(operation, i);
        entries.push_back({general_form(operation), operation.srcAccessOrder});
        Copy(entries.back().parameters).check_access_by(stream.context->device);
    }
    submit_batch(stream, std::move(entries), "cuMemcpy3DBatchAsync");
}

} // namespace
} // namespace sim

namespace sim::driver {

EXPORT CUresult cuMemcpyBatchAsync(CUdeviceptr *dsts, CUdeviceptr *srcs, size_t *sizes,
                                   size_t count, CUmemcpyAttributes *attrs, size_t *attrsIdxs,
                                   size_t numAttrs, size_t *failIdx, CUstream hStream) {
    batch_1d(dsts, srcs, sizes, count, attrs, attrsIdxs, numAttrs, hStream, failIdx);
    return CUDA_SUCCESS;
}

EXPORT CUresult cuMemcpy3DBatchAsync(size_t numOps, CUDA_MEMCPY3D_BATCH_OP *opList, size_t *failIdx,
                                     unsigned long long flags, CUstream hStream) {
    batch_3d(numOps, opList, flags, hStream, failIdx);
    return CUDA_SUCCESS;
}

#if CUDA_VERSION >= 13000
EXPORT CUresult cuMemcpyBatchAsync_v2(CUdeviceptr *dsts, CUdeviceptr *srcs, size_t *sizes,
                                      size_t count, CUmemcpyAttributes *attrs, size_t *attrsIdxs,
                                      size_t numAttrs, CUstream hStream) {
    batch_1d(dsts, srcs, sizes, count, attrs, attrsIdxs, numAttrs, hStream, nullptr);
    return CUDA_SUCCESS;
}

EXPORT CUresult cuMemcpy3DBatchAsync_v2(size_t numOps, CUDA_MEMCPY3D_BATCH_OP *opList,
                                        unsigned long long flags, CUstream hStream) {
    batch_3d(numOps, opList, flags, hStream, nullptr);
    return CUDA_SUCCESS;
}
#endif

} // namespace sim::driver

#endif
