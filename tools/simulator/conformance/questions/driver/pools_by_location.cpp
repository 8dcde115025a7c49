// Memory pools, and memory of graphs, by allocation type and location.
#include "../pools_by_location.hpp"
#include "../../row.hpp"
#include "../other_process.hpp"

#include <cstdint>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>

namespace record::QUESTIONS {

namespace {

constexpr int types[] = {0, 1, 2, 3}, locations[] = {-1, 0, 1, 2, 3, 4, 5}, ids[] = {-1, 0, 99};

// One row for a type and a location.
void for_each_place(const std::string &what, const auto &body) {
    for (const int type : types) {
        for (const int location : locations) {
            const Row row(what + ", type " + std::to_string(type) + " location " +
                          std::to_string(location));
            for (const int id : ids) {
                body(Placement{type, location, id});
            }
        }
    }
}

// Those that a driver for CUDA 13 accepts.
constexpr Placement usable[] = {{1, 1, 0}, {1, 2, 0}, {1, 3, 0}, {2, 0, 0},
                                {2, 1, 0}, {2, 2, 0}, {2, 3, 0}, {2, 4, 0}};

void attributes() {
    constexpr int all[] = {
        CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED,
        CU_DEVICE_ATTRIBUTE_MEMPOOL_SUPPORTED_HANDLE_TYPES,
        CU_DEVICE_ATTRIBUTE_HOST_NUMA_ID,
        CU_DEVICE_ATTRIBUTE_HOST_NUMA_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED,
        CU_DEVICE_ATTRIBUTE_HOST_NUMA_MEMORY_POOLS_SUPPORTED,
        CU_DEVICE_ATTRIBUTE_HOST_MEMORY_POOLS_SUPPORTED,
        CU_DEVICE_ATTRIBUTE_HOST_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED,
        CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS,
        CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS,
    };
    const Row row("115, 119, 134, 141, 142, 144, 145, 89, 88");
    for (const int which : all) {
        int value = 77;
        tell("attribute " + std::to_string(which),
             d.cuDeviceGetAttribute(&value, static_cast<CUdevice_attribute>(which), 0), value);
    }
}

void creation() {
    for_each_place("ids -1, 0, 99, handles 0, 1, 8", [](const Placement &place) {
        for (const int handle : {0, 1, 8}) {
            CUmemPoolProps properties = properties_of(place);
            properties.handleTypes = static_cast<CUmemAllocationHandleType>(handle);
            CUmemoryPool pool = nullptr;
            ask("cuMemPoolCreate " + text(place) + " handle " + std::to_string(handle),
                d.cuMemPoolCreate(&pool, &properties));
            if (pool != nullptr) {
                d.cuMemPoolDestroy(pool);
            }
        }
    });
    for (const Placement &place : usable) {
        const Row row("null, 1 MiB, 2^64 - 1, reserved byte, usage 2, " + text(place));
        CUmemPoolProps properties = properties_of(place);
        CUmemoryPool pool = nullptr;
        ask("cuMemPoolCreate(null) " + text(place), d.cuMemPoolCreate(nullptr, &properties));
        properties.maxSize = 1 << 20;
        ask("cuMemPoolCreate of 1 MiB " + text(place), d.cuMemPoolCreate(&pool, &properties));
        properties.maxSize = ~std::size_t(0);
        ask("cuMemPoolCreate of 2^64 - 1 " + text(place), d.cuMemPoolCreate(&pool, &properties));
        properties = properties_of(place);
        properties.reserved[0] = 1;
        ask("cuMemPoolCreate, reserved byte, " + text(place),
            d.cuMemPoolCreate(&pool, &properties));
        properties = properties_of(place);
        properties.usage = 2;
        ask("cuMemPoolCreate, usage 2, " + text(place), d.cuMemPoolCreate(&pool, &properties));
    }
}

// --- default and current pools

void defaults() {
    for_each_place("default, current, set null", [](const Placement &place) {
        CUmemLocation where = location_of(place);
        const auto type = static_cast<CUmemAllocationType>(place.type);
        CUmemoryPool usual = nullptr, current = nullptr;
        ask("cuMemGetDefaultMemPool " + text(place),
            d.cuMemGetDefaultMemPool(&usual, &where, type));
        const auto asked =
            ask("cuMemGetMemPool " + text(place), d.cuMemGetMemPool(&current, &where, type));
        asked.told("the default is current", usual == current);
        ask("cuMemSetMemPool(null) " + text(place), d.cuMemSetMemPool(&where, type, nullptr));
    });
    CUmemoryPool pool = nullptr;
    CUmemLocation here = location_of(usable[0]);
    const auto pinned = CU_MEM_ALLOCATION_TYPE_PINNED, managed = CU_MEM_ALLOCATION_TYPE_MANAGED;
    ASK(cuMemGetDefaultMemPool, "(null output)", nullptr, &here, pinned);
    ASK(cuMemGetDefaultMemPool, "(null location), pinned", &pool, nullptr, pinned);
    ASK(cuMemGetDefaultMemPool, "(null location), managed", &pool, nullptr, managed);
    ASK(cuMemGetMemPool, "(null output)", nullptr, &here, pinned);
    ASK(cuMemGetMemPool, "(null location), pinned", &pool, nullptr, pinned);
    ASK(cuMemGetMemPool, "(null location), managed", &pool, nullptr, managed);
    ASK(cuMemSetMemPool, "(null location)", nullptr, pinned, pool);
}

CUmemoryPool default_pool(const Placement &place) {
    CUmemLocation where = location_of(place);
    return MAKE(cuMemGetDefaultMemPool, &where, static_cast<CUmemAllocationType>(place.type));
}

CUmemoryPool new_pool(const Placement &place) {
    const CUmemPoolProps properties = properties_of(place);
    return MAKE(cuMemPoolCreate, &properties);
}

void equal_defaults() {
    const CUmemoryPool of_device = MAKE(cuDeviceGetDefaultMemPool, 0);
    note("cuDeviceGetDefaultMemPool returns that of a device",
         of_device == default_pool(usable[0]));
    for (const Placement &one : usable) {
        const Row row(text(one) + ", that of each place");
        for (const Placement &other : usable) {
            note(text(one) + " and " + text(other) + " are equal",
                 default_pool(one) == default_pool(other));
        }
    }
    note("any id of the host is equal", default_pool({1, 2, 0}) == default_pool({1, 2, 99}));
    note("any id of no location is equal", default_pool({2, 0, 0}) == default_pool({2, 0, 99}));
    for (const Placement &place : usable) {
        ask("cuMemPoolDestroy of the default, " + text(place),
            d.cuMemPoolDestroy(default_pool(place)));
    }
}

void changed_defaults() {
    for (const Placement &owned : usable) {
        const Row row("set for each place, and for the device, of " + text(owned));
        const CUmemoryPool pool = new_pool(owned);
        for (const Placement &place : usable) {
            CUmemLocation where = location_of(place);
            const auto type = static_cast<CUmemAllocationType>(place.type);
            ask("cuMemSetMemPool " + text(place) + " to one of " + text(owned),
                d.cuMemSetMemPool(&where, type, pool));
            CUmemoryPool current = MAKE(cuMemGetMemPool, &where, type);
            note("it is current", current == pool);
        }
        ask("cuDeviceSetMemPool to one of " + text(owned), d.cuDeviceSetMemPool(0, pool));
        CUmemoryPool of_device = MAKE(cuDeviceGetMemPool, 0);
        note("it is current", of_device == pool);
        CUdeviceptr p = 0;
        ASK(cuMemAllocAsync, "", &p, 4096, nullptr);
        CUmemoryPool its = nullptr;
        d.cuPointerGetAttribute(&its, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, p);
        note("of that pool", its == pool);
        ASK(cuMemFreeAsync, "", p, nullptr);
        ask("cuMemPoolDestroy of " + text(owned), d.cuMemPoolDestroy(pool));
        CUmemLocation where = location_of(owned);
        CUmemoryPool current =
            MAKE(cuMemGetMemPool, &where, static_cast<CUmemAllocationType>(owned.type));
        note("the default is current again", current == default_pool(owned));
    }
}

// --- memory of a pool

void note_pointer(CUdeviceptr p) {
    const Row row("context, type, addresses, managed, device, synchronous, IPC, size, mapped, "
                  "handles, RDMA, access, mapping, decompression");
    const auto number = [p]<class Value>(const char *name, int which, Value value) {
        tell(name, d.cuPointerGetAttribute(&value, static_cast<CUpointer_attribute>(which), p),
             value);
    };
    CUcontext owner = nullptr;
    ask("CONTEXT", d.cuPointerGetAttribute(&owner, CU_POINTER_ATTRIBUTE_CONTEXT, p))
        .told("null", owner == nullptr)
        .told("the primary one", owner == context());
    const auto address = [p](const char *name, CUpointer_attribute which) {
        CUdeviceptr found = 0;
        ask(name, d.cuPointerGetAttribute(&found, which, p))
            .told("the address", found == p)
            .told("null", found == 0);
    };
    number("MEMORY_TYPE", CU_POINTER_ATTRIBUTE_MEMORY_TYPE, 77u);
    address("DEVICE_POINTER", CU_POINTER_ATTRIBUTE_DEVICE_POINTER);
    address("HOST_POINTER", CU_POINTER_ATTRIBUTE_HOST_POINTER);
    number("IS_MANAGED", CU_POINTER_ATTRIBUTE_IS_MANAGED, 77u);
    number("DEVICE_ORDINAL", CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, 77);
    number("SYNC_MEMOPS", CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, 77u);
    number("IS_LEGACY_CUDA_IPC_CAPABLE", CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE, 77u);
    number("RANGE_SIZE", CU_POINTER_ATTRIBUTE_RANGE_SIZE, std::size_t(77));
    number("MAPPED", CU_POINTER_ATTRIBUTE_MAPPED, 77u);
    number("ALLOWED_HANDLE_TYPES", CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES, 77ull);
    number("IS_GPU_DIRECT_RDMA_CAPABLE", CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE, 77u);
    number("ACCESS_FLAGS", CU_POINTER_ATTRIBUTE_ACCESS_FLAGS, 77u);
    number("MAPPING_SIZE", CU_POINTER_ATTRIBUTE_MAPPING_SIZE, std::size_t(77));
    number("IS_HW_DECOMPRESS_CAPABLE", CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE, 77u);
}

void note_host_access(CUdeviceptr p) {
    auto *bytes = reinterpret_cast<volatile unsigned char *>(static_cast<std::uintptr_t>(p));
    bytes[0] = 8;
    bytes[1] = 9;
    note("the host reads", bytes[0]);
    unsigned char there[2] = "";
    ASK(cuMemcpyDtoH, "", there, p, 2).told("first", there[0]).told("second", there[1]);
}

// What a device does with the memory. Without access, it may fail the context.
constexpr struct {
    const char *name;
    void (*go)(CUdeviceptr);
} uses[] = {
    {"set", [](CUdeviceptr p) { ASK(cuMemsetD8Async, "", p, 5, 4096, nullptr); }},
    {"read",
     [](CUdeviceptr p) {
         unsigned char byte = 3;
         ASK(cuMemcpyDtoH, "", &byte, p, 1);
     }},
    {"written",
     [](CUdeviceptr p) {
         const unsigned char byte = 6;
         ASK(cuMemcpyHtoD, "", p, &byte, 1);
     }},
    {"copied", [](CUdeviceptr p) { ASK(cuMemcpyDtoD, " from it", MAKE(cuMemAlloc, 64), p, 16); }},
    {"copied to", [](CUdeviceptr p) { ASK(cuMemcpyDtoD, " to it", p, MAKE(cuMemAlloc, 64), 16); }},
    {"copied anywhere", [](CUdeviceptr p) { ASK(cuMemcpy, "", p + 16, p, 16); }},
    {"given a value", [](CUdeviceptr p) { ASK(cuStreamWriteValue32, "", nullptr, p, 7, 0); }},
};

void use_all(CUdeviceptr p) {
    const Row row("set, read, written, copied, copied to, copied anywhere, given a value");
    for (const auto &each : uses) {
        each.go(p);
        ASK(cuCtxSynchronize, "");
    }
}

// Calls for memory of other kinds.
void ask_about(CUdeviceptr p) {
    const Row row(
        "range, host address and flags, advice, prefetch, attachment, IPC, export, registration");
    CUdeviceptr base = 0, device = 0;
    std::size_t size = 0;
    ASK(cuMemGetAddressRange, "", &base, &size, p + 8).told("size", size);
    void *host = nullptr;
    unsigned int flags = 77;
    std::memcpy(&host, &p, sizeof host);
    ASK(cuMemHostGetDevicePointer, "", &device, host, 0).told("the address", device == p);
    ASK(cuMemHostGetFlags, "", &flags, host).told("flags", flags);
    for (const auto which :
         {CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION,
          CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION,
          CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_TYPE,
          CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_ID}) {
        int value = 77;
        tell("cuMemRangeGetAttribute " + std::to_string(which),
             d.cuMemRangeGetAttribute(&value, sizeof value, which, p, 4096), value);
    }
    const CUmemLocation here{.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0};
    ASK(cuMemAdvise, "(read mostly)", p, 4096, CU_MEM_ADVISE_SET_READ_MOSTLY, here);
    ASK(cuMemAdvise, "(preferred location)", p, 4096, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, here);
    ASK(cuMemPrefetchAsync, "", p, 4096, here, 0, nullptr);
    ASK(cuStreamAttachMemAsync, "", nullptr, p, 0, CU_MEM_ATTACH_GLOBAL);
    CUipcMemHandle handle{};
    ASK(cuIpcGetMemHandle, "", &handle, p);
    CUmemPoolPtrExportData data{};
    ASK(cuMemPoolExportPointer, "", &data, p);
    const unsigned int wanted = 1;
    ASK(cuPointerSetAttribute, "", &wanted, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, p);
    ASK(cuMemHostRegister, "", host, 4096, 0);
    ASK(cuCtxSynchronize, "");
}

void note_state(CUmemoryPool pool) {
    const Row row("threshold, reserved, used");
    constexpr struct {
        const char *name;
        CUmemPool_attribute which;
    } all[] = {
        {"RELEASE_THRESHOLD", CU_MEMPOOL_ATTR_RELEASE_THRESHOLD},
        {"RESERVED_MEM_CURRENT", CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT},
        {"RESERVED_MEM_HIGH", CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH},
        {"USED_MEM_CURRENT", CU_MEMPOOL_ATTR_USED_MEM_CURRENT},
        {"USED_MEM_HIGH", CU_MEMPOOL_ATTR_USED_MEM_HIGH},
    };
    for (const auto &[name, which] : all) {
        cuuint64_t value = 0;
        tell(name, d.cuMemPoolGetAttribute(pool, which, &value), value);
    }
}

void note_access(CUmemoryPool pool) {
    const Row row("access of locations 0 to 4");
    for (const int location : {0, 1, 2, 3, 4}) {
        CUmemLocation where = location_of({0, location, 0});
        CUmemAccess_flags flags{};
        tell("cuMemPoolGetAccess of location " + std::to_string(location),
             d.cuMemPoolGetAccess(&flags, pool, &where), flags);
    }
}

void set_access(CUmemoryPool pool) {
    for (const int location : {0, 1, 2, 3, 4}) {
        const Row row("none, read, both for location " + std::to_string(location));
        for (const auto flags : {CU_MEM_ACCESS_FLAGS_PROT_NONE, CU_MEM_ACCESS_FLAGS_PROT_READ,
                                 CU_MEM_ACCESS_FLAGS_PROT_READWRITE}) {
            const CUmemAccessDesc access{.location = location_of({0, location, 0}), .flags = flags};
            ask("cuMemPoolSetAccess of location " + std::to_string(location) + " to " +
                    std::to_string(flags),
                d.cuMemPoolSetAccess(pool, &access, 1));
        }
    }
    note_access(pool);
}

void whole_life(CUmemoryPool pool) {
    CUstream stream = MAKE(cuStreamCreate, CU_STREAM_NON_BLOCKING);
    CUdeviceptr p = 0, q = 0;
    note_access(pool);
    note_state(pool);
    {
        const Row row("allocated, of 0, of 2^50, synchronized");
        ASK(cuMemAllocFromPoolAsync, "", &p, 4096, pool, stream);
        ASK(cuMemAllocFromPoolAsync, " of 0", &q, 0, pool, stream);
        ASK(cuMemAllocFromPoolAsync, " of 2^50", &q, std::size_t(1) << 50, pool, stream);
        ASK(cuStreamSynchronize, "", stream);
    }
    note_state(pool);
    note_pointer(p);
    ASK(cuMemFreeAsync, "", p, stream);
    ASK(cuStreamSynchronize, "", stream);
    note_state(pool);
    ASK(cuMemPoolTrimTo, "", pool, 0);
    note_state(pool);
    const Row row("cuMemFree and cuMemFreeHost of others, threshold, export");
    ASK(cuMemAllocFromPoolAsync, "", &p, 4096, pool, nullptr);
    ASK(cuMemFree, "", p);
    ASK(cuMemAllocFromPoolAsync, "", &p, 4096, pool, nullptr);
    void *host = nullptr;
    std::memcpy(&host, &p, sizeof host);
    ASK(cuMemFreeHost, "", host);
    cuuint64_t threshold = 1 << 20;
    ASK(cuMemPoolSetAttribute, "(threshold)", pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &threshold);
    int fd = -1;
    ASK(cuMemPoolExportToShareableHandle, "", &fd, pool, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
        0);
}

void with_memory(const Placement &place, const auto &body) {
    CUdeviceptr p = MAKE(cuMemAllocFromPoolAsync, 4096, new_pool(place), nullptr);
    note("memory", p != 0);
    d.cuCtxSynchronize();
    body(p);
}

void in_graph(CUmemoryPool pool) {
    const Row row("allocated, set, freed, ended, shown, instantiated, launched");
    CUstream stream = MAKE(cuStreamCreate, CU_STREAM_NON_BLOCKING);
    CUdeviceptr p = 0;
    d.cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL);
    if (ASK(cuMemAllocFromPoolAsync, " in a capture", &p, 4096, pool, stream).status == 0) {
        ASK(cuMemsetD8Async, "", p, 1, 16, stream);
        ASK(cuMemFreeAsync, "", p, stream);
    }
    CUgraph graph = nullptr;
    CUgraphExec exec = nullptr;
    std::size_t count = 1;
    CUgraphNode first = nullptr;
    CUDA_MEM_ALLOC_NODE_PARAMS shown{};
    ASK(cuStreamEndCapture, "", stream, &graph);
    d.cuGraphGetRootNodes(graph, &first, &count);
    ASK(cuGraphMemAllocNodeGetParams, "", first, &shown)
        .told("type", shown.poolProps.allocType)
        .told("location", shown.poolProps.location.type)
        .told("id", shown.poolProps.location.id);
    ASK(cuGraphInstantiateWithFlags, "", &exec, graph, 0);
    ASK(cuGraphLaunch, "", exec, stream);
    ASK(cuStreamSynchronize, "", stream);
}

// --- memory that a node allocates

CUDA_MEM_ALLOC_NODE_PARAMS node_of(const Placement &place) {
    CUDA_MEM_ALLOC_NODE_PARAMS node{};
    node.poolProps = properties_of(place);
    node.bytesize = 1024;
    return node;
}

void nodes() {
    for_each_place("plain, handle 1, 0 bytes, cuGraphAddNode", [](const Placement &place) {
        CUgraph graph = MAKE(cuGraphCreate, 0);
        CUgraphNode node = nullptr;
        CUDA_MEM_ALLOC_NODE_PARAMS wanted = node_of(place);
        ask("cuGraphAddMemAllocNode " + text(place),
            d.cuGraphAddMemAllocNode(&node, graph, nullptr, 0, &wanted));
        wanted = node_of(place);
        wanted.poolProps.handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
        ask("cuGraphAddMemAllocNode " + text(place) + " handle 1",
            d.cuGraphAddMemAllocNode(&node, graph, nullptr, 0, &wanted));
        wanted = node_of(place);
        wanted.bytesize = 0;
        ask("cuGraphAddMemAllocNode " + text(place) + " of 0",
            d.cuGraphAddMemAllocNode(&node, graph, nullptr, 0, &wanted));
        CUgraphNodeParams any{.type = CU_GRAPH_NODE_TYPE_MEM_ALLOC};
        any.alloc.poolProps = properties_of(place);
        any.alloc.bytesize = 1024;
        ask("cuGraphAddNode " + text(place),
            d.cuGraphAddNode(&node, graph, nullptr, nullptr, 0, &any));
        d.cuGraphDestroy(graph);
    });
}

void node_access() {
    for (const int type : {1, 2}) {
        const Row row("to read, and to both, of locations 0 to 4, type " + std::to_string(type));
        for (const int location : {0, 1, 2, 3, 4}) {
            for (const auto flags :
                 {CU_MEM_ACCESS_FLAGS_PROT_READ, CU_MEM_ACCESS_FLAGS_PROT_READWRITE}) {
                CUgraph graph = MAKE(cuGraphCreate, 0);
                CUgraphNode node = nullptr;
                const CUmemAccessDesc access{.location = location_of({0, location, 0}),
                                             .flags = flags};
                CUDA_MEM_ALLOC_NODE_PARAMS wanted = node_of({type, 1, 0});
                wanted.accessDescs = &access;
                wanted.accessDescCount = 1;
                ask("cuGraphAddMemAllocNode type " + std::to_string(type) + " access of location " +
                        std::to_string(location) + " to " + std::to_string(flags),
                    d.cuGraphAddMemAllocNode(&node, graph, nullptr, 0, &wanted));
                d.cuGraphDestroy(graph);
            }
        }
    }
}

// A graph allocates the memory and sets it; `body` uses it between two launches.
void managed_node() {
    CUstream stream = MAKE(cuStreamCreate, CU_STREAM_NON_BLOCKING);
    CUgraph graph = MAKE(cuGraphCreate, 0);
    CUDA_MEM_ALLOC_NODE_PARAMS wanted = node_of({2, 1, 0}), shown{};
    CUgraphNode node = nullptr, filling = nullptr;
    ASK(cuGraphAddMemAllocNode, "", &node, graph, nullptr, 0, &wanted);
    ASK(cuGraphMemAllocNodeGetParams, "", node, &shown)
        .told("type", shown.poolProps.allocType)
        .told("location", shown.poolProps.location.type)
        .told("the address", shown.dptr == wanted.dptr);
    const CUDA_MEMSET_NODE_PARAMS fill{
        .dst = wanted.dptr, .value = 5, .elementSize = 1, .width = 1024, .height = 1};
    ASK(cuGraphAddMemsetNode, "", &filling, graph, &node, 1, &fill, context());
    CUgraphExec exec = nullptr;
    ASK(cuGraphInstantiateWithFlags, "", &exec, graph, 0);
    note_pointer(wanted.dptr);
    ASK(cuGraphLaunch, "", exec, stream);
    ASK(cuStreamSynchronize, "", stream);
    note_pointer(wanted.dptr);
    unsigned char byte = 0;
    ASK(cuMemcpyDtoH, "", &byte, wanted.dptr, 1).told("byte", byte);
    for (const auto which : {CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT, CU_GRAPH_MEM_ATTR_USED_MEM_HIGH,
                             CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT}) {
        cuuint64_t value = 0;
        ask("graph memory attribute " + std::to_string(which),
            d.cuDeviceGetGraphMemAttribute(0, which, &value))
            .told("value", value);
    }
    ASK(cuMemFreeAsync, "", wanted.dptr, stream);
    ASK(cuStreamSynchronize, "", stream);
    ASK(cuGraphLaunch, " again", exec, stream);
    ASK(cuStreamSynchronize, "", stream);
    note_host_access(wanted.dptr);
}

void for_each_usable(const std::string &what, const auto &body) {
    for (const Placement &place : usable) {
        ask_in_short(what + ", " + text(place), [&] {
            if (start()) {
                body(place);
            }
        });
    }
}

void alone(const std::string &name, void (*body)()) {
    ask_in_short(name, [=] {
        if (start()) {
            body();
        }
    });
}

} // namespace

