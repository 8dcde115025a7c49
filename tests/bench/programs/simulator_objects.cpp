/* The cost of creating and destroying one object of the simulated driver among many of its kind.
 *
 * usage: PROGRAM KIND ORDER SIZE. Creates SIZE objects and destroys them in that order: first,
 * last, or random; with `create`, measures their creation instead. Prints the processor time per
 * object in nanoseconds. Returns 1 if a call fails. The operations run inside measured_part().
 */
#include "growth.hpp"

#include <algorithm>
#include <random>
#include <stdint.h>
#include <string>
#include <unistd.h>
#include <vector>

static CUcontext context;
static CUdeviceptr memory;
static CUarray array;
static CUgraph graph;

static constexpr char image[] = "cushim-sim-image 1\nkernel work params=8\nglobal number size=4\n";
static constexpr size_t page = 4096;

/* The number of objects, and the granularity of physical memory. */
static size_t count, step;

template <class T>
uint64_t number(T handle) {
    return (uint64_t)handle;
}

/* The handle that a call returns. */
template <class T, class Call>
uint64_t made(Call call) {
    T handle{};
    require(call(&handle));
    return number(handle);
}

template <class T>
T handle(uint64_t number) {
    return (T)number;
}

static void nothing(void *) {}

static CUmemAllocationProp device_memory() {
    CUmemAllocationProp properties = {};
    properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0};
    return properties;
}

static uint64_t make_physical(size_t size) {
    const CUmemAllocationProp properties = device_memory();
    return made<CUmemGenericAllocationHandle>(
        [&](auto *out) { return driver.cuMemCreate(out, size, &properties, 0); });
}

static uint64_t make_memory(size_t size) {
    return made<CUdeviceptr>([=](auto *out) { return driver.cuMemAlloc(out, size); });
}

static uint64_t make_pool() {
    CUmemPoolProps properties = {};
    properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0};
    return made<CUmemoryPool>([&](auto *out) { return driver.cuMemPoolCreate(out, &properties); });
}

static CUDA_ARRAY_DESCRIPTOR small_array() {
    return {.Width = 4, .Height = 4, .Format = CU_AD_FORMAT_FLOAT, .NumChannels = 1};
}

static CUstream make_stream() {
    CUstream stream = nullptr;
    require(driver.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    return stream;
}

/* An executable graph with memory of its own. */
static uint64_t make_exec_with_memory() {
    CUgraph with_memory = nullptr;
    require(driver.cuGraphCreate(&with_memory, 0));
    CUDA_MEM_ALLOC_NODE_PARAMS parameters = {};
    parameters.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    parameters.poolProps.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0};
    parameters.bytesize = 256;
    CUgraphNode allocation = nullptr, end = nullptr;
    require(driver.cuGraphAddMemAllocNode(&allocation, with_memory, nullptr, 0, &parameters));
    require(driver.cuGraphAddMemFreeNode(&end, with_memory, &allocation, 1, parameters.dptr));
    CUgraphExec exec = nullptr;
    require(driver.cuGraphInstantiateWithFlags(&exec, with_memory, 0));
    require(driver.cuGraphLaunch(exec, nullptr));
    require(driver.cuGraphDestroy(with_memory));
    return number(exec);
}

struct Kind {
    const char *name;
    uint64_t (*make)(size_t index);
    void (*end)(uint64_t object);
};

