/* CUDA graphs: work that is described once, checked once, and launched as one piece many times.
 *
 *     CUSHIM_TRY(auto graph, Graph::create(context));
 *     CUSHIM_TRY(const GraphNode clear, graph.add_memset_node({}, sums, 0));
 *     CUSHIM_TRY(const GraphNode add, graph.add_kernel_node(clear, kernel, config, sums, values, n));
 *     CUSHIM_TRY(const auto exec, graph.instantiate());
 *     CUSHIM_TRY_VOID(exec.launch(stream));
 *
 * A graph is made by the driver API, and needs nothing but a driver; or by the runtime API, with
 * rt::create_graph() or rt::capture() (runtime_graph.hpp). Both are this class, and do the same; what one
 * API lacks answers unsupported_platform. Streams, events, kernels and memory are the same for both. A graph
 * may also be captured from a stream: capture.hpp.
 *
 * What a node uses lives as long as any graph, clone or executable graph that may run it: kernels, closures,
 * events, semaphores, and memory that is passed as the buffer itself. Of a span nobody knows the owner: it is
 * kept with keep_alive(), or by the caller. A GrowableBuffer is kept, but its memory not where it was: it must
 * neither move nor shrink as long as a graph may use it. What is kept is let go on a thread of cushim's, soon
 * after the last graph that may run it is gone: there memory that was allocated in Stream::per_thread() is not freed
 * in order of the stream that it was allocated in, but at once, so other work that uses it must be done by then.
 *
 * CUDA keeps it, by one user object of the graph's. Each launch of a graph that has one takes the driver some
 * microseconds more (580: 2 to 19), and of each executable graph that was launched and had one it keeps some memory
 * of the host's (580: 208 bytes) until the process ends. A graph has none where there is nothing to keep: where its
 * nodes were given spans, and kernels, events and semaphores that are borrowed, and no closures.
 *
 * Threads: the rules of handle.hpp, and: one thread at a time uses a graph, its nodes and the graphs inside it.
 * Different threads may use different graphs at the same time, also clones of one another. This copy of
 * cushim destroys, clones and instantiates one graph at a time, and destroys nodes and adds and sets child graphs
 * in the same way, because driver 580 corrupts its memory otherwise: instantiating a large graph delays these calls
 * on other threads. A program's own calls of cuGraphDestroy, cuGraphClone, cuGraphInstantiate, cuGraphDestroyNode
 * and cuGraphAddChildGraphNode do not take part. Needs no current context and does not change it.
 * Errors: invalid_argument for what is empty, for a node that is gone or another graph's; kinds
 * requires_newer_driver and requires_newer_headers for what came later; out_of_memory; what CUDA answers.
 * Since CUDA 10.0 where nothing else is said; what has to be kept needs CUDA 11.3. Entry points are the
 * driver's; the runtime's have the same names with cuda in place of cu, and it is asked for all but the parameters
 * of kernels and copies, which it does not always tell, and of conditional nodes.
 */
#ifndef CUSHIM_GRAPH_HPP
#define CUSHIM_GRAPH_HPP

#include <string>
#include <vector>

#include <cushim/graph_exec.hpp>
#include <cushim/graph_memory.hpp>
#include <cushim/graph_node.hpp>
#include <cushim/graph_setters.hpp>

namespace cushim {

class Graph;
struct GraphBody;
struct GraphBranches;
struct GraphCases;
class GraphCondition;
struct ConditionalNodeParams;
struct GraphConditionOptions;

/* What a node of a graph does: for reading it back. */
struct KernelNodeParams {
    CUfunction function = nullptr; // of a library's kernel the CUkernel, cast; so for both APIs
    Dim3 grid = {};                // blocks
    Dim3 block = {};               // threads
    std::size_t shared_bytes = 0;
};
struct MemcpyNodeParams {
    detail::PitchedView to;   // widths in bytes
    detail::PitchedView from; // likewise
};
struct MemsetNodeParams {
    detail::PitchedView to; // widths in elements
    unsigned int element_size = 0;
    unsigned int value = 0;
};
// Of add_host_node() it is a function of cushim's, and its closure as `user`: the graph's.
struct HostNodeParams {
    void (*function)(void *user) = nullptr;
    void *user = nullptr;
};
// One signal or wait. CUDA does not tell of which kind the semaphore is, and so which of the values count; nodes that
// cushim made have 0 in the others.
struct SemaphoreNodeParams {
    CUexternalSemaphore semaphore = nullptr;
    unsigned long long value = 0;  // of a timeline, or of a fence
    unsigned long long key = 0;    // of a keyed mutex
    unsigned int timeout_ms = 0;   // of a wait for one
    void *fence = nullptr;         // of NvSciSync
    bool skip_memory_sync = false; // likewise
};
struct MemAllocNodeParams {
    CUdeviceptr address = 0;
    std::size_t bytes = 0;
    int device = 0;
};

class Graph : public detail::Shared<Graph, CUgraph>, public detail::NodeSetters<Graph> {
  public:
    Graph() noexcept = default;

