#include "graph_book.hpp"

#include <atomic>

namespace cushim::detail {
namespace {

// For graphs and nodes alike; 0 is none's.
unsigned long long next_number() noexcept {
    static std::atomic<unsigned long long> last{0};
    return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

} // namespace

GraphBook::GraphBook(const GraphApi &of) noexcept : api(of), id(next_number()) {}

GraphNode GraphBook::node(CUgraphNode native) {
    if (native == nullptr) {
        return GraphNode();
    }
    const auto [known, is_new] = serials_.try_emplace(native, 0);
    if (is_new) {
        known->second = next_number();
    }
    return GraphAccess::node(native, id, known->second);
}

bool GraphBook::has(const GraphNode &node) const noexcept {
    if (!alive_ || GraphAccess::graph_of(node) != id) {
        return false;
    }
    const auto known = serials_.find(node.native());
    return known != serials_.end() && known->second == GraphAccess::serial_of(node);
}

std::shared_ptr<GraphBook> GraphBook::inside(CUgraphNode node, CUgraph graph) {
    for (const Inner &inner : inner_) {
        if (inner.node == node && inner.graph == graph) {
            return inner.book;
        }
    }
    return inner_.emplace_back(Inner{node, graph, std::make_shared<GraphBook>(api)}).book;
}

void GraphBook::forget(CUgraphNode node) noexcept {
    serials_.erase(node);
    std::erase_if(inner_, [node](const Inner &inner) {
        if (inner.node == node) {
            inner.book->end();
        }
        return inner.node == node;
    });
}

void GraphBook::end() noexcept {
    alive_ = false;
    serials_.clear();
    for (const Inner &inner : inner_) {
        inner.book->end();
    }
    inner_.clear();
}

} // namespace cushim::detail
