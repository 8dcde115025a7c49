// Memory, arrays, modules and managed memory of one device while the other's context is current.
#include "two_devices.hpp"

#include <cstdlib>

namespace record::QUESTIONS::two_devices {

namespace {

void tell_attributes(const std::string &what, CUdeviceptr p, const Sides &of) {
    CUcontext context = nullptr;
    const std::string name = what + ": CONTEXT";
    ask(name.c_str(), d.cuPointerGetAttribute(&context, CU_POINTER_ATTRIBUTE_CONTEXT, p));
    note((name + " is 1's").c_str(), context == of.one.context);
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
    ask(pointer.c_str(), d.cuPointerGetAttribute(&device, CU_POINTER_ATTRIBUTE_DEVICE_POINTER, p));
    note((pointer + " is the same").c_str(), device == p);
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
    ask("cuMemHostGetDevicePointer", d.cuMemHostGetDevicePointer(&p, host.pinned, 0));
    ask("cuMemHostGetDevicePointer of portable memory",
        d.cuMemHostGetDevicePointer(&p, host.portable, 0));
    ask("cuMemHostGetDevicePointer of registered memory",
        d.cuMemHostGetDevicePointer(&p, host.pages, 0));
    tell("cuMemHostGetFlags", d.cuMemHostGetFlags(&flags, host.pinned), flags);
    ask("cuMemsetD8 of pinned memory", d.cuMemsetD8(address(host.pinned), 7, 16));
    ask("cuMemcpyDtoH into it", d.cuMemcpyDtoH(host.pinned, of.zero.memory, 16));
    ask("cuMemHostRegister again", d.cuMemHostRegister(host.pages, 4096, 0));
    ask("cuMemHostUnregister", d.cuMemHostUnregister(host.pages));
    ask("cuMemFreeHost", d.cuMemFreeHost(host.pinned));
    d.cuCtxSetCurrent(nullptr);
    ask("cuMemFreeHost without a context", d.cuMemFreeHost(host.portable));
}

void use_device_memory(const Sides &of) {
    CUdeviceptr base = 0;
    std::size_t size = 0;
    int on = 1;
    tell_attributes("1's memory", of.one.memory, of);
    tell("cuMemGetAddressRange", d.cuMemGetAddressRange(&base, &size, of.one.memory + 8), size);
    ask("cuPointerSetAttribute(SYNC_MEMOPS)",
        d.cuPointerSetAttribute(&on, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, of.one.memory));
    of.enable();
    tell_attributes("1's memory with access", of.one.memory, of);
    ask("cuMemGetAddressRange with access",
        d.cuMemGetAddressRange(&base, &size, of.one.memory + 8));
    of.disable();
    d.cuCtxSetCurrent(nullptr);
    tell_attributes("1's memory without a context", of.one.memory, of);
    ask("cuMemGetAddressRange without a context",
        d.cuMemGetAddressRange(&base, &size, of.one.memory + 8));
    of.zero.enter();
    ask("cuMemFree", d.cuMemFree(of.one.memory));
    ask("cuMemFree again", d.cuMemFree(of.one.memory));
    d.cuCtxSetCurrent(nullptr);
    ask("cuMemFree without a context", d.cuMemFree(of.zero.memory));
}

// --- arrays and code

void use_array(const Sides &of) {
    CUarray array = nullptr;
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
    d.cuArray3DCreate(&array, &shape);
    of.zero.enter();
    ask("cuArray3DGetDescriptor", d.cuArray3DGetDescriptor(&shape, array));
    ask("cuMemcpyHtoA", d.cuMemcpyHtoA(array, 0, bytes, sizeof bytes));
    ask("cuMemcpyDtoA from 0's memory", d.cuMemcpyDtoA(array, 0, of.zero.memory, 16));
    ask("0 synchronized", d.cuCtxSynchronize());
    resource.resType = CU_RESOURCE_TYPE_ARRAY;
    resource.res.array.hArray = array;
    ask("cuTexObjectCreate", d.cuTexObjectCreate(&texture, &resource, &sampling, nullptr));
    ask("cuArrayDestroy", d.cuArrayDestroy(array));
}

// From memory of device 0 to an array of device 1, and back.
void copy_array(const Sides &of) {
    CUarray array = nullptr;
    CUDA_ARRAY3D_DESCRIPTOR shape{};
    shape.Width = 64;
    shape.Height = 4;
    shape.Format = CU_AD_FORMAT_UNSIGNED_INT8;
    shape.NumChannels = 1;
    of.one.enter();
    d.cuArray3DCreate(&array, &shape);
    of.zero.enter();
    CUDA_MEMCPY3D_PEER block{};
    block.srcMemoryType = CU_MEMORYTYPE_DEVICE;
    block.srcDevice = of.zero.memory;
    block.srcContext = of.zero.context;
    block.srcPitch = 64;
    block.dstMemoryType = CU_MEMORYTYPE_ARRAY;
    block.dstArray = array;
    block.dstContext = of.one.context;
    block.WidthInBytes = 64;
    block.Height = 4;
    block.Depth = 1;
    of.zero.fill(7);
    ask("cuMemcpy3DPeer to an array", d.cuMemcpy3DPeer(&block));
    block.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    block.dstDevice = of.one.memory;
    block.dstPitch = 64;
    block.srcMemoryType = CU_MEMORYTYPE_ARRAY;
    block.srcArray = array;
    block.srcContext = of.one.context;
    ask("cuMemcpy3DPeer from an array", d.cuMemcpy3DPeer(&block));
    of.synchronize();
    note("it arrived", of.one.holds(7));
    ask("cuArrayDestroy", d.cuArrayDestroy(array));
}

CUresult launch(CUfunction function, CUstream stream) {
    return d.cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, nullptr, nullptr);
}

void use_module(const Sides &of) {
    CUmodule module = nullptr;
    CUfunction function = nullptr;
    CUdeviceptr global = 0;
    std::size_t size = 0;
    int value = 0, blocks = 0;
    of.one.enter();
    d.cuModuleLoadData(&module, ptx);
    of.zero.enter();
    ask("cuModuleGetFunction", d.cuModuleGetFunction(&function, module, "empty"));
    ask("cuModuleGetGlobal", d.cuModuleGetGlobal(&global, &size, module, "counter"));
    ask("cuFuncGetAttribute",
        d.cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, function));
    ask("cuFuncSetAttribute",
        d.cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 1024));
    ask("cuOccupancyMaxActiveBlocksPerMultiprocessor",
        d.cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function, 32, 0));
    ask("cuLaunchKernel, stream of 1", launch(function, of.one.stream));
    ask("cuLaunchKernel, stream of 0", launch(function, of.zero.stream));
    ask("cuLaunchKernel, null stream", launch(function, nullptr));
    of.synchronize();
    d.cuCtxSetCurrent(nullptr);
    ask("cuLaunchKernel without a context, stream of 1", launch(function, of.one.stream));
    of.zero.enter();
    ask("cuModuleUnload", d.cuModuleUnload(module));
}

