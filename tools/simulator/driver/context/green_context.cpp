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
#include <deque>
#include <utility>
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
    CUgreenCtx_st(CUctx_st &primary, const sim::Share &part) : Object(own_kind), share(part) {
        static unsigned long long newest = 0;
        id = ++newest;
        context = &primary;
    }
    static constexpr sim::Kind own_kind = sim::Kind::green_context;
    static bool is(sim::Kind kind) noexcept { return kind == own_kind; }

    sim::Share share;
    unsigned long long id;
    std::vector<CUstream> streams;     // may contain destroyed streams
    std::vector<sim::Ticket> barriers; // precede all work of streams that are created later
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

GreenContext &green_context(CUgreenCtx handle) {
    GreenContext &green = checked(handle, CUDA_ERROR_INVALID_CONTEXT);
    check_usable(*green.context);
    return green;
}

// Its live streams.
std::vector<Stream *> streams_of(GreenContext &green) {
    std::vector<Stream *> streams;
    std::erase_if(green.streams, [&](CUstream handle) {
        Object *object = Registry::get().find(handle);
        const bool lives = object != nullptr && Stream::is(object->kind);
        if (lives) {
            streams.push_back(static_cast<Stream *>(object));
        }
        return !lives;
    });
    return streams;
}

// A call on a green context invalidates the capture of each of its streams.
void refuse_capturing(GreenContext &green) {
    for (Stream *stream : streams_of(green)) {
        sim::refuse_capturing(*stream);
    }
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
    const Context &context = hCtx ? checked_context(hCtx) : current_context();
    write_resource(resource, type, whole_of(context.device));
    return CUDA_SUCCESS;
}

EXPORT CUresult cuGreenCtxGetDevResource(CUgreenCtx hCtx, OUT CUdevResource *resource,
                                         CUdevResourceType type) {
    require(resource != nullptr);
    Share share = green_context(hCtx).share;
    share.split = 0; // the share of a green context can be split again
    write_resource(resource, type, share);
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
    const Share share = checked(desc, CUDA_ERROR_INVALID_VALUE).share;
    require(share.device == dev);
    *phCtx = Registry::get().make<GreenContext>(retain_primary(on), share);
    return CUDA_SUCCESS;
}

EXPORT CUresult cuGreenCtxDestroy(CUgreenCtx hCtx) {
    GreenContext &green = checked(hCtx, CUDA_ERROR_INVALID_CONTEXT);
    for (Stream *stream : streams_of(green)) {
        misuse("a green context is destroyed before its " + stream->describe());
        end_stream(*stream);
    }
    Device &on = device(green.context->device);
    Registry::get().destroy(&green);
    release_primary(on);
    return CUDA_SUCCESS;
}

EXPORT CUresult cuCtxFromGreenCtx(OUT CUcontext *pContext, CUgreenCtx hCtx) {
    require(pContext != nullptr);
    const GreenContext &green = green_context(hCtx);
    *pContext = green.context;
    return CUDA_SUCCESS;
}

EXPORT CUresult cuStreamGetGreenCtx(CUstream hStream, OUT CUgreenCtx *phCtx) {
    const Stream &stream = stream_of(hStream);
    require(phCtx != nullptr);
    CUgreenCtx found = nullptr;
    Registry::get().for_each([&](Object &object) {
        if (GreenContext::is(object.kind)) {
            auto &green = static_cast<GreenContext &>(object);
            const auto &all = green.streams;
            found = std::find(all.begin(), all.end(), &stream) != all.end() ? &green : found;
        }
    });
    *phCtx = found;
    return CUDA_SUCCESS;
}

EXPORT CUresult cuGreenCtxRecordEvent(CUgreenCtx hCtx, CUevent hEvent) {
    GreenContext &green = green_context(hCtx);
    Event &event = checked(hEvent);
    require(event.context == green.context, CUDA_ERROR_INVALID_HANDLE);
    refuse_capturing(green);
    std::vector<Ticket> after;
    for (const Stream *stream : streams_of(green)) {
        after.insert(after.end(), stream->queue.begin(), stream->queue.end());
    }
    // The operation is not ordered with any stream; the legacy stream only holds it.
    enqueue(legacy_stream(*green.context), event_record_work(event, "cuGreenCtxRecordEvent"),
            std::move(after), false);
    return CUDA_SUCCESS;
}

EXPORT CUresult cuGreenCtxWaitEvent(CUgreenCtx hCtx, CUevent hEvent) {
    GreenContext &green = green_context(hCtx);
    Event &event = checked(hEvent);
    refuse_capturing(green);
    refuse_captured(event);
    const std::vector<Stream *> streams = streams_of(green);
    std::deque<InUse> in_use;
    for (Stream *stream : streams) {
        in_use.emplace_back(*stream);
    }
    const Ticket ticket = enqueue(legacy_stream(*green.context),
                                  event_wait_work(event, "cuGreenCtxWaitEvent"), {}, false);
    for (Stream *stream : streams) {
        enqueue(*stream, {}, {ticket});
    }
    if (Registry::get().find(hCtx) == hCtx) { // it may have been destroyed meanwhile
        std::erase_if(green.barriers, [](const Ticket &barrier) { return barrier->done; });
        green.barriers.push_back(ticket);
    }
    return CUDA_SUCCESS;
}

#if CUDA_VERSION >= 12050
EXPORT CUresult cuGreenCtxStreamCreate(OUT CUstream *phStream, CUgreenCtx greenCtx,
                                       unsigned int flags, int priority) {
    require(phStream != nullptr);
    GreenContext &green = green_context(greenCtx);
    require(flags == CU_STREAM_NON_BLOCKING);
    const ContextScope scope(*green.context);
    const CUresult created = driver::cuStreamCreateWithPriority(phStream, flags, priority);
    require(created == CUDA_SUCCESS, created);
    green.streams.push_back(*phStream);
    if (!green.barriers.empty()) {
        enqueue(**phStream, {}, green.barriers);
    }
    return CUDA_SUCCESS;
}
#endif

#if CUDA_VERSION >= 13000
EXPORT CUresult cuGreenCtxGetId(CUgreenCtx greenCtx, OUT unsigned long long *greenCtxId) {
    require(greenCtxId != nullptr);
    const GreenContext &green = green_context(greenCtx);
    *greenCtxId = green.id;
    return CUDA_SUCCESS;
}
#endif

} // namespace sim::driver

#endif
