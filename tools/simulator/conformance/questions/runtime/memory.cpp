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
    ask((what + ": cudaPointerGetAttributes").c_str(), r.cudaPointerGetAttributes(&found, p));
    note((what + ": type").c_str(), found.type);
    note((what + ": device").c_str(), found.device);
    note((what + ": device pointer is the same").c_str(), found.devicePointer == p);
    note((what + ": host pointer is the same").c_str(), found.hostPointer == p);
}

void pitched() {
    void *p = nullptr;
    std::size_t pitch = 77;
    ask("cudaMallocPitch(0 x 4)", r.cudaMallocPitch(&p, &pitch, 0, 4));
    ask("cudaMallocPitch(100 x 10)", r.cudaMallocPitch(&p, &pitch, 100, 10));
    note("pitch", static_cast<long long>(pitch));
    ask("cudaFree", r.cudaFree(p));
    ask("cudaMallocPitch(2^50 x 1)", r.cudaMallocPitch(&p, &pitch, too_much, 1));
    cudaPitchedPtr block{};
    ask("cudaMalloc3D(100 x 10 x 2)", r.cudaMalloc3D(&block, {100, 10, 2}));
    note("pitch", static_cast<long long>(block.pitch));
    note("xsize", static_cast<long long>(block.xsize));
    note("ysize", static_cast<long long>(block.ysize));
    ask("cudaFree", r.cudaFree(block.ptr));
    ask("cudaMalloc3D(0 x 10 x 2)", r.cudaMalloc3D(&block, {0, 10, 2}));
    ask("cudaMalloc3D(2^50 x 1 x 1)", r.cudaMalloc3D(&block, {too_much, 1, 1}));
}

} // namespace

void memory() {
    if (!begin()) {
        return;
    }
    void *p = nullptr, *m = nullptr;
    std::size_t free_bytes = 0, total = 0;
    ask("cudaMalloc(null, 16)", r.cudaMalloc(nullptr, 16));
    ask("cudaMalloc of 0", r.cudaMalloc(&p, 0));
    note("its pointer is null", p == nullptr);
    ask("cudaMalloc of 2^50", r.cudaMalloc(&p, too_much));
    ask("cudaMalloc", r.cudaMalloc(&p, 4096));
    ask("cudaMemGetInfo", r.cudaMemGetInfo(&free_bytes, &total));
    note("less is free than there is", free_bytes < total);
    ask("cudaFree interior", r.cudaFree(offset(p, 16)));
    ask("cudaFree of garbage", r.cudaFree(garbage));
    ask("cudaFree(null)", r.cudaFree(nullptr));
    ask("cudaFreeHost of device memory", r.cudaFreeHost(p));
    pointer("device", p);
    pointer("device interior", offset(p, 8));
    int local = 0;
    pointer("pageable", &local);
    pointer("null", nullptr);
    ask("cudaFree", r.cudaFree(p));
    ask("cudaFree again", r.cudaFree(p));
    pitched();
    ask("cudaMallocManaged(flags 0)", r.cudaMallocManaged(&m, 4096, 0));
    ask("cudaMallocManaged of 0", r.cudaMallocManaged(&m, 0, cudaMemAttachGlobal));
    ask("cudaMallocManaged", r.cudaMallocManaged(&m, 4096, cudaMemAttachGlobal));
    pointer("managed", m);
    ask("cudaFreeHost of managed memory", r.cudaFreeHost(m));
    ask("cudaFree of managed memory", r.cudaFree(m));
}

namespace {

void registrations() {
    constexpr std::size_t page = 4096;
    auto *pages = static_cast<char *>(std::aligned_alloc(page, 16 * page));
    std::memset(pages, 0, 16 * page);
    void *p = nullptr;
    unsigned int flags = 77;
    ask("cudaHostRegister(null)", r.cudaHostRegister(nullptr, page, 0));
    ask("cudaHostRegister of 0", r.cudaHostRegister(pages, 0, 0));
    ask("cudaHostRegister(flags 0x80)", r.cudaHostRegister(pages, page, 0x80));
    ask("cudaHostRegister of pages 2 to 5", r.cudaHostRegister(pages + 2 * page, 4 * page, 0));
    ask("cudaHostGetFlags", r.cudaHostGetFlags(&flags, pages + 2 * page));
    note("flags", flags);
    ask("cudaHostGetDevicePointer", r.cudaHostGetDevicePointer(&p, pages + 2 * page, 0));
    note("the same address", p == pages + 2 * page);
    pointer("registered", pages + 2 * page);
    ask("cudaHostRegister of the same", r.cudaHostRegister(pages + 2 * page, 4 * page, 0));
    ask("cudaHostRegister of a part", r.cudaHostRegister(pages + 3 * page, page, 0));
    ask("cudaHostRegister across its begin", r.cudaHostRegister(pages + page, 2 * page, 0));
    ask("cudaHostRegister across its end", r.cudaHostRegister(pages + 5 * page, 2 * page, 0));
    ask("cudaHostRegister around it", r.cudaHostRegister(pages, 16 * page, 0));
    ask("cudaHostRegister right after it", r.cudaHostRegister(pages + 6 * page, page, 0));
    ask("cudaHostUnregister interior", r.cudaHostUnregister(pages + 3 * page));
    ask("cudaFreeHost of registered memory", r.cudaFreeHost(pages + 2 * page));
    ask("cudaHostUnregister", r.cudaHostUnregister(pages + 2 * page));
    ask("cudaHostUnregister again", r.cudaHostUnregister(pages + 2 * page));
    ask("cudaHostUnregister of the one after it", r.cudaHostUnregister(pages + 6 * page));
    ask("cudaHostGetFlags then", r.cudaHostGetFlags(&flags, pages + 2 * page));
    ask("cudaHostRegister(portable, mapped)",
        r.cudaHostRegister(pages, page, cudaHostRegisterPortable | cudaHostRegisterMapped));
    r.cudaHostGetFlags(&flags, pages);
    note("flags", flags);
    ask("cudaHostUnregister", r.cudaHostUnregister(pages));
    std::free(pages);
}

} // namespace

