#include "exec_state.hpp"

#include "base/with_memory.hpp"

namespace cushim::detail {

ExecUses::~ExecUses() {
    release_never(of_graph_.release());
    for (auto &[node, place] : by_node_) {
        release_never(place.kept.release());
    }
}

void ExecUses::keep(std::unique_ptr<KeptUses> of_graph) noexcept {
    std::swap(of_graph_, of_graph);
    let_go(std::move(of_graph));
    for (auto &[node, place] : by_node_) {
        let_go(std::move(place.kept));
    }
    by_node_.clear();
    inside_.clear();
}

void ExecUses::keep_also(std::unique_ptr<KeptUses> of_graph) noexcept {
    if (of_graph != nullptr) {
        of_graph->also = std::move(of_graph_);
        of_graph_ = std::move(of_graph);
    }
}

Result<void> ExecUses::prepare(const ExecNode &node) noexcept {
    CUSHIM_TRY_VOID(require_release_thread());
    return with_memory([&]() -> Result<void> {
        std::vector<CUgraphNode> path = node.identity.path_to(node.root);
        for (const CUgraphNode outer : path) {
            inside_[outer].insert(node.native);
        }
        by_node_.try_emplace(node.native, Place{std::move(path), nullptr});
        return {};
    });
}

void ExecUses::keep(CUgraphNode node, std::unique_ptr<KeptUses> kept) noexcept {
    const auto place = by_node_.find(node);
    if (place == by_node_.end()) {
        return;
    }
    std::swap(place->second.kept, kept);
    let_go(std::move(kept));
    if (!place->second.kept) {
        by_node_.erase(place);
    }
}

void ExecUses::unprepare(CUgraphNode node) noexcept {
    const auto place = by_node_.find(node);
    if (place != by_node_.end() && !place->second.kept) {
        by_node_.erase(place);
    }
}

void ExecUses::keep_also(CUgraphNode node, std::unique_ptr<KeptUses> kept) noexcept {
    const auto place = by_node_.find(node);
    if (place == by_node_.end() || !kept) {
        return;
    }
    kept->also = std::move(place->second.kept);
    place->second.kept = std::move(kept);
}

void ExecUses::end_inside(CUgraphNode node) noexcept {
    const auto found = inside_.find(node);
    if (found == inside_.end()) {
        return;
    }
    for (const CUgraphNode inner : found->second) {
        const auto at = by_node_.find(inner);
        if (at != by_node_.end() && at->second.is_inside(node)) {
            let_go(std::move(at->second.kept));
            by_node_.erase(at);
        }
    }
    inside_.erase(found);
}

void ExecUses::let_go(std::unique_ptr<KeptUses> kept) noexcept {
    if (!kept) {
        return;
    }
    if (launches_.is_end_unknown()) {
        release_never(kept.release()); // running work may use it
        return;
    }
    Launches::End end = launches_.end();
    kept->after = std::move(end.last);
    kept->after_too = std::move(end.before);
    release_later(kept.release());
}

} // namespace cushim::detail
