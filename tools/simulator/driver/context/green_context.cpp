// Green contexts: a share of the multiprocessors of a device and the streams bound to it. The share
// is stored, checked and returned, but does not limit execution.
#include "call/misuse.hpp"
#include "context/primary_contexts.hpp"
#include "driver_functions.hpp"
#include "engine/capture.hpp"
#include "engine/context.hpp"
#include "engine/device.hpp"
#include "engine/event_work.hpp"
#include "engine/stream.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

#if CUDA_VERSION >= 12040

namespace sim {
namespace {

// The simulator's data in the opaque part of a CUdevResource.
struct Share {
    static constexpr std::uint64_t own_magic = 0x6572616873207573;
    std::uint64_t magic;
    std::int32_t device;
    std::uint32_t count; // number of multiprocessors
    std::uint64_t split; // the split that created it; 0: none, so it can be split
};
static_assert(sizeof(Share) <= sizeof(CUdevResource::_internal_padding));

} // namespace
} // namespace sim

struct CUdevResourceDesc_st final : sim::Object {
    explicit CUdevResourceDesc_st(const sim::Share &all) : Object(own_kind), share(all) {
        counted = false; // no call destroys it
    }
    static constexpr sim::Kind own_kind = sim::Kind::other;
    static bool is(sim::Kind kind) noexcept { return kind == own_kind; }

    sim::Share share;
};

struct CUgreenCtx_st final : sim::Object {
    CUgreenCtx_st(CUctx_st &primary, const sim::Share &part)
        : Object(own_kind), share(part), own(*sim::Registry::get().make<CUctx_st>(primary, *this)) {
        context = &primary;
    }
    static constexpr sim::Kind own_kind = sim::Kind::green_context;
    static bool is(sim::Kind kind) noexcept { return kind == own_kind; }

    sim::Share share;
    CUctx_st &own; // cuCtxFromGreenCtx returns it
};

