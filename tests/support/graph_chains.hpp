// Chains of graph nodes that use resources: built by raw calls of either API, and by the wrapper,
// which keeps the resources alive. For the cost of a node and growth with the number of nodes.
#pragma once

#include <cushim/device_buffer.hpp>
#include <cushim/graph.hpp>
#include <cushim/library.hpp>
#include <cushim/runtime_graph.hpp>

#include <cstddef>

#include "nothing_ptx.hpp"
#include "ok.hpp"

#if CUDA_VERSION >= 12000 // which has cudaLibrary_t
namespace chains {

using support::ok;

enum class NodeKind { kernel, memset, mixed }; // mixed: alternating

constexpr bool is_kernel(NodeKind kind, std::size_t index) {
    return kind == NodeKind::kernel || (kind == NodeKind::mixed && index % 2 == 0);
}

constexpr const char *name(NodeKind kind) {
    constexpr const char *names[] = {"kernel", "memset", "mixed"};
    return names[static_cast<int>(kind)];
}
constexpr const char *name(cushim::Api api) {
    return api == cushim::Api::driver ? "driver" : "runtime";
}

// The resources that the nodes use.
struct Parts {
    explicit Parts(const cushim::Context &in) : context(in.share()) {}

    cushim::Context context;
    cushim::Library library = ok(cushim::Library::load(nothing_ptx));
    cushim::Kernel<Nothing> kernel = ok(library.kernel<Nothing>("nothing"));
    cushim::DeviceBuffer<int> memory = ok(cushim::DeviceBuffer<int>::allocate(context, 1000));
};

// --- by raw calls

// A null `after` adds no dependency.
struct NodePosition {
    CUgraph graph;
    CUgraphNode after;

    const CUgraphNode *dependencies() const { return after != nullptr ? &after : nullptr; }
    std::size_t count() const { return after != nullptr ? 1 : 0; }
};

struct DriverCalls {
    static constexpr cushim::Api api = cushim::Api::driver;

    static CUgraph create() {
        CUgraph graph = nullptr;
        ok(cushim::driver().cuGraphCreate(&graph, 0));
        return graph;
    }
    static CUgraphNode add_kernel(const NodePosition &place, Parts &parts) {
        int *address = parts.memory.data();
        unsigned int number = 1;
        void *arguments[] = {&address, &number};
        CUDA_KERNEL_NODE_PARAMS_v2 parameters{};
        parameters.kern = reinterpret_cast<CUkernel>(parts.kernel.native());
        parameters.ctx = parts.context.native();
        parameters.gridDimX = parameters.gridDimY = parameters.gridDimZ = 1;
        parameters.blockDimX = 32;
        parameters.blockDimY = parameters.blockDimZ = 1;
        parameters.kernelParams = arguments;
        CUgraphNode node = nullptr;
        ok(cushim::driver().cuGraphAddKernelNode(&node, place.graph, place.dependencies(),
                                                 place.count(), &parameters));
        return node;
    }
    static CUgraphNode add_memset(const NodePosition &place, Parts &parts) {
        CUDA_MEMSET_NODE_PARAMS parameters{};
        parameters.dst = parts.memory.native();
        parameters.value = 1;
        parameters.elementSize = sizeof(int);
        parameters.width = parts.memory.size();
        parameters.height = 1;
        CUgraphNode node = nullptr;
        ok(cushim::driver().cuGraphAddMemsetNode(&node, place.graph, place.dependencies(),
                                                 place.count(), &parameters,
                                                 parts.context.native()));
        return node;
    }
    static CUgraphExec instantiate(CUgraph graph) {
        CUgraphExec exec = nullptr;
        ok(cushim::driver().cuGraphInstantiateWithFlags(&exec, graph, 0));
        return exec;
    }
    static void launch(CUgraphExec exec, CUstream stream) {
        ok(cushim::driver().cuGraphLaunch(exec, stream));
    }
    static void destroy(CUgraph graph) { ok(cushim::driver().cuGraphDestroy(graph)); }
    static void destroy(CUgraphExec exec) { ok(cushim::driver().cuGraphExecDestroy(exec)); }
};

struct RuntimeCalls {
    static constexpr cushim::Api api = cushim::Api::runtime;

