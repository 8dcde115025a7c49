#include "identity.hpp"

#include <algorithm>
#include <atomic>

namespace cushim::detail {
namespace {

// 0 identifies no graph.
unsigned long long next_number() noexcept {
    static std::atomic<unsigned long long> last{0};
    return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

Result<bool> has_node(const GraphApi &api, CUgraph graph, CUgraphNode node) {
    CUSHIM_TRY(
        const std::vector<CUgraphNode> nodes,
        read_natives([&](const NodeRoom &room) noexcept { return api.read.nodes(graph, room); }));
    return std::find(nodes.begin(), nodes.end(), node) != nodes.end();
}

} // namespace

GraphIdentity::GraphIdentity(const GraphApi &of) noexcept : api(of), id(next_number()) {}

GraphIdentity::GraphIdentity(GraphIdentity &around, CUgraphNode node) noexcept
    : api(around.api), id(next_number()), around_(&around), node_(node) {}

unsigned long long GraphIdentity::count_gone(CUgraphNode node) const noexcept {
    const auto found = gone_.find(node);
    return found == gone_.end() ? 0 : found->second;
}

Result<GraphNode> GraphIdentity::find(CUgraph graph, CUgraphNode native) const {
    if (native == nullptr) {
        return GraphNode();
    }
    CUSHIM_TRY(const bool is_here, has_node(api, graph, native));
    if (is_here) {
        return node(native);
    }
    for (const auto &[outer, inside] : inner_) {
        for (const Inner &inner : inside) {
            CUSHIM_TRY(const GraphNode found, inner.identity->find(inner.graph, native));
            if (found) {
                return found;
            }
        }
    }
    return GraphNode();
}

std::shared_ptr<GraphIdentity> GraphIdentity::inside(CUgraphNode node, CUgraph graph) {
    std::vector<Inner> &inside = inner_[node];
    for (const Inner &inner : inside) {
        if (inner.graph == graph) {
            return inner.identity;
        }
    }
    auto identity = std::make_shared<GraphIdentity>(*this, node);
    for (GraphIdentity *outer = this; outer != nullptr; outer = outer->around_) {
        outer->inside_.emplace(identity->id, identity);
    }
    return inside.emplace_back(Inner{graph, std::move(identity)}).identity;
}

const GraphIdentity &GraphIdentity::identity_of(const GraphNode &node) const noexcept {
    const unsigned long long wanted = GraphAccess::graph_of(node);
    if (wanted == id) {
        return *this;
    }
    const auto found = inside_.find(wanted);
    const auto identity = found == inside_.end() ? nullptr : found->second.lock();
    return identity ? *identity : *this; // the outer identity keeps it alive
}

std::vector<CUgraphNode> GraphIdentity::path_to(const GraphIdentity &outer) const {
    std::vector<CUgraphNode> path;
    for (const GraphIdentity *identity = this; identity != &outer; identity = identity->around_) {
        path.push_back(identity->node_);
    }
    return path;
}

const GraphIdentity &GraphIdentity::outermost() const noexcept {
    const GraphIdentity *identity = this;
    while (identity->around_ != nullptr) {
        identity = identity->around_;
    }
    return *identity;
}

void GraphIdentity::prepare_to_forget(CUgraphNode node) {
    gone_.try_emplace(node, 0);
    any_gone_ = true;
}

void GraphIdentity::forget(CUgraphNode node) noexcept {
    if (const auto known = gone_.find(node); known != gone_.end()) {
        ++known->second;
    }
    const auto inside = inner_.find(node);
    if (inside != inner_.end()) {
        for (const Inner &inner : inside->second) {
            inner.identity->end();
        }
        inner_.erase(inside);
    }
}

void GraphIdentity::end() noexcept {
    alive_ = false;
    for (GraphIdentity *outer = around_; outer != nullptr; outer = outer->around_) {
        outer->inside_.erase(id);
    }
    gone_.clear();
    for (const auto &[node, inside] : inner_) {
        for (const Inner &inner : inside) {
            inner.identity->end();
        }
    }
    inner_.clear();
}

} // namespace cushim::detail