    // An empty one. Its nodes work in this context where they work in any. cuGraphCreate, cuGraphDestroy.
    CUSHIM_API static Result<Graph> create(const Context &context) noexcept;
    /* Takes over a graph whose nodes work in that context. Its nodes are read with nodes(): names that another
     * Graph has given them, which has released or lends it, are no names here. What somebody does to the graph
     * with CUDA's own calls, or through another Graph, cushim does not see: names of nodes that are gone by that
     * are not to be used, be it after release() or while it is lent. */
    CUSHIM_API static Result<Graph> adopt(const Context &context, CUgraph graph) noexcept;
    // Does not own: the lender keeps it.
    CUSHIM_API static Result<Graph> borrow(const Context &context, CUgraph graph) noexcept;

    // driver or runtime.
    CUSHIM_API Api api() const noexcept;

    // --- adding nodes: each runs after its dependencies, once in each launch

    // Does nothing: for many to wait for many. cuGraphAddEmptyNode.
    Result<GraphNode> add_empty_node(const GraphDependencies &dependencies) const noexcept {
        return add(dependencies, detail::EmptyNode(), {});
    }

    /* A launch; its arguments are as Kernel::launch() takes them, and copied. What the configuration asks for
     * beyond numbers needs headers of CUDA 11.8, and of the driver: for priorities CUDA 11.7, for all else but
     * cooperative launches CUDA 11.8. A graph of the runtime API takes kernels of a Library only:
     * unsupported_platform. cuGraphAddKernelNode, _v2 for a library's kernel (CUDA 12.0),
     * cuGraphKernelNodeSetAttribute. */
    template <class... Parameters, class... Arguments>
    requires(detail::arguments_fit<detail::TypeList<Arguments...>, detail::TypeList<Parameters...>>)
        Result<GraphNode> add_kernel_node(const GraphDependencies &dependencies,
                                          const Kernel<void(Parameters...)> &kernel,
                                          const LaunchConfig &config, const Arguments &...arguments)
    const noexcept {
        return kernel.with_arguments(
            [&](void **pointers) noexcept {
                detail::State *const uses[] = {detail::state_of(&kernel),
                                               detail::state_of(__builtin_addressof(arguments))...};
                return add(dependencies, detail::KernelNode{kernel, config, pointers}, {uses});
            },
            arguments...);
    }

    /* A copy between spans, buffers or contiguous ranges of one element type, with rows and layers or without: as
     * copy.hpp's and copy_2d.hpp's, but host to host. A range is none of a temporary, and must outlive the graph. Of
     * nothing it is an empty node. cuGraphAddMemcpyNode. */
    template <detail::LastingMemory To, detail::LastingMemory From>
    requires detail::CopyableTo<To, From> Result<GraphNode>
    add_memcpy_node(const GraphDependencies &dependencies, To &&to, From &&from)
    const noexcept {
        detail::State *const uses[] = {detail::state_of(&to), detail::state_of(&from)};
        return add(dependencies, detail::copy_between(detail::view_of(to), detail::view_of(from)),
                   {uses});
    }

    /* Every element becomes `value`, which has one, two or four bytes. With layers only where there is no
     * room between them. Of nothing it is an empty node. cuGraphAddMemsetNode. */
    template <detail::Fillable To>
    Result<GraphNode> add_memset_node(const GraphDependencies &dependencies, const To &to,
                                      const detail::ElementOf<To> &value) const noexcept {
        detail::State *const uses[] = {detail::state_of(&to)};
        return add(dependencies, detail::fill_with(detail::view_of(to), value), {uses});
    }

