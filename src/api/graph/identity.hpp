// Which graph of this process one is, and which nodes it has: so that a node that is gone, or
// another graph's, is told from one that is there. CUDA would take such a handle for whatever lies
// there by now.
#pragma once

#include <cushim/graph_conditional.hpp>

#include <memory>
#include <unordered_map>
#include <vector>

#include "api.hpp"

namespace cushim::detail {

struct GraphAccess {
    static GraphNode node(CUgraphNode native, unsigned long long graph,
                          unsigned long long before) noexcept {
        return GraphNode(native, graph, before);
    }
    static unsigned long long graph_of(const GraphNode &node) noexcept { return node.graph_; }
    static unsigned long long before(const GraphNode &node) noexcept { return node.before_; }

    static GraphCondition condition(unsigned long long native, unsigned long long graph) noexcept {
        return GraphCondition(native, graph);
    }
    static unsigned long long graph_of(const GraphCondition &condition) noexcept {
        return condition.graph_;
    }
};

/* Shared by a graph and everything that may name it: executable graphs, graphs inside it and around
 * it.
 *
 * A node's name has the graph's number, and how many nodes before it had its handle and are gone.
 * So a node costs nothing here until one is destroyed. Functions that may need memory throw
 * std::bad_alloc. */
class GraphIdentity {
  public:
    explicit GraphIdentity(const GraphApi &of) noexcept;
    // Of a graph that is inside a node.
    GraphIdentity(GraphIdentity &around, CUgraphNode node) noexcept;
    GraphIdentity(const GraphIdentity &) = delete;
    GraphIdentity &operator=(const GraphIdentity &) = delete;

    const GraphApi &api;
    const unsigned long long id;

    // Whether the graph is still there.
    bool is_alive() const noexcept { return alive_; }

    // The name of a node of this graph's that CUDA told of.
    GraphNode node(CUgraphNode native) const noexcept {
        return native == nullptr ? GraphNode() : GraphAccess::node(native, id, gone_before(native));
    }
    // The name of a node of this graph, or of one inside it, wherever CUDA found it; none where
    // nobody has asked for the graph that it is in.
    Result<GraphNode> find(CUgraph graph, CUgraphNode native) const;
    // Whether it names a node that is there.
    bool has(const GraphNode &node) const noexcept {
        return alive_ && GraphAccess::graph_of(node) == id &&
               GraphAccess::before(node) == gone_before(node.native());
    }

    // The identity of the graph that is inside this node.
    std::shared_ptr<GraphIdentity> inside(CUgraphNode node, CUgraph graph);
    // That of the node's graph, where it is this one or one inside it, at any depth; else this one.
    const GraphIdentity &identity_of(const GraphNode &node) const noexcept;
    // The nodes that this graph is inside of, from the inmost to the one in `outer`.
    std::vector<CUgraphNode> path_to(const GraphIdentity &outer) const;

    // That of the graph around all others that this one is inside of, or this one.
    const GraphIdentity &outermost() const noexcept;

    // Reserves room for forget(), which must not fail after the node is destroyed.
    void prepare_to_forget(CUgraphNode node);
    // The node is gone, with what is inside it.
    void forget(CUgraphNode node) noexcept;
    // The graph is gone.
    void end() noexcept;

  private:
    struct Inner {
        CUgraph graph;
        std::shared_ptr<GraphIdentity> identity;
    };

    unsigned long long gone_before(CUgraphNode node) const noexcept {
        return gone_.empty() ? 0 : count_gone(node);
    }
    unsigned long long count_gone(CUgraphNode node) const noexcept;

    bool alive_ = true;
    // Valid only while the outer graph's wrapper exists, which ends this identity first.
    GraphIdentity *const around_ = nullptr;
    const CUgraphNode node_ = nullptr;                         // in that one
    std::unordered_map<CUgraphNode, unsigned long long> gone_; // how many had this handle
    std::unordered_map<CUgraphNode, std::vector<Inner>> inner_;
    std::unordered_map<unsigned long long, std::weak_ptr<GraphIdentity>>
        inside_; // by id, at any depth
};

} // namespace cushim::detail
