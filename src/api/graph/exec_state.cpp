#include "exec_state.hpp"

#include "base/with_memory.hpp"
#include "context/stream_context.hpp"

namespace cushim::detail {

ExecUses::~ExecUses() {
    for (auto &[node, place] : by_node_) {
        release_never(place.kept.release());
    }
}

Result<void> ExecUses::prepare(const Context &context, const ExecNode &node,
                               const KeptUses *kept) noexcept {
    if (kept == nullptr) {
        return {};
    }
    CUSHIM_TRY_VOID(require_release_thread());
    if (!last_launch_) {
        CUSHIM_TRY(last_launch_, Event::create(context, {.timing = false}));
        launched_in_ = context.native();
    }
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
    if (lost_a_launch_) {
        release_never(kept.release()); // running work may use it
        return;
    }
    if (was_launched_) {
        kept->after = last_launch_.share();
        is_waited_for_ = true;
    }
    release_later(kept.release());
}

// Launches of one executable graph run one after the other, so the end of the last one ends all.
void ExecUses::launched(const Stream &stream) noexcept {
    const Result<void> recorded = record(stream);
    if (recorded) {
        was_launched_ = true;
        lost_a_launch_ = false; // it ends before this launch
        return;
    }
    // Without an event, waits at once if possible.
    const Error &error = recorded.error();
    report_teardown({error.status(), error.entry_point(),
                     reinterpret_cast<unsigned long long>(last_launch_.native())});
    was_launched_ = false;
    lost_a_launch_ = !stream.synchronize();
}

// An event can only be recorded in streams of its own context.
Result<void> ExecUses::record(const Stream &stream) noexcept {
    CUSHIM_TRY(const Context context, context_of(stream));
    if (!last_launch_ || is_waited_for_ || context.native() != launched_in_) {
        CUSHIM_TRY(last_launch_, Event::create(context, {.timing = false}));
        launched_in_ = context.native();
        is_waited_for_ = false;
    }
    return last_launch_.record(stream);
}

void ExecUses::end() noexcept {
    for (auto &[node, place] : by_node_) {
        let_go(std::move(place.kept));
    }
    by_node_.clear();
    inside_.clear();
}

} // namespace cushim::detail
