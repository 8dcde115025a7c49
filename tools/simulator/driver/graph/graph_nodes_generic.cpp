// Nodes of any type through CUgraphNodeParams, including conditional nodes, which have no other
// call.
#include "driver_functions.hpp"
#include "engine/context.hpp"
#include "engine/graph_memory.hpp"
#include "graph/graph_nodes.hpp"

#include <algorithm>
#include <cstring>
#include <optional>

#if CUDA_VERSION >= 12030

namespace sim {
namespace {

// The number of bytes of the union that a type uses; the rest must be zero. 0: the type is not
// simulated.
std::size_t used_bytes(const CUgraphNodeParams &p) {
    switch (p.type) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
        return sizeof p.kernel;
    case CU_GRAPH_NODE_TYPE_MEMCPY:
        return sizeof p.memcpy;
    case CU_GRAPH_NODE_TYPE_MEMSET:
        return sizeof p.memset;
    case CU_GRAPH_NODE_TYPE_HOST:
        return sizeof p.host;
    case CU_GRAPH_NODE_TYPE_GRAPH:
        return sizeof p.graph;
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
        return sizeof p.eventWait;
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
        return sizeof p.eventRecord;
    case CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL:
        return sizeof p.extSemSignal;
    case CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT:
        return sizeof p.extSemWait;
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
        return sizeof p.alloc;
    case CU_GRAPH_NODE_TYPE_MEM_FREE:
        return sizeof p.free;
    case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
        return sizeof p.memOp;
    case CU_GRAPH_NODE_TYPE_CONDITIONAL:
        return sizeof p.conditional;
    default:
        return 0;
    }
}

constexpr char other_type[] = "Parameter type does not match node type";
constexpr char not_zero[] = "nodeParams struct must be initialized to zero";

void check_parameters(const CUgraphNodeParams *p) {
    require(p != nullptr);
    require(p->reserved0[0] == 0 && p->reserved0[1] == 0 && p->reserved0[2] == 0 &&
                p->reserved2 == 0,
            not_zero);
    const auto *bytes = reinterpret_cast<const unsigned char *>(p->reserved1);
    const std::size_t used = used_bytes(*p);
    require(std::all_of(bytes + used, bytes + sizeof p->reserved1,
                        [](unsigned char b) { return b == 0; }),
            not_zero);
    if (static_cast<unsigned int>(p->type) > CU_GRAPH_NODE_TYPE_CONDITIONAL + 1) {
        refuse(CUDA_ERROR_INVALID_VALUE, "Invalid node type: %d", static_cast<int>(p->type));
    }
    require(used != 0 || p->type == CU_GRAPH_NODE_TYPE_EMPTY, CUDA_ERROR_NOT_SUPPORTED);
}

// Structures of several versions have a common beginning.
template <class First, class Later>
First first_of(const Later &later) {
    static_assert(sizeof(Later) >= sizeof(First));
    First first;
    std::memcpy(static_cast<void *>(&first), &later, sizeof first);
    return first;
}
template <class First, class Later>
void show_first(Later &later, const First &first) {
    std::memcpy(static_cast<void *>(&later), &first, sizeof first);
}

// Content of nodes without members of their own.
NodeContent simple_content(const CUgraphNodeParams &p) {
    switch (p.type) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
        return kernel_content(kernel_node(p.kernel));
    case CU_GRAPH_NODE_TYPE_MEMCPY:
        require(p.memcpy.flags == 0 && p.memcpy.reserved == 0);
        return copy_content(p.memcpy.copyParams, p.memcpy.copyCtx);
    case CU_GRAPH_NODE_TYPE_MEMSET:
        return memset_content(first_of<CUDA_MEMSET_NODE_PARAMS>(p.memset), p.memset.ctx);
    case CU_GRAPH_NODE_TYPE_HOST:
        return host_content(first_of<CUDA_HOST_NODE_PARAMS>(p.host));
    case CU_GRAPH_NODE_TYPE_EMPTY:
        return empty_content();
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
        return event_content(p.type, p.eventWait.event);
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
        return event_content(p.type, p.eventRecord.event);
    case CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL:
        return signal_content(first_of<CUDA_EXT_SEM_SIGNAL_NODE_PARAMS>(p.extSemSignal));
    case CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT:
        return wait_content(first_of<CUDA_EXT_SEM_WAIT_NODE_PARAMS>(p.extSemWait));
    case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
        return batch_content(first_of<CUDA_BATCH_MEM_OP_NODE_PARAMS>(p.memOp));
    default:
        refuse(CUDA_ERROR_NOT_SUPPORTED);
    }
}