    /* Calls `function` on a thread of the driver's. It must not call CUDA, must not throw, and must stand
     * being called while a launch of another executable graph calls it, too. It is destroyed where CUDA
     * may be called. cuGraphAddHostNode. */
    template <detail::HostFunction Function>
    Result<GraphNode> add_host_node(const GraphDependencies &dependencies,
                                    Function &&function) const noexcept {
        return add_host_closure(dependencies,
                                detail::make_closure(static_cast<Function &&>(function)));
    }

    /* A copy of a whole graph as one node. `child` has no memory or conditional nodes: CUDA answers 801, kind
     * not_supported_by_device; and is of the same API. cuGraphAddChildGraphNode. */
    CUSHIM_API Result<GraphNode> add_child_graph_node(const GraphDependencies &dependencies,
                                                      const Graph &child) const noexcept;

    // cuGraphAddEventRecordNode, cuGraphAddEventWaitNode, since CUDA 11.1.
    Result<GraphNode> add_event_record_node(const GraphDependencies &dependencies,
                                            const Event &event) const noexcept {
        return add_event_node(GraphNodeType::event_record, dependencies, event);
    }
    Result<GraphNode> add_event_wait_node(const GraphDependencies &dependencies,
                                          const Event &event) const noexcept {
        return add_event_node(GraphNodeType::event_wait, dependencies, event);
    }

    /* Each launch signals, or waits, with the same values.
     * cuGraphAddExternalSemaphoresSignalNode, cuGraphAddExternalSemaphoresWaitNode, since CUDA 11.2. */
    CUSHIM_API Result<GraphNode>
    add_semaphore_signal_node(const GraphDependencies &dependencies,
                              std::span<const SemaphoreSignal> signals) const noexcept;
    CUSHIM_API Result<GraphNode>
    add_semaphore_wait_node(const GraphDependencies &dependencies,
                            std::span<const SemaphoreWait> waits) const noexcept;

    /* Values in memory that are waited for and written, in order. The driver API only. `operations` are
     * CUDA's own CUstreamBatchMemOpParams; the memory that they name is not kept: keep_alive().
     * cuGraphAddBatchMemOpNode, since CUDA 11.7. */
    CUSHIM_API Result<GraphNode>
    add_batch_mem_op_node(const GraphDependencies &dependencies,
                          std::span<const CUstreamBatchMemOpParams> operations) const noexcept;

    /* Memory that a launch allocates: at the same address each time, told here, and valid from this node
     * to the one that frees it, or where the graph has none, to GraphAllocation::free(). Pinned memory of
     * a device; `grants` are for other devices, only reading and writing. A graph with such a node cannot be
     * cloned or be a child, and has one executable graph at a time.
     * cuGraphAddMemAllocNode, cuGraphAddMemFreeNode, since CUDA 11.4. */
    template <DeviceType T>
    Result<GraphAllocation<T>>
    add_mem_alloc_node(const GraphDependencies &dependencies, Device device, std::size_t count,
                       std::span<const AccessGrant> grants = {}) const noexcept {
        CUSHIM_TRY(const auto allocated,
                   add_allocation(dependencies, device, count, sizeof(T), grants));
        return GraphAllocation<T>(allocated);
    }
    Result<GraphNode> add_mem_free_node(const GraphDependencies &dependencies,
                                        const detail::GraphMemory &allocation) const noexcept {
        return add(dependencies, detail::MemFreeNode{allocation.address()}, {});
    }

    // --- conditional nodes: graph_conditional.hpp has what these return

    /* A condition for one conditional node of this graph: for a second one it is invalid_argument, unless the
     * first is destroyed. Kernels of the graph set it, with cudaGraphSetConditional(condition.native(), value).
     * cuGraphConditionalHandleCreate, since CUDA 12.3. */
    CUSHIM_API Result<GraphCondition>
    create_condition(const GraphConditionOptions &options) const noexcept;

    /* The body runs if the condition is not 0 by then. It is an empty graph, for the caller to fill before
     * this graph is instantiated. cuGraphAddNode, since CUDA 12.3. */
    CUSHIM_API Result<GraphBody> add_if_node(const GraphDependencies &dependencies,
                                             const GraphCondition &condition) const noexcept;
    // One of both. Since CUDA 12.8.
    CUSHIM_API Result<GraphBranches>
    add_if_else_node(const GraphDependencies &dependencies,
                     const GraphCondition &condition) const noexcept;
    // The body runs as long as the condition is not 0, looked at before each time.
    CUSHIM_API Result<GraphBody> add_while_node(const GraphDependencies &dependencies,
                                                const GraphCondition &condition) const noexcept;
    // The body with the condition's value as its index runs, if there is one. Since CUDA 12.8.
    CUSHIM_API Result<GraphCases> add_switch_node(const GraphDependencies &dependencies,
                                                  const GraphCondition &condition,
                                                  std::size_t cases) const noexcept;