    static cudaGraph_t create() {
        cudaGraph_t graph = nullptr;
        ok(cushim::runtime().cudaGraphCreate(&graph, 0));
        return graph;
    }
    static cudaGraphNode_t add_kernel(const NodePosition &place, Parts &parts) {
        int *address = parts.memory.data();
        unsigned int number = 1;
        void *arguments[] = {&address, &number};
        cudaKernelNodeParams parameters{};
        parameters.func = parts.kernel.native();
        parameters.gridDim = {1, 1, 1};
        parameters.blockDim = {32, 1, 1};
        parameters.kernelParams = arguments;
        cudaGraphNode_t node = nullptr;
        ok(cushim::runtime().cudaGraphAddKernelNode(&node, place.graph, place.dependencies(),
                                                    place.count(), &parameters));
        return node;
    }
    static cudaGraphNode_t add_memset(const NodePosition &place, Parts &parts) {
        cudaMemsetParams parameters{};
        parameters.dst = parts.memory.data();
        parameters.value = 1;
        parameters.elementSize = sizeof(int);
        parameters.width = parts.memory.size();
        parameters.height = 1;
        cudaGraphNode_t node = nullptr;
        ok(cushim::runtime().cudaGraphAddMemsetNode(&node, place.graph, place.dependencies(),
                                                    place.count(), &parameters));
        return node;
    }
    static cudaGraphExec_t instantiate(cudaGraph_t graph) {
        cudaGraphExec_t exec = nullptr;
        ok(cushim::runtime().cudaGraphInstantiateWithFlags(&exec, graph, 0));
        return exec;
    }
    static void launch(cudaGraphExec_t exec, cudaStream_t stream) {
        ok(cushim::runtime().cudaGraphLaunch(exec, stream));
    }
    static void destroy(cudaGraph_t graph) { ok(cushim::runtime().cudaGraphDestroy(graph)); }
    static void destroy(cudaGraphExec_t exec) { ok(cushim::runtime().cudaGraphExecDestroy(exec)); }
};

// Appends `count` nodes after `last` and returns the last one. The caller must keep the parts
// alive.
template <class Calls>
CUgraphNode append_raw(CUgraph graph, CUgraphNode last, NodeKind kind, std::size_t count,
                       Parts &parts) {
    for (std::size_t index = 0; index < count; ++index) {
        const NodePosition place{graph, last};
        last = is_kernel(kind, index) ? Calls::add_kernel(place, parts)
                                      : Calls::add_memset(place, parts);
    }
    return last;
}
template <class Calls>
CUgraph build_raw(NodeKind kind, std::size_t length, Parts &parts) {
    CUgraph graph = Calls::create();
    (void)append_raw<Calls>(graph, nullptr, kind, length, parts);
    return graph;
}

// --- by the wrapper

inline cushim::Graph create(cushim::Api api, const cushim::Context &context) {
    return ok(api == cushim::Api::driver ? cushim::Graph::create(context)
                                         : cushim::rt::create_graph(context));
}

// Appends `count` nodes after `last`, as programs do, and returns the last one. The graph keeps the
// parts alive.
inline cushim::GraphNode append(cushim::Graph &graph, cushim::GraphNode last, NodeKind kind,
                                std::size_t count, Parts &parts) {
    std::size_t index = 0;
    if (!last) {
        last = ok(is_kernel(kind, index++)
                      ? graph.add_kernel_node({}, parts.kernel, {.grid = 1, .block = 32},
                                              parts.memory, 1u)
                      : graph.add_memset_node({}, parts.memory, 1));
    }
    for (; index < count; ++index) {
        if (is_kernel(kind, index)) {
            last = ok(graph.add_kernel_node({last}, parts.kernel, {.grid = 1, .block = 32},
                                            parts.memory, 1u));
        } else {
            last = ok(graph.add_memset_node({last}, parts.memory, 1));
        }
    }
    return last;
}

inline cushim::Graph build(cushim::Api api, NodeKind kind, std::size_t length, Parts &parts) {
    cushim::Graph graph = create(api, parts.context);
    (void)append(graph, {}, kind, length, parts);
    return graph;
}

} // namespace chains
#endif
