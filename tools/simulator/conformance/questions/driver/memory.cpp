// Device memory, host memory, copies.
#include "../../record.hpp"

#include <cstdlib>
#include <cstring>
#include <vector>

namespace record::QUESTIONS {

namespace {

long long attribute_of(CUdeviceptr p, CUpointer_attribute which, CUresult &status) {
    unsigned long long value = 0;
    status = d.cuPointerGetAttribute(&value, which, p);
    return static_cast<long long>(value);
}

void pointer_attributes(const char *what, CUdeviceptr p, CUdeviceptr base) {
    const struct {
        const char *name;
        CUpointer_attribute which;
        unsigned int size;
        bool address;
    } all[] = {
        {"MEMORY_TYPE", CU_POINTER_ATTRIBUTE_MEMORY_TYPE, 4, false},
        {"DEVICE_POINTER", CU_POINTER_ATTRIBUTE_DEVICE_POINTER, 8, true},
        {"HOST_POINTER", CU_POINTER_ATTRIBUTE_HOST_POINTER, 8, true},
        {"IS_MANAGED", CU_POINTER_ATTRIBUTE_IS_MANAGED, 4, false},
        {"DEVICE_ORDINAL", CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, 4, false},
        {"IS_LEGACY_CUDA_IPC_CAPABLE", CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE, 1, false},
        {"RANGE_START_ADDR", CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, 8, true},
        {"RANGE_SIZE", CU_POINTER_ATTRIBUTE_RANGE_SIZE, 8, false},
        {"MAPPED", CU_POINTER_ATTRIBUTE_MAPPED, 1, false},
        {"ALLOWED_HANDLE_TYPES", CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES, 4, false},
        {"ACCESS_FLAGS", CU_POINTER_ATTRIBUTE_ACCESS_FLAGS, 4, false},
        {"SYNC_MEMOPS", CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, 1, false},
    };
    for (const auto &each : all) {
        unsigned long long value = 0;
        const CUresult status = d.cuPointerGetAttribute(&value, each.which, p);
        const std::string name = std::string(what) + ": " + each.name;
        ask(name.c_str(), status);
        if (status == CUDA_SUCCESS && each.address) {
            note(name.c_str(), value == 0      ? "0"
                               : value == base ? "the base"
                               : value == p    ? "the address"
                                               : "another");
        } else if (status == CUDA_SUCCESS) {
            note(name.c_str(), static_cast<long long>(value));
        }
    }
}

} // namespace

void memory() {
    if (!start()) {
        return;
    }
    CUdeviceptr p = 0, q = 0, base = 0;
    std::size_t size = 0, free_bytes = 0, total = 0, pitch = 0;
    ask("cuMemAlloc(null)", d.cuMemAlloc(nullptr, 16));
    ask("cuMemAlloc 0", d.cuMemAlloc(&p, 0));
    ask("cuMemAlloc 1 PiB", d.cuMemAlloc(&p, std::size_t(1) << 50));
    ask("cuMemAlloc SIZE_MAX", d.cuMemAlloc(&p, ~std::size_t(0)));
    ask("cuMemAlloc 1", d.cuMemAlloc(&p, 1));
    note("address modulo 512", static_cast<long long>(p % 512));
    ask("cuMemAlloc 1000", d.cuMemAlloc(&q, 1000));
    ask("cuMemGetAddressRange of 1000, interior", d.cuMemGetAddressRange(&base, &size, q + 10));
    note("base is the address", base == q);
    note("size", static_cast<long long>(size));
    ask("cuMemGetAddressRange(null, null)", d.cuMemGetAddressRange(nullptr, nullptr, q));
    ask("cuMemGetAddressRange past the end", d.cuMemGetAddressRange(&base, &size, q + (1 << 30)));
    ask("cuMemGetAddressRange(0)", d.cuMemGetAddressRange(&base, &size, 0));
    ask("cuMemGetInfo", d.cuMemGetInfo(&free_bytes, &total));
    ask("cuMemGetInfo(null, null)", d.cuMemGetInfo(nullptr, nullptr));
    ask("cuMemFree(0)", d.cuMemFree(0));
    ask("cuMemFree interior", d.cuMemFree(q + 8));
    ask("cuMemFree garbage", d.cuMemFree(0x1234560));
    pointer_attributes("device", q, q);
    pointer_attributes("device interior", q + 8, q);
    CUDA_POINTER_ATTRIBUTE_P2P_TOKENS tokens{};
    ask("P2P_TOKENS", d.cuPointerGetAttribute(&tokens, CU_POINTER_ATTRIBUTE_P2P_TOKENS, q));
    unsigned int synchronous = 0;
    d.cuPointerGetAttribute(&synchronous, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, q);
    note("SYNC_MEMOPS after it", synchronous);
    ask("cuMemFree", d.cuMemFree(q));
    ask("cuMemFree again", d.cuMemFree(q));
    ask("cuMemAllocPitch(element 3)", d.cuMemAllocPitch(&q, &pitch, 100, 10, 3));
    ask("cuMemAllocPitch(width 0)", d.cuMemAllocPitch(&q, &pitch, 0, 10, 4));
    ask("cuMemAllocPitch(height 0)", d.cuMemAllocPitch(&q, &pitch, 100, 0, 4));
    ask("cuMemAllocPitch(100 x 10)", d.cuMemAllocPitch(&q, &pitch, 100, 10, 4));
    note("pitch", static_cast<long long>(pitch));
    d.cuMemGetAddressRange(&base, &size, q);
    note("size of 100 x 10", static_cast<long long>(size));
    ask("cuMemFree", d.cuMemFree(q));
    CUresult status{};
    note("unknown attribute 5000", attribute_of(p, static_cast<CUpointer_attribute>(5000), status));
    ask("cuPointerGetAttribute(unknown)", status);
    int local = 0;
    pointer_attributes("pageable", reinterpret_cast<CUdeviceptr>(&local),
                       reinterpret_cast<CUdeviceptr>(&local));
    pointer_attributes("null", 0, 0);
    ask("cuPointerGetAttribute(null)",
        d.cuPointerGetAttribute(nullptr, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, p));
    CUpointer_attribute which[2] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                    CU_POINTER_ATTRIBUTE_DEVICE_POINTER};
    unsigned int type = 77;
    CUdeviceptr device = 77;
    void *outputs[2] = {&type, &device};
    ask("cuPointerGetAttributes of pageable",
        d.cuPointerGetAttributes(2, which, outputs, reinterpret_cast<CUdeviceptr>(&local)));
    note("type", type);
    note("device pointer", static_cast<long long>(device));
    ask("cuPointerGetAttributes(0)", d.cuPointerGetAttributes(0, which, outputs, p));
    int on = 1;
    ask("cuPointerSetAttribute(SYNC_MEMOPS)",
        d.cuPointerSetAttribute(&on, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, p));
    ask("cuPointerSetAttribute(MEMORY_TYPE)",
        d.cuPointerSetAttribute(&on, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, p));
    CUdeviceptr managed = 0;
    ask("cuMemAllocManaged(flags 0)", d.cuMemAllocManaged(&managed, 4096, 0));
    ask("cuMemAllocManaged 0", d.cuMemAllocManaged(&managed, 0, CU_MEM_ATTACH_GLOBAL));
    ask("cuMemAllocManaged", d.cuMemAllocManaged(&managed, 4096, CU_MEM_ATTACH_GLOBAL));
    pointer_attributes("managed", managed, managed);
    ask("cuMemFree managed", d.cuMemFree(managed));
    d.cuMemFree(p);
}

