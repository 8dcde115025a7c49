// Memory, arrays, modules and managed memory of one device while the other's context is current.
#include "two_devices.hpp"

#include <cstdlib>

namespace record::QUESTIONS::two_devices {

namespace {

void tell_attributes(const std::string &what, CUdeviceptr p, const Sides &of) {
    CUcontext context = nullptr;
    const std::string name = what + ": CONTEXT";
    ask(name, d.cuPointerGetAttribute(&context, CU_POINTER_ATTRIBUTE_CONTEXT, p));
    note(name + " is 1's", context == of.one.context);
    const struct {
        const char *name;
        CUpointer_attribute which;
    } all[] = {
        {"MEMORY_TYPE", CU_POINTER_ATTRIBUTE_MEMORY_TYPE},
        {"DEVICE_ORDINAL", CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL},
        {"IS_MANAGED", CU_POINTER_ATTRIBUTE_IS_MANAGED},
        {"MAPPED", CU_POINTER_ATTRIBUTE_MAPPED},
        {"ACCESS_FLAGS", CU_POINTER_ATTRIBUTE_ACCESS_FLAGS},
        {"SYNC_MEMOPS", CU_POINTER_ATTRIBUTE_SYNC_MEMOPS},
        {"IS_LEGACY_CUDA_IPC_CAPABLE", CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE},
    };
    for (const auto &each : all) {
        unsigned long long value = 0;
        tell(what + ": " + each.name, d.cuPointerGetAttribute(&value, each.which, p), value);
    }
    CUdeviceptr device = 0;
    const std::string pointer = what + ": DEVICE_POINTER";
    ask(pointer, d.cuPointerGetAttribute(&device, CU_POINTER_ATTRIBUTE_DEVICE_POINTER, p));
    note(pointer + " is the same", device == p);
}

// Created while device 1's context is current.
struct HostMemory {
    void *pinned = nullptr, *portable = nullptr;
    char *pages = static_cast<char *>(std::aligned_alloc(4096, 4096));