static const Kind kinds[] = {
    {"stream", [](size_t) { return number(make_stream()); },
     [](uint64_t object) { require(driver.cuStreamDestroy(handle<CUstream>(object))); }},
    {"used-stream",
     [](size_t) {
         const CUstream stream = make_stream();
         require(driver.cuMemsetD8Async(memory, 1, 4, stream));
         return number(stream);
     },
     [](uint64_t object) { require(driver.cuStreamDestroy(handle<CUstream>(object))); }},
    {"event",
     [](size_t) { return made<CUevent>([](auto *out) { return driver.cuEventCreate(out, 0); }); },
     [](uint64_t object) { require(driver.cuEventDestroy(handle<CUevent>(object))); }},
    {"context",
     [](size_t) {
         const uint64_t created =
             made<CUcontext>([](auto *out) { return driver.cuCtxCreate_v2(out, 0, 0); });
         require(driver.cuCtxPopCurrent(nullptr));
         return created;
     },
     [](uint64_t object) { require(driver.cuCtxDestroy(handle<CUcontext>(object))); }},
    {"full-context", // with a stream, an event and memory
     [](size_t) {
         const uint64_t created =
             made<CUcontext>([](auto *out) { return driver.cuCtxCreate_v2(out, 0, 0); });
         make_stream();
         made<CUevent>([](auto *out) { return driver.cuEventCreate(out, 0); });
         make_memory(512);
         require(driver.cuCtxPopCurrent(nullptr));
         return created;
     },
     [](uint64_t object) { require(driver.cuCtxDestroy(handle<CUcontext>(object))); }},
    {"push",
     [](size_t) {
         require(driver.cuCtxPushCurrent(context));
         return uint64_t(0);
     },
     [](uint64_t) { require(driver.cuCtxPopCurrent(nullptr)); }},
    {"retain",
     [](size_t) {
         return made<CUcontext>([](auto *out) { return driver.cuDevicePrimaryCtxRetain(out, 0); });
     },
     [](uint64_t) { require(driver.cuDevicePrimaryCtxRelease(0)); }},
    {"peer-access", // of one context to many
     [](size_t) {
         const uint64_t created =
             made<CUcontext>([](auto *out) { return driver.cuCtxCreate_v2(out, 0, 1); });
         require(driver.cuCtxPopCurrent(nullptr));
         require(driver.cuCtxEnablePeerAccess(handle<CUcontext>(created), 0));
         return created;
     },
     [](uint64_t object) { require(driver.cuCtxDisablePeerAccess(handle<CUcontext>(object))); }},
    {"module",
     [](size_t) {
         return made<CUmodule>([](auto *out) { return driver.cuModuleLoadData(out, image); });
     },
     [](uint64_t object) { require(driver.cuModuleUnload(handle<CUmodule>(object))); }},
    {"library",
     [](size_t) {
         return made<CUlibrary>([](auto *out) {
             return driver.cuLibraryLoadData(out, image, nullptr, nullptr, 0, nullptr, nullptr, 0);
         });
     },
     [](uint64_t object) { require(driver.cuLibraryUnload(handle<CUlibrary>(object))); }},
    {"link",
     [](size_t) {
         return made<CUlinkState>(
             [](auto *out) { return driver.cuLinkCreate(0, nullptr, nullptr, out); });
     },
     [](uint64_t object) { require(driver.cuLinkDestroy(handle<CUlinkState>(object))); }},
    {"graph",
     [](size_t) { return made<CUgraph>([](auto *out) { return driver.cuGraphCreate(out, 0); }); },
     [](uint64_t object) { require(driver.cuGraphDestroy(handle<CUgraph>(object))); }},
    {"node",
     [](size_t) {
         return made<CUgraphNode>(
             [](auto *out) { return driver.cuGraphAddEmptyNode(out, graph, nullptr, 0); });
     },
     [](uint64_t object) { require(driver.cuGraphDestroyNode(handle<CUgraphNode>(object))); }},
    {"exec",
     [](size_t) {
         return made<CUgraphExec>(
             [](auto *out) { return driver.cuGraphInstantiateWithFlags(out, graph, 0); });
     },
     [](uint64_t object) { require(driver.cuGraphExecDestroy(handle<CUgraphExec>(object))); }},
    {"exec-with-memory", [](size_t) { return make_exec_with_memory(); },
     [](uint64_t object) { require(driver.cuGraphExecDestroy(handle<CUgraphExec>(object))); }},
    {"user-object",
     [](size_t) {
         return made<CUuserObject>([](auto *out) {
             return driver.cuUserObjectCreate(out, nullptr, nothing, 1,
                                              CU_USER_OBJECT_NO_DESTRUCTOR_SYNC);
         });
     },
     [](uint64_t object) { require(driver.cuUserObjectRelease(handle<CUuserObject>(object), 1)); }},
    {"capture",
     [](size_t) {
         const CUstream stream = make_stream();
         require(driver.cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
         return number(stream);
     },
     [](uint64_t object) {
         CUgraph captured = nullptr;
         require(driver.cuStreamEndCapture(handle<CUstream>(object), &captured));
     }},
    {"array",
     [](size_t) {
         const CUDA_ARRAY_DESCRIPTOR description = small_array();
         return made<CUarray>([&](auto *out) { return driver.cuArrayCreate(out, &description); });
     },
     [](uint64_t object) { require(driver.cuArrayDestroy(handle<CUarray>(object))); }},
    {"texture",
     [](size_t) {
         CUDA_RESOURCE_DESC resource = {};
         resource.resType = CU_RESOURCE_TYPE_ARRAY;
         resource.res.array.hArray = array;
         const CUDA_TEXTURE_DESC texture = {};
         return made<CUtexObject>([&](auto *out) {
             return driver.cuTexObjectCreate(out, &resource, &texture, nullptr);
         });
     },
     [](uint64_t object) { require(driver.cuTexObjectDestroy(object)); }},
    {"pool", [](size_t) { return make_pool(); },
     [](uint64_t object) { require(driver.cuMemPoolDestroy(handle<CUmemoryPool>(object))); }},
    {"synchronize-beside-pools", [](size_t) { return make_pool(); },
     [](uint64_t) { require(driver.cuStreamSynchronize(nullptr)); }},
    {"memory", [](size_t) { return make_memory(512); },
     [](uint64_t object) { require(driver.cuMemFree(object)); }},
    {"uneven-memory", [](size_t index) { return make_memory(512 << index % 6); },
     [](uint64_t object) { require(driver.cuMemFree(object)); }},
    {"large-memory", [](size_t) { return make_memory(2 << 20); },
     [](uint64_t object) { require(driver.cuMemFree(object)); }},
    {"pool-memory",
     [](size_t) {
         return made<CUdeviceptr>(
             [](auto *out) { return driver.cuMemAllocAsync(out, 512, nullptr); });
     },
     [](uint64_t object) { require(driver.cuMemFreeAsync(object, nullptr)); }},
    {"managed-memory",
     [](size_t) {
         return made<CUdeviceptr>(
             [](auto *out) { return driver.cuMemAllocManaged(out, 512, CU_MEM_ATTACH_GLOBAL); });
     },
     [](uint64_t object) { require(driver.cuMemFree(object)); }},
    {"host-memory",
     [](size_t) {
         return made<void *>([](auto *out) { return driver.cuMemHostAlloc(out, 512, 0); });
     },
     [](uint64_t object) { require(driver.cuMemFreeHost(handle<void *>(object))); }},
    {"registration",
     [](size_t index) {
         static std::vector<char> bytes(count * page);
         char *const part = bytes.data() + index * page;
         require(driver.cuMemHostRegister(part, page, 0));
         return number(part);
     },
     [](uint64_t object) { require(driver.cuMemHostUnregister(handle<void *>(object))); }},
    {"physical", [](size_t) { return make_physical(step); },
     [](uint64_t object) { require(driver.cuMemRelease(object)); }},
    {"reservation",
     [](size_t) {
         return made<CUdeviceptr>(
             [](auto *out) { return driver.cuMemAddressReserve(out, step, 0, 0, 0); });
     },
     [](uint64_t object) { require(driver.cuMemAddressFree(object, step)); }},
    {"mapping", // parts of one range
     [](size_t index) {
         static const CUdeviceptr base = made<CUdeviceptr>(
             [](auto *out) { return driver.cuMemAddressReserve(out, count * step, 0, 0, 0); });
         const CUdeviceptr part = base + index * step;
         const uint64_t bytes = make_physical(step);
         require(driver.cuMemMap(part, step, 0, bytes, 0));
         require(driver.cuMemRelease(bytes));
         CUmemAccessDesc access = {};
         access.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0};
         access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
         require(driver.cuMemSetAccess(part, step, &access, 1));
         return uint64_t(part);
     },
     [](uint64_t part) {
         CUmemGenericAllocationHandle again = 0;
         require(driver.cuMemRetainAllocationHandle(&again, handle<void *>(part)));
         require(driver.cuMemRelease(again));
         unsigned long long flags = 0;
         const CUmemLocation where = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0};
         require(driver.cuMemGetAccess(&flags, &where, part));
         require(driver.cuMemsetD8(part, 1, 16));
         require(driver.cuMemUnmap(part, step));
     }},
    {"external-memory",
     [](size_t) {
         static const int fd = [] {
             CUmemAllocationProp properties = device_memory();
             properties.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
             CUmemGenericAllocationHandle exportable = 0;
             require(driver.cuMemCreate(&exportable, step, &properties, 0));
             int exported = -1;
             require(driver.cuMemExportToShareableHandle(
                 &exported, exportable, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
             return exported;
         }();
         CUDA_EXTERNAL_MEMORY_HANDLE_DESC description = {};
         description.type = CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD;
         description.handle.fd = dup(fd);
         description.size = step;
         return made<CUexternalMemory>(
             [&](auto *out) { return driver.cuImportExternalMemory(out, &description); });
     },
     [](uint64_t object) {
         require(driver.cuDestroyExternalMemory(handle<CUexternalMemory>(object)));
     }},
    {"ipc-handle",
     [](size_t) {
         const CUdeviceptr exported = make_memory(512);
         CUipcMemHandle handle;
         require(driver.cuIpcGetMemHandle(&handle, exported));
         return uint64_t(exported);
     },
     [](uint64_t object) { require(driver.cuMemFree(object)); }},
    {"descriptor", // exported again and again
     [](size_t) {
         static const CUmemGenericAllocationHandle exportable = [] {
             CUmemAllocationProp properties = device_memory();
             properties.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
             return made<CUmemGenericAllocationHandle>(
                 [&](auto *out) { return driver.cuMemCreate(out, step, &properties, 0); });
         }();
         int exported = -1;
         require(driver.cuMemExportToShareableHandle(&exported, exportable,
                                                     CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
         return uint64_t(exported);
     },
     [](uint64_t object) { close(int(object)); }},
    {"green-context-stream",
     [](size_t) {
         static const CUgreenCtx green = [] {
             CUdevResource all = {};
             require(driver.cuDeviceGetDevResource(0, &all, CU_DEV_RESOURCE_TYPE_SM));
             CUdevResourceDesc description = nullptr;
             require(driver.cuDevResourceGenerateDesc(&description, &all, 1));
             CUgreenCtx created = nullptr;
             require(
                 driver.cuGreenCtxCreate(&created, description, 0, CU_GREEN_CTX_DEFAULT_STREAM));
             return created;
         }();
         return made<CUstream>([](auto *out) {
             return driver.cuGreenCtxStreamCreate(out, green, CU_STREAM_NON_BLOCKING, 0);
         });
     },
     [](uint64_t object) {
         CUgreenCtx green = nullptr;
         require(driver.cuStreamGetGreenCtx(handle<CUstream>(object), &green));
         require(driver.cuStreamDestroy(handle<CUstream>(object)));
     }},
};

static std::vector<uint64_t> make(const Kind &kind) {
    std::vector<uint64_t> objects(count);
    for (size_t i = 0; i < count; ++i) {
        objects[i] = kind.make(i);
    }
    return objects;
}

static double run(const Kind &kind, const std::string &order) {
    if (order == "create") {
        return measure([&] { make(kind); }) / count;
    }
    std::vector<uint64_t> objects = make(kind);
    if (order == "last") {
        std::reverse(objects.begin(), objects.end());
    } else if (order == "random") {
        std::shuffle(objects.begin(), objects.end(), std::mt19937(1));
    }
    return measure([&] {
               for (const uint64_t object : objects) {
                   kind.end(object);
               }
           }) /
           count;
}

int main(int argc, char **argv) {
    if (argc != 4) {
        return 2;
    }
    count = strtoul(argv[3], nullptr, 10);
    context = start();
    memory = make_memory(512);
    const CUDA_ARRAY_DESCRIPTOR description = small_array();
    require(driver.cuArrayCreate(&array, &description));
    require(driver.cuGraphCreate(&graph, 0));
    const CUmemAllocationProp properties = device_memory();
    require(
        driver.cuMemGetAllocationGranularity(&step, &properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    const std::string name = argv[1];
    for (const Kind &kind : kinds) {
        if (name == kind.name) {
            print_and_leave(run(kind, argv[2]));
        }
    }
    return 2;
}
