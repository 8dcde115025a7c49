// Nodes of any type through CUgraphNodeParams, including conditional nodes, which have no other
// call.
#include "driver_functions.hpp"
#include "engine/context.hpp"
#include "engine/graph_memory.hpp"
#include "graph/graph_nodes.hpp"

#include <algorithm>
#include <cstring>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>

#if CUDA_VERSION >= 12030

namespace sim {
namespace {

using Kinds =
    std::tuple<KernelNode, MemcpyNode, MemsetNode, HostNode, ChildNode, EventWaitNode,
               EventRecordNode, SignalNode, WaitNode, AllocationNode, FreeNode, BatchNode>;

// Calls function(Kind()) for the kind of that type. Empty and conditional nodes are not among them.
template <class Function>
bool with_kind(CUgraphNodeType type, const Function &function) {
    return std::apply(
        [&](auto... kind) { return ((kind.type == type ? (function(kind), true) : false) || ...); },
        Kinds());
}

// The number of bytes of the union that a type uses; the rest must be zero. 0: the type is not
// simulated.
std::size_t used_bytes(const CUgraphNodeParams &p) {
    std::size_t used = p.type == conditional_node ? sizeof p.conditional : 0;
    with_kind(p.type, [&](auto kind) { used = sizeof kind.in(p); });
    return used;
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
[[maybe_unused]] void show_first(Later &later, const First &first) {
    std::memcpy(static_cast<void *>(&later), &first, sizeof first);
}

// Each from its member of CUgraphNodeParams.
template <class Kind>
std::optional<NodeContent> content_of(const CUgraphNodeParams &p) {
    const auto &member = Kind::in(p);
    if constexpr (std::is_same_v<Kind, KernelNode>) {
        return Kind::content(member);
    } else if constexpr (std::is_same_v<Kind, MemcpyNode>) {
        require(member.flags == 0 && member.reserved == 0);
        refuse_destroyed(member.copyCtx);
        return Kind::content(member.copyParams, member.copyCtx);
    } else if constexpr (std::is_same_v<Kind, MemsetNode>) {
        refuse_destroyed(member.ctx);
        return Kind::content(first_of<CUDA_MEMSET_NODE_PARAMS>(member), member.ctx);
    } else if constexpr (requires(typename Kind::Parameters given) { Kind::content(given); }) {
        return Kind::content(first_of<typename Kind::Parameters>(member));
    } else {
        return {};
    }
}

#if CUDA_VERSION >= 13020
template <class Kind>
void show_in(Node &node, CUgraphNodeParams &p) {
    auto &member = Kind::in(p);
    if constexpr (std::is_same_v<Kind, KernelNode>) {
        Kind::show(node, member);
    } else if constexpr (std::is_same_v<Kind, MemcpyNode>) {
        member.copyCtx = node.content.context;
        Kind::show(node, member.copyParams);
    } else if constexpr (std::is_same_v<Kind, MemsetNode>) {
        CUDA_MEMSET_NODE_PARAMS shown;
        Kind::show(node, shown);
        show_first(member, shown);
        member.ctx = node.content.context;
    } else {
        typename Kind::Parameters shown;
        Kind::show(node, shown);
        show_first(member, shown);
    }
}
#endif

// Content of nodes that need nothing beside it.
NodeContent simple_content(const CUgraphNodeParams &p) {
    if (p.type == CU_GRAPH_NODE_TYPE_EMPTY) {
        return EmptyNode::content();
    }
    std::optional<NodeContent> content;
    with_kind(p.type, [&](auto kind) { content = content_of<decltype(kind)>(p); });
    require(content.has_value(), CUDA_ERROR_NOT_SUPPORTED);
    return std::move(*content);
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
        return ChildNode::content();
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

} // namespace

EXPORT CUresult add_any_node(OUT CUgraphNode *output, CUgraph handle,
                             const CUgraphNode *dependencies, const void *edge_data,
                             std::size_t count, CUgraphNodeParams *parameters) {
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
    return CUDA_SUCCESS;
}

EXPORT CUresult set_any_node(CUgraphNode handle, const CUgraphNodeParams *parameters) {
    check_parameters(parameters);
    const Node &node = node_of(handle);
    require(node.type() == parameters->type, other_type);
    set_content(handle, simple_content(*parameters));
    return CUDA_SUCCESS;
}

EXPORT CUresult set_any_step(CUgraphExec exec, CUgraphNode node,
                             const CUgraphNodeParams *parameters) {
    check_parameters(parameters);
    require(node_of(node).type() == parameters->type, other_type);
    if (parameters->type == CU_GRAPH_NODE_TYPE_EMPTY) {
        exec_of(exec);
        return CUDA_SUCCESS; // recorded for every empty node, which has no parameters
    }
    if (parameters->type == CU_GRAPH_NODE_TYPE_GRAPH) {
        return driver::cuGraphExecChildGraphNodeSetParams(exec, node, parameters->graph.graph);
    }
    set_content(exec, node, simple_content(*parameters));
    return CUDA_SUCCESS;
}

namespace driver {

#if CUDA_VERSION >= 13020
EXPORT CUresult cuGraphNodeGetParams(CUgraphNode hNode, OUT CUgraphNodeParams *nodeParams) {
    require(nodeParams != nullptr);
    Node &node = node_of(hNode);
    CUgraphNodeParams p;
    std::memset(static_cast<void *>(&p), 0, sizeof p);
    p.type = node.type();
    with_kind(node.type(), [&](auto kind) { show_in<decltype(kind)>(node, p); });
    if (node.type() == conditional_node) {
        p.conditional.handle = node.content.condition->handle;
        p.conditional.type = static_cast<CUgraphConditionalNodeType>(node.content.condition->type);
        p.conditional.size = node.content.condition->size;
        p.conditional.phGraph_out = node.graphs.data();
        p.conditional.ctx = node.content.context;
    }
    *nodeParams = p;
    return CUDA_SUCCESS;
}
#endif

} // namespace driver
} // namespace sim

#endif
