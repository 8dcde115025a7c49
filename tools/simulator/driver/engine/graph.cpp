// Creation, copies and destruction of graphs and nodes.
#include "engine/graph.hpp"
#include "call/misuse.hpp"
#include "driver_functions.hpp"
#include "engine/capture.hpp"
#include "engine/context.hpp"
#include "engine/graph_memory.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>

CUgraphNode_st::CUgraphNode_st(CUgraph_st &owner, sim::NodeContent its_content)
    : Object(own_kind), graph(&owner), content(std::move(its_content)),
      number(owner.next_number++) {
    counted = false;
}

namespace sim {
namespace {

unsigned int next_graph_id() {
    static unsigned int id = 0;
    return ++id;
}

bool kernel_or_conditional(const Node &node) {
    return node.type() == CU_GRAPH_NODE_TYPE_KERNEL || node.type() == conditional_node;
}

// Only edges of kernel nodes may have other than default ports and types.
void check_edge_data(const Node &from, const Node &to, const EdgeData &data) {
    constexpr unsigned char programmatic = 1, last_port = 2;
    for (const unsigned char byte : data.reserved) {
        require(byte == 0);
    }
    if (data.type > programmatic) {
        refuse(CUDA_ERROR_INVALID_VALUE, "Edge data 'type' field is invalid: 0x%x", data.type);
    }
    require(data.to_port == 0 && data.from_port <= last_port);
    require(data.from_port == 0 || kernel_or_conditional(from));
    if (data.type == programmatic) {
        require(data.from_port != 0 && from.type() == CU_GRAPH_NODE_TYPE_KERNEL &&
                to.type() == CU_GRAPH_NODE_TYPE_KERNEL);
    }
}

// Calls function(graph) for a graph and those that it is inside of.
void for_each_around(Graph &innermost, const auto &function) {
    for (Graph *graph = &innermost; graph != nullptr;
         graph = graph->owner != nullptr ? graph->owner->graph : nullptr) {
        function(*graph);
    }
}

bool is_memory_node(const Node &node) {
    return node.type() == CU_GRAPH_NODE_TYPE_MEM_ALLOC ||
           node.type() == CU_GRAPH_NODE_TYPE_MEM_FREE;
}

// The edge in the list of `to`, or its end. Searches the shorter of the two lists.
Links::iterator find_edge(Node &from, Node &to) {
    const auto find = [](Links &list, const Node &node) {
        return std::find_if(list.begin(), list.end(),
                            [&](const Edge &edge) { return edge.node == &node; });
    };
    if (to.dependencies.size() <= from.dependents.size()) {
        return find(to.dependencies, from);
    }
    const auto found = find(from.dependents, to);
    return found == from.dependents.end() ? to.dependencies.end() : found->twin;
}

// Returns the edge in the list of `from`.
Links::iterator connect(Node &from, Node &to, const EdgeData &data) {
    const auto link = from.dependents.insert(from.dependents.end(), Link{{&to, data}, {}});
    try {
        link->twin = to.dependencies.insert(to.dependencies.end(), Link{{&from, data}, link});
    } catch (...) {
        from.dependents.erase(link);
        throw;
    }
    return link;
}

// Of a node that is of another type.
[[noreturn]] void refuse_type(CUgraphNodeType expected) {
    static constexpr const char *names[] = {"kernel",
                                            "memcpy",
                                            "memset",
                                            "host",
                                            "child graph",
                                            nullptr,
                                            "event wait",
                                            "event record",
                                            "semaphore signal",
                                            "semaphore wait",
                                            nullptr,
                                            "memory free",
                                            "batch memory operation"};
    if (expected == CU_GRAPH_NODE_TYPE_MEM_ALLOC) {
        refuse(CUDA_ERROR_INVALID_VALUE, "hNode type is not CU_GRAPH_NODE_TYPE_MEM_ALLOC");
    }
    const char *name =
        static_cast<unsigned int>(expected) < std::size(names) ? names[expected] : nullptr;
    require(name != nullptr);
    refuse(CUDA_ERROR_INVALID_VALUE, "Node is not %s %s node", *name == 'e' ? "an" : "a", name);
}

// Fails for graphs that cannot be copied.
void check_copied(const Graph &from, const char *conditional, const char *memory) {
    require(!in_a_body(from) && from.conditional_nodes == 0, CUDA_ERROR_NOT_SUPPORTED, conditional);
    require(from.memory_nodes == 0, CUDA_ERROR_NOT_SUPPORTED, memory);
}

// Releases what a node has claimed exclusively.
void release_claims(const Node &node) {
    if (node.content.condition) {
        node.content.condition->used = false;
    }
    if (node.type() == CU_GRAPH_NODE_TYPE_MEM_FREE) {
        node.content.allocation->freed_in = nullptr;
    }
}

} // namespace

Graph &graph_of(CUgraph handle) {
    if (handle == nullptr) {
        explain("The source graph pointer is NULL");
        explain("Graph is not a valid source graph");
    }
    return checked(handle, CUDA_ERROR_INVALID_VALUE);
}

Node &node_of(CUgraphNode handle) {
    require(handle != nullptr, "Node cannot be NULL");
    return checked(handle, CUDA_ERROR_INVALID_VALUE);
}

Node &node_of(CUgraphNode handle, CUgraphNodeType type) {
    Node &node = node_of(handle);
    if (node.type() != type) {
        refuse_type(type);
    }
    return node;
}

Exec &exec_of(CUgraphExec handle) {
    require(handle != nullptr, "Graph is not a valid executable graph");
    return checked(handle, CUDA_ERROR_INVALID_VALUE);
}

Graph &make_graph() {
    return *Registry::get().make<Graph>();
}

void add_edge(Node &from, Node &to, const EdgeData &data) {
    require(&from != &to);
    require(find_edge(from, to) == to.dependencies.end(),
            "Attempted to add a graph edge that already exists");
    check_edge_data(from, to, data);
    connect(from, to, data);
}

bool remove_edge(Node &from, Node &to, const EdgeData &data) {
    const auto edge = find_edge(from, to);
    if (edge == to.dependencies.end() || !(edge->data == data)) {
        return false;
    }
    from.dependents.erase(edge->twin);
    to.dependencies.erase(edge);
    return true;
}

Node &add_node(Graph &graph, NodeContent content, const std::vector<Edge> &after) {
    Node &node = *Registry::get().make<Node>(graph, std::move(content));
    try {
        for (const Edge &edge : after) {
            check_edge_data(*edge.node, node, edge.data);
        }
    } catch (...) {
        release_claims(node);
        Registry::get().destroy(&node);
        throw;
    }
    node.place = graph.nodes.insert(graph.nodes.end(), &node);
    for_each_around(graph, [&](Graph &each) {
        each.memory_nodes += is_memory_node(node) ? 1 : 0;
        each.conditional_nodes += node.type() == conditional_node ? 1 : 0;
    });
    for (const Edge &edge : after) {
        connect(*edge.node, node, edge.data);
    }
    return node;
}

std::vector<Edge> edges_of(const Graph &graph, const CUgraphNode *dependencies, std::size_t count,
                           const void *data) {
    require(count == 0 || dependencies != nullptr,
            "Dependencies pointer is NULL with a non-zero numDependencies value");
    require(count <= graph.nodes.size()); // a longer list must contain duplicates
    std::vector<Edge> edges;
    static std::uint64_t lists = 0;
    ++lists;
    for (std::size_t i = 0; i < count; ++i) {
        Node &node = node_of(dependencies[i]);
        if (node.graph != &graph) {
            refuse(CUDA_ERROR_INVALID_VALUE, "Index %zu: Dependency is not present in hGraph", i);
        }
        require(std::exchange(node.listed, lists) != lists,
                "Attempted to add a graph edge that already exists");
        EdgeData edge_data;
        if (data != nullptr) {
            std::memcpy(&edge_data, static_cast<const EdgeData *>(data) + i, sizeof edge_data);
        }
        edges.push_back({&node, edge_data});
    }
    return edges;
}

void destroy_node(Node &node) {
    for (const CUgraph inner : node.graphs) {
        destroy_graph(*inner);
    }
    for (const Link &link : node.dependencies) {
        link.node->dependents.erase(link.twin);
    }
    for (const Link &link : node.dependents) {
        link.node->dependencies.erase(link.twin);
    }
    release_claims(node);
    for_each_around(*node.graph, [&](Graph &each) {
        each.memory_nodes -= is_memory_node(node) ? 1 : 0;
        each.conditional_nodes -= node.type() == conditional_node ? 1 : 0;
    });
    node.graph->nodes.erase(node.place);
    Registry::get().destroy(&node);
}

void destroy_graph(Graph &graph) {
    while (!graph.nodes.empty()) {
        destroy_node(*graph.nodes.back());
    }
    Registry::get().destroy(&graph);
}

void copy_graph(const Graph &from, Graph &to) {
    to.original = const_cast<Graph *>(&from);
    to.references.add(from.references);
    std::map<const Node *, Node *> copies;
    for (Node *node : from.nodes) {
        Node &copy = add_node(to, node->content, {});
        copy.original = node;
        copies[node] = &copy;
        for (const CUgraph inner : node->graphs) {
            ChildCopy(*inner).give_to(copy);
        }
    }
    // Keeps the order of both lists of each node.
    std::unordered_map<const Link *, Links::iterator> links; // of the lists of dependents
    for (const Node *node : from.nodes) {
        for (const Link &link : node->dependencies) {
            links[&*link.twin] = connect(*copies.at(link.node), *copies.at(node), link.data);
        }
    }
    for (const Node *node : from.nodes) {
        Links &list = copies.at(node)->dependents;
        for (const Link &link : node->dependents) {
            list.splice(list.end(), list, links.at(&link));
        }
    }
}

void attach(Graph &inner, Node &node) {
    node.graphs.push_back(&inner);
    inner.owner = &node;
    inner.counted = false;
    for_each_around(*node.graph, [&](Graph &each) {
        each.memory_nodes += inner.memory_nodes;
        each.conditional_nodes += inner.conditional_nodes;
    });
}

ChildCopy::ChildCopy(const Graph &child) {
    check_copied(
        child, "Child graph is not allowed to have conditional nodes",
        "Child graph ownership must be moved if the child graph contains memory allocation "
        "or free nodes");
    copy_ = &make_graph();
    copy_->counted = false;
    try {
        copy_graph(child, *copy_);
    } catch (...) {
        destroy_graph(*copy_);
        throw;
    }
}

ChildCopy::~ChildCopy() {
    if (copy_ != nullptr) {
        destroy_graph(*copy_);
    }
}

void ChildCopy::give_to(Node &node) {
    attach(*copy_, node);
    copy_ = nullptr;
}

bool in_a_body(const Graph &graph) {
    const Graph *inner = &graph;
    while (inner->owner != nullptr && !inner->owner->content.condition) {
        inner = inner->owner->graph;
    }
    return inner->owner != nullptr;
}

bool within(const Graph &graph, const Graph &other) {
    const Graph *inner = &graph;
    while (inner != &other && inner->owner != nullptr) {
        inner = inner->owner->graph;
    }
    return inner == &other;
}

void restart_graphs() {
    Registry::get().for_each([](Object &object) {
        if (object.kind == Kind::graph) {
            static_cast<Graph &>(object).references.forget();
        } else if (object.kind == Kind::graph_exec) {
            static_cast<Exec &>(object).references->forget();
        }
    });
    restart_captures();
    forget_user_destructors();
    restart_graph_memory();
}

} // namespace sim

