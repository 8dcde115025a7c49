#include "exec_state.hpp"

#include <algorithm>

#include "base/with_memory.hpp"

namespace cushim::detail {

ExecUses::~ExecUses() {
    release_never(of_graph_.release());
    for (auto &[node, place] : by_node_) {
        release_never(place.kept.release());
    }
}

bool ExecUses::Place::keeps(const NewUses &uses) const noexcept {
    if (uses.closure || !kept || kept->closure || kept->set || kept->also) {
        return false;
    }
    std::size_t index = 0;
    for (const State *const state : uses.states) {
        if (state == nullptr) {
            continue;
        }
        if (index == kept->resources.size() || !kept->resources[index].is_of(state)) {
            return false;
        }
        ++index;
    }
    return index == kept->resources.size();
}

void ExecUses::keep(std::unique_ptr<KeptUses> of_graph) noexcept {
    std::swap(of_graph_, of_graph);
    let_go(std::move(of_graph));
    for (auto &[node, place] : by_node_) {
        let_go(std::move(place.kept));
    }
    by_node_.clear();
}

void ExecUses::keep_also(std::unique_ptr<KeptUses> of_graph) noexcept {
    if (of_graph != nullptr) {
        of_graph->also = std::move(of_graph_);
        of_graph_ = std::move(of_graph);
    }
}

Result<ExecUses::Place *> ExecUses::prepare(const ExecNode &node) noexcept {
    CUSHIM_TRY_VOID(require_release_thread());
    return with_memory([&]() -> Result<Place *> {
        Place place{node.identity.path(), nullptr, {}};
        return &by_node_.try_emplace(node.native, std::move(place)).first->second;
    });
}

void ExecUses::keep(CUgraphNode node, std::unique_ptr<KeptUses> kept,
                    const Result<void> &set) noexcept {
    const auto at = by_node_.find(node);
    if (at == by_node_.end()) {
        return;
    }
    std::unique_ptr<KeptUses> &current = at->second.kept;
    if (set) {
        std::swap(current, kept);
        let_go(std::move(kept));
    } else if (kept && may_be_done(set.error())) {
        kept->also = std::move(current);
        current = std::move(kept);
    }
    if (!current) {
        by_node_.erase(at);
    }
}

void ExecUses::end_inside(CUgraphNode node) noexcept {
    for (auto at = by_node_.begin(); at != by_node_.end();) {
        auto &[path, kept, known] = at->second;
        if (std::find(path.begin(), path.end(), node) == path.end()) {
            ++at;
        } else {
            let_go(std::move(kept));
            at = by_node_.erase(at);
        }
    }
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
