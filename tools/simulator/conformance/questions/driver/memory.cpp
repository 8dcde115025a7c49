// Device memory, host memory, copies.
#include "../parameters.hpp"

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
        ask(name, status);
        if (status == CUDA_SUCCESS && each.address) {
            note(name, value == 0      ? "0"
                       : value == base ? "the base"
                       : value == p    ? "the address"
                                       : "another");
        } else if (status == CUDA_SUCCESS) {
            note(name, value);
        }
    }
}

} // namespace

SECTION("memory", start) {
    CUdeviceptr p = 0, q = 0, base = 0;
    std::size_t size = 0, free_bytes = 0, total = 0, pitch = 0;
    ASK(cuMemAlloc, "(null)", nullptr, 16);
    ASK(cuMemAlloc, " 0", &p, 0);
    ASK(cuMemAlloc, " 1 PiB", &p, std::size_t(1) << 50);
    ASK(cuMemAlloc, " SIZE_MAX", &p, ~std::size_t(0));
    ASK(cuMemAlloc, " 1", &p, 1).note("address modulo 512", p % 512);
    ASK(cuMemAlloc, " 1000", &q, 1000);
    ASK(cuMemGetAddressRange, " of 1000, interior", &base, &size, q + 10);
    note("base is the address", base == q);
    note("size", size);
    ASK(cuMemGetAddressRange, "(null, null)", nullptr, nullptr, q);
    ASK(cuMemGetAddressRange, " past the end", &base, &size, q + (1 << 30));
    ASK(cuMemGetAddressRange, "(0)", &base, &size, 0);
    ASK(cuMemGetInfo, "", &free_bytes, &total);
    ASK(cuMemGetInfo, "(null, null)", nullptr, nullptr);
    ASK(cuMemFree, "(0)", 0);
    ASK(cuMemFree, " interior", q + 8);
    ASK(cuMemFree, " garbage", 0x1234560);
    pointer_attributes("device", q, q);
    pointer_attributes("device interior", q + 8, q);
    CUDA_POINTER_ATTRIBUTE_P2P_TOKENS tokens{};
    ask("P2P_TOKENS", d.cuPointerGetAttribute(&tokens, CU_POINTER_ATTRIBUTE_P2P_TOKENS, q));
    unsigned int synchronous = 0;
    d.cuPointerGetAttribute(&synchronous, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, q);
    note("SYNC_MEMOPS after it", synchronous);
    ASK(cuMemFree, "", q);
    ASK(cuMemFree, " again", q);
    ASK(cuMemAllocPitch, "(element 3)", &q, &pitch, 100, 10, 3);
    ASK(cuMemAllocPitch, "(width 0)", &q, &pitch, 0, 10, 4);
    ASK(cuMemAllocPitch, "(height 0)", &q, &pitch, 100, 0, 4);
    ASK(cuMemAllocPitch, "(100 x 10)", &q, &pitch, 100, 10, 4).note("pitch", pitch);
    d.cuMemGetAddressRange(&base, &size, q);
    note("size of 100 x 10", size);
    ASK(cuMemFree, "", q);
    CUresult status{};
    note("unknown attribute 5000", attribute_of(p, static_cast<CUpointer_attribute>(5000), status));
    ask("cuPointerGetAttribute(unknown)", status);
    int local = 0;
    pointer_attributes("pageable", reinterpret_cast<CUdeviceptr>(&local),
                       reinterpret_cast<CUdeviceptr>(&local));
    pointer_attributes("null", 0, 0);
    ASK(cuPointerGetAttribute, "(null)", nullptr, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, p);
    CUpointer_attribute which[2] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                    CU_POINTER_ATTRIBUTE_DEVICE_POINTER};
    unsigned int type = 77;
    CUdeviceptr device = 77;
    void *outputs[2] = {&type, &device};
    ASK(cuPointerGetAttributes, " of pageable", 2, which, outputs,
        reinterpret_cast<CUdeviceptr>(&local))
        .note("type", type)
        .note("device pointer", device);
    ASK(cuPointerGetAttributes, "(0)", 0, which, outputs, p);
    int on = 1;
    ASK(cuPointerSetAttribute, "(SYNC_MEMOPS)", &on, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, p);
    ASK(cuPointerSetAttribute, "(MEMORY_TYPE)", &on, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, p);
    CUdeviceptr managed = 0;
    ASK(cuMemAllocManaged, "(flags 0)", &managed, 4096, 0);
    ASK(cuMemAllocManaged, " 0", &managed, 0, CU_MEM_ATTACH_GLOBAL);
    ASK(cuMemAllocManaged, "", &managed, 4096, CU_MEM_ATTACH_GLOBAL);
    pointer_attributes("managed", managed, managed);
    ASK(cuMemFree, " managed", managed);
    d.cuMemFree(p);
}

