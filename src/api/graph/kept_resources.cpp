#include "kept_resources.hpp"

#include <cushim/detail/loader.h>

#include <algorithm>

#include "base/relaxed_capture.hpp"
#include "base/with_memory.hpp"

namespace cushim::detail {
namespace {

void release_uses(void *user) noexcept {
    release_later(static_cast<Released *>(user));
}

// The user object owns `kept`, even if the graph rejects it.
Result<void> give(const GraphApi &api, CUgraph graph, std::unique_ptr<Released> kept) noexcept {
    CUSHIM_TRY_VOID(require_release_thread());
    CUuserObject object = nullptr;
    CUSHIM_TRY_VOID(api.user_object_create(&object, kept.get(), release_uses));
    (void)kept.release();
    // The graph takes its own reference. This one is released even on failure: the call may have
    // worked.
    Result<void> given = api.user_object_retain(graph, object);
    Result<void> released = api.user_object_release(object);
    return given ? released : given;
}

} // namespace

bool may_be_done(const Error &error) noexcept {
    switch (error.kind()) {
    case ErrorKind::invalid_argument:
    case ErrorKind::not_supported_by_device:
    case ErrorKind::requires_newer_driver:
    case ErrorKind::requires_newer_headers:
    case ErrorKind::symbol_not_found:
    case ErrorKind::unsupported_platform:
        return false;
    default:
        return error.status() != CUDA_ERROR_INVALID_VALUE &&
               error.status() != CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
    }
}

Result<void> require_release_thread() noexcept {
    if (!prepare_release()) {
        return Error::make({.kind = ErrorKind::out_of_memory,
                            .detail = "the thread that releases resources cannot be started"});
    }
    return {};
}

bool NewUses::empty() const noexcept {
    return !closure && std::all_of(states.begin(), states.end(),
                                   [](const State *state) { return state == nullptr; });
}

bool KeptUses::is_ready() noexcept {
    if (!after || Access::state(after)->is_gone()) { // a reset has ended the work
        return true;
    }
    if (cushim_exiting() != 0) {
        return false; // and never will be ready
    }
    const RelaxedCapture no_capture_ends_by_the_question;
    const Result<bool> through = after.query();
    if (!through) {
        report_teardown({through.error().status(), through.error().entry_point(),
                         reinterpret_cast<unsigned long long>(after.native())});
    }
    return !through || *through;
}

Result<std::unique_ptr<KeptUses>> keep_uses(NewUses &&uses) noexcept {
    if (uses.empty()) {
        return std::unique_ptr<KeptUses>();
    }
    return with_memory([&]() -> Result<std::unique_ptr<KeptUses>> {
        auto kept = std::make_unique<KeptUses>();
        for (State *const state : uses.states) {
            if (state != nullptr) {
                kept->resources.emplace_back(state);
            }
        }
        kept->closure = std::move(uses.closure);
        return kept;
    });
}

Result<void> give_uses(const GraphApi &api, CUgraph graph, NewUses &&uses) noexcept {
    CUSHIM_TRY(auto kept, keep_uses(std::move(uses)));
    return kept ? give(api, graph, std::move(kept)) : Result<void>();
}

Result<void> KeptResources::prepare(const GraphApi &api, CUgraph graph,
                                    const NewUses &uses) noexcept {
    if (uses.empty()) {
        return {};
    }
    return with_memory([&]() -> Result<void> {
        if (kept_ == nullptr) {
            auto kept = std::make_unique<Kept>();
            Kept *const made = kept.get();
            CUSHIM_TRY_VOID(give(api, graph, std::move(kept)));
            kept_ = made;
        }
        for (State *const state : uses.states) {
            if (state != nullptr && !is_recent(state)) {
                kept_->resources.try_emplace(state);
            }
        }
        std::vector<OwnedClosure> &closures = kept_->closures;
        if (uses.closure && closures.size() == closures.capacity()) {
            closures.reserve(2 * closures.size() + 1);
        }
        return {};
    });
}

void KeptResources::keep(NewUses &&uses) noexcept {
    for (State *const state : uses.states) {
        if (state != nullptr && !is_recent(state)) {
            KeepAlive &resource = kept_->resources.find(state)->second;
            if (!resource) {
                resource = KeepAlive(state);
            }
            recent_[next_recent_++ % recent_.size()] = state;
        }
    }
    if (uses.closure) {
        kept_->closures.push_back(std::move(uses.closure));
    }
}

} // namespace cushim::detail
