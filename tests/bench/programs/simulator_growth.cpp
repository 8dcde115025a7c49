/* Operations of the simulator whose cost must not depend on the size of what they work on.
 *
 * usage: PROGRAM NAME SIZE. Prints the processor time per operation in nanoseconds, or the other
 * unit that the table below names. Returns 1 if a call fails. The operations run inside
 * measured_part(), so that callgrind can count theirs alone.
 */
#include "growth.hpp"

#include <string.h>

#include <vector>

#if CUDA_VERSION >= 13000
#define EDGE_DATA nullptr,
#else
#define EDGE_DATA
#endif

using Nodes = std::vector<CUgraphNode>;

static CUgraph make_graph() {
    CUgraph graph = nullptr;
    require(driver.cuGraphCreate(&graph, 0));
    return graph;
}

static CUgraphNode add_node(CUgraph graph, const Nodes &after = {}) {
    CUgraphNode node = nullptr;
    require(driver.cuGraphAddEmptyNode(&node, graph, after.data(), after.size()));
    return node;
}

static Nodes add_nodes(CUgraph graph, size_t count, const Nodes &after = {}) {
    Nodes nodes;
    for (size_t i = 0; i < count; ++i) {
        nodes.push_back(add_node(graph, after));
    }
    return nodes;
}

static void add_chain(CUgraph graph, size_t count) {
    Nodes last;
    for (size_t i = 0; i < count; ++i) {
        last = {add_node(graph, last)};
    }
}

/* Each allocation follows the one before it; the frees follow in the same order. */
static void add_allocations(CUgraph graph, size_t count) {
    std::vector<CUdeviceptr> addresses;
    Nodes last;
    for (size_t i = 0; i < count; ++i) {
        CUDA_MEM_ALLOC_NODE_PARAMS parameters = {};
        parameters.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
        parameters.poolProps.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0};
        parameters.bytesize = 256;
        CUgraphNode node = nullptr;
        require(driver.cuGraphAddMemAllocNode(&node, graph, last.data(), last.size(), &parameters));
        addresses.push_back(parameters.dptr);
        last = {node};
    }
    for (const CUdeviceptr address : addresses) {
        CUgraphNode node = nullptr;
        require(driver.cuGraphAddMemFreeNode(&node, graph, last.data(), last.size(), address));
        last = {node};
    }
}

static CUgraphExec instantiate(CUgraph graph) {
    CUgraphExec exec = nullptr;
    require(driver.cuGraphInstantiateWithFlags(&exec, graph, 0));
    return exec;
}

static CUstream make_stream() {
    CUstream stream = nullptr;
    require(driver.cuStreamCreate(&stream, CU_STREAM_DEFAULT));
    return stream;
}

static double launch(CUgraph graph) {
    const CUstream stream = make_stream();
    const CUgraphExec exec = instantiate(graph);
    return measure([=] {
        require(driver.cuGraphLaunch(exec, stream));
        require(driver.cuStreamSynchronize(stream));
    });
}

static CUdeviceptr allocate() {
    CUdeviceptr memory = 0;
    require(driver.cuMemAlloc(&memory, 16));
    return memory;
}

/* Streams that have had work. */
static std::vector<CUstream> used_streams(size_t count) {
    const CUdeviceptr memory = allocate();
    std::vector<CUstream> streams;
    for (size_t i = 0; i < count; ++i) {
        streams.push_back(make_stream());
        require(driver.cuMemsetD8Async(memory, 1, 16, streams.back()));
    }
    require(driver.cuCtxSynchronize());
    return streams;
}

struct Mappings {
    size_t step;
    CUdeviceptr base;
};