SECTION("host_memory", start) {
    void *h = nullptr, *zero = reinterpret_cast<void *>(1);
    unsigned int flags = 99;
    CUdeviceptr p = 0;
    ASK(cuMemHostAlloc, "(null)", nullptr, 16, 0);
    ASK(cuMemHostAlloc, " 0", &zero, 0, 0).note("pointer of 0 bytes is null", zero == nullptr);
    ASK(cuMemFreeHost, " of it", zero);
    ASK(cuMemHostAlloc, "(flags 0x80)", &h, 4096, 0x80);
    ASK(cuMemHostAlloc, "", &h, 4096, 0);
    ASK(cuMemHostGetFlags, "", &flags, h).note("flags", flags);
    ASK(cuMemHostGetFlags, " interior", &flags, static_cast<char *>(h) + 8);
    ASK(cuMemHostGetDevicePointer, "", &p, h, 0);
    note("same address", p == reinterpret_cast<CUdeviceptr>(h));
    ASK(cuMemHostGetDevicePointer, "(flags 1)", &p, h, 1);
    ASK(cuMemHostGetDevicePointer, " interior", &p, static_cast<char *>(h) + 8, 0);
    ASK(cuMemHostGetDevicePointer, " past the end", &p, static_cast<char *>(h) + (1 << 28), 0);
    pointer_attributes("pinned", reinterpret_cast<CUdeviceptr>(h),
                       reinterpret_cast<CUdeviceptr>(h));
    ASK(cuMemHostUnregister, " of alloc", h);
    ASK(cuMemFreeHost, " interior", static_cast<char *>(h) + 8);
    ASK(cuMemFree, " of pinned", reinterpret_cast<CUdeviceptr>(h));
    ASK(cuMemFreeHost, "", h);
    ASK(cuMemFreeHost, " again", h);
    ASK(cuMemFreeHost, "(null)", nullptr);
    ASK(cuMemHostAlloc, "(write-combined, portable)", &h, 100,
        CU_MEMHOSTALLOC_WRITECOMBINED | CU_MEMHOSTALLOC_PORTABLE);
    d.cuMemHostGetFlags(&flags, h);
    note("flags", flags);
    d.cuMemFreeHost(h);
    ASK(cuMemAllocHost, "", &h, 100);
    d.cuMemHostGetFlags(&flags, h);
    note("flags", flags);
    ASK(cuMemFreeHost, "", h);
    ASK(cuMemAllocHost, " 0", &h, 0);

    char *pages = static_cast<char *>(std::aligned_alloc(4096, 16 * 4096));
    std::memset(pages, 0, 16 * 4096);
    ASK(cuMemHostRegister, "(null)", nullptr, 4096, 0);
    ASK(cuMemHostRegister, " size 0", pages, 0, 0);
    ASK(cuMemHostRegister, "(flags 0x80)", pages, 4096, 0x80);
    ASK(cuMemHostRegister, " unaligned", pages + 100, 200, 0);
    d.cuMemHostGetFlags(&flags, pages + 100);
    note("flags", flags);
    ASK(cuMemHostRegister, " overlapping", pages + 200, 400, 0);
    ASK(cuMemHostRegister, " the same", pages + 100, 200, 0);
    ASK(cuMemHostRegister, " around it", pages, 4096, 0);
    ASK(cuMemHostRegister, " disjoint in the page", pages + 1000, 200, 0);
    ASK(cuMemHostGetDevicePointer, " of registered", &p, pages + 100, 0);
    note("same address", p == reinterpret_cast<CUdeviceptr>(pages + 100));
    pointer_attributes("registered", reinterpret_cast<CUdeviceptr>(pages + 100),
                       reinterpret_cast<CUdeviceptr>(pages + 100));
    ASK(cuMemFreeHost, " of registered", pages + 100);
    ASK(cuMemHostUnregister, " interior", pages + 150);
    ASK(cuMemHostUnregister, "", pages + 100);
    ASK(cuMemHostUnregister, " again", pages + 100);
    ASK(cuMemHostUnregister, "(null)", nullptr);
    d.cuMemHostUnregister(pages + 1000);
    ASK(cuMemHostRegister, " read-only", pages, 4096, 0x08);
    d.cuMemHostUnregister(pages);
    ASK(cuMemHostRegister, " of unmapped memory", reinterpret_cast<void *>(0x10000), 4096, 0);
    ASK(cuMemHostAlloc, " for registering", &h, 8192, 0);
    ASK(cuMemHostRegister, " of pinned memory", h, 4096, 0);
    d.cuMemFreeHost(h);
    std::free(pages);
}

