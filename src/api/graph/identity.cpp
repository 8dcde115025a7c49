#include "identity.hpp"

#include <algorithm>

#include "base/ranges.hpp"
#include "reading.hpp"

namespace cushim::detail {
namespace {

constexpr unsigned long long of_one_node = 1ULL << 63; // in names that are not numbers of graphs

} // namespace

Error not_of_graph(const GraphNode &node, unsigned long long id, const char *what) noexcept {
    if (!node) {
        return invalid_argument("%s is an empty GraphNode", what);
    }
    const unsigned long long name = GraphAccess::name(node);
    return invalid_argument(name == id                  ? "%s was destroyed"
                            : (name & of_one_node) != 0 ? "%s was destroyed or belongs to another "
                                                          "graph"
                                                        : "%s belongs to another graph",
                            what);
}

Result<GraphNode> GraphIdentity::find(CUgraph graph, CUgraphNode native) const {
    CUSHIM_TRY(const std::vector<CUgraphNode> nodes, native_nodes(api, graph));
    if (std::find(nodes.begin(), nodes.end(), native) != nodes.end()) {
        return name(native);
    }
    for (const Nested &nested : nested_) {
        CUSHIM_TRY(GraphNode found, nested.identity->find(nested.graph, native));
        if (found) {
            return found;
        }
    }
    return GraphNode();
}

std::shared_ptr<GraphIdentity> GraphIdentity::inside(CUgraphNode node, CUgraph graph) {
    for (const Nested &nested : nested_) {
        if (nested.node == node && nested.graph == graph) {
            return nested.identity;
        }
    }
    nested_.push_back({node, graph, std::make_shared<GraphIdentity>(*this, node)});
    return nested_.back().identity;
}

const GraphIdentity &GraphIdentity::identity_of(const GraphNode &node) const noexcept {
    if (has(node)) {
        return *this;
    }
    for (const Nested &nested : nested_) {
        const GraphIdentity &found = nested.identity->identity_of(node);
        if (found.has(node) || GraphAccess::name(node) == found.id) {
            return found;
        }
    }
    return *this;
}

GraphNode &GraphIdentity::user_of(unsigned long long condition) {
    for (User &user : users_) {
        if (user.condition == condition) {
            return user.node;
        }
    }
    return users_.emplace_back(User{condition, GraphNode()}).node;
}

std::vector<CUgraphNode> GraphIdentity::path() const {
    std::vector<CUgraphNode> path;
    for (const GraphIdentity *inner = this; inner->around_ != nullptr; inner = inner->around_) {
        path.push_back(inner->node_);
    }
    return path;
}

void GraphIdentity::forget(CUgraphNode node) noexcept {
    if (const auto known = names_.find(node); known != names_.end()) {
        known->second = next_id() | of_one_node;
    }
    std::erase_if(nested_, [node](const Nested &nested) noexcept {
        if (nested.node == node) {
            nested.identity->end();
        }
        return nested.node == node;
    });
}

void GraphIdentity::end() noexcept {
    alive_ = false;
    for (const Nested &nested : nested_) {
        nested.identity->end();
    }
    nested_.clear();
    names_.clear();
    users_.clear();
}

} // namespace cushim::detail