void use_library(const Sides &of) {
    CUlibrary library = nullptr;
    CUkernel kernel = nullptr;
    CUfunction zeros = nullptr, ones = nullptr;
    CUdeviceptr global = 0, other = 0;
    std::size_t size = 0;
    int value = 0;
    d.cuLibraryLoadData(&library, ptx, nullptr, nullptr, 0, nullptr, nullptr, 0);
    d.cuLibraryGetKernel(&kernel, library, "empty");
    const auto either = reinterpret_cast<CUfunction>(kernel);
    ask("cuLaunchKernel of a CUkernel, stream of 0", launch(either, of.zero.stream));
    ask("cuLaunchKernel of a CUkernel, stream of 1", launch(either, of.one.stream));
    ask("cuKernelGetFunction", d.cuKernelGetFunction(&zeros, kernel));
    ask("cuLibraryGetGlobal", d.cuLibraryGetGlobal(&global, &size, library, "counter"));
    of.one.enter();
    ask("cuKernelGetFunction in 1's context", d.cuKernelGetFunction(&ones, kernel));
    note("the same function", zeros == ones);
    ask("cuLibraryGetGlobal in 1's context",
        d.cuLibraryGetGlobal(&other, &size, library, "counter"));
    note("the same address", global == other);
    of.zero.enter();
    ask("cuLaunchKernel of 1's function, stream of 0", launch(ones, of.zero.stream));
    ask("cuKernelSetAttribute of 1",
        d.cuKernelSetAttribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 1024, kernel, 1));
    for (const int device : {0, 1}) {
        tell("cuKernelGetAttribute of " + std::to_string(device),
             d.cuKernelGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, kernel,
                                    device),
             value);
    }
    of.synchronize();
    ask("cuLibraryUnload", d.cuLibraryUnload(library));
}

// --- managed memory

void advise(const Sides &of) {
    constexpr std::size_t size = 2 << 20;
    CUdeviceptr p = 0;
    CUmemLocation one{};
    int value = 77, users[3] = {77, 77, 77};
    one.type = CU_MEM_LOCATION_TYPE_DEVICE;
    one.id = 1;
    ask("cuMemAllocManaged", d.cuMemAllocManaged(&p, size, CU_MEM_ATTACH_GLOBAL));
    tell_attributes("managed memory", p, of);
    ask("cuMemAdvise preferred location",
        d.cuMemAdvise(p, size, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, one));
    ask("cuMemAdvise accessed by", d.cuMemAdvise(p, size, CU_MEM_ADVISE_SET_ACCESSED_BY, one));
    ask("cuMemPrefetchAsync, stream of 0", d.cuMemPrefetchAsync(p, size, one, 0, of.zero.stream));
    ask("cuMemPrefetchAsync, stream of 1", d.cuMemPrefetchAsync(p, size, one, 0, of.one.stream));
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
    ask("cuMemsetD8Async, stream of 0", d.cuMemsetD8Async(p, 7, 16, of.zero.stream));
    ask("cuStreamSynchronize", d.cuStreamSynchronize(of.zero.stream));
    ask("cuMemsetD8Async, stream of 1", d.cuMemsetD8Async(p, 7, 16, of.one.stream));
    ask("cuStreamSynchronize", d.cuStreamSynchronize(of.one.stream));
    ask("cuMemFree", d.cuMemFree(p));
}

} // namespace

void pointers() {
    apart("device memory", use_device_memory);
    apart("host memory", use_host_memory);
}

void objects() {
    apart("an array", use_array);
    apart("copies of an array", copy_array);
    apart("a module", use_module);
    apart("a library", use_library);
}

void managed() {
    apart("managed memory", advise);
}

} // namespace record::QUESTIONS::two_devices