void host_memory() {
    if (!begin()) {
        return;
    }
    void *h = nullptr, *p = nullptr, *memory = nullptr;
    unsigned int flags = 77;
    ask("cudaMallocHost of 0", r.cudaMallocHost(&h, 0));
    note("its pointer is null", h == nullptr);
    ask("cudaMallocHost of 2^50", r.cudaMallocHost(&h, too_much));
    ask("cudaMallocHost", r.cudaMallocHost(&h, 4096));
    ask("cudaHostGetFlags", r.cudaHostGetFlags(&flags, h));
    note("flags", flags);
    pointer("pinned", h);
    ask("cudaHostUnregister of allocated memory", r.cudaHostUnregister(h));
    ask("cudaFree of pinned memory", r.cudaFree(h));
    ask("cudaFreeHost interior", r.cudaFreeHost(offset(h, 16)));
    ask("cudaFreeHost", r.cudaFreeHost(h));
    ask("cudaFreeHost again", r.cudaFreeHost(h));
    ask("cudaFreeHost(null)", r.cudaFreeHost(nullptr));
    ask("cudaHostAlloc(flags 0x100)", r.cudaHostAlloc(&h, 16, 0x100));
    ask("cudaHostAlloc(write-combined, portable)",
        r.cudaHostAlloc(&h, 100, cudaHostAllocWriteCombined | cudaHostAllocPortable));
    r.cudaHostGetFlags(&flags, h);
    note("flags", flags);
    ask("cudaHostGetFlags interior", r.cudaHostGetFlags(&flags, offset(h, 8)));
    ask("cudaHostGetDevicePointer(flags 1)", r.cudaHostGetDevicePointer(&p, h, 1));
    ask("cudaHostGetDevicePointer", r.cudaHostGetDevicePointer(&p, h, 0));
    note("the same address", p == h);
    r.cudaMalloc(&memory, 4096);
    ask("cudaHostGetFlags of device memory", r.cudaHostGetFlags(&flags, memory));
    ask("cudaHostGetDevicePointer of device memory", r.cudaHostGetDevicePointer(&p, memory, 0));
    ask("cudaHostRegister of device memory", r.cudaHostRegister(memory, 4096, 0));
    ask("cudaHostRegister of pinned memory", r.cudaHostRegister(h, 16, 0));
    r.cudaFree(memory);
    ask("cudaFreeHost", r.cudaFreeHost(h));
    registrations();
}

