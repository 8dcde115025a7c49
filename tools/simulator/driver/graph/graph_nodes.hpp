// The kinds of graph nodes. Each describes how the API's parameters become a node's content and
// back; the templates at the end, which forwarded.txt lists, are the entry points of all kinds.
#pragma once

#include "base/export.hpp"
#include "base/refusal.hpp"
#include "engine/graph.hpp"

namespace sim {

// A kind has its CUgraphNodeType; content() of the structure that the API passes, with a context if
// the calls for the kind do; show(), which writes that structure for a node, with pointers into the
// node; and its member of CUgraphNodeParams.

struct KernelNode {
    static constexpr auto type = CU_GRAPH_NODE_TYPE_KERNEL;
    // All versions of the structure.
    template <class Parameters>
    static NodeContent content(const Parameters &parameters);
    template <class Parameters>
    static void show(Node &node, Parameters &out);
    static auto &in(auto &any) { return any.kernel; }
};

struct MemcpyNode {
    static constexpr auto type = CU_GRAPH_NODE_TYPE_MEMCPY;
    static NodeContent content(const CUDA_MEMCPY3D &parameters, CUcontext context);
    static void show(Node &node, CUDA_MEMCPY3D &out);
    static auto &in(auto &any) { return any.memcpy; }
};

struct MemsetNode {
    static constexpr auto type = CU_GRAPH_NODE_TYPE_MEMSET;
    static NodeContent content(const CUDA_MEMSET_NODE_PARAMS &parameters, CUcontext context);
    static void show(Node &node, CUDA_MEMSET_NODE_PARAMS &out);
    static auto &in(auto &any) { return any.memset; }
};

struct HostNode {
    static constexpr auto type = CU_GRAPH_NODE_TYPE_HOST;
    using Parameters = CUDA_HOST_NODE_PARAMS;
    static NodeContent content(const Parameters &parameters);
    static void show(Node &node, Parameters &out);
    static auto &in(auto &any) { return any.host; }
};

struct ChildNode {
    static constexpr auto type = CU_GRAPH_NODE_TYPE_GRAPH;
    using Parameters = CUgraph;
    static NodeContent content(); // the graph itself is a ChildCopy
    static void show(Node &node, Parameters &out) { out = node.graphs.front(); }
    static auto &in(auto &any) { return any.graph; }
};

struct EmptyNode {
    static constexpr auto type = CU_GRAPH_NODE_TYPE_EMPTY;
    static NodeContent content();
};

template <CUgraphNodeType its_type>
struct EventNode {
    static constexpr auto type = its_type;
    using Parameters = CUevent;
    static NodeContent content(Parameters event);
    static void show(Node &node, Parameters &out) {
        out = std::any_cast<CUevent>(node.content.work.parameters);
    }
    static auto &in(auto &any) {
        if constexpr (type == CU_GRAPH_NODE_TYPE_EVENT_RECORD) {
            return any.eventRecord;
        } else {
            return any.eventWait;
        }
    }
};
using EventRecordNode = EventNode<CU_GRAPH_NODE_TYPE_EVENT_RECORD>;
using EventWaitNode = EventNode<CU_GRAPH_NODE_TYPE_WAIT_EVENT>;

struct SignalNode {
    static constexpr auto type = CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL;
    using Parameters = CUDA_EXT_SEM_SIGNAL_NODE_PARAMS;
    static NodeContent content(const Parameters &parameters);
    static void show(Node &node, Parameters &out);
    static auto &in(auto &any) { return any.extSemSignal; }
};

struct WaitNode {
    static constexpr auto type = CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT;
    using Parameters = CUDA_EXT_SEM_WAIT_NODE_PARAMS;
    static NodeContent content(const Parameters &parameters);
    static void show(Node &node, Parameters &out);
    static auto &in(auto &any) { return any.extSemWait; }
};

struct BatchNode {
    static constexpr auto type = CU_GRAPH_NODE_TYPE_BATCH_MEM_OP;
    using Parameters = CUDA_BATCH_MEM_OP_NODE_PARAMS;
    static NodeContent content(const Parameters &parameters);
    static void show(Node &node, Parameters &out);
    static auto &in(auto &any) { return any.memOp; }
};

struct AllocationNode {
    static constexpr auto type = CU_GRAPH_NODE_TYPE_MEM_ALLOC;
    using Parameters = CUDA_MEM_ALLOC_NODE_PARAMS;
    static void show(Node &node, Parameters &out);
    static auto &in(auto &any) { return any.alloc; }
};

struct FreeNode {
    static constexpr auto type = CU_GRAPH_NODE_TYPE_MEM_FREE;
    using Parameters = CUdeviceptr;
    static void show(Node &node, Parameters &out);
    static auto &in(auto &any) { return any.free; }
};

// Checks a graph that is copied into a node.
void need_context_for_kernels(const Graph &graph);
// The context that a kernel node is bound to, or null.
CUctx_st *kernel_context(const NodeContent &content);
// New content of a kernel node, with the attributes of the old one.
NodeContent with_attributes_of(const NodeContent &old, NodeContent content);

// The common part of all calls that add a node. `make()` returns the content, after everything else
// was checked.
template <class Make>
Node &new_node(CUgraphNode *output, CUgraph graph, const CUgraphNode *dependencies,
               std::size_t count, const void *edge_data, const Make &make) {
    require(output != nullptr);
    Graph &owner = graph_of(graph);
    const std::vector<Edge> after = edges_of(owner, dependencies, count, edge_data);
    Node &node = add_node(owner, make(owner), after);
    *output = &node;
    return node;
}

// Sets the content of a node, or of a step of an executable graph. The type must be the same. Fails
// for changes that an executable graph does not support.
void set_content(CUgraphNode node, NodeContent content);
void set_content(CUgraphExec exec, CUgraphNode node, NodeContent content);

// The condition of a handle, or null.
std::shared_ptr<Conditional> find_condition(std::uint64_t handle);
// Does what cudaGraphSetConditional does in device code, for kernels that run on the host. Returns
// false if the handle does not exist. The caller holds the lock.
bool set_conditional(std::uint64_t handle, unsigned int value);
// Adds the bodies of a conditional node; its content's condition is set.
void add_bodies(Node &node);

// --- entry points. `given` is a pointer to parameters, or an event.

template <class Parameters>
const Parameters &read(const Parameters *parameters) {
    require(parameters != nullptr);
    return *parameters;
}
inline CUevent read(CUevent event) {
    return event;
}

template <class Kind, class... Context>
EXPORT CUresult add_node(OUT CUgraphNode *output, CUgraph graph, const CUgraphNode *dependencies,
                         std::size_t count, auto given, Context... context) {
    const auto &parameters = read(given);
    (refuse_destroyed(context), ...);
    new_node(output, graph, dependencies, count, nullptr,
             [&](Graph &) { return Kind::content(parameters, context...); });
    return CUDA_SUCCESS;
}

template <class Kind>
EXPORT CUresult add_node(OUT CUgraphNode *output, CUgraph graph, const CUgraphNode *dependencies,
                         std::size_t count) {
    new_node(output, graph, dependencies, count, nullptr, [](Graph &) { return Kind::content(); });
    return CUDA_SUCCESS;
}

template <class Kind>
EXPORT CUresult get_node(CUgraphNode node, OUT auto *output) {
    require(output != nullptr);
    Kind::show(node_of(node, Kind::type), *output);
    return CUDA_SUCCESS;
}

template <class Kind>
EXPORT CUresult set_node(CUgraphNode node, auto given) {
    const auto &parameters = read(given);
    if constexpr (requires { Kind::content(parameters); }) {
        set_content(node, Kind::content(parameters));
    } else {
        set_content(node, Kind::content(parameters, node_of(node).content.context));
    }
    return CUDA_SUCCESS;
}

template <class Kind, class... Context>
EXPORT CUresult set_step(CUgraphExec exec, CUgraphNode node, auto given, Context... context) {
    (refuse_destroyed(context), ...);
    set_content(exec, node, Kind::content(read(given), context...));
    return CUDA_SUCCESS;
}

// Through the structure for all kinds.
#if CUDA_VERSION >= 12030
CUresult add_any_node(CUgraphNode *output, CUgraph graph, const CUgraphNode *dependencies,
                      const void *edge_data, std::size_t count, CUgraphNodeParams *parameters);
CUresult set_any_node(CUgraphNode node, const CUgraphNodeParams *parameters);
CUresult set_any_step(CUgraphExec exec, CUgraphNode node, const CUgraphNodeParams *parameters);
#endif

} // namespace sim