void host_memory() {
    if (!start()) {
        return;
    }
    void *h = nullptr, *zero = reinterpret_cast<void *>(1);
    unsigned int flags = 99;
    CUdeviceptr p = 0;
    ask("cuMemHostAlloc(null)", d.cuMemHostAlloc(nullptr, 16, 0));
    ask("cuMemHostAlloc 0", d.cuMemHostAlloc(&zero, 0, 0));
    note("pointer of 0 bytes is null", zero == nullptr);
    ask("cuMemFreeHost of it", d.cuMemFreeHost(zero));
    ask("cuMemHostAlloc(flags 0x80)", d.cuMemHostAlloc(&h, 4096, 0x80));
    ask("cuMemHostAlloc", d.cuMemHostAlloc(&h, 4096, 0));
    ask("cuMemHostGetFlags", d.cuMemHostGetFlags(&flags, h));
    note("flags", flags);
    ask("cuMemHostGetFlags interior", d.cuMemHostGetFlags(&flags, static_cast<char *>(h) + 8));
    ask("cuMemHostGetDevicePointer", d.cuMemHostGetDevicePointer(&p, h, 0));
    note("same address", p == reinterpret_cast<CUdeviceptr>(h));
    ask("cuMemHostGetDevicePointer(flags 1)", d.cuMemHostGetDevicePointer(&p, h, 1));
    ask("cuMemHostGetDevicePointer interior",
        d.cuMemHostGetDevicePointer(&p, static_cast<char *>(h) + 8, 0));
    ask("cuMemHostGetDevicePointer past the end",
        d.cuMemHostGetDevicePointer(&p, static_cast<char *>(h) + (1 << 28), 0));
    pointer_attributes("pinned", reinterpret_cast<CUdeviceptr>(h),
                       reinterpret_cast<CUdeviceptr>(h));
    ask("cuMemHostUnregister of alloc", d.cuMemHostUnregister(h));
    ask("cuMemFreeHost interior", d.cuMemFreeHost(static_cast<char *>(h) + 8));
    ask("cuMemFree of pinned", d.cuMemFree(reinterpret_cast<CUdeviceptr>(h)));
    ask("cuMemFreeHost", d.cuMemFreeHost(h));
    ask("cuMemFreeHost again", d.cuMemFreeHost(h));
    ask("cuMemFreeHost(null)", d.cuMemFreeHost(nullptr));
    ask("cuMemHostAlloc(write-combined, portable)",
        d.cuMemHostAlloc(&h, 100, CU_MEMHOSTALLOC_WRITECOMBINED | CU_MEMHOSTALLOC_PORTABLE));
    d.cuMemHostGetFlags(&flags, h);
    note("flags", flags);
    d.cuMemFreeHost(h);
    ask("cuMemAllocHost", d.cuMemAllocHost(&h, 100));
    d.cuMemHostGetFlags(&flags, h);
    note("flags", flags);
    ask("cuMemFreeHost", d.cuMemFreeHost(h));
    ask("cuMemAllocHost 0", d.cuMemAllocHost(&h, 0));

    char *pages = static_cast<char *>(std::aligned_alloc(4096, 16 * 4096));
    std::memset(pages, 0, 16 * 4096);
    ask("cuMemHostRegister(null)", d.cuMemHostRegister(nullptr, 4096, 0));
    ask("cuMemHostRegister size 0", d.cuMemHostRegister(pages, 0, 0));
    ask("cuMemHostRegister(flags 0x80)", d.cuMemHostRegister(pages, 4096, 0x80));
    ask("cuMemHostRegister unaligned", d.cuMemHostRegister(pages + 100, 200, 0));
    d.cuMemHostGetFlags(&flags, pages + 100);
    note("flags", flags);
    ask("cuMemHostRegister overlapping", d.cuMemHostRegister(pages + 200, 400, 0));
    ask("cuMemHostRegister the same", d.cuMemHostRegister(pages + 100, 200, 0));
    ask("cuMemHostRegister around it", d.cuMemHostRegister(pages, 4096, 0));
    ask("cuMemHostRegister disjoint in the page", d.cuMemHostRegister(pages + 1000, 200, 0));
    ask("cuMemHostGetDevicePointer of registered", d.cuMemHostGetDevicePointer(&p, pages + 100, 0));
    note("same address", p == reinterpret_cast<CUdeviceptr>(pages + 100));
    pointer_attributes("registered", reinterpret_cast<CUdeviceptr>(pages + 100),
                       reinterpret_cast<CUdeviceptr>(pages + 100));
    ask("cuMemFreeHost of registered", d.cuMemFreeHost(pages + 100));
    ask("cuMemHostUnregister interior", d.cuMemHostUnregister(pages + 150));
    ask("cuMemHostUnregister", d.cuMemHostUnregister(pages + 100));
    ask("cuMemHostUnregister again", d.cuMemHostUnregister(pages + 100));
    ask("cuMemHostUnregister(null)", d.cuMemHostUnregister(nullptr));
    d.cuMemHostUnregister(pages + 1000);
    ask("cuMemHostRegister read-only", d.cuMemHostRegister(pages, 4096, 0x08));
    d.cuMemHostUnregister(pages);
    ask("cuMemHostRegister of unmapped memory",
        d.cuMemHostRegister(reinterpret_cast<void *>(0x10000), 4096, 0));
    ask("cuMemHostAlloc for registering", d.cuMemHostAlloc(&h, 8192, 0));
    ask("cuMemHostRegister of pinned memory", d.cuMemHostRegister(h, 4096, 0));
    d.cuMemFreeHost(h);
    std::free(pages);
}

