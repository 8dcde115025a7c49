/* What graph nodes use and graphs keep alive. */
#ifndef CUSHIM_DETAIL_NODE_USES_HPP
#define CUSHIM_DETAIL_NODE_USES_HPP

#include <span>

#include <cushim/detail/closure.hpp>
#include <cushim/detail/owner.hpp>

namespace cushim::detail {

template <class T>
concept Owning = requires(const T &owner) { Access::state(owner); };

// The states of the owners and buffers among these objects. Some may be null.
template <class... Object>
class States {
  public:
    explicit States(const Object &...objects) noexcept {
        [[maybe_unused]] State **to = states_;
        (add(to, objects), ...);
    }
    operator std::span<State *const>() const noexcept { return {states_, count}; }

  private:
    static constexpr std::size_t count = (std::size_t(Owning<Object>) + ... + 0);

    template <class T>
    static void add([[maybe_unused]] State **&to, [[maybe_unused]] const T &object) noexcept {
        if constexpr (Owning<T>) {
            *to++ = Access::state(object);
        }
    }

    State *states_[count + 1];
};

// What a node uses and the graph keeps alive: states of owners, some of them null, and a closure.
struct NodeUses {
    std::span<State *const> states = {};
    const Closure *closure = nullptr; // null: none
};
inline constexpr NodeUses no_uses = {};

} // namespace cushim::detail

#endif
