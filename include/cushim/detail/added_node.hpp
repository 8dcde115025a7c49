/* How headers add nodes to graphs: functions of the library that pass and return few words, in
 * registers. */
#ifndef CUSHIM_DETAIL_ADDED_NODE_HPP
#define CUSHIM_DETAIL_ADDED_NODE_HPP

#include <concepts>
#include <cstddef>
#include <span>

#include <cushim/detail/ranges.hpp>
#include <cushim/graph_setters.hpp>

namespace cushim {

class Graph;

namespace detail {

CUSHIM_LOCAL inline NodesBefore nodes_before(const GraphDependencies &dependencies) noexcept {
    return {dependencies.first(),
            dependencies.is_complete() ? dependencies.size_ : no_nodes_stored};
}

// What add_node() returns.
struct AddedNode {
    CUgraphNode native = nullptr;
    unsigned long long name = 0; // that of the GraphNode; 0: `native` is the address of a Result
};
// Takes the Result from AddedNode::native. It waits in a variable of the thread: its address is
// passed, since a process may contain several copies of cushim, each with its own variable.
CUSHIM_COLD CUSHIM_API Result<GraphNode> result_of_add_node(CUgraphNode result) noexcept;

// Adds a node that uses owners with these states, some of which may be null.
CUSHIM_API AddedNode add_node(const Graph &graph, NodesBefore before, NodeParameters parameters,
                              const NodeUses &uses) noexcept;
template <std::same_as<State *>... States>
CUSHIM_LOCAL AddedNode add_node(const Graph &graph, NodesBefore before, NodeParameters parameters,
                                States... uses) noexcept {
    if constexpr (sizeof...(uses) == 0) {
        return add_node(graph, before, parameters, no_uses);
    } else {
        State *const states[] = {uses...};
        return add_node(graph, before, parameters, NodeUses{states});
    }
}
// Adds a kernel node that uses owners with these states, none of which is null.
CUSHIM_API AddedNode add_kernel_node(const Graph &graph, NodesBefore before,
                                     const KernelNode &kernel,
                                     std::span<State *const> uses) noexcept;

// The same for one dependency, and up to three owners besides the kernel. No pointer is null: if
// there are fewer owners, one is passed again.
inline constexpr std::size_t few_states = 4; // with the kernel's
CUSHIM_API AddedNode add_kernel_node_after(const Graph &graph, const GraphNode *before,
                                           const KernelNode &kernel, State *first, State *second,
                                           State *third) noexcept;

// The same for usual nodes, which wait for one node, or for none if it is null.
CUSHIM_API AddedNode add_node_after(const Graph &graph, const GraphNode *before,
                                    EmptyNode empty) noexcept;
CUSHIM_API AddedNode add_node_after(const Graph &graph, const GraphNode *before,
                                    HostNode host) noexcept;
CUSHIM_API AddedNode add_node_after(const Graph &graph, const GraphNode *before,
                                    unsigned long long to, unsigned long long from,
                                    std::size_t bytes, CopyKind kind, State *to_state,
                                    State *from_state) noexcept;
struct FillElement { // in CUDA's order
    unsigned int value;
    unsigned int size;
};
CUSHIM_API AddedNode add_node_after(const Graph &graph, const GraphNode *before, CUdeviceptr to,
                                    std::size_t size, FillElement element, State *state) noexcept;
CUSHIM_LOCAL inline AddedNode add_node_after(const Graph &graph, const GraphNode *before,
                                             const Fill &fill, State *to) noexcept {
    return add_node_after(graph, before, fill.to, fill.size, {fill.value, fill.element_size}, to);
}
// Copies of elements as copies of bytes. add_node() rejects those of two sizes, or of too many
// bytes.
CUSHIM_LOCAL inline AddedNode add_node_after(const Graph &graph, const GraphNode *before,
                                             const Copy &copy, State *to, State *from) noexcept {
    if (copy.to_size != copy.from_size || product_overflows(copy.to_size, copy.element_size))
        [[unlikely]] {
        const Copy stored = copy; // the compiler need not store the other one
        return add_node(graph, {before, before != nullptr ? 1u : 0u}, stored, no_uses);
    }
    return add_node_after(graph, before, copy.to, copy.from, copy.to_size * copy.element_size,
                          copy.kind, to, from);
}
// All others.
CUSHIM_LOCAL AddedNode add_node_after(const Graph &graph, const GraphNode *before,
                                      NodeParameters parameters, const auto &...uses) noexcept {
    return add_node(graph, {before, before != nullptr ? 1u : 0u}, parameters, uses...);
}

} // namespace detail
} // namespace cushim

#endif
