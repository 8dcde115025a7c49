#include "graph_uses.hpp"

#include <new>

namespace cushim::detail {
namespace {

Error no_memory() noexcept {
    return Error::make({.kind = ErrorKind::out_of_memory, .detail = "no host memory"});
}

void release_uses(void *user) noexcept {
    release_later(static_cast<KeptUses *>(user));
}

} // namespace

Result<std::unique_ptr<KeptUses>> keep_uses(const NodeUses &uses) noexcept {
    struct Guard {
        Closure closure;
        ~Guard() {
            if (closure.object != nullptr) {
                closure.destroy(closure.object);
            }
        }
    } guard{uses.closure};
    try {
        std::unique_ptr<KeptUses> kept;
        for (State *const state : uses.states) {
            if (state != nullptr) {
                if (!kept) {
                    kept = std::make_unique<KeptUses>();
                }
                kept->needs.emplace_back(state);
            }
        }
        if (guard.closure.object != nullptr && !kept) {
            kept = std::make_unique<KeptUses>();
        }
        if (kept) {
            kept->closure = guard.closure;
            guard.closure = {};
        }
        return kept;
    } catch (const std::bad_alloc &) {
        return no_memory();
    }
}

Result<PendingUses> PendingUses::make(const GraphApi &api,
                                      std::unique_ptr<KeptUses> kept) noexcept {
    if (!kept) {
        return PendingUses(api, nullptr);
    }
    if (!prepare_release()) {
        return Error::make({.kind = ErrorKind::out_of_memory, .detail = "no thread starts"});
    }
    CUuserObject object = nullptr;
    CUSHIM_TRY_VOID(api.user_object_create(&object, kept.get(), release_uses));
    (void)kept.release(); // the object's from here on
    return PendingUses(api, object);
}

Result<void> PendingUses::give_to(CUgraph graph) noexcept {
    if (object_ == nullptr) {
        return {};
    }
    CUSHIM_TRY_VOID(api_->user_object_give(graph, object_));
    object_ = nullptr;
    return {};
}

} // namespace cushim::detail
