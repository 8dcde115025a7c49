#include "graph_book.hpp"

#include <atomic>

namespace cushim::detail {
namespace {

// 0 is none's.
unsigned long long next_number() noexcept {
    static std::atomic<unsigned long long> last{0};
    return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

} // namespace

GraphBook::GraphBook(const GraphApi &of) noexcept : api(of), id(next_number()) {}

unsigned long long GraphBook::count_gone(CUgraphNode node) const noexcept {
    const auto found = gone_.find(node);
    return found == gone_.end() ? 0 : found->second;
}

std::shared_ptr<GraphBook> GraphBook::inside(CUgraphNode node, CUgraph graph) {
    std::vector<Inner> &inside = inner_[node];
    for (const Inner &inner : inside) {
        if (inner.graph == graph) {
            return inner.book;
        }
    }
    return inside.emplace_back(Inner{graph, std::make_shared<GraphBook>(api)}).book;
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
    gone_.clear();
    for (const auto &[node, inside] : inner_) {
        for (const Inner &inner : inside) {
            inner.book->end();
        }
    }
    inner_.clear();
}

} // namespace cushim::detail
