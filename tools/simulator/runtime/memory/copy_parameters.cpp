#include "runtime/memory/copy_parameters.hpp"
#include "runtime/base/driver_api.hpp"
#include "runtime/base/driver_equivalents.hpp"
#include "runtime/memory/channel_format.hpp"

#include <bit>

namespace sim::runtime {
namespace {

// One side of the runtime structure. Exactly one of array and pointer must be set.
End end_of(cudaArray_const_t array, const cudaPitchedPtr &memory, const cudaPos &position,
           CUmemorytype type) {
    require((array != nullptr) != (memory.ptr != nullptr));
    if (array != nullptr) {
        const std::size_t element = element_size(array_of(array));
        return in_array(array, position.x * element, position.y, position.z);
    }
    End end = linear(type, memory.ptr, memory.pitch, memory.ysize);
    end.x = position.x;
    end.y = position.y;
    end.z = position.z;
    return end;
}

// The number of bytes of one unit of the width.
std::size_t unit_of(const End &first, const End &second) {
    const std::size_t a = first.array ? element_size(first.array) : 0;
    const std::size_t b = second.array ? element_size(second.array) : 0;
    require(a == 0 || b == 0 || a == b);
    return a != 0 ? a : b != 0 ? b : 1;
}

CUDA_MEMCPY3D copy_in_units(const End &destination, const End &source, const cudaExtent &extent) {
    const std::size_t width = extent.width * unit_of(destination, source);
    // Recorded: if an array takes part, the driver checks the extent.
    const bool linear = destination.array == nullptr && source.array == nullptr;
    if (linear && (extent.height > 1 || extent.depth > 1)) {
        check_pitch(destination.pitch, width);
        check_pitch(source.pitch, width);
    }
    return copy_between(destination, source, width, extent.height, extent.depth);
}

cudaMemcpyKind kind_of(CUmemorytype source, CUmemorytype destination) {
    if (source == CU_MEMORYTYPE_UNIFIED || destination == CU_MEMORYTYPE_UNIFIED) {
        return cudaMemcpyDefault;
    }
    const bool from_host = source == CU_MEMORYTYPE_HOST,
               to_host = destination == CU_MEMORYTYPE_HOST;
    return from_host ? (to_host ? cudaMemcpyHostToHost : cudaMemcpyHostToDevice)
                     : (to_host ? cudaMemcpyDeviceToHost : cudaMemcpyDeviceToDevice);
}

} // namespace

Ends ends_of(cudaMemcpyKind kind) {
    switch (kind) {
    case cudaMemcpyHostToHost:
        return {CU_MEMORYTYPE_HOST, CU_MEMORYTYPE_HOST};
    case cudaMemcpyHostToDevice:
        return {CU_MEMORYTYPE_HOST, CU_MEMORYTYPE_DEVICE};
    case cudaMemcpyDeviceToHost:
        return {CU_MEMORYTYPE_DEVICE, CU_MEMORYTYPE_HOST};
    case cudaMemcpyDeviceToDevice:
        return {CU_MEMORYTYPE_DEVICE, CU_MEMORYTYPE_DEVICE};
    case cudaMemcpyDefault:
        return {CU_MEMORYTYPE_UNIFIED, CU_MEMORYTYPE_UNIFIED};
    }
    fail(cudaErrorInvalidMemcpyDirection);
}

End linear(CUmemorytype type, const void *pointer, std::size_t pitch, std::size_t height) {
    End end;
    end.type = type;
    end.pointer = const_cast<void *>(pointer);
    end.pitch = pitch;
    end.height = height;
    return end;
}

End in_array(cudaArray_const_t array, std::size_t x, std::size_t y, std::size_t z) {
    End end;
    end.type = CU_MEMORYTYPE_ARRAY;
    end.array = array_of(array);
    end.x = x;
    end.y = y;
    end.z = z;
    return end;
}

CUDA_MEMCPY3D copy_between(const End &destination, const End &source, std::size_t width,
                           std::size_t height, std::size_t depth) {
    CUDA_MEMCPY3D copy{};
    copy.srcMemoryType = source.type;
    copy.srcXInBytes = source.x;
    copy.srcY = source.y;
    copy.srcZ = source.z;
    copy.srcHost = source.type == CU_MEMORYTYPE_HOST ? source.pointer : nullptr;
    copy.srcDevice = source.type == CU_MEMORYTYPE_HOST ? 0 : address(source.pointer);
    copy.srcArray = source.array;
    copy.srcPitch = source.pitch;
    copy.srcHeight = source.height;
    copy.dstMemoryType = destination.type;
    copy.dstXInBytes = destination.x;
    copy.dstY = destination.y;
    copy.dstZ = destination.z;
    copy.dstHost = destination.type == CU_MEMORYTYPE_HOST ? destination.pointer : nullptr;
    copy.dstDevice = destination.type == CU_MEMORYTYPE_HOST ? 0 : address(destination.pointer);
    copy.dstArray = destination.array;
    copy.dstPitch = destination.pitch;
    copy.dstHeight = destination.height;
    copy.WidthInBytes = width;
    copy.Height = height;
    copy.Depth = depth;
    return copy;
}

void check_pitch(std::size_t pitch, std::size_t width) {
    require(width <= pitch, cudaErrorInvalidPitchValue);
}

CUDA_MEMCPY3D copy_of(const cudaMemcpy3DParms *parameters) {
    require(parameters != nullptr);
    const Ends ends = ends_of(parameters->kind);
    return copy_in_units(
        end_of(parameters->dstArray, parameters->dstPtr, parameters->dstPos, ends.destination),
        end_of(parameters->srcArray, parameters->srcPtr, parameters->srcPos, ends.source),
        parameters->extent);
}

CUDA_MEMCPY3D_PEER copy_of(const cudaMemcpy3DPeerParms *parameters) {
    require(parameters != nullptr);
    checked_device(parameters->srcDevice);
    checked_device(parameters->dstDevice);
    const CUDA_MEMCPY3D copy = copy_in_units(
        end_of(parameters->dstArray, parameters->dstPtr, parameters->dstPos, CU_MEMORYTYPE_DEVICE),
        end_of(parameters->srcArray, parameters->srcPtr, parameters->srcPos, CU_MEMORYTYPE_DEVICE),
        parameters->extent);
    auto peer = std::bit_cast<CUDA_MEMCPY3D_PEER>(copy); // which has contexts for reserved fields
    peer.srcContext = primary_context(parameters->srcDevice);
    peer.dstContext = primary_context(parameters->dstDevice);
    return peer;
}

cudaMemcpy3DParms parameters_of(const CUDA_MEMCPY3D &copy) {
    cudaMemcpy3DParms shown{};
    const std::size_t source = copy.srcArray ? element_size(copy.srcArray) : 1;
    const std::size_t destination = copy.dstArray ? element_size(copy.dstArray) : 1;
    shown.srcArray = array_of(copy.srcArray);
    shown.srcPos = {copy.srcXInBytes / source, copy.srcY, copy.srcZ};
    shown.dstArray = array_of(copy.dstArray);
    shown.dstPos = {copy.dstXInBytes / destination, copy.dstY, copy.dstZ};
    if (copy.srcArray == nullptr) {
        void *memory = copy.srcMemoryType == CU_MEMORYTYPE_HOST ? const_cast<void *>(copy.srcHost)
                                                                : pointer(copy.srcDevice);
        shown.srcPtr = {memory, copy.srcPitch, copy.srcPitch, copy.srcHeight};
    }
    if (copy.dstArray == nullptr) {
        void *memory =
            copy.dstMemoryType == CU_MEMORYTYPE_HOST ? copy.dstHost : pointer(copy.dstDevice);
        shown.dstPtr = {memory, copy.dstPitch, copy.dstPitch, copy.dstHeight};
    }
    const std::size_t unit = source > destination ? source : destination;
    shown.extent = {copy.WidthInBytes / unit, copy.Height, copy.Depth};
    shown.kind = kind_of(copy.srcMemoryType, copy.dstMemoryType);
    return shown;
}

} // namespace sim::runtime