bool moves_child(const CUgraphNodeParams &p) {
#if CUDA_VERSION >= 12090
    require(p.graph.ownership == CU_GRAPH_CHILD_GRAPH_OWNERSHIP_CLONE ||
            p.graph.ownership == CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE);
    return p.graph.ownership == CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE;
#else
    (void)p;
    return false;
#endif
}

NodeContent condition_content(const Graph &graph, const CUDA_CONDITIONAL_NODE_PARAMS &p) {
    constexpr unsigned int if_type = 0, while_type = 1, switch_type = 2;
    const auto type = static_cast<unsigned int>(p.type);
    require(type <= switch_type && p.size != 0);
    require(type != while_type || p.size == 1);
    require(type != if_type || p.size <= 2, "Size must be 1 or 2 for IF conditional nodes");
    constexpr unsigned int most_bodies = 1 << 16;
    require(p.size <= most_bodies);
    NodeContent content;
    content.work.type = conditional_node;
    content.work.what = "conditional node";
    content.context = p.ctx;
    content.condition = find_condition(p.handle);
    require(content.condition != nullptr);
    if (content.condition->used) {
        refuse(CUDA_ERROR_INVALID_VALUE, "Handle %llu already in use",
               static_cast<unsigned long long>(p.handle));
    }
    require(within(graph, *content.condition->graph));
    static_cast<void>(checked_context(p.ctx));
    content.condition->used = true;
    content.condition->type = static_cast<int>(type);
    content.condition->size = p.size;
    return content;
}

NodeContent any_content(Graph &graph, const CUgraphNodeParams &p) {
    switch (p.type) {
    case CU_GRAPH_NODE_TYPE_GRAPH:
        return child_content();
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
        return allocation_node(graph, first_of<CUDA_MEM_ALLOC_NODE_PARAMS>(p.alloc));
    case CU_GRAPH_NODE_TYPE_MEM_FREE:
        return free_node(graph, p.free.dptr);
    case CU_GRAPH_NODE_TYPE_CONDITIONAL:
        return condition_content(graph, p.conditional);
    default:
        return simple_content(p);
    }
}

// Checks a child graph that is moved: it must not belong to a node or contain the parent.
void check_move(const Graph &child, const Graph &parent) {
    require(child.owner == nullptr && !child.capturing && !within(parent, child) &&
            child.exec.expired());
}

void add(CUgraphNode *output, CUgraph handle, const CUgraphNode *dependencies,
         const void *edge_data, std::size_t count, CUgraphNodeParams *parameters) {
    check_parameters(parameters);
    CUgraphNodeParams &p = *parameters;
    Graph *child = p.type == CU_GRAPH_NODE_TYPE_GRAPH ? &graph_of(p.graph.graph) : nullptr;
    const bool move = child != nullptr && moves_child(p);
    if (move) {
        check_move(*child, graph_of(handle));
    }
    std::optional<ChildCopy> copy;
    if (child != nullptr && !move) {
        copy.emplace(*child);
    }
    Node &node = new_node(output, handle, dependencies, count, edge_data,
                          [&](Graph &graph) { return any_content(graph, p); });
    if (move) {
        attach(*child, node);
    } else if (copy) {
        copy->give_to(node);
    } else if (p.type == CU_GRAPH_NODE_TYPE_MEM_ALLOC) {
        p.alloc.dptr = node.content.allocation->address;
    } else if (p.type == CU_GRAPH_NODE_TYPE_CONDITIONAL) {
        add_bodies(node);
        p.conditional.phGraph_out = node.graphs.data();
    }
}

void set(CUgraphNode handle, const CUgraphNodeParams *parameters) {
    check_parameters(parameters);
    const Node &node = node_of(handle);
    require(node.type() == parameters->type, other_type);
    set_content(handle, simple_content(*parameters));
}

} // namespace

