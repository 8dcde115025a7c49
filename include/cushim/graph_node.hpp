/* Nodes of CUDA graphs: their types and dependencies. */
#ifndef CUSHIM_GRAPH_NODE_HPP
#define CUSHIM_GRAPH_NODE_HPP

#include <cstddef>
#include <new>
#include <span>
#include <type_traits>

#include <cushim/detail/driver_headers.h>
#include <cushim/detail/friends.hpp>
#include <cushim/detail/nodes_before.hpp>
#include <cushim/detail/temporary_nodes.hpp>
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
    // Copies the members one by one, not both at once: a processor that has just stored them one by
    // one, as when a node was added, waits some nanoseconds before it can load both.
    constexpr GraphNode(const GraphNode &other) noexcept
        : native_(other.native_), name_(other.name_) {}
    constexpr GraphNode &operator=(const GraphNode &other) noexcept {
        native_ = other.native_;
        name_ = other.name_;
        return *this;
    }

    // Whether it names a node.
    explicit operator bool() const noexcept { return native_ != nullptr; }
    // The CUDA handle. The runtime API's cudaGraphNode_t is the same type.
    CUgraphNode native() const noexcept { return native_; }

    friend bool operator==(const GraphNode &, const GraphNode &) noexcept = default;

  private:
    friend struct detail::GraphAccess;
    friend class Graph;
    GraphNode(CUgraphNode native, unsigned long long name) noexcept
        : native_(native), name_(name) {}

    CUgraphNode native_ = nullptr;
    // the number of its graph or, if CUDA reuses the handle of a destroyed node, a number of its
    // own
    unsigned long long name_ = 0;
};

CUSHIM_API Text to_text(const GraphNode &node) noexcept;

/* The nodes that a node waits for: {}, one node, {a, b}, or an array. It is a view of a named
 * range, which must outlive it; nodes in braces and in a temporary range are copied. */
class GraphDependencies {
  public:
    // From no node, one node, nodes in braces, or a range of nodes. Nodes are copied, except those
    // of a range that is not a temporary.
    GraphDependencies() noexcept {}
    GraphDependencies(const GraphNode &node) noexcept { hold(node); }
    template <class... More>
        requires(std::is_convertible_v<const More &, const GraphNode &> && ...)
    GraphDependencies(const GraphNode &first, const GraphNode &second,
                      const More &...more) noexcept {
        hold(first, second, more...);
    }
    template <class Nodes>
        requires(std::is_convertible_v<const Nodes &, std::span<const GraphNode>>)
    GraphDependencies(const Nodes &nodes) noexcept {
        const std::span<const GraphNode> view = nodes;
        data_ = view.data();
        size_ = view.size();
    }
    template <detail::TemporaryNodes Nodes>
    GraphDependencies(Nodes &&nodes) noexcept {
        const std::span<const GraphNode> view = nodes;
        copy(view.data(), view.size());
    }

    // A copy of a view is a view of the same range.
    GraphDependencies(const GraphDependencies &other) noexcept { *this = other; }
    GraphDependencies &operator=(const GraphDependencies &other) noexcept {
        if (this != &other) {
            drop();
            if (other.held_ == few || other.held_ == many) {
                copy(other.first(), other.size_);
            } else {
                held_ = other.held_;
                data_ = other.data_;
                size_ = other.size_;
            }
        }
        return *this;
    }
    ~GraphDependencies() { drop(); }

    // The nodes; valid as long as this object and the range that it views.
    CUSHIM_API std::span<const GraphNode> nodes() const noexcept;
    // False if the copy failed for lack of memory; graphs reject such dependencies.
    bool is_complete() const noexcept { return held_ != missing; }

  private:
    friend detail::NodesBefore detail::nodes_before(const GraphDependencies &dependencies) noexcept;
    static constexpr std::size_t most_few = 4;

    // The first of size_ nodes. Headers use it instead of nodes(): compilers take long to create a
    // std::span.
    const GraphNode *first() const noexcept { return held_ == few ? few_ : data_; }

    // Room for a copy of this many nodes; null without memory.
    GraphNode *room_for(std::size_t count) noexcept {
        size_ = count;
        if (count <= most_few) {
            held_ = few;
            return few_;
        }
        GraphNode *const to = new (std::nothrow) GraphNode[count];
        held_ = to != nullptr ? many : missing;
        data_ = to;
        size_ = to != nullptr ? count : 0;
        return to;
    }
    template <class... Nodes>
    void hold(const Nodes &...nodes) noexcept {
        if (GraphNode *to = room_for(sizeof...(nodes)); to != nullptr) {
            ((::new (static_cast<void *>(to++)) GraphNode(nodes)), ...);
        }
    }
    void copy(const GraphNode *nodes, std::size_t count) noexcept {
        if (GraphNode *const to = room_for(count); to != nullptr) {
            for (std::size_t i = 0; i != size_; ++i) {
                ::new (static_cast<void *>(to + i)) GraphNode(nodes[i]);
            }
        }
    }
    void drop() noexcept {
        if (held_ == many) [[unlikely]] {
            delete[] data_;
        }
    }

    // No pointer to few_, which would prevent compilers from keeping this object in registers.
    const GraphNode *data_ = nullptr; // unless the nodes are in few_
    std::size_t size_ = 0;
    // Where the nodes are: in another range, in few_, on the heap; or the copy failed for lack of
    // memory.
    enum : unsigned char { viewed, few, many, missing } held_ = viewed;
    union {
        GraphNode few_[most_few]; // the first size_ are set, if the nodes are here
    };
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
