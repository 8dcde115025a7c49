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

cudaError_t copy_now(void *destination, const void *source, size_t count, cudaMemcpyKind kind) {
    const Ends ends = ends_of_bytes(count, kind);
    const bool from_host = ends.source == CU_MEMORYTYPE_HOST;
    const bool to_host = ends.destination == CU_MEMORYTYPE_HOST;
    if (kind == cudaMemcpyDefault || (from_host && to_host)) {
        return CU_SYNC(cuMemcpy)(address(destination), address(source), count);
    }
    if (from_host) {
        return CU_SYNC(cuMemcpyHtoD_v2)(address(destination), source, count);
    }
    if (to_host) {
        return CU_SYNC(cuMemcpyDtoH_v2)(destination, address(source), count);
    }
    return CU_SYNC(cuMemcpyDtoD_v2)(address(destination), address(source), count);
}

cudaError_t copy_later(void *destination, const void *source, size_t count, cudaMemcpyKind kind,
                       cudaStream_t stream) {
    const Ends ends = ends_of_bytes(count, kind);
    const bool from_host = ends.source == CU_MEMORYTYPE_HOST;
    const bool to_host = ends.destination == CU_MEMORYTYPE_HOST;
    const CUstream in = stream_of(stream);
    if (kind == cudaMemcpyDefault || (from_host && to_host)) {
        return CU(cuMemcpyAsync)(address(destination), address(source), count, in);
    }
    if (from_host) {
        return CU(cuMemcpyHtoDAsync_v2)(address(destination), source, count, in);
    }
    if (to_host) {
        return CU(cuMemcpyDtoHAsync_v2)(destination, address(source), count, in);
    }
    return CU(cuMemcpyDtoDAsync_v2)(address(destination), address(source), count, in);
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

cudaError_t cudaMemcpy(void *dst, const void *src, size_t count, cudaMemcpyKind kind) {
    return copy_now(dst, src, count, kind);
}

cudaError_t cudaMemcpyAsync(void *dst, const void *src, size_t count, cudaMemcpyKind kind,
                            cudaStream_t stream) {
    return copy_later(dst, src, count, kind, stream);
}

cudaError_t cudaMemcpy2D(void *dst, size_t dpitch, const void *src, size_t spitch, size_t width,
                         size_t height, cudaMemcpyKind kind) {
    return run_copy(rectangle(dst, dpitch, src, spitch, width, height, kind));
}

cudaError_t cudaMemcpy2DAsync(void *dst, size_t dpitch, const void *src, size_t spitch,
                              size_t width, size_t height, cudaMemcpyKind kind,
                              cudaStream_t stream) {
    return run_copy(rectangle(dst, dpitch, src, spitch, width, height, kind), stream);
}

cudaError_t cudaMemcpy3D(const cudaMemcpy3DParms *p) {
    need_context();
    return run_copy(box(p));
}

cudaError_t cudaMemcpy3DAsync(const cudaMemcpy3DParms *p, cudaStream_t stream) {
    need_context();
    return run_copy(box(p), stream);
}

// --- peers

cudaError_t cudaMemcpyPeer(void *dst, int dstDevice, const void *src, int srcDevice, size_t count) {
    need_context();
    const CUcontext to = primary_context(checked_device(dstDevice));
    const CUcontext from = primary_context(checked_device(srcDevice));
    return CU_SYNC(cuMemcpyPeer)(address(dst), to, address(src), from, count);
}

cudaError_t cudaMemcpyPeerAsync(void *dst, int dstDevice, const void *src, int srcDevice,
                                size_t count, cudaStream_t stream) {
    need_context();
    const CUcontext to = primary_context(checked_device(dstDevice));
    const CUcontext from = primary_context(checked_device(srcDevice));
    return CU(cuMemcpyPeerAsync)(address(dst), to, address(src), from, count, stream_of(stream));
}

cudaError_t cudaMemcpy3DPeer(const cudaMemcpy3DPeerParms *p) {
    need_context();
    const CUDA_MEMCPY3D_PEER copy = copy_of(p);
    return CU_SYNC(cuMemcpy3DPeer)(&copy);
}

cudaError_t cudaMemcpy3DPeerAsync(const cudaMemcpy3DPeerParms *p, cudaStream_t stream) {
    need_context();
    const CUDA_MEMCPY3D_PEER copy = copy_of(p);
    return CU(cuMemcpy3DPeerAsync)(&copy, stream_of(stream));
}

// --- symbols

cudaError_t cudaMemcpyToSymbol(const void *symbol, const void *src, size_t count, size_t offset,
                               cudaMemcpyKind kind) {
    void *to = bytes_of(symbol, offset, count, kind, cudaMemcpyHostToDevice);
    return copy_now(to, src, count, kind);
}

cudaError_t cudaMemcpyFromSymbol(void *dst, const void *symbol, size_t count, size_t offset,
                                 cudaMemcpyKind kind) {
    const void *from = bytes_of(symbol, offset, count, kind, cudaMemcpyDeviceToHost);
    return copy_now(dst, from, count, kind);
}

cudaError_t cudaMemcpyToSymbolAsync(const void *symbol, const void *src, size_t count,
                                    size_t offset, cudaMemcpyKind kind, cudaStream_t stream) {
    void *to = bytes_of(symbol, offset, count, kind, cudaMemcpyHostToDevice);
    return copy_later(to, src, count, kind, stream);
}

cudaError_t cudaMemcpyFromSymbolAsync(void *dst, const void *symbol, size_t count, size_t offset,
                                      cudaMemcpyKind kind, cudaStream_t stream) {
    const void *from = bytes_of(symbol, offset, count, kind, cudaMemcpyDeviceToHost);
    return copy_later(dst, from, count, kind, stream);
}

} // namespace sim::runtime
