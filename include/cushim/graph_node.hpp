/* Nodes of CUDA graphs: their types and dependencies. */
#ifndef CUSHIM_GRAPH_NODE_HPP
#define CUSHIM_GRAPH_NODE_HPP

#include <initializer_list>
#include <span>
#include <type_traits>

#include <cushim/detail/driver_headers.h>
#include <cushim/detail/friends.hpp>
#include <cushim/text.hpp>

namespace cushim {

// The type of a node. The values are those of CUDA.
enum class GraphNodeType : unsigned char {
    kernel = 0,           // a kernel launch
    memcpy = 1,           // a copy
    memset = 2,           // a fill
    host = 3,             // a call of a host function
    child_graph = 4,      // a whole graph
    empty = 5,            // no work
    event_wait = 6,       // a wait for an event
    event_record = 7,     // a record of an event
    semaphore_signal = 8, // of external semaphores; CUDA 11.2
    semaphore_wait = 9,   // of external semaphores; CUDA 11.2
    mem_alloc = 10,       // an allocation of memory; CUDA 11.4
    mem_free = 11,        // frees the memory of a mem_alloc node; CUDA 11.4
    batch_mem_op = 12,    // waits for and writes of values in memory; CUDA 11.7
    conditional = 13      // if, while or switch; CUDA 12.3
};
CUSHIM_API Text to_text(GraphNodeType type) noexcept;

// The type of a conditional node. The values are those of CUDA.
enum class GraphConditionalType : unsigned char {
    if_ = 0,    // with or without an else body
    while_ = 1, // repeats its body
    switch_ = 2 // one of several bodies; CUDA 12.8
};
CUSHIM_API Text to_text(GraphConditionalType type) noexcept;

/* A node of a graph. A plain value that names the node; the graph owns it. Functions that take a
 * node fail with invalid_argument if it belongs to another graph, or if it or its graph is
 * destroyed. */
class GraphNode {
  public:
    GraphNode() noexcept = default;

    // Whether it names a node.
    explicit operator bool() const noexcept { return native_ != nullptr; }
    // The CUDA handle. The runtime API's cudaGraphNode_t is the same type.
    CUgraphNode native() const noexcept { return native_; }

    friend bool operator==(const GraphNode &, const GraphNode &) noexcept = default;

  private:
    friend struct detail::GraphAccess;
    GraphNode(CUgraphNode native, unsigned long long name) noexcept
        : native_(native), name_(name) {}

    CUgraphNode native_ = nullptr;
    // The number of its graph or, if CUDA reuses the handle of a destroyed node, a number of its
    // own.
    unsigned long long name_ = 0;
};

static_assert(std::is_trivially_copyable_v<GraphNode>);

CUSHIM_API Text to_text(const GraphNode &node) noexcept;

/* The nodes that a node waits for, as an argument: {}, one node, {a, b}, or a range of nodes. A
 * view, which stays valid until the call returns. */
class GraphDependencies {
  public:
    // No nodes: a root.
    GraphDependencies() noexcept = default;
    // One node.
    GraphDependencies(const GraphNode &node) noexcept : nodes_(&node, 1) {}
    // Several nodes in braces.
    GraphDependencies(std::initializer_list<GraphNode> nodes) noexcept
        : nodes_(std::data(nodes), nodes.size()) {}
    // A range of nodes, such as a std::vector or a span.
    template <class Nodes>
        requires(std::is_convertible_v<const Nodes &, std::span<const GraphNode>>)
    GraphDependencies(const Nodes &nodes) noexcept : nodes_(nodes) {}

    // The nodes of the view.
    std::span<const GraphNode> nodes() const noexcept { return nodes_; }

  private:
    std::span<const GraphNode> nodes_;
};

/* The data of an edge, for kernels that start before the previous one has ended. All 0: an ordinary
 * edge, which waits for the end of the node. CUgraphEdgeData, since CUDA 12.3. */
struct GraphEdgeData {
    unsigned char from_port = 0; // the event of the first node: CU_GRAPH_KERNEL_NODE_PORT_...
    unsigned char to_port = 0;   // reserved by CUDA: 0
    unsigned char type = 0;      // CU_GRAPH_DEPENDENCY_TYPE_...

    friend constexpr bool operator==(const GraphEdgeData &,
                                     const GraphEdgeData &) noexcept = default;
};

// An edge of a graph: `to` waits for `from`.
struct GraphEdge {
    GraphNode from;          // runs first
    GraphNode to;            // runs after `from`
    GraphEdgeData data = {}; // ordinary by default

    friend bool operator==(const GraphEdge &, const GraphEdge &) noexcept = default;
};

} // namespace cushim

#endif