    /* Any node that CUDA has: `parameters` is a CUgraphNodeParams, of a graph of the runtime API a
     * cudaGraphNodeParams, into which CUDA may write. Nothing that it names is kept.
     * cuGraphAddNode, since CUDA 12.2. */
    CUSHIM_API Result<GraphNode> add_node_raw(const GraphDependencies &dependencies,
                                              void *parameters) const noexcept;

    // --- order

    // Each of `to` waits for the one of `from` at the same index; as many of each. Nothing for none.
    // cuGraphAddDependencies, cuGraphRemoveDependencies.
    CUSHIM_API Result<void> add_dependencies(std::span<const GraphNode> from,
                                             std::span<const GraphNode> to) const noexcept;
    CUSHIM_API Result<void> remove_dependencies(std::span<const GraphNode> from,
                                                std::span<const GraphNode> to) const noexcept;
    // With data, where one has any: cuGraphAddDependencies_v2, cuGraphRemoveDependencies_v2 (CUDA 12.3).
    CUSHIM_API Result<void> add_dependencies(std::span<const GraphEdge> edges) const noexcept;
    CUSHIM_API Result<void> remove_dependencies(std::span<const GraphEdge> edges) const noexcept;

    // --- reading

    // cuGraphGetNodes, cuGraphGetRootNodes.
    CUSHIM_API Result<std::size_t> node_count() const noexcept;
    CUSHIM_API Result<std::vector<GraphNode>> nodes() const noexcept;
    CUSHIM_API Result<std::vector<GraphNode>> root_nodes() const noexcept;
    // With their data where the driver has it. cuGraphGetEdges, _v2 (CUDA 12.3).
    CUSHIM_API Result<std::vector<GraphEdge>> edges() const noexcept;
    // Which nodes it waits for, and which wait for it.
    // cuGraphNodeGetDependencies, cuGraphNodeGetDependentNodes.
    CUSHIM_API Result<std::vector<GraphNode>> dependencies(const GraphNode &node) const noexcept;
    CUSHIM_API Result<std::vector<GraphNode>> dependents(const GraphNode &node) const noexcept;

    // cuGraphNodeGetType.
    CUSHIM_API Result<GraphNodeType> node_type(const GraphNode &node) const noexcept;

    // Of a node of that type, as it is now; invalid_argument for another. cuGraph...NodeGetParams,
    // cuGraphEventRecordNodeGetEvent, cuGraphEventWaitNodeGetEvent.
    CUSHIM_API Result<KernelNodeParams> kernel_node_params(const GraphNode &node) const noexcept;
    CUSHIM_API Result<MemcpyNodeParams> memcpy_node_params(const GraphNode &node) const noexcept;
    CUSHIM_API Result<MemsetNodeParams> memset_node_params(const GraphNode &node) const noexcept;
    CUSHIM_API Result<HostNodeParams> host_node_params(const GraphNode &node) const noexcept;
    // Borrowed.
    CUSHIM_API Result<Event> event_of(const GraphNode &node) const noexcept;
    // Of a node that signals, or one that waits: in its order.
    // cuGraphExternalSemaphoresSignalNodeGetParams, cuGraphExternalSemaphoresWaitNodeGetParams, since CUDA 11.2.
    CUSHIM_API Result<std::vector<SemaphoreNodeParams>>
    semaphore_node_params(const GraphNode &node) const noexcept;
    // In their order. The driver API only. cuGraphBatchMemOpNodeGetParams, since CUDA 11.7.
    CUSHIM_API Result<std::vector<CUstreamBatchMemOpParams>>
    batch_mem_op_node_params(const GraphNode &node) const noexcept;
    CUSHIM_API Result<MemAllocNodeParams>
    mem_alloc_node_params(const GraphNode &node) const noexcept;
    // The address that a mem_free node frees. cuGraphMemFreeNodeGetParams.
    CUSHIM_API Result<CUdeviceptr> mem_free_ptr(const GraphNode &node) const noexcept;
    // The graph inside a child graph node; it lives as long as the node. cuGraphChildGraphNodeGetGraph.
    CUSHIM_API Result<Graph> child_graph(const GraphNode &node) const noexcept;
    // cuGraphNodeGetParams, since CUDA 13.2: before that CUDA tells nothing of a conditional node.
    CUSHIM_API Result<ConditionalNodeParams>
    conditional_node_params(const GraphNode &node) const noexcept;