SECTION("copies", start) {
    CUdeviceptr p = MAKE(cuMemAlloc, 4096);
    CUdeviceptr q = MAKE(cuMemAlloc, 4096);
    std::vector<unsigned char> host(8192);
    void *pinned = MAKE(cuMemHostAlloc, 4096, 0);
    ASK(cuMemcpyHtoD, " size 0", p, host.data(), 0);
    ASK(cuMemcpyHtoD, " null source", p, nullptr, 16);
    ASK(cuMemcpyHtoD, " null source, size 0", p, nullptr, 0);
    ASK(cuMemcpyHtoD, " to 0", 0, host.data(), 16);
    ASK(cuMemcpyHtoD, " to 0, size 0", 0, host.data(), 0);
    ASK(cuMemcpyHtoD, " to garbage", 0x1234560, host.data(), 16);
    ASK(cuMemcpyHtoD, " to pinned", reinterpret_cast<CUdeviceptr>(pinned), host.data(), 16);
    ASK(cuMemcpyHtoD, " from device memory", p, reinterpret_cast<void *>(q), 16);
    ASK(cuMemcpyDtoH, " null", nullptr, p, 16);
    ASK(cuMemcpyDtoD, "", p, q, 4096);
    ASK(cuMemcpyDtoD, " overlapping", p, p + 16, 64);
    ASK(cuMemcpy, " host to host", reinterpret_cast<CUdeviceptr>(host.data()),
        reinterpret_cast<CUdeviceptr>(host.data() + 100), 16);
    ASK(cuMemcpy, " pageable to device", p, reinterpret_cast<CUdeviceptr>(host.data()), 16);
    ASK(cuMemcpyPeer, ", both primary", p, context(), q, context(), 16);
    ASK(cuMemcpyPeer, ", null contexts", p, nullptr, q, nullptr, 16);
    ASK(cuMemsetD8, " 0 bytes", p, 1, 0);
    ASK(cuMemsetD8, " at 0", 0, 1, 16);
    ASK(cuMemsetD16, " unaligned", p + 1, 1, 16);
    ASK(cuMemsetD32, " unaligned", p + 2, 1, 16);
    ASK(cuMemsetD8, " of pinned memory", reinterpret_cast<CUdeviceptr>(pinned), 1, 16);
    ASK(cuMemsetD8, " of pageable memory", reinterpret_cast<CUdeviceptr>(host.data()), 1, 16);
    ASK(cuMemsetD2D8, "", p, 64, 1, 32, 4);
    ASK(cuMemsetD2D8, " width over pitch", p, 64, 1, 65, 4);
    ASK(cuMemsetD2D8, " width 0", p, 64, 1, 0, 4);
    ASK(cuMemsetD2D32, " pitch 6", p, 6, 1, 1, 4);
    auto two = copy_of<CUDA_MEMCPY2D>(p, 0, 32, 64, 4);
    two.srcMemoryType = CU_MEMORYTYPE_HOST;
    two.srcHost = host.data();
    ASK(cuMemcpy2D, "", &two);
    ASK(cuMemcpy2D, "(null)", nullptr);
    two.srcPitch = 16;
    ASK(cuMemcpy2D, " pitch under width", &two);
    two.srcPitch = 0;
    ASK(cuMemcpy2D, " pitch 0, 4 rows", &two);
    two.Height = 1;
    ASK(cuMemcpy2D, " pitch 0, 1 row", &two);
    two.Height = 0;
    ASK(cuMemcpy2D, " height 0", &two);
    two.srcPitch = 64;
    two.Height = 4;
    two.WidthInBytes = 0;
    ASK(cuMemcpy2D, " width 0", &two);
    two.WidthInBytes = 32;
    two.srcMemoryType = static_cast<CUmemorytype>(9);
    ASK(cuMemcpy2D, " memory type 9", &two);
    two.srcMemoryType = CU_MEMORYTYPE_HOST;
    two.srcXInBytes = 8;
    two.dstY = 2;
    ASK(cuMemcpy2D, " with offsets", &two);
    auto three = copy_of<CUDA_MEMCPY3D>(p, 0, 32, 64, 4, 2);
    three.srcMemoryType = CU_MEMORYTYPE_HOST;
    three.srcHost = host.data();
    ASK(cuMemcpy3D, "", &three);
    three.srcHeight = 2;
    ASK(cuMemcpy3D, " height under the copy's", &three);
    three.srcHeight = 4;
    three.srcLOD = 1;
    ASK(cuMemcpy3D, " LOD 1", &three);
    three.srcLOD = 0;
    three.reserved0 = &three;
    ASK(cuMemcpy3D, " reserved0 set", &three);
    three.reserved0 = nullptr;
    three.Depth = 0;
    ASK(cuMemcpy3D, " depth 0", &three);

    CUDA_ARRAY_DESCRIPTOR shape{
        .Width = 16, .Height = 4, .Format = CU_AD_FORMAT_FLOAT, .NumChannels = 1};
    CUarray array = nullptr;
    ASK(cuArrayCreate, "", &array, &shape);
    CUDA_ARRAY_DESCRIPTOR back{};
    ASK(cuArrayGetDescriptor, "", &back, array).note("width", back.Width);
    note("channels", back.NumChannels);
    ASK(cuMemcpyHtoA, "", array, 0, host.data(), 64);
    ASK(cuMemcpyHtoA, " past the row", array, 32, host.data(), 64);
    ASK(cuMemcpyAtoH, " all rows", host.data(), array, 0, 256);
    ASK(cuMemcpyAtoH, " past the end", host.data(), array, 0, 257);
    ASK(cuArrayDestroy, "", array);
    shape.NumChannels = 3;
    ASK(cuArrayCreate, ", 3 channels", &array, &shape);
    shape.NumChannels = 1;
    shape.Width = 0;
    ASK(cuArrayCreate, ", width 0", &array, &shape);
    shape.Width = 16;
    shape.Format = static_cast<CUarray_format>(0x77);
    ASK(cuArrayCreate, ", format 0x77", &array, &shape);
    d.cuMemFreeHost(pinned);
    d.cuMemFree(p);
    d.cuMemFree(q);
}

} // namespace record::QUESTIONS
