// Identity of graphs and their nodes in this process. It detects nodes that are destroyed or belong
// to another graph; CUDA would use whatever object now has such a handle.
#pragma once

#include <cushim/graph_conditional.hpp>

#include <atomic>
#include <memory>
#include <unordered_map>
#include <vector>

#include "api.hpp"

namespace cushim::detail {

struct GraphAccess {
    static GraphNode node(CUgraphNode native, unsigned long long name) noexcept {
        return GraphNode(native, name);
    }
    static unsigned long long name(const GraphNode &node) noexcept { return node.name_; }

    static GraphCondition condition(unsigned long long native, unsigned long long graph) noexcept {
        return GraphCondition(native, graph);
    }
    static unsigned long long graph_of(const GraphCondition &condition) noexcept {
        return condition.graph_;
    }
};

/* Shared by a graph and all objects that may refer to it: executable graphs, nested graphs, outer
 * graphs.
 *
 * The name of a node is the number of its graph; only a node whose handle belonged to a destroyed
 * one has a number of its own. So a node costs no memory here until one is destroyed. Functions
 * that may allocate throw std::bad_alloc. */
class GraphIdentity {
  public:
    explicit GraphIdentity(Api of) noexcept : api(of), id(next_id()) {}
    // The identity of a graph nested in a node.
    GraphIdentity(GraphIdentity &around, CUgraphNode node) noexcept;
    GraphIdentity(const GraphIdentity &) = delete;
    GraphIdentity &operator=(const GraphIdentity &) = delete;

    const Api api;
    const unsigned long long id;

    // Whether the graph still exists.
    bool is_alive() const noexcept { return alive_; }

    // The GraphNode of a handle that CUDA returned; empty for a null handle.
    GraphNode node(CUgraphNode native) const noexcept {
        return native == nullptr ? GraphNode() : name(native);
    }
    // The GraphNode of a node of this graph, or of a nested graph in which CUDA found it; empty if
    // that graph was never requested.
    Result<GraphNode> find(CUgraph graph, CUgraphNode native) const;
    // The GraphNode of a node that exists.
    GraphNode name(CUgraphNode native) const noexcept {
        return GraphAccess::node(native, name_of(native));
    }
    // Whether it is an existing node of this graph.
    bool has(const GraphNode &node) const noexcept {
        return alive_ && GraphAccess::name(node) == name_of(node.native());
    }
    // For nodes that it does not have: whether they were destroyed, or may have been.
    bool had(const GraphNode &node) const noexcept { return GraphAccess::name(node) == id; }
    bool may_have_had(const GraphNode &node) const noexcept {
        return (GraphAccess::name(node) & of_one_node) != 0;
    }

    // The identity of the graph nested in this node.
    std::shared_ptr<GraphIdentity> inside(CUgraphNode node, CUgraph graph);
    // The identity for the node's graph if it is this one or nested in it at any depth; otherwise
    // this one.
    const GraphIdentity &identity_of(const GraphNode &node) const noexcept {
        return has(node) || !tables_ ? *this : nested_identity_of(node);
    }
    // The nodes that contain this graph, from the innermost; empty if none does.
    std::vector<CUgraphNode> path() const;

    // The identity of the outermost graph that contains this one, or this one.
    const GraphIdentity &outermost() const noexcept;

    // The conditional node of a condition, to read and set. The node may be destroyed; empty until
    // it is set.
    GraphNode &user_of(unsigned long long condition) { return tables().users[condition]; }

    // Reserves memory for forget(), which must not fail after the node is destroyed.
    void prepare_to_forget(CUgraphNode node);
    // The node was destroyed, with the graphs nested in it.
    void forget(CUgraphNode node) noexcept;
    // The graph was destroyed.
    void end() noexcept {
        alive_ = false;
        if (tables_ != nullptr) {
            end_nested();
        }
    }

  private:
    struct Inner {
        CUgraph graph;
        std::shared_ptr<GraphIdentity> identity;
    };

    struct Tables {
        Tables() = default;
        ~Tables(); // out of line: few graphs have tables

        // names of nodes with these handles, to which destroyed ones belonged
        std::unordered_map<CUgraphNode, unsigned long long> names;
        std::unordered_map<CUgraphNode, std::vector<Inner>> inner;
        std::unordered_map<unsigned long long, GraphNode> users; // of conditions
    };

    // For a graph, or a node. 0 identifies none.
    static unsigned long long next_id() noexcept {
        return last_id_.fetch_add(1, std::memory_order_relaxed) + 1;
    }
    void end_nested() noexcept;
    const GraphIdentity &nested_identity_of(const GraphNode &node) const noexcept;
    Tables &tables();
    unsigned long long name_of(CUgraphNode node) const noexcept {
        return any_gone_ ? find_name(node) : id;
    }
    unsigned long long find_name(CUgraphNode node) const noexcept;

    static inline constinit std::atomic<unsigned long long> last_id_{0};

    static constexpr unsigned long long of_one_node = 1ULL << 63; // in names that are not ids

    bool alive_ = true;
    bool any_gone_ = false; // whether a node was destroyed
    // Valid only while the outer graph's wrapper exists, which ends this identity first.
    GraphIdentity *const around_ = nullptr;
    const CUgraphNode node_ = nullptr; // node in the outer graph
    std::unique_ptr<Tables> tables_;   // null until one of them is needed
};

} // namespace cushim::detail
