// Streams: creation, destruction, queries, waits and attributes.
#include "engine/stream.hpp"
#include "driver_functions.hpp"
#include "engine/capture.hpp"
#include "engine/context.hpp"
#include "engine/engine.hpp"

#include <algorithm>

namespace sim::driver {
namespace {

// The range that cuCtxGetStreamPriorityRange returns.
constexpr int least_priority = 0, greatest_priority = -5;

int usable_priority(int priority) {
    return std::clamp(priority, greatest_priority, least_priority);
}

CUresult create(CUstream *stream, unsigned int flags, int priority) {
    Context &context = current_exact_context();
    require(stream != nullptr && (flags & ~static_cast<unsigned int>(CU_STREAM_NON_BLOCKING)) == 0);
    *stream = Registry::get().make<Stream>(context, flags, priority);
    return CUDA_SUCCESS;
}

CUlaunchAttributeValue &attribute_of(Stream &stream, CUstreamAttrID attribute) {
    switch (static_cast<int>(attribute)) {
    case 1:  // access policy window
    case 3:  // synchronization policy
    case 8:  // priority
    case 9:  // memory synchronization domain map, CUDA 12.0
    case 10: // memory synchronization domain, CUDA 12.0
        return stream.attributes[attribute];
    default:
        refuse(CUDA_ERROR_INVALID_VALUE);
    }
}

// Recorded: these calls invalidate a capture of their stream.
Stream &stream_outside_captures(CUstream handle) {
    Stream &stream = stream_of(handle);
    refuse_capturing(stream);
    return stream;
}

void require_waitable(Stream &stream) {
    refuse_capturing(stream);
    potentially_unsafe_call();
}

} // namespace

EXPORT CUresult cuStreamCreate(OUT CUstream *phStream, unsigned int Flags) {
    return create(phStream, Flags, least_priority);
}

EXPORT CUresult cuStreamCreateWithPriority(OUT CUstream *phStream, unsigned int flags,
                                           int priority) {
    return create(phStream, flags, usable_priority(priority));
}

EXPORT CUresult cuStreamDestroy_v2(CUstream hStream) {
    require(hStream != nullptr && hStream != CU_STREAM_LEGACY && hStream != CU_STREAM_PER_THREAD,
            CUDA_ERROR_INVALID_HANDLE);
    Stream &stream = checked(hStream);
    require(!stream.legacy && !stream.per_thread, CUDA_ERROR_INVALID_HANDLE);
    const CUresult failed = fault_of(stream.context);
    end_stream(stream);
    return failed; // the stream is destroyed nevertheless
}

EXPORT CUresult cuStreamQuery(CUstream hStream) {
    Stream &stream = stream_of_caller(hStream);
    require_waitable(stream);
    Context &context = context_of(stream);
    if (!idle(stream)) {
        return CUDA_ERROR_NOT_READY;
    }
    check_still_usable(&context);
    return take_error(context);
}

EXPORT CUresult cuStreamSynchronize(CUstream hStream) {
    Stream &stream = stream_of(hStream);
    require_waitable(stream);
    wait_stream(stream);
    return CUDA_SUCCESS;
}

EXPORT CUresult cuStreamGetPriority(CUstream hStream, OUT int *priority) {
    require(priority != nullptr);
    *priority = stream_of(hStream).priority;
    return CUDA_SUCCESS;
}

EXPORT CUresult cuStreamGetFlags(CUstream hStream, OUT unsigned int *flags) {
    require(flags != nullptr);
    *flags = stream_outside_captures(hStream).flags;
    return CUDA_SUCCESS;
}

#if CUDA_VERSION >= 12000
EXPORT CUresult cuStreamGetId(CUstream hStream, OUT unsigned long long *streamId) {
    require(streamId != nullptr);
    *streamId = stream_outside_captures(hStream).id;
    return CUDA_SUCCESS;
}
#endif

#if CUDA_VERSION >= 12080
EXPORT CUresult cuStreamGetDevice(CUstream hStream, OUT CUdevice *device) {
    require(device != nullptr, "NULL device pointer");
    *device = stream_outside_captures(hStream).context->device;
    return CUDA_SUCCESS;
}
#endif

EXPORT CUresult cuStreamGetCtx(CUstream hStream, OUT CUcontext *pctx) {
    require(pctx != nullptr);
    *pctx = &context_of(stream_of(hStream));
    return CUDA_SUCCESS;
}

EXPORT CUresult cuStreamGetAttribute(CUstream hStream, CUstreamAttrID attr,
                                     OUT CUstreamAttrValue *value_out) {
    require(value_out != nullptr);
    Stream &stream = stream_of(hStream);
    *value_out = attribute_of(stream, attr);
    if (static_cast<int>(attr) == 8) {
        value_out->priority = stream.priority;
    }
    return CUDA_SUCCESS;
}

EXPORT CUresult cuStreamSetAttribute(CUstream hStream, CUstreamAttrID attr,
                                     const CUstreamAttrValue *value) {
    require(value != nullptr);
    Stream &stream = stream_of(hStream);
    CUlaunchAttributeValue &kept = attribute_of(stream, attr);
    switch (static_cast<int>(attr)) {
    case 1:
        require(value->accessPolicyWindow.hitRatio >= 0 && value->accessPolicyWindow.hitRatio <= 1);
        break;
    case 3:
        require(value->syncPolicy >= CU_SYNC_POLICY_AUTO &&
                value->syncPolicy <= CU_SYNC_POLICY_BLOCKING_SYNC);
        break;
    case 8:
        stream.priority = usable_priority(value->priority);
        break;
    default:
        break;
    }
    kept = *value;
    return CUDA_SUCCESS;
}

EXPORT CUresult cuStreamCopyAttributes(CUstream dst, CUstream src) {
    Stream &to = stream_of(dst);
    const Stream &from = stream_of(src);
    require(&context_of(to) == &context_of(from));
    std::copy(std::begin(from.attributes), std::end(from.attributes), std::begin(to.attributes));
    to.priority = from.priority;
    return CUDA_SUCCESS;
}

} // namespace sim::driver
