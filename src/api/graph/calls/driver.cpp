// Graphs through the driver API: the oldest ABI that is sufficient.
#include "driver.hpp"

#include "graph.hpp"

namespace cushim::detail {
namespace {

// Adds a node whose resources are kept. Nodes of graphs of the runtime API are not found here.
template <class Node>
[[gnu::always_inline]] inline AddedNode
add_directly(const Graph &graph, auto before, const Node &node, const auto &...uses) noexcept {
    auto *const state = static_cast<GraphState *>(Access::state(graph));
    if (state == nullptr || !before.is_in(*state->identity) ||
        !are_kept(state->identity->whole_id(Api::driver), uses...)) [[unlikely]] {
        const Node stored = node; // the compiler need not store the other one
        return add_node(graph, before.nodes(), stored, uses...);
    }
    return add_kept_node(*state, before, node);
}

} // namespace

AddedNode add_node_after(const Graph &graph, const GraphNode *before, EmptyNode empty) noexcept {
    return add_directly(graph, OneBefore{before}, empty);
}

AddedNode add_node_after(const Graph &graph, const GraphNode *before, HostNode host) noexcept {
    return add_directly(graph, OneBefore{before}, host);
}

AddedNode add_node_after(const Graph &graph, const GraphNode *before, CUdeviceptr to,
                         std::size_t size, FillElement element, State *state) noexcept {
    const auto packed = std::bit_cast<unsigned long long>(element); // one register
    const Fill fill = {to, size, static_cast<unsigned int>(packed >> 32),
                       static_cast<unsigned int>(packed)};
    return add_directly(graph, OneBefore{before}, fill, state);
}

AddedNode add_node_after(const Graph &graph, const GraphNode *before, const Copy &copy, State *to,
                         State *from) noexcept {
    return add_directly(graph, OneBefore{before}, copy, to, from);
}

AddedNode add_kernel_node(const Graph &graph, NodesBefore before, const KernelNode &kernel,
                          std::span<State *const> uses) noexcept {
    return add_directly(graph, FewBefore(before), kernel, AllStates{uses});
}

} // namespace cushim::detail