SECTION_ONCE("pools_by_location") {
    alone("attributes", attributes);
    alone("creation", creation);
    alone("defaults", defaults);
    alone("equal defaults", equal_defaults);
    alone("changed defaults", changed_defaults);
}

SECTION_ONCE("pool_memory_by_location") {
    for_each_usable("new", [](const Placement &place) { whole_life(new_pool(place)); });
    for_each_usable("default", [](const Placement &place) {
        if (place.location != 4) { // there is no default pool
            whole_life(default_pool(place));
        }
    });
    for_each_usable("asked about", [](const Placement &place) { with_memory(place, ask_about); });
    for (const auto &each : uses) {
        for_each_usable(each.name, [&](const Placement &place) {
            const Row row("memory, the use, synchronized");
            with_memory(place, [&](CUdeviceptr p) {
                each.go(p);
                ASK(cuCtxSynchronize, "");
            });
        });
    }
    for_each_usable("with access", [](const Placement &place) {
        const CUmemoryPool pool = new_pool(place);
        const CUmemAccessDesc access{.location = location_of({0, 1, 0}),
                                     .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
        ASK(cuMemPoolSetAccess, "", pool, &access, 1);
        const CUdeviceptr p = MAKE(cuMemAllocFromPoolAsync, 4096, pool, nullptr);
        use_all(p);
        note_pointer(p);
    });
    for_each_usable("access", [](const Placement &place) { set_access(new_pool(place)); });
    for_each_usable("by the host", [](const Placement &place) {
        const Row row("memory, read, by a copy");
        with_memory(place, note_host_access);
    });
    for_each_usable("captured", [](const Placement &place) { in_graph(new_pool(place)); });
    for_each_usable("after a reset", [](const Placement &place) {
        const Row row("memory, the reset, set, freed");
        with_memory(place, [](CUdeviceptr p) {
            ASK(cuDevicePrimaryCtxReset, "", 0);
            start();
            ASK(cuMemsetD8, "", p, 0, 16);
            ASK(cuMemFree, "", p);
        });
    });
}

SECTION_ONCE("graph_memory_by_location") {
    alone("nodes", nodes);
    alone("access", node_access);
    alone("managed", managed_node);
}

} // namespace record::QUESTIONS
