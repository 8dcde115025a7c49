// The structure of graphs: nodes, edges and their data, and DOT output.
#include "graph/graph_structure.hpp"
#include "driver_functions.hpp"
#include "engine/graph.hpp"

#include <cstring>
#include <fstream>
#include <string>

namespace sim {
namespace {

// Returns a list as the API does: a null array queries the number only; unused entries become null.
// Fields of an entry go into separate arrays.
template <class Entries, class Put, class Clear>
void return_list(const Entries &entries, std::size_t *count, bool wanted, const Put &put,
                 const Clear &clear) {
    require(count != nullptr);
    if (!wanted) {
        *count = entries.size();
        return;
    }
    const std::size_t room = *count;
    require(room != 0);
    std::size_t filled = 0;
    for (auto entry = entries.begin(); entry != entries.end() && filled < room; ++entry) {
        put(filled++, *entry);
    }
    for (std::size_t i = filled; i < room; ++i) {
        clear(i);
    }
    *count = filled;
}

void return_nodes(const std::list<Node *> &list, CUgraphNode *nodes, std::size_t *count) {
    return_list(
        list, count, nodes != nullptr, [nodes](std::size_t i, Node *node) { nodes[i] = node; },
        [nodes](std::size_t i) { nodes[i] = nullptr; });
}

// Fails a query without room for edge data that is not the default.
void check_lossless(const Links &edges, const void *data) {
#if CUDA_VERSION >= 12030
    for (const Edge &edge : edges) {
        require(data != nullptr || edge.data == EdgeData(), CUDA_ERROR_LOSSY_QUERY);
    }
#else
    (void)edges;
    (void)data;
#endif
}

void put_data(void *data, std::size_t index, const EdgeData &value) {
    if (data != nullptr) {
        std::memcpy(static_cast<EdgeData *>(data) + index, &value, sizeof value);
    }
}

// The edges on one side of a node.
void return_edges(const Links &edges, CUgraphNode *nodes, void *data, std::size_t *count) {
    require(count != nullptr && (data == nullptr || nodes != nullptr));
    if (nodes != nullptr) {
        check_lossless(edges, data);
    }
    return_list(
        edges, count, nodes != nullptr,
        [=](std::size_t i, const Edge &edge) {
            nodes[i] = edge.node;
            put_data(data, i, edge.data);
        },
        [=](std::size_t i) {
            nodes[i] = nullptr;
            put_data(data, i, {});
        });
}

EdgeData data_at(const void *data, std::size_t index) {
    EdgeData value;
    if (data != nullptr) {
        std::memcpy(&value, static_cast<const EdgeData *>(data) + index, sizeof value);
    }
    return value;
}

struct Pair {
    Node *from, *to;
};
Pair pair_at(const Graph &graph, const CUgraphNode *from, const CUgraphNode *to,
             std::size_t index) {
    const Pair pair = {&node_of(from[index]), &node_of(to[index])};
    if (pair.from->graph != &graph) {
        refuse(CUDA_ERROR_INVALID_VALUE,
               "Index %zu: from (node %p) is from graph %p which does not match the supplied graph",
               index, static_cast<void *>(pair.from), static_cast<void *>(pair.from->graph));
    }
    require(pair.to->graph == &graph);
    return pair;
}

void remove_edge(const Pair &pair, const EdgeData &data, std::size_t index) {
    if (!sim::remove_edge(*pair.from, *pair.to, data)) {
        refuse(CUDA_ERROR_INVALID_VALUE,
               "Index %zu: The edge from node %p to node %p does not exist and therefore cannot be "
               "removed",
               index, static_cast<void *>(pair.from), static_cast<void *>(pair.to));
    }
}

void add_edge(const Pair &pair, const EdgeData &data, std::size_t index) {
    if (pair.from == pair.to) {
        refuse(CUDA_ERROR_INVALID_VALUE, "Index %zu: from and to are the same node (%p)", index,
               static_cast<void *>(pair.from));
    }
    try {
        sim::add_edge(*pair.from, *pair.to, data);
    } catch (const Refusal &) {
        explain(data == EdgeData() ? "Index %zu: Failed to add edge"
                                   : "Index %zu: Edge data entry is invalid",
                index);
        throw;
    }
}

const char *type_name(CUgraphNodeType type) {
    static constexpr const char *names[] = {"KERNEL",         "MEMCPY",       "MEMSET",
                                            "HOST",           "GRAPH",        "EMPTY",
                                            "WAIT_EVENT",     "EVENT_RECORD", "EXT_SEMAS_SIGNAL",
                                            "EXT_SEMAS_WAIT", "MEM_ALLOC",    "MEM_FREE",
                                            "BATCH_MEM_OP",   "CONDITIONAL"};
    const auto index = static_cast<unsigned int>(type);
    return index < sizeof names / sizeof *names ? names[index] : "?";
}

// Prints DOT for Graphviz; nested graphs are clusters.
void print_graph(std::ostream &out, const Graph &graph, unsigned int flags) {
    const auto name = [](const Node &node) {
        return "graph_" + std::to_string(node.graph->id) + "_node_" + std::to_string(node.number);
    };
    out << "subgraph cluster_" << graph.id << " {\nlabel=\"graph_" << graph.id << "\"\n";
    for (const Node *node : graph.nodes) {
        out << name(*node) << " [label=\"" << node->number << "\\n" << type_name(node->type());
        if (flags & (CU_GRAPH_DEBUG_DOT_FLAGS_VERBOSE | CU_GRAPH_DEBUG_DOT_FLAGS_HANDLES)) {
            out << "\\nhandle " << static_cast<const void *>(node);
        }
        out << "\"]\n";
        for (const CUgraph inner : node->graphs) {
            print_graph(out, *inner, flags);
        }
    }
    for (const Node *node : graph.nodes) {
        for (const Edge &edge : node->dependents) {
            out << name(*node) << " -> " << name(*edge.node) << "\n";
        }
    }
    out << "}\n";
}

} // namespace

#if CUDA_VERSION >= 12030
static_assert(sizeof(EdgeData) == sizeof(CUgraphEdgeData));
#endif

CUresult get_edges(CUgraph handle, CUgraphNode *from, CUgraphNode *to, void *data,
                   std::size_t *count) {
    const Graph &graph = graph_of(handle);
    require(count != nullptr && (from == nullptr) == (to == nullptr) &&
            (data == nullptr || from != nullptr));
    struct Whole {
        Node *from;
        Edge edge;
    };
    std::vector<Whole> all;
    for (Node *node : graph.nodes) {
        if (from != nullptr) {
            check_lossless(node->dependents, data);
        }
        for (const Edge &edge : node->dependents) {
            all.push_back({node, edge});
        }
    }
    return_list(
        all, count, from != nullptr,
        [=](std::size_t i, const Whole &whole) {
            from[i] = whole.from;
            to[i] = whole.edge.node;
            put_data(data, i, whole.edge.data);
        },
        [=](std::size_t i) {
            from[i] = to[i] = nullptr;
            put_data(data, i, {});
        });
    return CUDA_SUCCESS;
}

CUresult get_dependencies(CUgraphNode node, CUgraphNode *nodes, void *data, std::size_t *count) {
    return_edges(node_of(node).dependencies, nodes, data, count);
    return CUDA_SUCCESS;
}

CUresult get_dependents(CUgraphNode node, CUgraphNode *nodes, void *data, std::size_t *count) {
    return_edges(node_of(node).dependents, nodes, data, count);
    return CUDA_SUCCESS;
}

// All or nothing: edges added before a failure are removed again.
CUresult add_edges(CUgraph handle, const CUgraphNode *from, const CUgraphNode *to, const void *data,
                   std::size_t count) {
    const Graph &graph = graph_of(handle);
    require(count == 0 || (from != nullptr && to != nullptr));
    std::size_t done = 0;
    try {
        for (; done < count; ++done) {
            const Pair pair = pair_at(graph, from, to, done);
            add_edge(pair, data_at(data, done), done);
        }
    } catch (...) {
        while (done > 0) {
            --done;
            remove_edge(pair_at(graph, from, to, done), data_at(data, done), done);
        }
        throw;
    }
    return CUDA_SUCCESS;
}

CUresult remove_edges(CUgraph handle, const CUgraphNode *from, const CUgraphNode *to,
                      const void *data, std::size_t count) {
    const Graph &graph = graph_of(handle);
    require(count == 0 || (from != nullptr && to != nullptr));
    require(graph.memory_nodes == 0, CUDA_ERROR_NOT_SUPPORTED);
    for (std::size_t i = 0; i < count; ++i) {
        remove_edge(pair_at(graph, from, to, i), data_at(data, i), i);
    }
    return CUDA_SUCCESS;
}

namespace driver {

EXPORT CUresult cuGraphNodeGetType(CUgraphNode hNode, OUT CUgraphNodeType *type) {
    require(type != nullptr);
    *type = node_of(hNode).type();
    return CUDA_SUCCESS;
}

EXPORT CUresult cuGraphGetNodes(CUgraph hGraph, CUgraphNode *nodes, size_t *numNodes) {
    return_nodes(graph_of(hGraph).nodes, nodes, numNodes);
    return CUDA_SUCCESS;
}

EXPORT CUresult cuGraphGetRootNodes(CUgraph hGraph, CUgraphNode *rootNodes, size_t *numRootNodes) {
    std::list<Node *> roots = graph_of(hGraph).nodes;
    std::erase_if(roots, [](const Node *node) { return !node->dependencies.empty(); });
    return_nodes(roots, rootNodes, numRootNodes);
    return CUDA_SUCCESS;
}

EXPORT CUresult cuGraphNodeFindInClone(OUT CUgraphNode *phNode, CUgraphNode hOriginalNode,
                                       CUgraph hClonedGraph) {
    require(phNode != nullptr);
    const Node &original = node_of(hOriginalNode);
    for (Node *node : graph_of(hClonedGraph).nodes) {
        if (node->original == &original) {
            *phNode = node;
            return CUDA_SUCCESS;
        }
    }
    refuse(CUDA_ERROR_INVALID_VALUE,
           "The node handle is not associated to the executable graph via the most recent "
           "cuGraphExecUpdate or cuGraphInstantiate");
}

EXPORT CUresult cuGraphDebugDotPrint(CUgraph hGraph, const char *path, unsigned int flags) {
    const Graph &graph = graph_of(hGraph);
    require(path != nullptr);
    std::ofstream file(path);
    require(static_cast<bool>(file), CUDA_ERROR_OPERATING_SYSTEM);
    file << "digraph dot {\n";
    print_graph(file, graph, flags);
    file << "}\n";
    file.close();
    require(static_cast<bool>(file), CUDA_ERROR_OPERATING_SYSTEM);
    return CUDA_SUCCESS;
}

} // namespace driver
} // namespace sim
