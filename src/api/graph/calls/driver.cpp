// Graphs through the driver API: the oldest ABI that is sufficient.
#include "driver.hpp"

#include "graph.hpp"

namespace cushim::detail {
namespace {

// The operations of kernels that are known to be of a module or a library.
struct ModuleKernel : Kind<KernelNode> {
    static constexpr bool is_checked_late = true;
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

} // namespace

AddedNode add_node_after(const Graph &graph, const GraphNode *before, EmptyNode empty) noexcept {
    return add_by<as_node>(any_state_of(graph), before, empty);
}

AddedNode add_node_after(const Graph &graph, const GraphNode *before, HostNode host) noexcept {
    return add_by<as_node>(any_state_of(graph), before, host);
}

AddedNode add_node_after(const Graph &graph, const GraphNode *before, CUdeviceptr to,
                         std::size_t size, FillElement element, State *state) noexcept {
    return add_by<as_fill>(any_state_of(graph), before, to, size, element, state);
}

AddedNode add_node_after(const Graph &graph, const GraphNode *before, unsigned long long to,
                         unsigned long long from, std::size_t bytes, CopyKind kind, State *to_state,
                         State *from_state) noexcept {
    return add_by<as_copy>(any_state_of(graph), before, to, from, bytes, kind, to_state,
                           from_state);
}

AddedNode add_kernel_node_after(const Graph &graph, const GraphNode *before,
                                const KernelNode &kernel, State *first, State *second,
                                State *third) noexcept {
    return add_kernel_by(
        any_state_of(graph), before, kernel, first, second, third,
        [&](GraphState &state, const OneBefore &one) CUSHIM_INLINE {
            return kernel.kernel.is_of_library()
                       ? add_kept_node<KernelNode, LibraryKernel>(state, one, kernel)
                       : add_kept_node<KernelNode, ModuleKernel>(state, one, kernel);
        });
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