namespace driver {

CUresult cuGraphAddNode(CUgraphNode *phGraphNode, CUgraph hGraph, const CUgraphNode *dependencies,
                        size_t numDependencies, CUgraphNodeParams *nodeParams) {
    add(phGraphNode, hGraph, dependencies, nullptr, numDependencies, nodeParams);
    return CUDA_SUCCESS;
}

CUresult cuGraphAddNode_v2(CUgraphNode *phGraphNode, CUgraph hGraph,
                           const CUgraphNode *dependencies, const CUgraphEdgeData *dependencyData,
                           size_t numDependencies, CUgraphNodeParams *nodeParams) {
    add(phGraphNode, hGraph, dependencies, dependencyData, numDependencies, nodeParams);
    return CUDA_SUCCESS;
}

CUresult cuGraphNodeSetParams(CUgraphNode hNode, CUgraphNodeParams *nodeParams) {
    set(hNode, nodeParams);
    return CUDA_SUCCESS;
}

CUresult cuGraphExecNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode,
                                  CUgraphNodeParams *nodeParams) {
    check_parameters(nodeParams);
    require(node_of(hNode).type() == nodeParams->type, other_type);
    if (nodeParams->type == CU_GRAPH_NODE_TYPE_EMPTY) {
        exec_of(hGraphExec);
        return CUDA_SUCCESS; // recorded for every empty node, which has no parameters
    }
    if (nodeParams->type == CU_GRAPH_NODE_TYPE_GRAPH) {
        return driver::cuGraphExecChildGraphNodeSetParams(hGraphExec, hNode,
                                                          nodeParams->graph.graph);
    }
    set_content(hGraphExec, hNode, simple_content(*nodeParams));
    return CUDA_SUCCESS;
}

#if CUDA_VERSION >= 13020
CUresult cuGraphNodeGetParams(CUgraphNode hNode, CUgraphNodeParams *nodeParams) {
    require(nodeParams != nullptr);
    Node &node = node_of(hNode);
    CUgraphNodeParams p;
    std::memset(static_cast<void *>(&p), 0, sizeof p);
    p.type = node.type();
    switch (node.type()) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
        show_kernel(node, p.kernel);
        break;
    case CU_GRAPH_NODE_TYPE_MEMCPY:
        p.memcpy.copyCtx = node.content.context;
        p.memcpy.copyParams = copy_parameters(node.content);
        break;
    case CU_GRAPH_NODE_TYPE_MEMSET:
        show_first(p.memset, memset_parameters(node.content));
        p.memset.ctx = node.content.context;
        break;
    case CU_GRAPH_NODE_TYPE_HOST:
        show_first(p.host, host_parameters(node.content));
        break;
    case CU_GRAPH_NODE_TYPE_GRAPH:
        p.graph.graph = node.graphs.front();
        break;
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
        p.eventWait.event = std::any_cast<CUevent>(node.content.work.parameters);
        break;
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
        p.eventRecord.event = std::any_cast<CUevent>(node.content.work.parameters);
        break;
    case CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL:
        show_first(p.extSemSignal, signal_parameters(node.content));
        break;
    case CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT:
        show_first(p.extSemWait, wait_parameters(node.content));
        break;
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
        show_first(p.alloc, allocation_parameters(node.content));
        break;
    case CU_GRAPH_NODE_TYPE_MEM_FREE:
        p.free.dptr = node.content.allocation->address;
        break;
    case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
        show_first(p.memOp, batch_parameters(node.content));
        break;
    case CU_GRAPH_NODE_TYPE_CONDITIONAL:
        p.conditional.handle = node.content.condition->handle;
        p.conditional.type = static_cast<CUgraphConditionalNodeType>(node.content.condition->type);
        p.conditional.size = node.content.condition->size;
        p.conditional.phGraph_out = node.graphs.data();
        p.conditional.ctx = node.content.context;
        break;
    default:
        break;
    }
    *nodeParams = p;
    return CUDA_SUCCESS;
}
#endif

#if CUDA_VERSION >= 13040
CUresult cuGraphAddNode_v3(CUgraphNode *phGraphNode, CUgraph hGraph,
                           const CUgraphNode *dependencies, const CUgraphEdgeData *dependencyData,
                           size_t numDependencies, CUgraphNodeParams *nodeParams) {
    add(phGraphNode, hGraph, dependencies, dependencyData, numDependencies, nodeParams);
    return CUDA_SUCCESS;
}

CUresult cuGraphNodeSetParams_v2(CUgraphNode hNode, CUgraphNodeParams *nodeParams) {
    set(hNode, nodeParams);
    return CUDA_SUCCESS;
}
#endif

} // namespace driver
} // namespace sim

#endif