/* A reservation in which the same physical memory is mapped beside itself so many times. */
static Mappings map_memory(size_t count) {
    CUmemAllocationProp properties = {};
    properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0};
    Mappings mapped = {};
    require(driver.cuMemGetAllocationGranularity(&mapped.step, &properties,
                                                 CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    require(driver.cuMemAddressReserve(&mapped.base, count * mapped.step, 0, 0, 0));
    CUmemGenericAllocationHandle memory = 0;
    require(driver.cuMemCreate(&memory, mapped.step, &properties, 0));
    for (size_t i = 0; i < count; ++i) {
        require(driver.cuMemMap(mapped.base + i * mapped.step, mapped.step, 0, memory, 0));
    }
    return mapped;
}

/* Blocking copies, after some that are not measured. */
static double copies(size_t count, double (*meter)()) {
    const CUdeviceptr memory = allocate();
    const auto copy = [=] {
        char host[16];
        for (size_t i = 0; i < count; ++i) {
            require(driver.cuMemcpyDtoH(host, memory, sizeof host));
        }
    };
    copy();
    return measure(copy, meter) / count;
}

struct Measured {
    const char *name;
    double (*run)(size_t size); // returns the cost of one operation
};

static const Measured all[] = {
    {"destroy-node",
     [](size_t size) {
         const Nodes nodes = add_nodes(make_graph(), size);
         return measure([&] {
                    for (const CUgraphNode node : nodes) {
                        require(driver.cuGraphDestroyNode(node));
                    }
                }) /
                size;
     }},
    {"remove-edge",
     [](size_t size) {
         const CUgraph graph = make_graph();
         const CUgraphNode hub = add_node(graph);
         const Nodes nodes = add_nodes(graph, size, {hub});
         return measure([&] {
                    for (const CUgraphNode node : nodes) {
                        require(driver.cuGraphRemoveDependencies(graph, &hub, &node, EDGE_DATA 1));
                    }
                }) /
                size;
     }},
    {"add-edge",
     [](size_t size) {
         const CUgraph graph = make_graph();
         const CUgraphNode hub = add_node(graph);
         const Nodes nodes = add_nodes(graph, size);
         return measure([&] {
                    for (const CUgraphNode node : nodes) {
                        require(driver.cuGraphAddDependencies(graph, &node, &hub, EDGE_DATA 1));
                    }
                }) /
                size;
     }},
    {"dependency",
     [](size_t size) {
         const CUgraph graph = make_graph();
         const Nodes nodes = add_nodes(graph, size);
         return measure([&] { add_node(graph, nodes); }) / size;
     }},
    {"instantiate-roots",
     [](size_t size) {
         const CUgraph graph = make_graph();
         add_nodes(graph, size);
         return measure([=] { instantiate(graph); }) / size;
     }},
    {"instantiate-allocations",
     [](size_t size) {
         const CUgraph graph = make_graph();
         add_allocations(graph, size / 2);
         return measure([=] { instantiate(graph); }) / size;
     }},
    {"instantiate-allocations-memory", // bytes
     [](size_t size) {
         const CUgraph graph = make_graph();
         add_allocations(graph, size / 2);
         return measure([=] { instantiate(graph); }, resident_bytes) / size;
     }},
    {"launch-allocations",
     [](size_t size) {
         const CUgraph graph = make_graph();
         add_allocations(graph, size / 2);
         return launch(graph) / size;
     }},
    {"launch-chain",
     [](size_t size) {
         const CUgraph graph = make_graph();
         add_chain(graph, size);
         return launch(graph) / size;
     }},
    {"launch-wide",
     [](size_t size) {
         const CUgraph graph = make_graph();
         add_nodes(graph, size, {add_node(graph)});
         return launch(graph) / size;
     }},
    {"streams", // work in each of them, and the wait for all
     [](size_t size) {
         const std::vector<CUstream> streams = used_streams(size);
         const CUdeviceptr memory = allocate();
         return measure([&] {
                    for (const CUstream stream : streams) {
                        require(driver.cuMemsetD8Async(memory, 1, 16, stream));
                    }
                    require(driver.cuCtxSynchronize());
                }) /
                size;
     }},
    {"destroy-stream",
     [](size_t size) {
         const std::vector<CUstream> streams = used_streams(size);
         return measure([&] {
                    for (const CUstream stream : streams) {
                        require(driver.cuStreamDestroy(stream));
                    }
                }) /
                size;
     }},
    {"set-access",
     [](size_t size) {
         const Mappings mapped = map_memory(size);
         CUmemAccessDesc access = {};
         access.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0};
         access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
         return measure([=] {
                    for (size_t i = 0; i < size; ++i) {
                        require(driver.cuMemSetAccess(mapped.base + i * mapped.step, mapped.step,
                                                      &access, 1));
                    }
                }) /
                size;
     }},
    {"unmap",
     [](size_t size) {
         const Mappings mapped = map_memory(size);
         return measure([=] {
                    for (size_t i = 0; i < size; ++i) {
                        require(driver.cuMemUnmap(mapped.base + i * mapped.step, mapped.step));
                    }
                }) /
                size;
     }},
    {"copy",
     [](size_t size) {
         used_streams(size);
         return copies(size, processor_ns);
     }},
    {"copy-sleeps", // times that a thread of the process went to sleep
     [](size_t size) {
         used_streams(size);
         return copies(50, sleeps);
     }},
};

int main(int argc, char **argv) {
    if (argc != 3) {
        return 2;
    }
    start();
    for (const Measured &measured : all) {
        if (strcmp(argv[1], measured.name) == 0) {
            print_and_leave(measured.run(strtoul(argv[2], nullptr, 10)));
        }
    }
    return 2;
}
