/* The parameters of graph nodes. */
#ifndef CUSHIM_DETAIL_NODE_PARAMETERS_HPP
#define CUSHIM_DETAIL_NODE_PARAMETERS_HPP

#include <cstddef>
#include <type_traits>
#include <variant>

#include <cushim/detail/copy_2d.hpp>
#include <cushim/detail/semaphore_operation.hpp>
#include <cushim/driver_table.hpp>
#include <cushim/graph_node.hpp>

namespace cushim {

class AnyKernel;
struct LaunchConfig;

namespace detail {

struct EmptyNode {};
struct KernelNode {
    const AnyKernel &kernel;
    const LaunchConfig &config;
    void **arguments;
};
template <GraphNodeType type>
struct EventNode {
    CUevent event;
};
using EventRecordNode = EventNode<GraphNodeType::event_record>;
using EventWaitNode = EventNode<GraphNodeType::event_wait>;
struct ChildGraphNode {
    CUgraph graph;
};
struct HostNode {
    void (*function)(void *);
    void *user;
};
template <GraphNodeType type>
struct SemaphoreNode {
    const SemaphoreOperation *operations;
    std::size_t count;
};
using SemaphoreSignalNode = SemaphoreNode<GraphNodeType::semaphore_signal>;
using SemaphoreWaitNode = SemaphoreNode<GraphNodeType::semaphore_wait>;
struct BatchMemOpNode {
    const CUstreamBatchMemOpParams *operations;
    std::size_t count;
};
struct MemFreeNode {
    CUdeviceptr address;
};

/* The parameters of a node of any kind. A view. */
class NodeParameters {
  public:
    // Pointers that are not null.
    using Kinds =
        std::variant<const EmptyNode *, const KernelNode *, const PitchedCopy *,
                     const PitchedFill *, const HostNode *, const ChildGraphNode *,
                     const EventRecordNode *, const EventWaitNode *, const SemaphoreSignalNode *,
                     const SemaphoreWaitNode *, const BatchMemOpNode *, const MemFreeNode *>;

    template <class Node>
        requires std::is_constructible_v<Kinds, const Node *>
    NodeParameters(const Node &node) noexcept : kind_(&node) {}

    const Kinds &kind() const noexcept { return kind_; }

  private:
    Kinds kind_;
};

} // namespace detail
} // namespace cushim

#endif
