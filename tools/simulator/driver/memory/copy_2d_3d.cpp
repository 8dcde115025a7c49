// Copies of rows and layers.
#include "call/misuse.hpp"
#include "driver_functions.hpp"
#include "engine/context.hpp"
#include "memory/copy.hpp"

#include <string>

namespace sim::driver {
namespace {

void check_given(const CUDA_MEMCPY3D_PEER *parameters, const char *what) {
    if (parameters == nullptr) {
        refuse_fatal(std::string(what) + " of null parameters");
    }
}

} // namespace

CUresult cuMemcpy2D_v2(const CUDA_MEMCPY2D *pCopy) {
    current_context();
    require(pCopy != nullptr);
    return copy_now(widened(*pCopy), "cuMemcpy2D");
}

CUresult cuMemcpy2DUnaligned_v2(const CUDA_MEMCPY2D *pCopy) {
    current_context();
    require(pCopy != nullptr);
    return copy_now(widened(*pCopy), "cuMemcpy2DUnaligned");
}

CUresult cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D *pCopy, CUstream hStream) {
    stream_of(hStream);
    require(pCopy != nullptr);
    return copy_later(hStream, widened(*pCopy), "cuMemcpy2DAsync");
}

CUresult cuMemcpy3D_v2(const CUDA_MEMCPY3D *pCopy) {
    current_context();
    require(pCopy != nullptr);
    return copy_now(widened(*pCopy), "cuMemcpy3D");
}

CUresult cuMemcpy3DAsync_v2(const CUDA_MEMCPY3D *pCopy, CUstream hStream) {
    stream_of(hStream);
    require(pCopy != nullptr);
    return copy_later(hStream, widened(*pCopy), "cuMemcpy3DAsync");
}

CUresult cuMemcpy3DPeer(const CUDA_MEMCPY3D_PEER *pCopy) {
    current_context();
    check_given(pCopy, "cuMemcpy3DPeer");
    return copy_now_between_contexts(*pCopy, "cuMemcpy3DPeer");
}

CUresult cuMemcpy3DPeerAsync(const CUDA_MEMCPY3D_PEER *pCopy, CUstream hStream) {
    stream_of(hStream);
    check_given(pCopy, "cuMemcpy3DPeerAsync");
    return copy_later(hStream, with_checked_contexts(*pCopy, "cuMemcpy3DPeerAsync"),
                      "cuMemcpy3DPeerAsync");
}

} // namespace sim::driver
