#include "registry.hpp"

#include <cstdint>

#include "base/fork_guard.hpp"
#include "state.hpp"

namespace cushim::detail {
namespace {

// Chained through the entries, so that no memory is needed and every graph can be registered.
constexpr std::size_t chains = 1024;
constinit GraphRegistryEntry *first[chains] = {};
constinit std::size_t captures = 0; // number of capturing entries
constinit ForkLock registry_lock = {};

GraphRegistryEntry *&chain_of(CUgraph graph) noexcept {
    const auto address = static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(graph));
    return first[(address * 0x9e3779b97f4a7c15ULL) >> 54];
}
static_assert(chains == std::size_t(1) << (64 - 54));

} // namespace

void GraphRegistryEntry::know(CUgraph graph) noexcept {
    const LockGuard guard(registry_lock, state_.generation);
    graph_ = graph;
    GraphRegistryEntry *&chain = chain_of(graph);
    next_ = chain;
    chain = this;
}

void GraphRegistryEntry::forget() noexcept {
    const LockGuard guard(registry_lock, state_.generation);
    GraphRegistryEntry **at = &chain_of(graph_);
    while (*at != this) {
        at = &(*at)->next_;
    }
    *at = next_;
    captures -= capturing_ != nullptr ? 1 : 0;
    graph_ = nullptr;
}

void GraphRegistryEntry::capture_begins(CUstream stream) noexcept {
    (void)capture_ends(stream); // of a capture that other code has ended
    const LockGuard guard(registry_lock);
    captures += capturing_ == nullptr ? 1 : 0;
    capturing_ = stream;
    capturing_in_ = std::this_thread::get_id();
}

CUgraph capture_ends(CUstream stream) noexcept {
    const LockGuard guard(registry_lock);
    for (std::size_t chain = 0; captures != 0 && chain < chains; ++chain) {
        for (GraphRegistryEntry *known = first[chain]; known != nullptr; known = known->next_) {
            const bool is_its_own = stream != CU_STREAM_PER_THREAD ||
                                    known->capturing_in_ == std::this_thread::get_id();
            if (known->capturing_ == stream && is_its_own) {
                known->capturing_ = nullptr;
                --captures;
                return known->graph_;
            }
        }
    }
    return nullptr;
}

State *find_state(CUgraph graph) noexcept {
    const LockGuard guard(registry_lock);
    State *found = nullptr;
    for (const GraphRegistryEntry *known = chain_of(graph); known != nullptr;
         known = known->next_) {
        // CUDA may reuse the handle of a graph whose node was destroyed.
        if (known->graph_ == graph &&
            static_cast<GraphState &>(known->state_).identity->is_alive()) {
            found = &known->state_;
            if (found->owned.load(std::memory_order_relaxed)) {
                break;
            }
        }
    }
    return found;
}

bool is_owned(CUgraph graph) noexcept {
    const State *const state = find_state(graph);
    return state != nullptr && state->owned.load(std::memory_order_relaxed);
}

} // namespace cushim::detail