    // --- the whole

    // A copy with the same nodes. cuGraphClone.
    CUSHIM_API Result<Graph> clone() const noexcept;
    // This clone's node for a node of the graph that it was cloned from. cuGraphNodeFindInClone.
    CUSHIM_API Result<GraphNode> find_in_clone(const Graph &original,
                                               const GraphNode &node) const noexcept;
    // Destroys the node and its edges; the graph keeps what the node used. Memory nodes cannot be destroyed. Where
    // CUDA refuses the call (invalid_argument, not_supported_by_device, requires_newer_driver, ...) the node stays
    // valid. After any other failure CUDA may have destroyed it: `node` is refused from then on, and nodes() has it
    // if it still exists. cuGraphDestroyNode.
    CUSHIM_API Result<void> destroy_node(const GraphNode &node) const noexcept;

    // Lets the graph keep this owner's object alive (a buffer's memory, an event, ...), and so its clones and
    // executable graphs made from then on.
    // cuUserObjectCreate, cuGraphRetainUserObject, since CUDA 11.3.
    template <detail::Owning Owner>
    Result<void> keep_alive(const Owner &owner) const noexcept {
        detail::State *const uses[] = {detail::state_of(&owner)};
        return keep({uses});
    }
    // Of graphs, not itself, nor one around it or inside it, which would keep each other for ever:
    // invalid_argument. Two others that are told to keep each other are never let go; nobody notices.
    CUSHIM_API Result<void> keep_alive(const Graph &other) const noexcept;

    // As text for Graphviz: nodes, edges, and with CU_GRAPH_DEBUG_DOT_FLAGS_... what is in them. CUDA writes
    // it into a temporary file, for a moment. cuGraphDebugDotPrint, since CUDA 11.3.
    CUSHIM_API Result<std::string> debug_dot(unsigned int flags = 0) const noexcept;

    /* Ready to be launched; changes of the graph do not change it. On failure *failure, if given, says
     * which node was the cause, where CUDA tells.
     * cuGraphInstantiateWithParams (CUDA 12.0). On older drivers cuGraphInstantiate (CUDA 11.0), and where
     * options ask for something cuGraphInstantiateWithFlags (CUDA 11.4), which tells no node. */
    CUSHIM_API Result<GraphExec> instantiate(const InstantiateOptions &options = {},
                                             InstantiateFailure *failure = nullptr) const noexcept;

  private:
    friend class detail::NodeSetters<Graph>;
    using Shared::Shared;

    CUSHIM_API Result<GraphNode> add(const GraphDependencies &dependencies,
                                     const detail::NodeParameters &parameters,
                                     const detail::NodeUses &uses) const noexcept;
    CUSHIM_API Result<void> set(const GraphNode &node, const detail::NodeParameters &parameters,
                                const detail::NodeUses &uses) const noexcept;
    CUSHIM_API Result<void> set_signals(const GraphNode &node,
                                        std::span<const SemaphoreSignal> signals) const noexcept;
    CUSHIM_API Result<void> set_waits(const GraphNode &node,
                                      std::span<const SemaphoreWait> waits) const noexcept;
    CUSHIM_API Result<void> keep(const detail::NodeUses &uses) const noexcept;

    CUSHIM_API Result<GraphNode> add_host_closure(const GraphDependencies &dependencies,
                                                  detail::Closure closure) const noexcept;
    CUSHIM_API Result<GraphNode> add_event_node(GraphNodeType type,
                                                const GraphDependencies &dependencies,
                                                const Event &event) const noexcept;
    CUSHIM_API Result<detail::GraphMemory>
    add_allocation(const GraphDependencies &dependencies, Device device, std::size_t count,
                   std::size_t element_size, std::span<const AccessGrant> grants) const noexcept;
};

inline Text to_text(const Graph &graph) noexcept {
    return detail::text_of("Graph", graph);
}

} // namespace cushim

#endif
