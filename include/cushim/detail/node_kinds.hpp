/* The kinds of graph nodes, and their parameters as headers pass them to the library. */
#ifndef CUSHIM_DETAIL_NODE_KINDS_HPP
#define CUSHIM_DETAIL_NODE_KINDS_HPP

#include <span>

#include <cushim/access.hpp>
#include <cushim/detail/closure.hpp>
#include <cushim/detail/copy.hpp>
#include <cushim/detail/node_uses.hpp>
#include <cushim/external_semaphore.hpp>
#include <cushim/graph_node.hpp>
#include <cushim/kernel.hpp>

namespace cushim::detail {

// Copies and fills of nodes have rows; linear ones have one. Elements are multiples of their
// alignment.
inline PitchedView one_row(unsigned long long address, std::size_t size,
                           std::size_t element_size) noexcept {
    return {address, {size, 1, 1}, {size * element_size, 1}};
}
template <class To, class From>
PitchedCopy pitched_copy(To &to, From &from) noexcept {
    const auto copy = copy_between(view_of(to), view_of(from));
    if constexpr (std::is_same_v<decltype(copy), const Copy>) {
        return {copy.kind,
                one_row(copy.to, copy.to_size, copy.element_size),
                one_row(copy.from, copy.from_size, copy.element_size),
                {copy.element_size, copy.element_size}};
    } else {
        return copy;
    }
}
template <class To>
PitchedFill pitched_fill(To &to, const ElementOf<To> &value) noexcept {
    const auto fill = fill_with(view_of(to), value);
    if constexpr (std::is_same_v<decltype(fill), const Fill>) {
        return {one_row(fill.to, fill.size, fill.element_size),
                {fill.element_size, fill.element_size},
                static_cast<unsigned int>(fill.value)};
    } else {
        return fill;
    }
}

// The parameters of a node. Those of copies and fills are PitchedCopy and PitchedFill.
struct EmptyNode {};
struct KernelNode {
    const AnyKernel &kernel;
    const LaunchConfig &config;
    void **arguments;
};
struct HostNode {
    void (*function)(void *); // null if the closure could not be allocated
    void *user;
};
struct ChildGraphNode {
    CUgraph graph;
};
struct EventRecordNode {
    CUevent event;
};
struct EventWaitNode {
    CUevent event;
};
struct SemaphoreSignalNode {
    std::span<const SemaphoreSignal> operations;
};
struct SemaphoreWaitNode {
    std::span<const SemaphoreWait> operations;
};
struct BatchMemOpNode {
    std::span<const CUstreamBatchMemOpParams> operations;
};
struct MemAllocNode {
    int device;
    std::size_t bytes;
    std::span<const AccessGrant> grants;
    CUdeviceptr *address; // output
};
struct MemFreeNode {
    CUdeviceptr address;
};
struct ConditionalNode {
    GraphConditionalType type;
    unsigned long long condition;
    std::span<CUgraph> bodies; // output
};
struct RawNode {
    void *parameters;
};

// How a kind of node is checked, added and set: src/api/graph/kind.hpp.
struct NodeKind;

// The kind of a node with these parameters. One function for each, so that a program contains only
// the kinds that it uses.
CUSHIM_API const NodeKind &kind_of(const EmptyNode &) noexcept;
CUSHIM_API const NodeKind &kind_of(const KernelNode &) noexcept;
CUSHIM_API const NodeKind &kind_of(const PitchedCopy &) noexcept;
CUSHIM_API const NodeKind &kind_of(const PitchedFill &) noexcept;
CUSHIM_API const NodeKind &kind_of(const HostNode &) noexcept;
CUSHIM_API const NodeKind &kind_of(const ChildGraphNode &) noexcept;
CUSHIM_API const NodeKind &kind_of(const EventRecordNode &) noexcept;
CUSHIM_API const NodeKind &kind_of(const EventWaitNode &) noexcept;
CUSHIM_API const NodeKind &kind_of(const SemaphoreSignalNode &) noexcept;
CUSHIM_API const NodeKind &kind_of(const SemaphoreWaitNode &) noexcept;
CUSHIM_API const NodeKind &kind_of(const BatchMemOpNode &) noexcept;
CUSHIM_API const NodeKind &kind_of(const MemAllocNode &) noexcept;
CUSHIM_API const NodeKind &kind_of(const MemFreeNode &) noexcept;
CUSHIM_API const NodeKind &kind_of(const ConditionalNode &) noexcept;
CUSHIM_API const NodeKind &kind_of(const RawNode &) noexcept;

// The parameters of a node of any kind; a view, for an argument.
struct NodeParameters {
    template <class Node>
        requires requires(const Node &of) { kind_of(of); }
    NodeParameters(const Node &of) noexcept : kind(kind_of(of)), values(&of) {}

    const NodeKind &kind;
    const void *const values;
};

// Calls use(node, uses) with a host node that calls the function.
template <class Function, class Use>
auto with_host_node(Function &&function, const Use &use) noexcept {
    using Object = std::decay_t<Function>;
    if constexpr (FitsIntoPointer<Object>) {
        return use(HostNode{call_in_pointer<Object>, in_pointer<Object>(function)}, no_uses);
    } else {
        const Closure closure = make_closure(static_cast<Function &&>(function));
        return use(HostNode{closure.object != nullptr ? closure.call : nullptr, closure.object},
                   NodeUses{{}, &closure});
    }
}

} // namespace cushim::detail

#endif
