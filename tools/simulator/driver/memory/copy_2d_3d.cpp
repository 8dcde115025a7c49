// Copies of rows and layers between devices; the others are in ../forwarded.txt.
#include "call/call.hpp"
#include "call/misuse.hpp"
#include "driver_functions.hpp"
#include "engine/capture.hpp"
#include "engine/context.hpp"
#include "memory/copy.hpp"

#include <string>

namespace sim::driver {
namespace {

void check_given(const CUDA_MEMCPY3D_PEER *parameters) {
    if (parameters == nullptr) {
        refuse_fatal(std::string(Call::current()->base()) + " of null parameters");
    }
}

} // namespace

EXPORT CUresult cuMemcpy3DPeer(const CUDA_MEMCPY3D_PEER *pCopy) {
    current_context();
    check_given(pCopy);
    return copy_now_between_contexts(*pCopy);
}

EXPORT CUresult cuMemcpy3DPeerAsync(const CUDA_MEMCPY3D_PEER *pCopy, CUstream hStream) {
    refuse_capturing(stream_of(hStream));
    check_given(pCopy);
    return copy_later(hStream, with_checked_contexts(*pCopy));
}

} // namespace sim::driver
