/* What graph nodes use and graphs keep alive. */
#ifndef CUSHIM_DETAIL_NODE_USES_HPP
#define CUSHIM_DETAIL_NODE_USES_HPP

#include <span>

#include <cushim/detail/closure.hpp>
#include <cushim/detail/owner.hpp>

namespace cushim::detail {

template <class T>
concept Owning = requires(const T &owner) { Access::state(owner); };

// The state of an owner or a buffer; null for other types. Graphs keep alive what their nodes use.
template <class T>
State *state_of(const T *object) noexcept {
    if constexpr (Owning<T>) {
        return Access::state(*object);
    } else {
        return nullptr;
    }
}

// What a node uses and the graph keeps alive: states of owners, some of them null, and a closure.
struct NodeUses {
    std::span<State *const> states;
    Closure closure = {};
};

} // namespace cushim::detail

#endif