    explicit HostMemory(const Sides &of) {
        of.one.enter();
        d.cuMemHostAlloc(&pinned, 4096, 0);
        d.cuMemHostAlloc(&portable, 4096, CU_MEMHOSTALLOC_PORTABLE);
        d.cuMemHostRegister(pages, 4096, 0);
        of.zero.enter();
    }
    ~HostMemory() { std::free(pages); }
    HostMemory(const HostMemory &) = delete;
    HostMemory &operator=(const HostMemory &) = delete;
};

void use_host_memory(const Sides &of) {
    const HostMemory host(of);
    CUdeviceptr p = 0;
    unsigned int flags = 77;
    const auto address = [](void *h) { return reinterpret_cast<CUdeviceptr>(h); };
    tell_attributes("1's pinned memory", address(host.pinned), of);
    tell_attributes("1's registered memory", address(host.pages), of);
    ASK(cuMemHostGetDevicePointer, "", &p, host.pinned, 0);
    ASK(cuMemHostGetDevicePointer, " of portable memory", &p, host.portable, 0);
    ASK(cuMemHostGetDevicePointer, " of registered memory", &p, host.pages, 0);
    tell("cuMemHostGetFlags", d.cuMemHostGetFlags(&flags, host.pinned), flags);
    ASK(cuMemsetD8, " of pinned memory", address(host.pinned), 7, 16);
    ASK(cuMemcpyDtoH, " into it", host.pinned, of.zero.memory, 16);
    ASK(cuMemHostRegister, " again", host.pages, 4096, 0);
    ASK(cuMemHostUnregister, "", host.pages);
    ASK(cuMemFreeHost, "", host.pinned);
    d.cuCtxSetCurrent(nullptr);
    ASK(cuMemFreeHost, " without a context", host.portable);
}

void use_device_memory(const Sides &of) {
    CUdeviceptr base = 0;
    std::size_t size = 0;
    int on = 1;
    tell_attributes("1's memory", of.one.memory, of);
    tell("cuMemGetAddressRange", d.cuMemGetAddressRange(&base, &size, of.one.memory + 8), size);
    ASK(cuPointerSetAttribute, "(SYNC_MEMOPS)", &on, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS,
        of.one.memory);
    of.enable();
    tell_attributes("1's memory with access", of.one.memory, of);
    ASK(cuMemGetAddressRange, " with access", &base, &size, of.one.memory + 8);
    of.disable();
    d.cuCtxSetCurrent(nullptr);
    tell_attributes("1's memory without a context", of.one.memory, of);
    ASK(cuMemGetAddressRange, " without a context", &base, &size, of.one.memory + 8);
    of.zero.enter();
    ASK(cuMemFree, "", of.one.memory);
    ASK(cuMemFree, " again", of.one.memory);
    d.cuCtxSetCurrent(nullptr);
    ASK(cuMemFree, " without a context", of.zero.memory);
}

// --- arrays and code

void use_array(const Sides &of) {
    CUDA_ARRAY3D_DESCRIPTOR shape{};
    CUtexObject texture = 0;
    CUDA_RESOURCE_DESC resource{};
    CUDA_TEXTURE_DESC sampling{};
    const char bytes[16] = "";
    shape.Width = 16;
    shape.Height = 4;
    shape.Format = CU_AD_FORMAT_UNSIGNED_INT8;
    shape.NumChannels = 1;
    of.one.enter();
    CUarray array = MAKE(cuArray3DCreate, &shape);
    of.zero.enter();
    ASK(cuArray3DGetDescriptor, "", &shape, array);
    ASK(cuMemcpyHtoA, "", array, 0, bytes, sizeof bytes);
    ASK(cuMemcpyDtoA, " from 0's memory", array, 0, of.zero.memory, 16);
    ask("0 synchronized", d.cuCtxSynchronize());
    resource.resType = CU_RESOURCE_TYPE_ARRAY;
    resource.res.array.hArray = array;
    ASK(cuTexObjectCreate, "", &texture, &resource, &sampling, nullptr);
    ASK(cuArrayDestroy, "", array);
}

// From memory of device 0 to an array of device 1, and back.
void copy_array(const Sides &of) {
    CUDA_ARRAY3D_DESCRIPTOR shape{
        .Width = 64, .Height = 4, .Format = CU_AD_FORMAT_UNSIGNED_INT8, .NumChannels = 1};
    of.one.enter();
    CUarray array = MAKE(cuArray3DCreate, &shape);
    of.zero.enter();
    CUDA_MEMCPY3D_PEER block{.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                             .srcDevice = of.zero.memory,
                             .srcContext = of.zero.context,
                             .srcPitch = 64,
                             .dstMemoryType = CU_MEMORYTYPE_ARRAY,
                             .dstArray = array,
                             .dstContext = of.one.context,
                             .WidthInBytes = 64,
                             .Height = 4,
                             .Depth = 1};
    of.zero.fill(7);
    ASK(cuMemcpy3DPeer, " to an array", &block);
    block.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    block.dstDevice = of.one.memory;
    block.dstPitch = 64;
    block.srcMemoryType = CU_MEMORYTYPE_ARRAY;
    block.srcArray = array;
    block.srcContext = of.one.context;
    ASK(cuMemcpy3DPeer, " from an array", &block);
    of.synchronize();
    note("it arrived", of.one.holds(7));
    ASK(cuArrayDestroy, "", array);
}

CUresult launch(CUfunction function, CUstream stream) {
    return d.cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, nullptr, nullptr);
}

void use_module(const Sides &of) {
    CUfunction function = nullptr;
    CUdeviceptr global = 0;
    std::size_t size = 0;
    int value = 0, blocks = 0;
    of.one.enter();
    CUmodule module = MAKE(cuModuleLoadData, ptx);
    of.zero.enter();
    ASK(cuModuleGetFunction, "", &function, module, "empty");
    ASK(cuModuleGetGlobal, "", &global, &size, module, "counter");
    ASK(cuFuncGetAttribute, "", &value, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, function);
    ASK(cuFuncSetAttribute, "", function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 1024);
    ASK(cuOccupancyMaxActiveBlocksPerMultiprocessor, "", &blocks, function, 32, 0);
    ask("cuLaunchKernel, stream of 1", launch(function, of.one.stream));
    ask("cuLaunchKernel, stream of 0", launch(function, of.zero.stream));
    ask("cuLaunchKernel, null stream", launch(function, nullptr));
    of.synchronize();
    d.cuCtxSetCurrent(nullptr);
    ask("cuLaunchKernel without a context, stream of 1", launch(function, of.one.stream));
    of.zero.enter();
    ASK(cuModuleUnload, "", module);
}

void use_library(const Sides &of) {
    CUfunction zeros = nullptr, ones = nullptr;
    CUdeviceptr global = 0, other = 0;
    std::size_t size = 0;
    int value = 0;
    CUlibrary library = MAKE(cuLibraryLoadData, ptx, nullptr, nullptr, 0, nullptr, nullptr, 0);
    CUkernel kernel = MAKE(cuLibraryGetKernel, library, "empty");
    const auto either = reinterpret_cast<CUfunction>(kernel);
    ask("cuLaunchKernel of a CUkernel, stream of 0", launch(either, of.zero.stream));
    ask("cuLaunchKernel of a CUkernel, stream of 1", launch(either, of.one.stream));
    ASK(cuKernelGetFunction, "", &zeros, kernel);
    ASK(cuLibraryGetGlobal, "", &global, &size, library, "counter");
    of.one.enter();
    ASK(cuKernelGetFunction, " in 1's context", &ones, kernel);
    note("the same function", zeros == ones);
    ASK(cuLibraryGetGlobal, " in 1's context", &other, &size, library, "counter");
    note("the same address", global == other);
    of.zero.enter();
    ask("cuLaunchKernel of 1's function, stream of 0", launch(ones, of.zero.stream));
    ASK(cuKernelSetAttribute, " of 1", CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 1024,
        kernel, 1);
    for (const int device : {0, 1}) {
        tell("cuKernelGetAttribute of " + std::to_string(device),
             d.cuKernelGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, kernel,
                                    device),
             value);
    }
    of.synchronize();
    ASK(cuLibraryUnload, "", library);
}

