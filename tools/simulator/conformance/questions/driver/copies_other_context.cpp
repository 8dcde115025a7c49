// Copies and memsets enqueued in a stream of device 0's primary context while another context or no
// context is current. The supported kinds of memory differ, since some memory belongs to a context.
#include "../parameters.hpp"
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
    ask(place + ": " + what, status);
}

struct Kind {
    const char *name;
    CUdeviceptr address;
    bool on_host;
};

// Two adjacent mappings with access for device 0.
CUdeviceptr two_mappings(std::size_t &unit) {
    CUmemAllocationProp prop{.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                             .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE}};
    d.cuMemGetAllocationGranularity(&unit, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM);
    CUdeviceptr address = MAKE(cuMemAddressReserve, 2 * unit, 0, 0, 0);
    for (const std::size_t offset : {std::size_t{0}, unit}) {
        CUmemGenericAllocationHandle handle = MAKE(cuMemCreate, unit, &prop, 0);
        d.cuMemMap(address + offset, unit, 0, handle, 0);
    }
    CUmemAccessDesc access{.location = prop.location, .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
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
        std::size_t unit = 0;
        d.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
        d.cuMemAlloc(&plain, 2 * length);
        CUdeviceptr pooled = MAKE(cuMemAllocAsync, 2 * length, stream);
        CUdeviceptr managed = MAKE(cuMemAllocManaged, 2 * length, CU_MEM_ATTACH_GLOBAL);
        void *pinned = MAKE(cuMemAllocHost, 2 * length);
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

// The driver finds out where the memory is.
template <class Copy>
Copy unified(Copy copy) {
    copy.srcMemoryType = copy.dstMemoryType = CU_MEMORYTYPE_UNIFIED;
    return copy;
}

// Copies between halves, so that memory is also copied to itself.
void ask_pair(const Memories &of, const Kind &to, const Kind &from) {
    const std::string pair = std::string(from.name) + " to " + to.name;
    const CUdeviceptr target = to.address + length;
    ask_here("cuMemcpyAsync, " + pair, d.cuMemcpyAsync(target, from.address, length, of.stream));
    const auto copy_2d = unified(copy_of<CUDA_MEMCPY2D>(target, from.address, 64, 64, 4));
    ask_here("cuMemcpy2DAsync, " + pair, d.cuMemcpy2DAsync(&copy_2d, of.stream));
    const auto copy_3d = unified(copy_of<CUDA_MEMCPY3D>(target, from.address, 64, 64, 2, 2));
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

SECTION("copies_elsewhere", start) {
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

SECTION("copies_elsewhere") {
    apart("apart", [](const Sides &of) {
        Memories memories;
        title.clear(); // `place` is in each question
        place = "of the other device";
        of.one.enter();
        ask_everything(memories, of.zero.context);
    });
    apart("peers", [](const Sides &of) {
        of.enable();
        Memories memories;
        title.clear();
        place = "of the other device, with access";
        of.one.enter();
        ask_everything(memories, of.zero.context);
    });
}

} // namespace two_devices

} // namespace record::QUESTIONS
