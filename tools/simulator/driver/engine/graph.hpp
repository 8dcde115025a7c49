// Graphs, nodes, executable graphs, user objects, and the memory that graph nodes allocate.
#pragma once

#include "engine/object.hpp"
#include "engine/user_object.hpp"
#include "engine/work.hpp"

#include <cstdint>
#include <list>
#include <memory>
#include <vector>

struct CUgraph_st;
struct CUgraphNode_st;

namespace sim {

struct Capture;
struct Range;
struct GraphAllocation;
struct KeptMemory;
struct Conditional;
struct Plan;

// CUgraphEdgeData; in the headers since CUDA 12.3.
struct EdgeData {
    unsigned char from_port = 0, to_port = 0, type = 0;
    unsigned char reserved[5] = {};
    friend bool operator==(const EdgeData &, const EdgeData &) = default;
};
struct Edge {
    CUgraphNode_st *node; // at the other end
    EdgeData data;
};
// An edge in the list of one of its nodes.
struct Link : Edge {
    std::list<Link>::iterator twin; // the same edge in the list of the other node
};
using Links = std::list<Link>; // in order of addition

// CONDITIONAL is not in the headers of CUDA 11 and 12.0.
constexpr auto conditional_node = static_cast<CUgraphNodeType>(13);

// The operation of a node in a graph, or of its copy in an executable graph.
struct NodeContent {
    Work work;                    // child, conditional and memory nodes: the type only
    CUcontext context = nullptr;  // the context that the parameters name
    CUcontext home = nullptr;     // where kernels and memsets run; null: in that of the launch
    unsigned int batch_flags = 0; // batch memory operation nodes
    std::shared_ptr<GraphAllocation> allocation; // allocation and free nodes
    std::shared_ptr<Conditional> condition;
};

} // namespace sim

struct CUgraphNode_st final : sim::Object {
    CUgraphNode_st(CUgraph_st &graph, sim::NodeContent content);
    static constexpr sim::Kind own_kind = sim::Kind::graph_node;
    static bool is(sim::Kind kind) noexcept { return kind == own_kind; }
    CUgraphNodeType type() const noexcept { return content.work.type; }

    CUgraph_st *graph;
    sim::NodeContent content;
    unsigned int number;                         // in its graph; never reused
    std::list<CUgraphNode_st *>::iterator place; // in its graph's list
    sim::Links dependencies, dependents;
    std::size_t step = 0;     // its index in the newest plan of its graph
    std::uint64_t listed = 0; // the newest list of dependencies that names it: see edges_of()
    CUgraphNode_st *original = nullptr;    // the node it was cloned from; never dereferenced
    std::vector<CUgraph> graphs;           // child graph, or bodies of a conditional node
    std::vector<void *> argument_pointers; // for GetParams of a kernel node
};

struct CUgraph_st final : sim::Object {
    CUgraph_st();
    static constexpr sim::Kind own_kind = sim::Kind::graph;
    static bool is(sim::Kind kind) noexcept { return kind == own_kind; }

    std::list<CUgraphNode_st *> nodes; // in order of addition
    // Numbers of nodes of these kinds in the graph and the graphs inside its nodes, at any depth.
    std::size_t memory_nodes = 0, conditional_nodes = 0;
    unsigned int next_number = 0;
    unsigned int id;
    CUgraphNode_st *owner = nullptr; // owner of a child or body graph
    CUgraph_st *original = nullptr;  // the graph it was cloned from; never dereferenced
    sim::References references;
    std::vector<std::shared_ptr<sim::Conditional>>
        conditions;           // with handles created for this graph
    bool capturing = false;   // a stream capture adds nodes to it
    std::weak_ptr<void> exec; // the executable graph, if only one may exist
};

struct CUgraphExec_st final : sim::Object {
    CUgraphExec_st(CUctx_st &context, unsigned long long flags);
    static constexpr sim::Kind own_kind = sim::Kind::graph_exec;
    static bool is(sim::Kind kind) noexcept { return kind == own_kind; }

    unsigned long long flags;
    unsigned int id;
    std::shared_ptr<sim::Plan> plan;             // shared with launches in flight: see writable()
    std::shared_ptr<sim::References> references; // shared with launches in flight
    std::shared_ptr<sim::KeptMemory> only;       // see CUgraph_st::exec
    sim::Ticket last;                            // the newest launch; launches do not overlap
};

namespace sim {

using Graph = CUgraph_st;
using Node = CUgraphNode_st;
using Exec = CUgraphExec_st;

// A condition: the value that controls a conditional node.
struct Conditional {
    std::uint64_t handle;
    unsigned int default_value;
    bool assign_default; // at the start of every launch
    unsigned int value;
    Graph *graph;      // the handle was created for this graph
    bool used = false; // by a node
    int type = 0;      // CUgraphConditionalNodeType: 0 if, 1 while, 2 switch
    unsigned int size = 0;
};

// Objects of handles; all of these fail with INVALID_VALUE.
Graph &graph_of(CUgraph handle);
Node &node_of(CUgraphNode handle);
Node &node_of(CUgraphNode handle, CUgraphNodeType type); // also fails for a node of another type
Exec &exec_of(CUgraphExec handle);

Graph &make_graph();
// Adds a node with its dependencies.
Node &add_node(Graph &graph, NodeContent content, const std::vector<Edge> &after);
// Adds an edge. Fails if it exists, or if these nodes do not support the edge data.
void add_edge(Node &from, Node &to, const EdgeData &data);
// Removes an edge with this data. Returns false if it does not exist.
bool remove_edge(Node &from, Node &to, const EdgeData &data);
// Converts dependency arrays of the API. Fails for nodes of other graphs and for duplicates.
std::vector<Edge> edges_of(const Graph &graph, const CUgraphNode *dependencies, std::size_t count,
                           const void *data = nullptr);
// Destroys a graph with its children. Destructors of user objects run in run_user_destructors().
void destroy_graph(Graph &graph);
void destroy_node(Node &node);
// Copies the contents of a graph into an empty one. Fails with 801 for nodes that cannot be cloned.
void copy_graph(const Graph &from, Graph &to);
// Makes a graph a node's child graph, or one of its bodies.
void attach(Graph &inner, Node &node);
// A copy of a graph that will belong to a node. It is made before the node exists, since a graph
// may be added to itself or to one of its children. Fails with 801 for nodes that cannot be cloned.
class ChildCopy {
  public:
    explicit ChildCopy(const Graph &child);
    ~ChildCopy();
    ChildCopy(const ChildCopy &) = delete;
    ChildCopy &operator=(const ChildCopy &) = delete;
    // Moves the copy to a node without a child graph.
    void give_to(Node &node);

  private:
    Graph *copy_ = nullptr;
};
// Whether the graph is a conditional node's body, or a child of one at any depth.
bool in_a_body(const Graph &graph);
// Whether the graph is `other`, or one of its children or bodies at any depth.
bool within(const Graph &graph, const Graph &other);

// At a reset, before all objects are destroyed. The caller holds the lock.
void restart_graphs();

} // namespace sim
