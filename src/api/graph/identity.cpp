#include "graph_book.hpp"

#include <algorithm>
#include <atomic>

namespace cushim::detail {
namespace {

// 0 is none's.
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

GraphBook::GraphBook(const GraphApi &of) noexcept : api(of), id(next_number()) {}

GraphBook::GraphBook(GraphBook &around, CUgraphNode node) noexcept
    : api(around.api), id(next_number()), around_(&around), node_(node) {}

unsigned long long GraphBook::count_gone(CUgraphNode node) const noexcept {
    const auto found = gone_.find(node);
    return found == gone_.end() ? 0 : found->second;
}

Result<GraphNode> GraphBook::find(CUgraph graph, CUgraphNode native) const {
    if (native == nullptr) {
        return GraphNode();
    }
    CUSHIM_TRY(const bool is_here, has_node(api, graph, native));
    if (is_here) {
        return node(native);
    }
    for (const auto &[outer, inside] : inner_) {
        for (const Inner &inner : inside) {
            CUSHIM_TRY(const GraphNode found, inner.book->find(inner.graph, native));
            if (found) {
                return found;
            }
        }
    }
    return GraphNode();
}

std::shared_ptr<GraphBook> GraphBook::inside(CUgraphNode node, CUgraph graph) {
    std::vector<Inner> &inside = inner_[node];
    for (const Inner &inner : inside) {
        if (inner.graph == graph) {
            return inner.book;
        }
    }
    auto book = std::make_shared<GraphBook>(*this, node);
    for (GraphBook *outer = this; outer != nullptr; outer = outer->around_) {
        outer->inside_.emplace(book->id, book);
    }
    return inside.emplace_back(Inner{graph, std::move(book)}).book;
}

const GraphBook &GraphBook::book_of(const GraphNode &node) const noexcept {
    const unsigned long long wanted = GraphAccess::graph_of(node);
    if (wanted == id) {
        return *this;
    }
    const auto found = inside_.find(wanted);
    const auto book = found == inside_.end() ? nullptr : found->second.lock();
    return book ? *book : *this; // it is kept by the one around it
}

std::vector<CUgraphNode> GraphBook::path_to(const GraphBook &outer) const {
    std::vector<CUgraphNode> path;
    for (const GraphBook *book = this; book != &outer; book = book->around_) {
        path.push_back(book->node_);
    }
    return path;
}

const GraphBook &GraphBook::outermost() const noexcept {
    const GraphBook *book = this;
    while (book->around_ != nullptr) {
        book = book->around_;
    }
    return *book;
}

void GraphBook::prepare_to_forget(CUgraphNode node) {
    gone_.try_emplace(node, 0);
}

void GraphBook::forget(CUgraphNode node) noexcept {
    if (const auto known = gone_.find(node); known != gone_.end()) {
        ++known->second;
    }
    const auto inside = inner_.find(node);
    if (inside != inner_.end()) {
        for (const Inner &inner : inside->second) {
            inner.book->end();
        }
        inner_.erase(inside);
    }
}

void GraphBook::end() noexcept {
    alive_ = false;
    for (GraphBook *outer = around_; outer != nullptr; outer = outer->around_) {
        outer->inside_.erase(id);
    }
    gone_.clear();
    for (const auto &[node, inside] : inner_) {
        for (const Inner &inner : inside) {
            inner.book->end();
        }
    }
    inner_.clear();
}

} // namespace cushim::detail
