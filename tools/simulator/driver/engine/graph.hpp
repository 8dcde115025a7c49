// Graphs, their nodes, executable graphs, user objects, and the memory that graph nodes allocate.
#pragma once

#include "engine/object.hpp"
#include "engine/user_object.hpp"
#include "engine/work.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

struct CUgraph_st;
struct CUgraphNode_st;

namespace sim {

struct Capture;
struct Range;
struct GraphAllocation;
struct Conditional;
struct Plan;

// CUgraphEdgeData, which the headers have from CUDA 12.3 on.
struct EdgeData {
    unsigned char from_port = 0, to_port = 0, type = 0;
    unsigned char reserved[5] = {};
    friend bool operator==(const EdgeData &, const EdgeData &) = default;
};
struct Edge {
    CUgraphNode_st *node; // at the other end
    EdgeData data;
};

// CONDITIONAL is not in the headers of CUDA 11 and 12.0.
constexpr auto conditional_node = static_cast<CUgraphNodeType>(13);

// What a node of a graph, or its copy in an executable graph, does.
struct NodeContent {
    Work work; // of child and conditional nodes and those of memory: the type only
    CUcontext context = nullptr;  // of parameters that name one
    CUcontext home = nullptr;     // in which kernels and memsets run; null: in that of the launch
    unsigned int batch_flags = 0; // of a batch of memory operations
    std::shared_ptr<GraphAllocation> allocation; // of nodes that allocate or free
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
    unsigned int number;                             // in its graph, never used again
    std::vector<sim::Edge> dependencies, dependents; // in the order in which they were added
    CUgraphNode_st *original = nullptr;              // of which it was cloned; compared only
    std::vector<CUgraph> graphs;           // the child, or the bodies of a conditional node
    std::vector<void *> argument_pointers; // what GetParams of a kernel node shows
};

struct CUgraph_st final : sim::Object {
    CUgraph_st();
    static constexpr sim::Kind own_kind = sim::Kind::graph;
    static bool is(sim::Kind kind) noexcept { return kind == own_kind; }

    std::vector<CUgraphNode_st *> nodes; // in the order in which they were added
    unsigned int next_number = 0;
    unsigned int id;
    CUgraphNode_st *owner = nullptr; // of a child or body graph
    CUgraph_st *original = nullptr;  // of which it was cloned; compared only
    sim::References references;
    std::vector<std::shared_ptr<sim::Conditional>> conditions; // whose handles were made for it
    bool capturing = false;                                    // a stream capture adds to it
    std::weak_ptr<void> exec; // the executable graph, where only one may be
};

struct CUgraphExec_st final : sim::Object {
    CUgraphExec_st(CUctx_st &context, unsigned long long flags);
    static constexpr sim::Kind own_kind = sim::Kind::graph_exec;
    static bool is(sim::Kind kind) noexcept { return kind == own_kind; }

    unsigned long long flags;
    unsigned int id;
    std::shared_ptr<sim::Plan> plan;             // shared with launches in flight: see writable()
    std::shared_ptr<sim::References> references; // shared with launches in flight
    std::shared_ptr<void> only;                  // see CUgraph_st::exec
    sim::Ticket last;                            // of the newest launch: launches do not overlap
};

namespace sim {

using Graph = CUgraph_st;
using Node = CUgraphNode_st;
using Exec = CUgraphExec_st;

// A condition: the value that decides what a conditional node does.
struct Conditional {
    std::uint64_t handle;
    unsigned int default_value;
    bool assign_default; // at the beginning of every launch
    unsigned int value;
    Graph *graph;      // for which the handle was made
    bool used = false; // by a node
    int type = 0;      // CUgraphConditionalNodeType: 0 if, 1 while, 2 switch
    unsigned int size = 0;
};

// Handles of the API; all of them refuse with INVALID_VALUE.
Graph &graph_of(CUgraph handle);
Node &node_of(CUgraphNode handle);
Node &node_of(CUgraphNode handle, CUgraphNodeType type); // and not of another type
Exec &exec_of(CUgraphExec handle);

Graph &make_graph();
// Adds a node after others.
Node &add_node(Graph &graph, NodeContent content, const std::vector<Edge> &after);
// Refuses an edge that is there, and edge data that these nodes cannot have.
void add_edge(Node &from, Node &to, const EdgeData &data);
// The API's arrays of dependencies. Refuses nodes of other graphs and duplicates.
std::vector<Edge> edges_of(const Graph &graph, const CUgraphNode *dependencies, std::size_t count,
                           const void *data = nullptr);
// With all that it owns. Its user objects' destructors do not run before run_user_destructors().
void destroy_graph(Graph &graph);
void destroy_node(Node &node);
// Copies what one graph holds into another, which is empty. Refuses with 801 what cannot be cloned.
void copy_graph(const Graph &from, Graph &to);
// A copy of a graph that is to be a node's own. Made before that node is there: a graph may be
// given to a node of itself, or of a child in it. Refuses with 801 what cannot be cloned.
class ChildCopy {
  public:
    explicit ChildCopy(const Graph &child);
    ~ChildCopy();
    ChildCopy(const ChildCopy &) = delete;
    ChildCopy &operator=(const ChildCopy &) = delete;
    // To a node that has none.
    void give_to(Node &node);

  private:
    Graph *copy_;
};
// Whether the graph is a conditional node's body, or a child in one at any depth.
bool in_a_body(const Graph &graph);
// Whether the graph is another, or a child or body in it at any depth.
bool within(const Graph &graph, const Graph &other);
bool has_memory_nodes(const Graph &graph);      // at any depth
bool has_conditional_nodes(const Graph &graph); // at any depth

// Before a reset ends all objects, with the lock held.
void restart_graphs();

} // namespace sim