void managed() {
    if (!begin()) {
        return;
    }
    constexpr std::size_t size = 1 << 20;
    void *m = nullptr, *p = nullptr;
    cudaStream_t s = nullptr;
    r.cudaMallocManaged(&m, size, cudaMemAttachGlobal);
    r.cudaMalloc(&p, 4096);
    r.cudaStreamCreate(&s);
    std::memset(m, 1, size);
    ask("cudaStreamAttachMemAsync(single)",
        r.cudaStreamAttachMemAsync(s, m, 0, cudaMemAttachSingle));
    ask("cudaStreamAttachMemAsync(global)",
        r.cudaStreamAttachMemAsync(s, m, 0, cudaMemAttachGlobal));
    ask("cudaStreamAttachMemAsync of device memory",
        r.cudaStreamAttachMemAsync(s, p, 0, cudaMemAttachGlobal));
    ask("cudaStreamAttachMemAsync of 16 bytes",
        r.cudaStreamAttachMemAsync(s, m, 16, cudaMemAttachGlobal));
    ask("cudaStreamSynchronize", r.cudaStreamSynchronize(s));
#if CUDART_VERSION >= 13000
    cudaMemLocation device{}, host{}, nowhere{};
    device.type = cudaMemLocationTypeDevice;
    host.type = cudaMemLocationTypeHost;
    nowhere.type = cudaMemLocationTypeDevice;
    nowhere.id = 1000;
    ask("cudaMemPrefetchAsync to the device", r.cudaMemPrefetchAsync(m, size, device, 0, s));
    ask("cudaMemPrefetchAsync to device 1000", r.cudaMemPrefetchAsync(m, size, nowhere, 0, s));
    ask("cudaMemPrefetchAsync(flags 1)", r.cudaMemPrefetchAsync(m, size, device, 1, s));
    ask("cudaMemPrefetchAsync of device memory", r.cudaMemPrefetchAsync(p, 4096, device, 0, s));
    ask("cudaMemPrefetchAsync to the host, null stream",
        r.cudaMemPrefetchAsync(m, size, host, 0, nullptr));
    ask("cudaMemAdvise(preferred device)",
        r.cudaMemAdvise(m, size, cudaMemAdviseSetPreferredLocation, device));
    ask("cudaMemAdvise(read mostly)", r.cudaMemAdvise(m, size, cudaMemAdviseSetReadMostly, device));
    ask("cudaMemAdvise(99)", r.cudaMemAdvise(m, size, static_cast<cudaMemoryAdvise>(99), device));
    ask("cudaMemAdvise(preferred device 1000)",
        r.cudaMemAdvise(m, size, cudaMemAdviseSetPreferredLocation, nowhere));
    std::size_t first = 0;
    ask("cudaMemPrefetchBatchAsync",
        r.cudaMemPrefetchBatchAsync(&m, const_cast<std::size_t *>(&size), 1, &device, &first, 1, 0,
                                    s));
    ask("cudaMemPrefetchBatchAsync(flags 1)",
        r.cudaMemPrefetchBatchAsync(&m, const_cast<std::size_t *>(&size), 1, &device, &first, 1, 1,
                                    s));
    ask("cudaMemDiscardBatchAsync",
        r.cudaMemDiscardBatchAsync(&m, const_cast<std::size_t *>(&size), 1, 0, s));
    ask("cudaMemDiscardBatchAsync(flags 1)",
        r.cudaMemDiscardBatchAsync(&m, const_cast<std::size_t *>(&size), 1, 1, s));
    ask("cudaMemDiscardAndPrefetchBatchAsync",
        r.cudaMemDiscardAndPrefetchBatchAsync(&m, const_cast<std::size_t *>(&size), 1, &device,
                                              &first, 1, 0, s));
    ask("cudaMemDiscardAndPrefetchBatchAsync(flags 1)",
        r.cudaMemDiscardAndPrefetchBatchAsync(&m, const_cast<std::size_t *>(&size), 1, &device,
                                              &first, 1, 1, s));
#else
    ask("cudaMemPrefetchAsync to the device", r.cudaMemPrefetchAsync(m, size, 0, s));
    ask("cudaMemPrefetchAsync to device 1000", r.cudaMemPrefetchAsync(m, size, 1000, s));
    ask("cudaMemAdvise(preferred device)",
        r.cudaMemAdvise(m, size, cudaMemAdviseSetPreferredLocation, 0));
    ask("cudaMemAdvise(99)", r.cudaMemAdvise(m, size, static_cast<cudaMemoryAdvise>(99), 0));
#endif
    ask("cudaStreamSynchronize", r.cudaStreamSynchronize(s));
    int value = 77, other = 77;
    ask("cudaMemRangeGetAttribute(read mostly)",
        r.cudaMemRangeGetAttribute(&value, sizeof value, cudaMemRangeAttributeReadMostly, m, size));
    note("read mostly", value);
    ask("cudaMemRangeGetAttribute(size 3)",
        r.cudaMemRangeGetAttribute(&value, 3, cudaMemRangeAttributeReadMostly, m, size));
    ask("cudaMemRangeGetAttribute(99)",
        r.cudaMemRangeGetAttribute(&value, sizeof value, static_cast<cudaMemRangeAttribute>(99), m,
                                   size));
    void *data[2] = {&value, &other};
    std::size_t sizes[2] = {sizeof value, sizeof other};
    cudaMemRangeAttribute attributes[2] = {cudaMemRangeAttributeReadMostly,
                                           cudaMemRangeAttributePreferredLocation};
    ask("cudaMemRangeGetAttributes",
        r.cudaMemRangeGetAttributes(data, sizes, attributes, 2, m, size));
    note("preferred location", other);
    sizes[1] = 3;
    ask("cudaMemRangeGetAttributes(size 3)",
        r.cudaMemRangeGetAttributes(data, sizes, attributes, 2, m, size));
    ask("cudaFree of managed memory", r.cudaFree(m));
    r.cudaFree(p);
    ask("cudaStreamDestroy", r.cudaStreamDestroy(s));
}

} // namespace record::QUESTIONS::runtime
