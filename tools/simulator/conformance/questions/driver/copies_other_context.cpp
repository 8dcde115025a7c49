// Copies and memsets enqueued in a stream of device 0's primary context while another context or no
// context is current. The supported kinds of memory differ, since some memory belongs to a context.
#include "../two_devices/two_devices.hpp"

#include <cstdlib>
#include <string>
#include <vector>

namespace record::QUESTIONS {

namespace {

constexpr std::size_t length = 512;

// The prefix of each question: the current context.
std::string place;

void ask_here(const std::string &what, CUresult status) {
    ask((place + ": " + what).c_str(), status);
}

struct Kind {
    const char *name;
    CUdeviceptr address;
    bool on_host;
};

// Two adjacent mappings with access for device 0.
CUdeviceptr two_mappings(std::size_t &unit) {
    CUmemAllocationProp prop{};
    prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    d.cuMemGetAllocationGranularity(&unit, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM);
    CUdeviceptr address = 0;
    d.cuMemAddressReserve(&address, 2 * unit, 0, 0, 0);
    for (const std::size_t offset : {std::size_t{0}, unit}) {
        CUmemGenericAllocationHandle handle = 0;
        d.cuMemCreate(&handle, unit, &prop, 0);
        d.cuMemMap(address + offset, unit, 0, handle, 0);
    }
    CUmemAccessDesc access{};
    access.location = prop.location;
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    d.cuMemSetAccess(address, 2 * unit, &access, 1);
    return address;
}

CUdeviceptr address_of(const void *host) {
    return static_cast<CUdeviceptr>(reinterpret_cast<std::uintptr_t>(host));
}

// Memory of each kind and a stream, in the current context if they have one.
struct Memories {
    std::vector<Kind> kinds;
    CUdeviceptr plain = 0; // the other side of all copies
    CUstream stream = nullptr;
    std::vector<char> pageable = std::vector<char>(2 * length);
    std::vector<char> registered = std::vector<char>(2 * length);

    Memories() {
        CUdeviceptr pooled = 0, managed = 0;
        void *pinned = nullptr;
        std::size_t unit = 0;
        d.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
        d.cuMemAlloc(&plain, 2 * length);
        d.cuMemAllocAsync(&pooled, 2 * length, stream);
        d.cuMemAllocManaged(&managed, 2 * length, CU_MEM_ATTACH_GLOBAL);
        d.cuMemAllocHost(&pinned, 2 * length);
        d.cuMemHostRegister(registered.data(), 2 * length, 0);
        const CUdeviceptr mapped = two_mappings(unit);
        d.cuStreamSynchronize(stream);
        kinds = {{"allocated", plain, false},
                 {"pooled", pooled, false},
                 {"mapped", mapped, false},
                 {"of two mappings", mapped + unit - length / 2, false},
                 {"managed", managed, false},
                 {"pinned", address_of(pinned), true},
                 {"registered", address_of(registered.data()), true},
                 {"pageable", address_of(pageable.data()), true}};
    }
};

CUDA_MEMCPY2D rows(CUdeviceptr to, CUdeviceptr from) {
    CUDA_MEMCPY2D copy{};
    copy.srcMemoryType = copy.dstMemoryType = CU_MEMORYTYPE_UNIFIED;
    copy.srcDevice = from;
    copy.dstDevice = to;
    copy.srcPitch = copy.dstPitch = 64;
    copy.WidthInBytes = 64;
    copy.Height = 4;
    return copy;
}

CUDA_MEMCPY3D block(CUdeviceptr to, CUdeviceptr from) {
    CUDA_MEMCPY3D copy{};
    copy.srcMemoryType = copy.dstMemoryType = CU_MEMORYTYPE_UNIFIED;
    copy.srcDevice = from;
    copy.dstDevice = to;
    copy.srcPitch = copy.dstPitch = 64;
    copy.srcHeight = copy.dstHeight = 2;
    copy.WidthInBytes = 64;
    copy.Height = copy.Depth = 2;
    return copy;
}

// Copies between halves, so that memory is also copied to itself.
void ask_pair(const Memories &of, const Kind &to, const Kind &from) {
    const std::string pair = std::string(from.name) + " to " + to.name;
    const CUdeviceptr target = to.address + length;
    ask_here("cuMemcpyAsync, " + pair, d.cuMemcpyAsync(target, from.address, length, of.stream));
    const CUDA_MEMCPY2D copy_2d = rows(target, from.address);
    ask_here("cuMemcpy2DAsync, " + pair, d.cuMemcpy2DAsync(&copy_2d, of.stream));
    const CUDA_MEMCPY3D copy_3d = block(target, from.address);
    ask_here("cuMemcpy3DAsync, " + pair, d.cuMemcpy3DAsync(&copy_3d, of.stream));
    if (!to.on_host && !from.on_host) {
        ask_here("cuMemcpyDtoDAsync, " + pair,
                 d.cuMemcpyDtoDAsync(target, from.address, length, of.stream));
    }
}

void ask_one(Memories &of, const Kind &kind, CUcontext own) {
    const std::string name = kind.name;
    ask_here("cuMemcpyHtoDAsync to " + name,
             d.cuMemcpyHtoDAsync(kind.address, of.pageable.data(), length, of.stream));
    ask_here("cuMemcpyDtoHAsync from " + name,
             d.cuMemcpyDtoHAsync(of.pageable.data(), kind.address, length, of.stream));
    ask_here("cuMemsetD8Async of " + name, d.cuMemsetD8Async(kind.address, 1, length, of.stream));
    ask_here("cuMemsetD2D8Async of " + name,
             d.cuMemsetD2D8Async(kind.address, 64, 1, 64, 4, of.stream));
    ask_here("cuMemcpyPeerAsync from " + name,
             d.cuMemcpyPeerAsync(of.plain, own, kind.address, own, length, of.stream));
    // Without a current context, these return 201 for any memory.
    ask_here("cuMemcpy from " + name, d.cuMemcpy(of.plain, kind.address, length));
    ask_here("cuMemsetD8 of " + name, d.cuMemsetD8(kind.address, 2, length));
}

void ask_everything(Memories &of, CUcontext own) {
    for (const Kind &to : of.kinds) {
        for (const Kind &from : of.kinds) {
            if (!to.on_host || !from.on_host) {
                ask_pair(of, to, from);
            }
        }
        ask_one(of, to, own);
    }
    ask_here("cuStreamSynchronize", d.cuStreamSynchronize(of.stream));
}

} // namespace

void copies_elsewhere() {
    if (!start()) {
        return;
    }
    const CUcontext own = context();
    Memories memories;
    place = "none";
    d.cuCtxSetCurrent(nullptr);
    ask_everything(memories, own);
    place = "another of the device";
    CUcontext other = nullptr;
    ask_here("cuCtxCreate", d.cuCtxCreate_v2(&other, 0, 0));
    ask_everything(memories, own);
    place = "its own";
    d.cuCtxSetCurrent(own);
    ask_everything(memories, own);
}

namespace two_devices {

void copies_elsewhere() {
    apart("apart", [](const Sides &of) {
        Memories memories;
        place = "of the other device";
        of.one.enter();
        ask_everything(memories, of.zero.context);
    });
    apart("peers", [](const Sides &of) {
        of.enable();
        Memories memories;
        place = "of the other device, with access";
        of.one.enter();
        ask_everything(memories, of.zero.context);
    });
}

} // namespace two_devices

} // namespace record::QUESTIONS