namespace sim {
namespace {

using GreenContext = CUgreenCtx_st;

// The granularity of a share for a compute capability.
struct Granularity {
    unsigned int least, step;
};

Granularity granularity_of(CUdevice device, bool ignore_coscheduling = false) {
    const int major = device_attribute(device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
    if (ignore_coscheduling || major < 8) {
        return {2, 2};
    }
    return major == 8 ? Granularity{4, 2} : Granularity{8, 8};
}

Share whole_of(CUdevice device) {
    const int count = device_attribute(device, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
    return {Share::own_magic, device, static_cast<std::uint32_t>(count), 0};
}

CUdevResource resource_of(const Share &share) {
    CUdevResource resource{};
    resource.type = share.count == 0 ? CU_DEV_RESOURCE_TYPE_INVALID : CU_DEV_RESOURCE_TYPE_SM;
    resource.sm.smCount = share.count;
#if CUDA_VERSION >= 13000
    const Granularity granularity = granularity_of(share.device);
    resource.sm.minSmPartitionSize = granularity.least;
    resource.sm.smCoscheduledAlignment = granularity.step;
#endif
    std::memcpy(resource._internal_padding, &share, sizeof share);
    return resource;
}

// The share in a resource that a call returned. Fails for values that the client made up.
Share share_of(const CUdevResource &resource) {
    require(resource.type == CU_DEV_RESOURCE_TYPE_SM, CUDA_ERROR_INVALID_RESOURCE_TYPE);
    Share share;
    std::memcpy(&share, resource._internal_padding, sizeof share);
    require(share.magic == Share::own_magic && share.count == resource.sm.smCount);
    device(share.device);
    return share;
}

void write_resource(CUdevResource *resource, CUdevResourceType type, const Share &share) {
    require(resource != nullptr);
    require(type == CU_DEV_RESOURCE_TYPE_SM, CUDA_ERROR_INVALID_RESOURCE_TYPE);
    *resource = resource_of(share);
}

GreenContext &checked_green(CUgreenCtx handle) {
    return checked(handle, handle == nullptr ? CUDA_ERROR_INVALID_CONTEXT
                                             : CUDA_ERROR_CONTEXT_IS_DESTROYED);
}

GreenContext &green_context(CUgreenCtx handle) {
    GreenContext &green = checked_green(handle);
    check_usable(*green.context);
    return green;
}

// Its share, which can be split again.
Share splittable(const GreenContext &green) {
    Share share = green.share;
    share.split = 0;
    return share;
}

// Ends the streams of a context. Those of the client should have been destroyed before.
void end_streams_of(const Context &context) {
    std::vector<Stream *> streams;
    Registry::get().for_each([&](Object &object) {
        if (Stream::is(object.kind)) {
            auto &stream = static_cast<Stream &>(object);
            if (&context_of(stream) == &context) {
                streams.push_back(&stream);
            }
        }
    });
    for (Stream *stream : streams) {
        if (!stream->legacy && !stream->per_thread) {
            misuse("a green context is destroyed before its " + stream->describe());
        }
        end_stream(*stream, true);
    }
}

// The resource of the green context behind a context, or of its device.
Share share_of(const Context &context) {
    return context.green != nullptr ? splittable(*context.green) : whole_of(context.device);
}

} // namespace
} // namespace sim

namespace sim::driver {

EXPORT CUresult cuDeviceGetDevResource(CUdevice device, OUT CUdevResource *resource,
                                       CUdevResourceType type) {
    sim::device(device, "dev");
    write_resource(resource, type, whole_of(device));
    return CUDA_SUCCESS;
}

EXPORT CUresult cuCtxGetDevResource(CUcontext hCtx, OUT CUdevResource *resource,
                                    CUdevResourceType type) {
    require(resource != nullptr);
    const Context &context = checked_context(hCtx); // recorded: null is not the current one
    check_usable(context);
    write_resource(resource, type, share_of(context));
    return CUDA_SUCCESS;
}

EXPORT CUresult cuGreenCtxGetDevResource(CUgreenCtx hCtx, OUT CUdevResource *resource,
                                         CUdevResourceType type) {
    require(resource != nullptr);
    write_resource(resource, type, splittable(green_context(hCtx)));
    return CUDA_SUCCESS;
}

EXPORT CUresult cuDevSmResourceSplitByCount(CUdevResource *result, unsigned int *nbGroups,
                                            const CUdevResource *input,
                                            OUT CUdevResource *remaining, unsigned int useFlags,
                                            unsigned int minCount) {
    static std::uint64_t splits = 0;
    require(nbGroups != nullptr && input != nullptr && (useFlags & ~3U) == 0);
    const Share whole = share_of(*input);
    require(whole.split == 0, CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION);
    require(minCount <= whole.count, CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION);
    const Granularity granularity = granularity_of(whole.device, (useFlags & 1U) != 0);
    const unsigned int least = std::max(minCount, granularity.least);
    const unsigned int size = (least + granularity.step - 1) / granularity.step * granularity.step;
    unsigned int groups = whole.count / size;
    require(groups != 0, CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION);
    Share part{Share::own_magic, whole.device, size, ++splits};
    if (result != nullptr) {
        groups = std::min(groups, *nbGroups);
        std::fill_n(result, groups, resource_of(part));
    }
    *nbGroups = groups;
    if (remaining != nullptr) {
        part.count = whole.count - groups * size;
        *remaining = resource_of(part);
    }
    return CUDA_SUCCESS;
}

EXPORT CUresult cuDevResourceGenerateDesc(OUT CUdevResourceDesc *phDesc, CUdevResource *resources,
                                          unsigned int nbResources) {
    require(phDesc != nullptr && resources != nullptr);
    if (nbResources == 0) {
        refuse_fatal("an empty resource description");
    }
    Share all = share_of(resources[0]);
    for (unsigned int i = 1; i < nbResources; ++i) {
        const Share more = share_of(resources[i]);
        require(more.device == all.device && more.split == all.split && more.split != 0,
                CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION);
        all.count += more.count;
    }
    require(all.count <= whole_of(all.device).count, CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION);
    *phDesc = Registry::get().make<CUdevResourceDesc_st>(all);
    return CUDA_SUCCESS;
}

EXPORT CUresult cuGreenCtxCreate(OUT CUgreenCtx *phCtx, CUdevResourceDesc desc, CUdevice dev,
                                 unsigned int flags) {
    Device &on = device(dev, "device");
    require(phCtx != nullptr && flags == CU_GREEN_CTX_DEFAULT_STREAM);
    const Share share = desc == nullptr ? whole_of(dev) // recorded
                                        : checked(desc, CUDA_ERROR_INVALID_VALUE).share;
    require(share.device == dev);
    *phCtx = Registry::get().make<GreenContext>(retain_primary(on), share);
    return CUDA_SUCCESS;
}

EXPORT CUresult cuGreenCtxDestroy(CUgreenCtx hCtx) {
    GreenContext &green = checked_green(hCtx);
    end_streams_of(green.own);
    end_green(green.own);
    Device &on = device(green.context->device);
    Registry::get().destroy(&green);
    release_primary(on);
    return CUDA_SUCCESS;
}

EXPORT CUresult cuCtxFromGreenCtx(OUT CUcontext *pContext, CUgreenCtx hCtx) {
    require(pContext != nullptr);
    *pContext = &green_context(hCtx).own;
    return CUDA_SUCCESS;
}

EXPORT CUresult cuStreamGetGreenCtx(CUstream hStream, OUT CUgreenCtx *phCtx) {
    const Stream &stream = stream_of(hStream);
    require(phCtx != nullptr);
    *phCtx = context_of(stream).green;
    return CUDA_SUCCESS;
}

EXPORT CUresult cuGreenCtxRecordEvent(CUgreenCtx hCtx, CUevent hEvent) {
    GreenContext &green = green_context(hCtx);
    record_all(green.own, checked(hEvent), "cuGreenCtxRecordEvent");
    return CUDA_SUCCESS;
}

EXPORT CUresult cuGreenCtxWaitEvent(CUgreenCtx hCtx, CUevent hEvent) {
    GreenContext &green = green_context(hCtx);
    delay_all(green.own, checked(hEvent), "cuGreenCtxWaitEvent");
    return CUDA_SUCCESS;
}

#if CUDA_VERSION >= 12050
EXPORT CUresult cuGreenCtxStreamCreate(OUT CUstream *phStream, CUgreenCtx greenCtx,
                                       unsigned int flags, int priority) {
    require(phStream != nullptr);
    GreenContext &green = green_context(greenCtx);
    require(flags == CU_STREAM_NON_BLOCKING);
    const ContextScope scope(green.own);
    return driver::cuStreamCreateWithPriority(phStream, flags, priority);
}
#endif

#if CUDA_VERSION >= 13000
EXPORT CUresult cuGreenCtxGetId(CUgreenCtx greenCtx, OUT unsigned long long *greenCtxId) {
    require(greenCtxId != nullptr);
    const Context &context = greenCtx ? green_context(greenCtx).own : current_exact_context();
    require(context.green != nullptr, CUDA_ERROR_INVALID_CONTEXT);
    *greenCtxId = context.id;
    return CUDA_SUCCESS;
}

EXPORT CUresult cuStreamGetCtx_v2(CUstream hStream, OUT CUcontext *pCtx,
                                  OUT CUgreenCtx *pGreenCtx) {
    const Stream &stream = stream_of(hStream);
    require(pCtx != nullptr || pGreenCtx != nullptr);
    if (pCtx != nullptr) {
        *pCtx = stream.context;
    }
    if (pGreenCtx != nullptr) {
        *pGreenCtx = context_of(stream).green;
    }
    return CUDA_SUCCESS;
}
#endif

} // namespace sim::driver

#endif
