// Runtime device, managed and host memory, and pointer attributes.
#include "../../runtime_questions.hpp"

#include <cstdlib>
#include <cstring>

namespace record::QUESTIONS::runtime {
namespace {

const auto garbage = reinterpret_cast<void *>(std::uintptr_t(0x1234560));
constexpr std::size_t too_much = std::size_t(1) << 50;

char *offset(void *p, std::size_t bytes) {
    return static_cast<char *>(p) + bytes;
}

void pointer(const char *name, void *p) {
    cudaPointerAttributes found{};
    const std::string what = name;
    ask(what + ": cudaPointerGetAttributes", r.cudaPointerGetAttributes(&found, p));
    note(what + ": type", found.type);
    note(what + ": device", found.device);
    note(what + ": device pointer is the same", found.devicePointer == p);
    note(what + ": host pointer is the same", found.hostPointer == p);
}

void pitched() {
    void *p = nullptr;
    std::size_t pitch = 77;
    ASK(cudaMallocPitch, "(0 x 4)", &p, &pitch, 0, 4);
    ASK(cudaMallocPitch, "(100 x 10)", &p, &pitch, 100, 10).note("pitch", pitch);
    ASK(cudaFree, "", p);
    ASK(cudaMallocPitch, "(2^50 x 1)", &p, &pitch, too_much, 1);
    cudaPitchedPtr block{};
    ASK(cudaMalloc3D, "(100 x 10 x 2)", &block, {100, 10, 2});
    note("pitch", block.pitch);
    note("xsize", block.xsize);
    note("ysize", block.ysize);
    ASK(cudaFree, "", block.ptr);
    ASK(cudaMalloc3D, "(0 x 10 x 2)", &block, {0, 10, 2});
    ASK(cudaMalloc3D, "(2^50 x 1 x 1)", &block, {too_much, 1, 1});
}

} // namespace

SECTION_ONCE("memory", begin) {
    void *p = nullptr, *m = nullptr;
    std::size_t free_bytes = 0, total = 0;
    ASK(cudaMalloc, "(null, 16)", nullptr, 16);
    ASK(cudaMalloc, " of 0", &p, 0).note("its pointer is null", p == nullptr);
    ASK(cudaMalloc, " of 2^50", &p, too_much);
    ASK(cudaMalloc, "", &p, 4096);
    ASK(cudaMemGetInfo, "", &free_bytes, &total);
    note("less is free than there is", free_bytes < total);
    ASK(cudaFree, " interior", offset(p, 16));
    ASK(cudaFree, " of garbage", garbage);
    ASK(cudaFree, "(null)", nullptr);
    ASK(cudaFreeHost, " of device memory", p);
    pointer("device", p);
    pointer("device interior", offset(p, 8));
    int local = 0;
    pointer("pageable", &local);
    pointer("null", nullptr);
    ASK(cudaFree, "", p);
    ASK(cudaFree, " again", p);
    pitched();
    ASK(cudaMallocManaged, "(flags 0)", &m, 4096, 0);
    ASK(cudaMallocManaged, " of 0", &m, 0, cudaMemAttachGlobal);
    ASK(cudaMallocManaged, "", &m, 4096, cudaMemAttachGlobal);
    pointer("managed", m);
    ASK(cudaFreeHost, " of managed memory", m);
    ASK(cudaFree, " of managed memory", m);
}

namespace {

void registrations() {
    constexpr std::size_t page = 4096;
    auto *pages = static_cast<char *>(std::aligned_alloc(page, 16 * page));
    std::memset(pages, 0, 16 * page);
    void *p = nullptr;
    unsigned int flags = 77;
    ASK(cudaHostRegister, "(null)", nullptr, page, 0);
    ASK(cudaHostRegister, " of 0", pages, 0, 0);
    ASK(cudaHostRegister, "(flags 0x80)", pages, page, 0x80);
    ASK(cudaHostRegister, " of pages 2 to 5", pages + 2 * page, 4 * page, 0);
    ASK(cudaHostGetFlags, "", &flags, pages + 2 * page).note("flags", flags);
    ASK(cudaHostGetDevicePointer, "", &p, pages + 2 * page, 0);
    note("the same address", p == pages + 2 * page);
    pointer("registered", pages + 2 * page);
    ASK(cudaHostRegister, " of the same", pages + 2 * page, 4 * page, 0);
    ASK(cudaHostRegister, " of a part", pages + 3 * page, page, 0);
    ASK(cudaHostRegister, " across its begin", pages + page, 2 * page, 0);
    ASK(cudaHostRegister, " across its end", pages + 5 * page, 2 * page, 0);
    ASK(cudaHostRegister, " around it", pages, 16 * page, 0);
    ASK(cudaHostRegister, " right after it", pages + 6 * page, page, 0);
    ASK(cudaHostUnregister, " interior", pages + 3 * page);
    ASK(cudaFreeHost, " of registered memory", pages + 2 * page);
    ASK(cudaHostUnregister, "", pages + 2 * page);
    ASK(cudaHostUnregister, " again", pages + 2 * page);
    ASK(cudaHostUnregister, " of the one after it", pages + 6 * page);
    ASK(cudaHostGetFlags, " then", &flags, pages + 2 * page);
    ASK(cudaHostRegister, "(portable, mapped)", pages, page,
        cudaHostRegisterPortable | cudaHostRegisterMapped);
    r.cudaHostGetFlags(&flags, pages);
    note("flags", flags);
    ASK(cudaHostUnregister, "", pages);
    std::free(pages);
}

} // namespace

SECTION_ONCE("host_memory", begin) {
    void *h = nullptr, *p = nullptr;
    unsigned int flags = 77;
    ASK(cudaMallocHost, " of 0", &h, 0).note("its pointer is null", h == nullptr);
    ASK(cudaMallocHost, " of 2^50", &h, too_much);
    ASK(cudaMallocHost, "", &h, 4096);
    ASK(cudaHostGetFlags, "", &flags, h).note("flags", flags);
    pointer("pinned", h);
    ASK(cudaHostUnregister, " of allocated memory", h);
    ASK(cudaFree, " of pinned memory", h);
    ASK(cudaFreeHost, " interior", offset(h, 16));
    ASK(cudaFreeHost, "", h);
    ASK(cudaFreeHost, " again", h);
    ASK(cudaFreeHost, "(null)", nullptr);
    ASK(cudaHostAlloc, "(flags 0x100)", &h, 16, 0x100);
    ASK(cudaHostAlloc, "(write-combined, portable)", &h, 100,
        cudaHostAllocWriteCombined | cudaHostAllocPortable);
    r.cudaHostGetFlags(&flags, h);
    note("flags", flags);
    ASK(cudaHostGetFlags, " interior", &flags, offset(h, 8));
    ASK(cudaHostGetDevicePointer, "(flags 1)", &p, h, 1);
    ASK(cudaHostGetDevicePointer, "", &p, h, 0).note("the same address", p == h);
    void *memory = MAKE(cudaMalloc, 4096);
    ASK(cudaHostGetFlags, " of device memory", &flags, memory);
    ASK(cudaHostGetDevicePointer, " of device memory", &p, memory, 0);
    ASK(cudaHostRegister, " of device memory", memory, 4096, 0);
    ASK(cudaHostRegister, " of pinned memory", h, 16, 0);
    r.cudaFree(memory);
    ASK(cudaFreeHost, "", h);
    registrations();
}

SECTION("managed", begin) {
    constexpr std::size_t size = 1 << 20;
    void *m = MAKE(cudaMallocManaged, size, cudaMemAttachGlobal);
    void *p = MAKE(cudaMalloc, 4096);
    cudaStream_t s = MAKE(cudaStreamCreate);
    std::memset(m, 1, size);
    ASK(cudaStreamAttachMemAsync, "(single)", s, m, 0, cudaMemAttachSingle);
    ASK(cudaStreamAttachMemAsync, "(global)", s, m, 0, cudaMemAttachGlobal);
    ASK(cudaStreamAttachMemAsync, " of device memory", s, p, 0, cudaMemAttachGlobal);
    ASK(cudaStreamAttachMemAsync, " of 16 bytes", s, m, 16, cudaMemAttachGlobal);
    ASK(cudaStreamSynchronize, "", s);
#if CUDART_VERSION >= 13000
    cudaMemLocation device{}, host{}, nowhere{};
    device.type = cudaMemLocationTypeDevice;
    host.type = cudaMemLocationTypeHost;
    nowhere.type = cudaMemLocationTypeDevice;
    nowhere.id = 1000;
    ASK(cudaMemPrefetchAsync, " to the device", m, size, device, 0, s);
    ASK(cudaMemPrefetchAsync, " to device 1000", m, size, nowhere, 0, s);
    ASK(cudaMemPrefetchAsync, "(flags 1)", m, size, device, 1, s);
    ASK(cudaMemPrefetchAsync, " of device memory", p, 4096, device, 0, s);
    ASK(cudaMemPrefetchAsync, " to the host, null stream", m, size, host, 0, nullptr);
    ASK(cudaMemAdvise, "(preferred device)", m, size, cudaMemAdviseSetPreferredLocation, device);
    ASK(cudaMemAdvise, "(read mostly)", m, size, cudaMemAdviseSetReadMostly, device);
    ASK(cudaMemAdvise, "(99)", m, size, static_cast<cudaMemoryAdvise>(99), device);
    ASK(cudaMemAdvise, "(preferred device 1000)", m, size, cudaMemAdviseSetPreferredLocation,
        nowhere);
    std::size_t first = 0;
    ASK(cudaMemPrefetchBatchAsync, "", &m, const_cast<std::size_t *>(&size), 1, &device, &first, 1,
        0, s);
    ASK(cudaMemPrefetchBatchAsync, "(flags 1)", &m, const_cast<std::size_t *>(&size), 1, &device,
        &first, 1, 1, s);
    ASK(cudaMemDiscardBatchAsync, "", &m, const_cast<std::size_t *>(&size), 1, 0, s);
    ASK(cudaMemDiscardBatchAsync, "(flags 1)", &m, const_cast<std::size_t *>(&size), 1, 1, s);
    ASK(cudaMemDiscardAndPrefetchBatchAsync, "", &m, const_cast<std::size_t *>(&size), 1, &device,
        &first, 1, 0, s);
    ASK(cudaMemDiscardAndPrefetchBatchAsync, "(flags 1)", &m, const_cast<std::size_t *>(&size), 1,
        &device, &first, 1, 1, s);
#else
    ASK(cudaMemPrefetchAsync, " to the device", m, size, 0, s);
    ASK(cudaMemPrefetchAsync, " to device 1000", m, size, 1000, s);
    ASK(cudaMemAdvise, "(preferred device)", m, size, cudaMemAdviseSetPreferredLocation, 0);
    ASK(cudaMemAdvise, "(99)", m, size, static_cast<cudaMemoryAdvise>(99), 0);
#endif
    ASK(cudaStreamSynchronize, "", s);
    int value = 77, other = 77;
    ASK(cudaMemRangeGetAttribute, "(read mostly)", &value, sizeof value,
        cudaMemRangeAttributeReadMostly, m, size)
        .note("read mostly", value);
    ASK(cudaMemRangeGetAttribute, "(size 3)", &value, 3, cudaMemRangeAttributeReadMostly, m, size);
    ASK(cudaMemRangeGetAttribute, "(99)", &value, sizeof value,
        static_cast<cudaMemRangeAttribute>(99), m, size);
    void *data[2] = {&value, &other};
    std::size_t sizes[2] = {sizeof value, sizeof other};
    cudaMemRangeAttribute attributes[2] = {cudaMemRangeAttributeReadMostly,
                                           cudaMemRangeAttributePreferredLocation};
    ASK(cudaMemRangeGetAttributes, "", data, sizes, attributes, 2, m, size);
    note("preferred location", other);
    sizes[1] = 3;
    ASK(cudaMemRangeGetAttributes, "(size 3)", data, sizes, attributes, 2, m, size);
    ASK(cudaFree, " of managed memory", m);
    r.cudaFree(p);
    ASK(cudaStreamDestroy, "", s);
}

} // namespace record::QUESTIONS::runtime
