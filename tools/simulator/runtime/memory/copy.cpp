// Copies of linear memory: one, two and three dimensions, symbols, peers.
#include "runtime/base/driver_api.hpp"
#include "runtime/kernel/symbol.hpp"
#include "runtime/memory/copy_parameters.hpp"
#include "runtime/memory/copy_submit.hpp"

namespace sim::runtime {
namespace {

// For 0 bytes, every kind is accepted, even an invalid one.
Ends ends_of_bytes(size_t count, cudaMemcpyKind kind) {
    return ends_of(count == 0 ? cudaMemcpyDefault : kind);
}

CUDA_MEMCPY3D rectangle(void *destination, size_t destination_pitch, const void *source,
                        size_t source_pitch, size_t width, size_t height, cudaMemcpyKind kind) {
    if (width == 0 || height == 0) {
        return {}; // an empty copy succeeds, whatever its other arguments
    }
    check_pitch(destination_pitch, width);
    check_pitch(source_pitch, width);
    const Ends ends = ends_of(kind);
    return copy_between(linear(ends.destination, destination, destination_pitch, height),
                        linear(ends.source, source, source_pitch, height), width, height);
}

CUDA_MEMCPY3D box(const cudaMemcpy3DParms *parameters) {
    require(parameters != nullptr);
    const cudaExtent &extent = parameters->extent;
    if (extent.width == 0 || extent.height == 0 || extent.depth == 0) {
        return {}; // an empty copy succeeds, whatever its other arguments
    }
    return copy_of(parameters);
}

// The symbol side of a copy. For 0 bytes, the symbol is not looked up.
void *bytes_of(const void *symbol, size_t offset, size_t count, cudaMemcpyKind kind,
               cudaMemcpyKind by_name) {
    return count == 0 ? nullptr : pointer(place_in(symbol, offset, count, kind, by_name));
}

} // namespace

cudaError_t copy_bytes(void *to, const void *from, size_t count, cudaMemcpyKind kind,
                       const InStream &stream) {
    const Ends ends = ends_of_bytes(count, kind);
    const bool from_host = ends.source == CU_MEMORYTYPE_HOST;
    const bool to_host = ends.destination == CU_MEMORYTYPE_HOST;
    const CUdeviceptr target = address(to), source = address(from);
    const CUstream in = stream ? stream_of(*stream) : nullptr;
    if (kind == cudaMemcpyDefault || (from_host && to_host)) {
        return stream ? CU(cuMemcpyAsync)(target, source, count, in)
                      : CU_SYNC(cuMemcpy)(target, source, count);
    }
    if (from_host) {
        return stream ? CU(cuMemcpyHtoDAsync_v2)(target, from, count, in)
                      : CU_SYNC(cuMemcpyHtoD_v2)(target, from, count);
    }
    if (to_host) {
        return stream ? CU(cuMemcpyDtoHAsync_v2)(to, source, count, in)
                      : CU_SYNC(cuMemcpyDtoH_v2)(to, source, count);
    }
    return stream ? CU(cuMemcpyDtoDAsync_v2)(target, source, count, in)
                  : CU_SYNC(cuMemcpyDtoD_v2)(target, source, count);
}

cudaError_t copy_2d(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width,
                    size_t height, cudaMemcpyKind kind, const InStream &stream) {
    return run_copy(rectangle(to, to_pitch, from, from_pitch, width, height, kind), stream);
}

cudaError_t copy_3d(const cudaMemcpy3DParms *parameters, const InStream &stream) {
    need_context();
    return run_copy(box(parameters), stream);
}

cudaError_t copy_peer(void *to, int to_device, const void *from, int from_device, size_t count,
                      const InStream &stream) {
    need_context();
    const CUcontext target = primary_context(checked_device(to_device));
    const CUcontext source = primary_context(checked_device(from_device));
    return stream ? CU(cuMemcpyPeerAsync)(address(to), target, address(from), source, count,
                                          stream_of(*stream))
                  : CU_SYNC(cuMemcpyPeer)(address(to), target, address(from), source, count);
}

cudaError_t copy_3d_peer(const cudaMemcpy3DPeerParms *parameters, const InStream &stream) {
    need_context();
    const CUDA_MEMCPY3D_PEER copy = copy_of(parameters);
    return stream ? CU(cuMemcpy3DPeerAsync)(&copy, stream_of(*stream))
                  : CU_SYNC(cuMemcpy3DPeer)(&copy);
}

cudaError_t copy_to_symbol(const void *symbol, const void *from, size_t count, size_t offset,
                           cudaMemcpyKind kind, const InStream &stream) {
    void *to = bytes_of(symbol, offset, count, kind, cudaMemcpyHostToDevice);
    return copy_bytes(to, from, count, kind, stream);
}

cudaError_t copy_from_symbol(void *to, const void *symbol, size_t count, size_t offset,
                             cudaMemcpyKind kind, const InStream &stream) {
    const void *from = bytes_of(symbol, offset, count, kind, cudaMemcpyDeviceToHost);
    return copy_bytes(to, from, count, kind, stream);
}

} // namespace sim::runtime