// --- managed memory

void advise(const Sides &of) {
    constexpr std::size_t size = 2 << 20;
    CUdeviceptr p = 0;
    CUmemLocation one{};
    int value = 77, users[3] = {77, 77, 77};
    one.type = CU_MEM_LOCATION_TYPE_DEVICE;
    one.id = 1;
    ASK(cuMemAllocManaged, "", &p, size, CU_MEM_ATTACH_GLOBAL);
    tell_attributes("managed memory", p, of);
    ASK(cuMemAdvise, " preferred location", p, size, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, one);
    ASK(cuMemAdvise, " accessed by", p, size, CU_MEM_ADVISE_SET_ACCESSED_BY, one);
    ASK(cuMemPrefetchAsync, ", stream of 0", p, size, one, 0, of.zero.stream);
    ASK(cuMemPrefetchAsync, ", stream of 1", p, size, one, 0, of.one.stream);
    of.synchronize();
    const auto tell_of_range = [&](const char *name, CUmem_range_attribute which) {
        tell(name, d.cuMemRangeGetAttribute(&value, sizeof value, which, p, size), value);
    };
    tell_of_range("preferred location", CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION);
    tell_of_range("last prefetch location", CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION);
    const CUresult status =
        d.cuMemRangeGetAttribute(users, sizeof users, CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY, p, size);
    for (const int user : users) {
        tell("accessed by", status, user);
    }
    ASK(cuMemsetD8Async, ", stream of 0", p, 7, 16, of.zero.stream);
    ASK(cuStreamSynchronize, "", of.zero.stream);
    ASK(cuMemsetD8Async, ", stream of 1", p, 7, 16, of.one.stream);
    ASK(cuStreamSynchronize, "", of.one.stream);
    ASK(cuMemFree, "", p);
}

} // namespace

SECTION("pointers") {
    apart("device memory", use_device_memory);
    apart("host memory", use_host_memory);
}

SECTION("objects") {
    apart("an array", use_array);
    apart("copies of an array", copy_array);
    apart("a module", use_module);
    apart("a library", use_library);
}

SECTION("managed") {
    apart("managed memory", advise);
}

} // namespace record::QUESTIONS::two_devices
