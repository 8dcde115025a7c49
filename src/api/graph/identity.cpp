#include "identity.hpp"

#include <algorithm>

#include "reading.hpp"

namespace cushim::detail {
namespace {

Result<bool> has_node(Api api, CUgraph graph, CUgraphNode node) {
    CUSHIM_TRY(const std::vector<CUgraphNode> nodes, native_nodes(api, graph));
    return std::find(nodes.begin(), nodes.end(), node) != nodes.end();
}

} // namespace

GraphIdentity::Tables::~Tables() = default;

GraphIdentity::GraphIdentity(GraphIdentity &around, CUgraphNode node) noexcept
    : api(around.api), id(next_id()), around_(&around), node_(node) {}

GraphIdentity::Tables &GraphIdentity::tables() {
    if (!tables_) {
        tables_ = std::make_unique<Tables>();
    }
    return *tables_;
}

unsigned long long GraphIdentity::find_name(CUgraphNode node) const noexcept {
    if (!tables_) {
        return id; // the graph was destroyed
    }
    const auto found = tables_->names.find(node);
    return found == tables_->names.end() ? id : found->second;
}

Result<GraphNode> GraphIdentity::find(CUgraph graph, CUgraphNode native) const {
    if (native == nullptr) {
        return GraphNode();
    }
    CUSHIM_TRY(const bool is_here, has_node(api, graph, native));
    if (is_here) {
        return node(native);
    }
    if (!tables_) {
        return GraphNode();
    }
    for (const auto &[outer, inside] : tables_->inner) {
        for (const Inner &inner : inside) {
            CUSHIM_TRY(GraphNode found, inner.identity->find(inner.graph, native));
            if (found) {
                return found;
            }
        }
    }
    return GraphNode();
}

std::shared_ptr<GraphIdentity> GraphIdentity::inside(CUgraphNode node, CUgraph graph) {
    std::vector<Inner> &inside = tables().inner[node];
    for (const Inner &inner : inside) {
        if (inner.graph == graph) {
            return inner.identity;
        }
    }
    return inside.emplace_back(Inner{graph, std::make_shared<GraphIdentity>(*this, node)}).identity;
}

const GraphIdentity &GraphIdentity::nested_identity_of(const GraphNode &node) const noexcept {
    for (const auto &[outer, inside] : tables_->inner) {
        for (const Inner &inner : inside) {
            const GraphIdentity &found = inner.identity->identity_of(node);
            if (found.has(node) || found.had(node)) {
                return found;
            }
        }
    }
    return *this;
}

std::vector<CUgraphNode> GraphIdentity::path() const {
    std::vector<CUgraphNode> path;
    for (const GraphIdentity *inner = this; inner->around_ != nullptr; inner = inner->around_) {
        path.push_back(inner->node_);
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
    tables().names.try_emplace(node, id);
    any_gone_ = true;
}

void GraphIdentity::forget(CUgraphNode node) noexcept {
    if (!tables_) {
        return;
    }
    auto &inner = tables_->inner;
    if (const auto known = tables_->names.find(node); known != tables_->names.end()) {
        known->second = next_id() | of_one_node;
    }
    if (const auto inside = inner.find(node); inside != inner.end()) {
        for (const Inner &each : inside->second) {
            each.identity->end();
        }
        inner.erase(inside);
    }
}

void GraphIdentity::end_nested() noexcept {
    for (const auto &[node, inside] : tables_->inner) {
        for (const Inner &inner : inside) {
            inner.identity->end();
        }
    }
    tables_.reset();
}

} // namespace cushim::detail
