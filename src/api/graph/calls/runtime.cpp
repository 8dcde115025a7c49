// Graphs through the runtime API, with the signatures of the headers' major version. Nodes run in
// the context that is current when they are added or set.
#include "runtime.hpp"

#include "graph.hpp"

namespace cushim::detail {

AddedNode add_runtime_node_after(GraphState &state, const GraphNode *before,
                                 EmptyNode empty) noexcept {
    return add_by<as_node>(&state, before, empty);
}

AddedNode add_runtime_node_after(GraphState &state, const GraphNode *before,
                                 HostNode host) noexcept {
    return add_by<as_node>(&state, before, host);
}

AddedNode add_runtime_node_after(GraphState &state, const GraphNode *before, CUdeviceptr to,
                                 std::size_t size, FillElement element, State *to_state) noexcept {
    return add_by<as_fill>(&state, before, to, size, element, to_state);
}

AddedNode add_runtime_node_after(GraphState &state, const GraphNode *before, unsigned long long to,
                                 unsigned long long from, std::size_t bytes, CopyKind kind,
                                 State *to_state, State *from_state) noexcept {
    return add_by<as_copy>(&state, before, to, from, bytes, kind, to_state, from_state);
}

AddedNode add_runtime_kernel_node_after(GraphState &state, const GraphNode *before,
                                        const KernelNode &kernel, State *first, State *second,
                                        State *third) noexcept {
    return add_kernel_by(&state, before, kernel, first, second, third,
                         [&](GraphState &, const OneBefore &one)
                             CUSHIM_INLINE { return add_kept_node(state, one, kernel); });
}

} // namespace cushim::detail