CUgraph_st::CUgraph_st() : Object(own_kind), id(sim::next_graph_id()) {}

CUgraphExec_st::CUgraphExec_st(CUctx_st &its_context, unsigned long long its_flags)
    : Object(own_kind), flags(its_flags), id(sim::next_graph_id()),
      references(std::make_shared<sim::References>()) {
    // Recorded: it outlives a context of cuCtxCreate.
    context = its_context.primary ? &its_context : nullptr;
}

namespace sim::driver {

EXPORT CUresult cuGraphCreate(OUT CUgraph *phGraph, unsigned int flags) {
    require(phGraph != nullptr, "Graph pointer cannot be NULL");
    if (flags != 0) {
        refuse(CUDA_ERROR_INVALID_VALUE, "Invalid flags specified: 0x%x", flags);
    }
    *phGraph = &make_graph();
    return CUDA_SUCCESS;
}

EXPORT CUresult cuGraphDestroy(CUgraph hGraph) {
    Graph &graph = graph_of(hGraph);
    if (graph.owner != nullptr || graph.capturing) {
        misuse(std::string("destruction of a graph that belongs to a ") +
               (graph.capturing ? "capture: " : "node: ") + graph.describe());
        refuse(CUDA_ERROR_INVALID_VALUE);
    }
    destroy_graph(graph);
    run_user_destructors();
    return CUDA_SUCCESS;
}

EXPORT CUresult cuGraphDestroyNode(CUgraphNode hNode) {
    Node &node = node_of(hNode);
    require(!node.graph->capturing, CUDA_ERROR_ILLEGAL_STATE);
    require(node.graph->memory_nodes == 0, CUDA_ERROR_NOT_SUPPORTED,
            "Node deletion is not supported in graphs with memory allocation or free nodes");
    destroy_node(node);
    run_user_destructors();
    return CUDA_SUCCESS;
}

EXPORT CUresult cuGraphClone(OUT CUgraph *phGraphClone, CUgraph originalGraph) {
    require(phGraphClone != nullptr);
    const Graph &original = graph_of(originalGraph);
    check_copied(original,
                 "Cloning is not supported for graphs containing or contained within a conditional "
                 "node",
                 "Cloning is not supported for graphs containing memory allocation or free nodes");
    Graph &clone = make_graph();
    try {
        copy_graph(original, clone);
    } catch (...) {
        destroy_graph(clone);
        throw;
    }
    *phGraphClone = &clone;
    return CUDA_SUCCESS;
}

#if CUDA_VERSION >= 13010
EXPORT CUresult cuGraphGetId(CUgraph hGraph, OUT unsigned int *graphId) {
    require(graphId != nullptr);
    *graphId = graph_of(hGraph).id;
    return CUDA_SUCCESS;
}

EXPORT CUresult cuGraphExecGetId(CUgraphExec hGraphExec, OUT unsigned int *graphId) {
    require(graphId != nullptr);
    *graphId = exec_of(hGraphExec).id;
    return CUDA_SUCCESS;
}

EXPORT CUresult cuGraphNodeGetContainingGraph(CUgraphNode hNode, OUT CUgraph *phGraph) {
    require(phGraph != nullptr);
    *phGraph = node_of(hNode).graph;
    return CUDA_SUCCESS;
}

EXPORT CUresult cuGraphNodeGetLocalId(CUgraphNode hNode, OUT unsigned int *nodeId) {
    require(nodeId != nullptr);
    *nodeId = node_of(hNode).number;
    return CUDA_SUCCESS;
}

EXPORT CUresult cuGraphNodeGetToolsId(CUgraphNode hNode, OUT unsigned long long *toolsNodeId) {
    require(toolsNodeId != nullptr);
    const Node &node = node_of(hNode);
    *toolsNodeId = (static_cast<unsigned long long>(node.graph->id) << 32) | node.number;
    return CUDA_SUCCESS;
}
#endif

} // namespace sim::driver
