// Graphs through the driver API: the oldest ABI that is sufficient.
#include "driver.hpp"

#include "graph.hpp"

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

// Adds any node. Has the parameters of its callers: their arguments can stay where they are, which
// makes the usual case shorter.
template <auto node_of, class... Arguments>
[[gnu::noinline]] AddedNode add_any_by(GraphState *state, const GraphNode *before,
                                       Arguments... arguments) noexcept {
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

// Adds a node of a graph of the driver API whose resources are kept, and which needs no context.
template <class Before, auto node_of, class... Arguments>
[[gnu::always_inline]] inline AddedNode add_directly(const Graph &graph, const GraphNode *node,
                                                     Arguments... arguments) noexcept {
    const auto parameters = node_of(arguments...);
    using Of = Kind<std::remove_const_t<decltype(parameters)>>;
    const Before before = {node};
    GraphState *const state = any_state_of(graph);
    if (state == nullptr || !before.is_in(*state->identity) ||
        !(is_kept(state->identity->whole_id(Api::driver), arguments) && ...) ||
        !Of::is_added_anywhere(parameters) || !Of::is_plain(parameters)) [[unlikely]] {
        return add_any_by<node_of>(state, node, arguments...);
    }
    return add_plain_node(*state, before, parameters);
}

template <auto node_of, class... Arguments>
[[gnu::always_inline]] inline AddedNode add_by(const Graph &graph, const GraphNode *before,
                                               Arguments... arguments) noexcept {
    if (before == nullptr) [[unlikely]] {
        return add_directly<NoneBefore, node_of>(graph, before, arguments...);
    }
    return add_directly<OneBefore, node_of>(graph, before, arguments...);
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

// The operations of kernels that are known to be of a module or a library.
struct ModuleKernel : Kind<KernelNode> {
    static bool is_added_anywhere(const KernelNode &) noexcept { return false; }
    [[gnu::always_inline]] static CUresult call(const NodePlace &place,
                                                const KernelNode &kernel) noexcept {
        return add_module_kernel(place, kernel);
    }
};
struct LibraryKernel : Kind<KernelNode> {
    static bool is_added_anywhere(const KernelNode &) noexcept { return true; } // if it is plain
    [[gnu::always_inline]] static CUresult call(const NodePlace &place,
                                                const KernelNode &kernel) noexcept {
        return add_library_kernel(place, kernel);
    }
};

[[gnu::noinline]] AddedNode add_any_kernel_after(GraphState *state, const GraphNode *before,
                                                 const KernelNode &kernel, State *first,
                                                 State *second, State *third) noexcept {
    State *const states[] = {Access::state(kernel.kernel), first, second, third};
    return add_node_by<&GraphApi::add_after_one>(state, {before, 1}, kernel, NodeUses{states});
}

} // namespace

AddedNode add_node_after(const Graph &graph, const GraphNode *before, EmptyNode empty) noexcept {
    return add_by<as_node>(graph, before, empty);
}

AddedNode add_node_after(const Graph &graph, const GraphNode *before, HostNode host) noexcept {
    return add_by<as_node>(graph, before, host);
}

AddedNode add_node_after(const Graph &graph, const GraphNode *before, CUdeviceptr to,
                         std::size_t size, FillElement element, State *state) noexcept {
    return add_by<as_fill>(graph, before, to, size, element, state);
}

AddedNode add_node_after(const Graph &graph, const GraphNode *before, unsigned long long to,
                         unsigned long long from, std::size_t bytes, CopyKind kind, State *to_state,
                         State *from_state) noexcept {
    return add_by<as_copy>(graph, before, to, from, bytes, kind, to_state, from_state);
}

AddedNode add_kernel_node_after(const Graph &graph, const GraphNode *before,
                                const KernelNode &kernel, State *first, State *second,
                                State *third) noexcept {
    GraphState *const state = any_state_of(graph);
    const OneBefore one = {before};
    if (state == nullptr || !one.is_in(*state->identity) ||
        !are_kept(state->identity->whole_id(Api::driver), *Access::state(kernel.kernel), *first,
                  *second, *third)) [[unlikely]] {
        return add_any_kernel_after(state, before, kernel, first, second, third);
    }
    return kernel.kernel.is_of_library()
               ? add_kept_node<KernelNode, LibraryKernel>(*state, one, kernel)
               : add_kept_node<KernelNode, ModuleKernel>(*state, one, kernel);
}

AddedNode add_kernel_node(const Graph &graph, NodesBefore before, const KernelNode &kernel,
                          std::span<State *const> uses) noexcept {
    GraphState *const state = any_state_of(graph);
    const AllStates all = {uses};
    FewBefore few(before);
    if (state == nullptr || !few.is_in(*state->identity) ||
        !are_kept(state->identity->whole_id(Api::driver), all)) [[unlikely]] {
        return add_node(graph, before, kernel, all);
    }
    return add_kept_node(*state, few, kernel);
}

} // namespace cushim::detail
