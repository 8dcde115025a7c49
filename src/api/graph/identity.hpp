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

/* Names the nodes of a graph. Made when it is first needed: for what may outlive the graph, as an
 * executable graph or a graph nested in it, for a node that is destroyed, for a condition, or to
 * find a node that CUDA reports.
 *
 * The name of a node is the number of its graph; only a node whose handle belonged to a destroyed
 * one has a number of its own. So a node costs no memory here until one is destroyed. Functions
 * that may allocate throw std::bad_alloc. */
class GraphIdentity {
  public:
    // A number for a graph, or for a node. 0 identifies none.
    static unsigned long long next_id() noexcept {
        return last_id_.fetch_add(1, std::memory_order_relaxed) + 1;
    }

    GraphIdentity(Api of, unsigned long long number) noexcept : api(of), id(number) {}
    // Of a graph nested in a node.
    GraphIdentity(GraphIdentity &around, CUgraphNode node) noexcept
        : api(around.api), id(next_id()), around_(&around), node_(node) {}
    ~GraphIdentity() { end(); }
    GraphIdentity(const GraphIdentity &) = delete;
    GraphIdentity &operator=(const GraphIdentity &) = delete;

    const Api api;
    const unsigned long long id;

    // Whether the graph still exists.
    bool is_alive() const noexcept { return alive_; }

    // The GraphNode of a node that exists.
    GraphNode name(CUgraphNode native) const noexcept {
        return GraphAccess::node(native, name_of(native));
    }
    // Whether it is an existing node of this graph.
    bool has(const GraphNode &node) const noexcept {
        return alive_ && GraphAccess::name(node) == name_of(node.native());
    }

    // The GraphNode of a node of this graph, or of a nested graph in which CUDA found it; empty if
    // that graph was never requested.
    Result<GraphNode> find(CUgraph graph, CUgraphNode native) const;

    // The identity of the graph nested in this node.
    std::shared_ptr<GraphIdentity> inside(CUgraphNode node, CUgraph graph);
    // The identity for the node's graph if it is this one or nested in it at any depth; otherwise
    // this one.
    const GraphIdentity &identity_of(const GraphNode &node) const noexcept;
    // The nodes that contain this graph, from the innermost; empty if none does.
    std::vector<CUgraphNode> path() const;

    // The conditional node of a condition, to read and set. The node may be destroyed; empty until
    // it is set.
    GraphNode &user_of(unsigned long long condition);

    // Reserves memory for forget(), which must not fail after the node is destroyed.
    void prepare_to_forget(CUgraphNode node) { names_.try_emplace(node, id); }
    // The node was destroyed, with the graphs nested in it.
    void forget(CUgraphNode node) noexcept;
    // The graph was destroyed.
    void end() noexcept;

  private:
    struct Nested {
        CUgraphNode node; // that contains it
        CUgraph graph;
        std::shared_ptr<GraphIdentity> identity;
    };

    unsigned long long name_of(CUgraphNode node) const noexcept {
        const auto found = names_.empty() ? names_.end() : names_.find(node);
        return found == names_.end() ? id : found->second;
    }

    static inline constinit std::atomic<unsigned long long> last_id_{0};

    bool alive_ = true;
    // Of the outer graph, which ends this identity before it is destroyed.
    GraphIdentity *const around_ = nullptr;
    const CUgraphNode node_ = nullptr; // node in the outer graph
    // The names of nodes with these handles, to which destroyed ones belonged.
    std::unordered_map<CUgraphNode, unsigned long long> names_;
    std::vector<Nested> nested_;
    struct User {
        unsigned long long condition;
        GraphNode node;
    };
    std::vector<User> users_;
};

// Why a node does not belong to the graph with this number; `what` is the argument.
Error not_of_graph(const GraphNode &node, unsigned long long id, const char *what) noexcept;

} // namespace cushim::detail
