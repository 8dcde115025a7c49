// Adding nodes that wait for one node, or for none, by the arguments that headers pass. Compiled
// for each API: graph.hpp.
#pragma once

#include "new_nodes.hpp"

namespace cushim::detail {
namespace {

// Headers add a node by its arguments: those of a function that makes its parameters, node_of(),
// and the states of the owners that it uses.

template <class T>
constexpr bool is_state = std::is_same_v<T, State *>;

inline bool is_kept([[maybe_unused]] unsigned long long number, const auto &argument) noexcept {
    if constexpr (is_state<std::remove_cvref_t<decltype(argument)>>) {
        return are_kept(number, argument);
    } else {
        return true;
    }
}

// In the driver's functions, which headers call for both APIs: whether the runtime's are to be
// called.
inline bool is_whole_runtime_graph([[maybe_unused]] const GraphState *state,
                                   [[maybe_unused]] const GraphNode *before) noexcept {
    if constexpr (CUSHIM_GRAPH_API == Api::driver) {
        return state != nullptr &&
               (before != nullptr ? OneBefore{before}.is_in(*state->identity, Api::runtime)
                                  : NoneBefore{}.is_in(*state->identity, Api::runtime));
    } else {
        return false;
    }
}

// Adds any node. Has the parameters of its callers: their arguments can stay where they are, which
// makes the usual case shorter.
template <auto node_of, class... Arguments>
[[gnu::noinline]] AddedNode add_any_by(GraphState *state, const GraphNode *before,
                                       Arguments... arguments) noexcept {
    if (is_whole_runtime_graph(state, before)) {
        return std::get<AddByArguments<Arguments...>>(state->api().add_by_arguments)(*state, before,
                                                                                     arguments...);
    }
    constexpr std::size_t count = (std::size_t(is_state<Arguments>) + ... + 0);
    State *states[count + 1];
    [[maybe_unused]] State **end = states;
    const auto add = [&end]([[maybe_unused]] auto argument) CUSHIM_INLINE {
        if constexpr (is_state<decltype(argument)>) {
            *end++ = argument;
        }
    };
    (add(arguments), ...);
    const NodeUses uses = {std::span<State *const>(states, count)};
    const auto node = node_of(arguments...);
    return before != nullptr ? add_node_by<&GraphApi::add_after_one>(state, {before, 1}, node, uses)
                             : add_node_by<&GraphApi::add>(state, {nullptr, 0}, node, uses);
}

// Adds a node whose resources are kept.
template <class Before, auto node_of, class... Arguments>
[[gnu::always_inline]] inline AddedNode add_directly(GraphState *state, const GraphNode *node,
                                                     Arguments... arguments) noexcept {
    const auto parameters = node_of(arguments...);
    using Of = Kind<std::remove_const_t<decltype(parameters)>>;
    const Before before = {node};
    if (state == nullptr || !before.is_in(*state->identity) ||
        !(is_kept(state->identity->whole_id(CUSHIM_GRAPH_API), arguments) && ...)) [[unlikely]] {
        return add_any_by<node_of>(state, node, arguments...);
    }
    if constexpr (CUSHIM_GRAPH_API == Api::runtime) {
        return add_kept_node(*state, before, parameters);
    }
    if (!Of::is_added_anywhere(parameters) || !Of::is_plain(parameters)) [[unlikely]] {
        return add_any_by<node_of>(state, node, arguments...);
    }
    return add_plain_node(*state, before, parameters);
}

template <auto node_of, class... Arguments>
[[gnu::always_inline]] inline AddedNode add_by(GraphState *state, const GraphNode *before,
                                               Arguments... arguments) noexcept {
    if (before == nullptr) [[unlikely]] {
        return add_directly<NoneBefore, node_of>(state, before, arguments...);
    }
    return add_directly<OneBefore, node_of>(state, before, arguments...);
}

constexpr auto as_node = [](const auto &node) CUSHIM_INLINE { return node; };

constexpr auto as_fill = [](CUdeviceptr to, std::size_t size, FillElement element,
                            State *) CUSHIM_INLINE {
    const auto packed = std::bit_cast<unsigned long long>(element); // one register
    return Fill{to, size, static_cast<unsigned int>(packed >> 32),
                static_cast<unsigned int>(packed)};
};

constexpr auto as_copy = [](unsigned long long to, unsigned long long from, std::size_t bytes,
                            CopyKind kind, State *, State *)
                             CUSHIM_INLINE { return Copy{kind, to, from, bytes, bytes, 1}; };

[[gnu::noinline]] AddedNode add_any_kernel_after(GraphState *state, const GraphNode *before,
                                                 const KernelNode &kernel, State *first,
                                                 State *second, State *third) noexcept {
    if (is_whole_runtime_graph(state, before)) {
        return std::get<AddByArguments<const KernelNode &, State *, State *, State *>>(
            state->api().add_by_arguments)(*state, before, kernel, first, second, third);
    }
    State *const states[] = {Access::state(kernel.kernel), first, second, third};
    return add_node_by<&GraphApi::add_after_one>(state, {before, 1}, kernel, NodeUses{states});
}

// Adds a kernel node by `add(state, before)` if its resources are kept.
[[gnu::always_inline]] inline AddedNode add_kernel_by(GraphState *state, const GraphNode *before,
                                                      const KernelNode &kernel, State *first,
                                                      State *second, State *third,
                                                      const auto &add) noexcept {
    const OneBefore one = {before};
    if (state == nullptr || !one.is_in(*state->identity) ||
        !are_kept(state->identity->whole_id(CUSHIM_GRAPH_API), *Access::state(kernel.kernel),
                  *first, *second, *third)) [[unlikely]] {
        return add_any_kernel_after(state, before, kernel, first, second, third);
    }
    return add(*state, one);
}

// The functions of GraphApi::add_by_arguments.
template <auto node_of, class... Arguments>
AddedNode add_by_these(GraphState &state, const GraphNode *before,
                       Arguments... arguments) noexcept {
    return add_by<node_of>(&state, before, arguments...);
}
[[maybe_unused]] AddedNode add_kernel_by_these(GraphState &state, const GraphNode *before,
                                               const KernelNode &kernel, State *first,
                                               State *second, State *third) noexcept {
    return add_kernel_by(&state, before, kernel, first, second, third,
                         [&](GraphState &, const OneBefore &one)
                             CUSHIM_INLINE { return add_kept_node(state, one, kernel); });
}
constexpr GraphApi::AddersByArguments adders_by_arguments() noexcept {
    if constexpr (CUSHIM_GRAPH_API == Api::runtime) {
        return {add_by_these<as_node, EmptyNode>, add_by_these<as_node, HostNode>,
                add_by_these<as_fill, CUdeviceptr, std::size_t, FillElement, State *>,
                add_by_these<as_copy, unsigned long long, unsigned long long, std::size_t, CopyKind,
                             State *, State *>,
                add_kernel_by_these};
    } else {
        return {};
    }
}

} // namespace
} // namespace cushim::detail