void copies() {
    if (!start()) {
        return;
    }
    CUdeviceptr p = 0, q = 0;
    d.cuMemAlloc(&p, 4096);
    d.cuMemAlloc(&q, 4096);
    std::vector<unsigned char> host(8192);
    void *pinned = nullptr;
    d.cuMemHostAlloc(&pinned, 4096, 0);
    ask("cuMemcpyHtoD size 0", d.cuMemcpyHtoD(p, host.data(), 0));
    ask("cuMemcpyHtoD null source", d.cuMemcpyHtoD(p, nullptr, 16));
    ask("cuMemcpyHtoD null source, size 0", d.cuMemcpyHtoD(p, nullptr, 0));
    ask("cuMemcpyHtoD to 0", d.cuMemcpyHtoD(0, host.data(), 16));
    ask("cuMemcpyHtoD to 0, size 0", d.cuMemcpyHtoD(0, host.data(), 0));
    ask("cuMemcpyHtoD to garbage", d.cuMemcpyHtoD(0x1234560, host.data(), 16));
    ask("cuMemcpyHtoD to pinned",
        d.cuMemcpyHtoD(reinterpret_cast<CUdeviceptr>(pinned), host.data(), 16));
    ask("cuMemcpyHtoD from device memory", d.cuMemcpyHtoD(p, reinterpret_cast<void *>(q), 16));
    ask("cuMemcpyDtoH null", d.cuMemcpyDtoH(nullptr, p, 16));
    ask("cuMemcpyDtoD", d.cuMemcpyDtoD(p, q, 4096));
    ask("cuMemcpyDtoD overlapping", d.cuMemcpyDtoD(p, p + 16, 64));
    ask("cuMemcpy host to host", d.cuMemcpy(reinterpret_cast<CUdeviceptr>(host.data()),
                                            reinterpret_cast<CUdeviceptr>(host.data() + 100), 16));
    ask("cuMemcpy pageable to device",
        d.cuMemcpy(p, reinterpret_cast<CUdeviceptr>(host.data()), 16));
    ask("cuMemcpyPeer, both primary", d.cuMemcpyPeer(p, context(), q, context(), 16));
    ask("cuMemcpyPeer, null contexts", d.cuMemcpyPeer(p, nullptr, q, nullptr, 16));
    ask("cuMemsetD8 0 bytes", d.cuMemsetD8(p, 1, 0));
    ask("cuMemsetD8 at 0", d.cuMemsetD8(0, 1, 16));
    ask("cuMemsetD16 unaligned", d.cuMemsetD16(p + 1, 1, 16));
    ask("cuMemsetD32 unaligned", d.cuMemsetD32(p + 2, 1, 16));
    ask("cuMemsetD8 of pinned memory", d.cuMemsetD8(reinterpret_cast<CUdeviceptr>(pinned), 1, 16));
    ask("cuMemsetD8 of pageable memory",
        d.cuMemsetD8(reinterpret_cast<CUdeviceptr>(host.data()), 1, 16));
    ask("cuMemsetD2D8", d.cuMemsetD2D8(p, 64, 1, 32, 4));
    ask("cuMemsetD2D8 width over pitch", d.cuMemsetD2D8(p, 64, 1, 65, 4));
    ask("cuMemsetD2D8 width 0", d.cuMemsetD2D8(p, 64, 1, 0, 4));
    ask("cuMemsetD2D32 pitch 6", d.cuMemsetD2D32(p, 6, 1, 1, 4));
    CUDA_MEMCPY2D two{};
    two.srcMemoryType = CU_MEMORYTYPE_HOST;
    two.srcHost = host.data();
    two.srcPitch = 64;
    two.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    two.dstDevice = p;
    two.dstPitch = 64;
    two.WidthInBytes = 32;
    two.Height = 4;
    ask("cuMemcpy2D", d.cuMemcpy2D(&two));
    ask("cuMemcpy2D(null)", d.cuMemcpy2D(nullptr));
    two.srcPitch = 16;
    ask("cuMemcpy2D pitch under width", d.cuMemcpy2D(&two));
    two.srcPitch = 0;
    ask("cuMemcpy2D pitch 0, 4 rows", d.cuMemcpy2D(&two));
    two.Height = 1;
    ask("cuMemcpy2D pitch 0, 1 row", d.cuMemcpy2D(&two));
    two.Height = 0;
    ask("cuMemcpy2D height 0", d.cuMemcpy2D(&two));
    two.srcPitch = 64;
    two.Height = 4;
    two.WidthInBytes = 0;
    ask("cuMemcpy2D width 0", d.cuMemcpy2D(&two));
    two.WidthInBytes = 32;
    two.srcMemoryType = static_cast<CUmemorytype>(9);
    ask("cuMemcpy2D memory type 9", d.cuMemcpy2D(&two));
    two.srcMemoryType = CU_MEMORYTYPE_HOST;
    two.srcXInBytes = 8;
    two.dstY = 2;
    ask("cuMemcpy2D with offsets", d.cuMemcpy2D(&two));
    CUDA_MEMCPY3D three{};
    three.srcMemoryType = CU_MEMORYTYPE_HOST;
    three.srcHost = host.data();
    three.srcPitch = 64;
    three.srcHeight = 4;
    three.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    three.dstDevice = p;
    three.dstPitch = 64;
    three.dstHeight = 4;
    three.WidthInBytes = 32;
    three.Height = 4;
    three.Depth = 2;
    ask("cuMemcpy3D", d.cuMemcpy3D(&three));
    three.srcHeight = 2;
    ask("cuMemcpy3D height under the copy's", d.cuMemcpy3D(&three));
    three.srcHeight = 4;
    three.srcLOD = 1;
    ask("cuMemcpy3D LOD 1", d.cuMemcpy3D(&three));
    three.srcLOD = 0;
    three.reserved0 = &three;
    ask("cuMemcpy3D reserved0 set", d.cuMemcpy3D(&three));
    three.reserved0 = nullptr;
    three.Depth = 0;
    ask("cuMemcpy3D depth 0", d.cuMemcpy3D(&three));

    CUDA_ARRAY_DESCRIPTOR shape{};
    shape.Width = 16;
    shape.Height = 4;
    shape.Format = CU_AD_FORMAT_FLOAT;
    shape.NumChannels = 1;
    CUarray array = nullptr;
    ask("cuArrayCreate", d.cuArrayCreate(&array, &shape));
    CUDA_ARRAY_DESCRIPTOR back{};
    ask("cuArrayGetDescriptor", d.cuArrayGetDescriptor(&back, array));
    note("width", static_cast<long long>(back.Width));
    note("channels", back.NumChannels);
    ask("cuMemcpyHtoA", d.cuMemcpyHtoA(array, 0, host.data(), 64));
    ask("cuMemcpyHtoA past the row", d.cuMemcpyHtoA(array, 32, host.data(), 64));
    ask("cuMemcpyAtoH all rows", d.cuMemcpyAtoH(host.data(), array, 0, 256));
    ask("cuMemcpyAtoH past the end", d.cuMemcpyAtoH(host.data(), array, 0, 257));
    ask("cuArrayDestroy", d.cuArrayDestroy(array));
    shape.NumChannels = 3;
    ask("cuArrayCreate, 3 channels", d.cuArrayCreate(&array, &shape));
    shape.NumChannels = 1;
    shape.Width = 0;
    ask("cuArrayCreate, width 0", d.cuArrayCreate(&array, &shape));
    shape.Width = 16;
    shape.Format = static_cast<CUarray_format>(0x77);
    ask("cuArrayCreate, format 0x77", d.cuArrayCreate(&array, &shape));
    d.cuMemFreeHost(pinned);
    d.cuMemFree(p);
    d.cuMemFree(q);
}

} // namespace record::QUESTIONS
