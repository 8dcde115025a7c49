/* CUDA graphs: work that is defined once and launched many times as a unit.
 *
 *     CUSHIM_TRY(auto graph, Graph::create(context));
 *     CUSHIM_TRY(const GraphNode clear, graph.add_memset_node({}, sums, 0));
 *     CUSHIM_TRY(const GraphNode add, graph.add_kernel_node(clear, kernel, config, sums, n));
 *     CUSHIM_TRY(const auto exec, graph.instantiate());
 *     CUSHIM_TRY_VOID(exec.launch(stream));
 *
 * A graph keeps alive what its nodes use: kernels, closures, events, semaphores, and memory, if the
 * buffer itself is passed and not a span. So do its clones and executable graphs. A graph can also
 * be captured from a stream: capture.hpp. rt::create_graph() (runtime_graph.hpp) creates one by the
 * runtime API instead of the driver API.
 *
 * Threads: only one thread at a time may use a graph, its nodes and the graphs inside it, even
 * through different owners (unlike handle.hpp). Different threads may use different graphs.
 * Context: see handle.hpp.
 * Errors: invalid_argument for an empty argument (except of keep_alive(), and a buffer without
 * memory, which has 0 elements), for a destroyed node, and for a node of another graph;
 * requires_newer_driver, requires_newer_headers; out_of_memory; the status of the CUDA call.
 * The end of this file has a table of corner cases and of defects of drivers. */
#ifndef CUSHIM_GRAPH_HPP
#define CUSHIM_GRAPH_HPP

#include <vector>

#include <cushim/detail/node_setters.hpp>
#include <cushim/graph_exec.hpp>
#include <cushim/graph_memory.hpp>
#include <cushim/graph_node.hpp>
#include <cushim/graph_node_params.hpp>

namespace cushim {

// graph_conditional.hpp
struct GraphBody;
struct GraphBranches;
struct GraphCases;
class GraphCondition;
struct ConditionalNodeParams;
struct GraphConditionOptions;

/* A CUDA graph: nodes, and the edges between them. */
class Graph : public detail::Shared<Graph, CUgraph>, public detail::NodeSetters<Graph> {
  public:
    Graph() noexcept = default;

    // A graph without nodes. Nodes added later use this context if they need one. cuGraphCreate,
    // cuGraphDestroy.
    CUSHIM_API static Result<Graph> create(const Context &context) noexcept;
    /* Owns a graph whose nodes use that context. Only nodes that this object returns, such as those
     * of nodes(), are valid here, not a GraphNode of the Graph that released or lent the handle.
     * Changes by direct CUDA calls or through another Graph go unnoticed; do not use nodes that
     * they destroyed. */
    CUSHIM_API static Result<Graph> adopt(const Context &context, CUgraph graph) noexcept;
    // Does not own the graph; the lender must keep it alive.
    CUSHIM_API static Result<Graph> borrow(const Context &context, CUgraph graph) noexcept;

    // The API that created the graph, `driver` or `runtime`; `loader` if the Graph is empty.
    CUSHIM_API Api api() const noexcept;

    // --- adding nodes. A node runs after its dependencies, once per launch; in a body, once each
    // time that the body runs.

    // A node without work, which joins its dependencies. cuGraphAddEmptyNode.
    Result<GraphNode> add_empty_node(const GraphDependencies &dependencies) noexcept {
        return add(dependencies, detail::EmptyNode());
    }

    /* A kernel launch. Arguments are those of Kernel::launch(), and are copied. Launch attributes
     * require headers of CUDA 11.8. They require a driver of CUDA 11.8, except priorities (11.7)
     * and cooperative launches (any). A graph of the runtime API accepts only kernels of a Library
     * (unsupported_platform). cuGraphAddKernelNode, _v2 for a library's kernel (CUDA 12.0),
     * cuGraphKernelNodeSetAttribute. */
    template <class... Parameters, class... Arguments>
        requires(detail::arguments_fit<detail::TypeList<detail::ArgumentType<Arguments>...>,
                                       detail::TypeList<Parameters...>>)
    Result<GraphNode> add_kernel_node(const GraphDependencies &dependencies,
                                      const Kernel<void(Parameters...)> &kernel,
                                      const LaunchConfig &config,
                                      Arguments &&...arguments) noexcept {
        return kernel.with_arguments(
            "Graph::add_kernel_node",
            [&](void **pointers) noexcept {
                return add(dependencies, detail::KernelNode{kernel, config, pointers},
                           {detail::States(kernel, arguments...)});
            },
            arguments...);
    }
    // Arguments that do not fit; see Kernel::launch().
    template <class... Parameters, class... Arguments,
              class Misfit = detail::Misfit<detail::TypeList<detail::ArgumentType<Arguments>...>,
                                            detail::TypeList<Parameters...>>>
        requires(!std::is_void_v<Misfit>)
    Result<GraphNode> add_kernel_node(const GraphDependencies &,
                                      const Kernel<void(Parameters...)> &, const LaunchConfig &,
                                      Arguments &&...) noexcept = delete;

    /* A copy between spans, buffers or contiguous ranges of one element type, linear or with rows
     * and layers. Accepts what copy() of copy.hpp accepts. A range must not be a temporary, and
     * must outlive the graph and everything made from it (clones, executable graphs and their
     * launches). A copy of 0 elements adds an empty node. cuGraphAddMemcpyNode. */
    template <detail::LastingMemory To, detail::LastingMemory From>
        requires detail::CopyableTo<To, From>
    Result<GraphNode> add_memcpy_node(const GraphDependencies &dependencies, To &&to,
                                      From &&from) noexcept {
        return add(dependencies, detail::pitched_copy(to, from), {detail::States(to, from)});
    }
    // Memory that does not fit; see copy().
    template <class To, class From, class Misfit = detail::CopyMisfit<To, From>>
        requires detail::MisfitCopy<To, From>
    Result<GraphNode> add_memcpy_node(const GraphDependencies &, To &&, From &&) noexcept = delete;

    /* A fill: sets every element to `value`, which has one, two or four bytes. The layers of
     * three-dimensional memory must follow one another without a gap. A fill of 0 elements adds an
     * empty node. cuGraphAddMemsetNode. */
    template <detail::FillableByNode To>
    Result<GraphNode> add_memset_node(const GraphDependencies &dependencies, To &&to,
                                      const detail::ElementOf<To> &value) noexcept {
        return add(dependencies, detail::pitched_fill(to, value), {detail::States(to)});
    }
    // Memory or a value that does not fit; see fill().
    template <class To, class Value, class Misfit = detail::FillMisfit<To, Value>>
        requires detail::MisfitFillByNode<To, Value>
    Result<GraphNode> add_memset_node(const GraphDependencies &, To &&,
                                      const Value &) noexcept = delete;

    /* A call of `function` on a driver thread. It must not call CUDA and must not throw
     * (std::terminate).
     * Launches of several executable graphs may call it at the same time. It may own CUDA objects:
     * the thread that destroys it is allowed to call CUDA. A function object that is trivially
     * copyable, no larger than a pointer and callable as const, such as a lambda that captures one
     * reference, needs no memory: each call uses a copy. cuGraphAddHostNode. */
    template <detail::HostFunction Function>
    Result<GraphNode> add_host_node(const GraphDependencies &dependencies,
                                    Function &&function) noexcept {
        return detail::with_host_node(
            static_cast<Function &&>(function),
            [&](const detail::HostNode &call, const detail::NodeUses &uses) noexcept {
                return add(dependencies, call, uses);
            });
    }

    /* A copy of a whole graph as one node. `child` must belong to the same API, and must not
     * contain memory or conditional nodes: CUDA rejects these with status 801
     * (not_supported_by_device). cuGraphAddChildGraphNode. */
    CUSHIM_API Result<GraphNode> add_child_graph_node(const GraphDependencies &dependencies,
                                                      const Graph &child) noexcept;

    // Each launch records the event, or waits for its latest record. The graph keeps it alive,
    // which requires CUDA 11.3. cuGraphAddEventRecordNode, cuGraphAddEventWaitNode.
    Result<GraphNode> add_event_record_node(const GraphDependencies &dependencies,
                                            const Event &event) noexcept {
        return add(dependencies, detail::EventRecordNode{event.native()}, {detail::States(event)});
    }
    Result<GraphNode> add_event_wait_node(const GraphDependencies &dependencies,
                                          const Event &event) noexcept {
        return add(dependencies, detail::EventWaitNode{event.native()}, {detail::States(event)});
    }

    /* Each launch signals the semaphores, or waits for them, with the same values. The graph
     * keeps them alive, which requires CUDA 11.3. cuGraphAddExternalSemaphoresSignalNode,
     * cuGraphAddExternalSemaphoresWaitNode. */
    Result<GraphNode>
    add_semaphore_signal_node(const GraphDependencies &dependencies,
                              std::span<const SemaphoreSignal> operations) noexcept {
        return add(dependencies, detail::SemaphoreSignalNode{operations});
    }
    Result<GraphNode> add_semaphore_wait_node(const GraphDependencies &dependencies,
                                              std::span<const SemaphoreWait> operations) noexcept {
        return add(dependencies, detail::SemaphoreWaitNode{operations});
    }

    /* Waits for values in memory and writes values, in order. Driver API only. `operations` are
     * CUDA's CUstreamBatchMemOpParams; keep the memory that they name alive with keep_alive().
     * cuGraphAddBatchMemOpNode, since CUDA 11.7. */
    Result<GraphNode>
    add_batch_mem_op_node(const GraphDependencies &dependencies,
                          std::span<const CUstreamBatchMemOpParams> operations) noexcept {
        return add(dependencies, detail::BatchMemOpNode{operations});
    }

    /* Memory that each launch allocates at the same address, which is returned. It is valid from
     * this node to the node that frees it or, without such a node, to GraphAllocation::free_in().
     * It is memory of `device`; `grants` give other devices read and write access. A graph with
     * such a node cannot be cloned or passed to add_child_graph_node(). It can have only one
     * executable graph at a time. Its nodes and edges cannot be removed. cuGraphAddMemAllocNode,
     * since CUDA 11.4. */
    template <DeviceType T>
    Result<GraphAllocation<T>>
    add_mem_alloc_node(const GraphDependencies &dependencies, Device device, std::size_t count,
                       std::span<const AccessGrant> grants = {}) noexcept {
        CUSHIM_DETAIL_TRY(cushim_tried, const auto allocated,
                          add_allocation(dependencies, device, count, sizeof(T), grants));
        return GraphAllocation<T>(allocated);
    }
    // Frees the memory of a mem_alloc node. cuGraphAddMemFreeNode, since CUDA 11.4.
    Result<GraphNode> add_mem_free_node(const GraphDependencies &dependencies,
                                        const detail::GraphMemory &allocation) noexcept {
        return add(dependencies, detail::MemFreeNode{allocation.native()});
    }

    // --- conditional nodes; see graph_conditional.hpp

    /* A condition for one conditional node of this graph at a time: the functions that add such a
     * node fail with invalid_argument while another node uses the condition. Kernels of the graph
     * set it, with cudaGraphSetConditional(condition.native(), value).
     * cuGraphConditionalHandleCreate, since CUDA 12.3. */
    CUSHIM_API Result<GraphCondition>
    create_condition(const GraphConditionOptions &options) noexcept;

    /* Runs the body if the condition is not 0 when the node is reached. The body is a graph
     * without nodes; add them before this graph is instantiated. cuGraphAddNode, since CUDA 12.3.
     */
    CUSHIM_API Result<GraphBody> add_if_node(const GraphDependencies &dependencies,
                                             const GraphCondition &condition) noexcept;
    // Runs one of two bodies. Since CUDA 12.8.
    CUSHIM_API Result<GraphBranches> add_if_else_node(const GraphDependencies &dependencies,
                                                      const GraphCondition &condition) noexcept;
    // Runs the body while the condition is not 0, which is tested before each iteration.
    // cuGraphAddNode, since CUDA 12.3.
    CUSHIM_API Result<GraphBody> add_while_node(const GraphDependencies &dependencies,
                                                const GraphCondition &condition) noexcept;
    // Runs the body whose index is the value of the condition, if it exists. Since CUDA 12.8.
    CUSHIM_API Result<GraphCases> add_switch_node(const GraphDependencies &dependencies,
                                                  const GraphCondition &condition,
                                                  std::size_t cases) noexcept;

    /* Any CUDA node. `parameters` is a CUgraphNodeParams, for a graph of the runtime API a
     * cudaGraphNodeParams; CUDA may write to it. Nothing that it names is kept alive.
     * cuGraphAddNode, since CUDA 12.2. */
    CUSHIM_API Result<GraphNode> add_node_raw(const GraphDependencies &dependencies,
                                              void *parameters) noexcept;

    // --- order

    // Adds or removes edges: to[i] waits for from[i]; both have the same size. Without nodes, no
    // CUDA call is made.
    // cuGraphAddDependencies, cuGraphRemoveDependencies.
    CUSHIM_API Result<void> add_dependencies(std::span<const GraphNode> from,
                                             std::span<const GraphNode> to) noexcept;
    CUSHIM_API Result<void> remove_dependencies(std::span<const GraphNode> from,
                                                std::span<const GraphNode> to) noexcept;
    // Adds or removes these edges, as edges() returns them. Edges with data use
    // cuGraphAddDependencies_v2, cuGraphRemoveDependencies_v2 (CUDA 12.3).
    CUSHIM_API Result<void> add_dependencies(std::span<const GraphEdge> edges) noexcept;
    CUSHIM_API Result<void> remove_dependencies(std::span<const GraphEdge> edges) noexcept;

    // --- reading

    // The number of nodes, all nodes, and the nodes without dependencies. cuGraphGetNodes,
    // cuGraphGetRootNodes.
    CUSHIM_API Result<std::size_t> node_count() const noexcept;
    CUSHIM_API Result<std::vector<GraphNode>> nodes() const noexcept;
    CUSHIM_API Result<std::vector<GraphNode>> root_nodes() const noexcept;
    // All edges, with their data if the driver has it. cuGraphGetEdges, _v2 (CUDA 12.3).
    CUSHIM_API Result<std::vector<GraphEdge>> edges() const noexcept;
    // The nodes that `node` waits for, and the nodes that wait for it.
    // cuGraphNodeGetDependencies, cuGraphNodeGetDependentNodes.
    CUSHIM_API Result<std::vector<GraphNode>> dependencies(const GraphNode &node) const noexcept;
    CUSHIM_API Result<std::vector<GraphNode>> dependents(const GraphNode &node) const noexcept;

    // The type of the node. cuGraphNodeGetType.
    CUSHIM_API Result<GraphNodeType> node_type(const GraphNode &node) const noexcept;

    // The current parameters of a node of that type; invalid_argument for another type.
    // cuGraph...NodeGetParams.
    CUSHIM_API Result<KernelNodeParams> kernel_params(const GraphNode &node) const noexcept;
    CUSHIM_API Result<MemcpyNodeParams> memcpy_params(const GraphNode &node) const noexcept;
    CUSHIM_API Result<MemsetNodeParams> memset_params(const GraphNode &node) const noexcept;
    CUSHIM_API Result<HostNodeParams> host_params(const GraphNode &node) const noexcept;
    // Borrows the event of an event_record or event_wait node; invalid_argument for another type.
    // cuGraphEventRecordNodeGetEvent, cuGraphEventWaitNodeGetEvent, since CUDA 11.1.
    CUSHIM_API Result<Event> event_params(const GraphNode &node) const noexcept;
    // The signals or the waits of a node, in order. cuGraphExternalSemaphoresSignalNodeGetParams,
    // cuGraphExternalSemaphoresWaitNodeGetParams, since CUDA 11.2.
    CUSHIM_API Result<std::vector<SemaphoreNodeParams>>
    semaphore_params(const GraphNode &node) const noexcept;
    // The operations of a batch_mem_op node, in order. Driver API only.
    // cuGraphBatchMemOpNodeGetParams, since CUDA 11.7.
    CUSHIM_API Result<std::vector<CUstreamBatchMemOpParams>>
    batch_mem_op_params(const GraphNode &node) const noexcept;
    // The allocation of a mem_alloc node. cuGraphMemAllocNodeGetParams, since CUDA 11.4.
    CUSHIM_API Result<MemAllocNodeParams> mem_alloc_params(const GraphNode &node) const noexcept;
    // The address that a mem_free node frees. cuGraphMemFreeNodeGetParams, since CUDA 11.4.
    CUSHIM_API Result<CUdeviceptr> mem_free_params(const GraphNode &node) const noexcept;
    // The graph inside a child graph node; valid as long as the node.
    // cuGraphChildGraphNodeGetGraph.
    CUSHIM_API Result<Graph> child_graph_params(const GraphNode &node) const noexcept;
    // The type, the condition and the bodies of a conditional node. cuGraphNodeGetParams, since
    // CUDA 13.2; older drivers do not report these parameters.
    CUSHIM_API Result<ConditionalNodeParams>
    conditional_params(const GraphNode &node) const noexcept;

    // --- the whole graph

    // A copy with the same nodes, which keeps alive what they use. cuGraphClone.
    CUSHIM_API Result<Graph> clone() const noexcept;
    // The clone's node that corresponds to a node of the original. cuGraphNodeFindInClone.
    CUSHIM_API Result<GraphNode> find_in_clone(const Graph &original,
                                               const GraphNode &node) const noexcept;
    // Destroys the node and its edges; the graph still keeps alive what the node used. Nodes of a
    // graph with a memory node cannot be destroyed. If cushim rejects the call (invalid_argument),
    // or CUDA does (CUDA_ERROR_INVALID_VALUE, not_supported_by_device, requires_newer_driver,
    // symbol_not_found), the node stays valid. If CUDA returns any other status, it may have
    // destroyed the node: `node` is invalid afterwards. If CUDA's node still exists, nodes()
    // returns a new GraphNode for it. cuGraphDestroyNode.
    CUSHIM_API Result<void> destroy_node(const GraphNode &node) noexcept;

    // Keeps the object of this owner alive (a buffer's memory, an event, ...) until this graph, and
    // every clone and executable graph made after this call, are destroyed. An executable
    // graph also stops keeping it when it is updated from another graph. If the owner is empty or
    // borrows its object, nothing is kept alive, and the call succeeds.
    // cuUserObjectCreate, cuGraphRetainUserObject, since CUDA 11.3.
    template <detail::Owning Owner>
    Result<void> keep_alive(const Owner &owner) noexcept {
        const detail::States uses(owner);
        return keep({uses});
    }
    // Keeps another graph alive; does nothing if `other` is empty. invalid_argument if both are the
    // same graph or lie in the same outermost graph, which would keep itself alive permanently. A
    // cycle of two graphs that keep each other alive is not detected, and leaks both.
    CUSHIM_API Result<void> keep_alive(const Graph &other) noexcept;

    // Writes a Graphviz description of the nodes and edges to the file `path`. An existing file is
    // overwritten. `flags` (CU_GRAPH_DEBUG_DOT_FLAGS_...) adds details. invalid_argument if the
    // path is null; CUDA_ERROR_OPERATING_SYSTEM (304) if CUDA cannot write the file.
    // cuGraphDebugDotPrint, since CUDA 11.3.
    CUSHIM_API Result<void> debug_dot(const char *path, unsigned int flags = 0) const noexcept;

    /* Creates an executable graph; later changes of the graph do not affect it. If CUDA rejects the
     * graph, the error's message has the reason, and the type and the handle of the node that
     * caused it, as far as CUDA reports them. cuGraphInstantiateWithParams (CUDA 12.0). On older
     * drivers: without flags cuGraphInstantiate_v2; with flags cuGraphInstantiateWithFlags (CUDA
     * 11.4), which reports no node. */
    CUSHIM_API Result<GraphExec> instantiate(const InstantiateOptions &options = {}) const noexcept;
    // The same reason and node, as values, of the last instantiate() of this graph; `error` without
    // a node if CUDA reported none.
    CUSHIM_API InstantiateFailure instantiate_failure() const noexcept;

  private:
    friend class detail::NodeSetters<Graph>;
    using Shared::Shared;

    CUSHIM_API Result<GraphNode> add(const GraphDependencies &dependencies,
                                     const detail::NodeParameters &node,
                                     const detail::NodeUses &uses = detail::no_uses) noexcept;
    CUSHIM_API Result<void> set(const GraphNode &node, const detail::NodeParameters &to,
                                const detail::NodeUses &uses) noexcept;
    CUSHIM_API Result<void> keep(const detail::NodeUses &uses) noexcept;
    CUSHIM_API Result<detail::GraphMemory>
    add_allocation(const GraphDependencies &dependencies, Device device, std::size_t count,
                   std::size_t element_size, std::span<const AccessGrant> grants) noexcept;
};

inline Text to_text(const Graph &graph) noexcept {
    return detail::text_of("Graph", graph);
}

} // namespace cushim

/* --- corner cases
 *
 * which API           Functions that an API lacks fail with unsupported_platform. Both APIs use the
 *                     same streams, events, kernels and memory, but a runtime graph accepts only
 *                     kernels of a Library. Comments name the entry points of the driver API; those
 *                     of the runtime API have the same names with cuda instead of cu, most without
 *                     _v2. A runtime graph reads the parameters of kernels, copies and conditional
 *                     nodes through the driver API: the runtime API does not always report them.
 *
 * what is kept        What nodes use, and what the nodes of graphs inside the graph use. Graphs and
 * alive               clones also keep what nodes used before they were changed or destroyed; for
 *                     executable graphs, see graph_exec.hpp. Captured work keeps only closures
 *                     alive: see capture.hpp. It requires CUDA 11.3: with an older driver, a call
 *                     that keeps something alive fails with requires_newer_driver.
 * what is not         The memory of a span, whose owner is unknown: call keep_alive(). A
 *                     GrowableBuffer is kept alive, but do not call its shrink_to_fit(), or its
 *                     reserve() beyond the capacity, while a graph may use it.
 * when it is          By a cushim thread, soon after the last graph that can use it is destroyed
 * released            and the launches of that graph have completed: see graph_exec.hpp. Memory
 *                     that was allocated in Stream::per_thread() is freed immediately, not in
 *                     stream order: all other work that uses it must have completed.
 *
 * direct calls of     A Graph that keeps something alive adds a CUDA user object to its CUDA graph.
 * CUDA with native()  So cuGraphClone, cuGraphInstantiate and cuGraphAddChildGraphNode make copies
 *                     that keep alive what the graph uses, and the CUDA graph itself does after
 *                     release(). Copies of a graph inside another one (child_graph_params(), a
 *                     body) keep nothing alive: keep the outer graph alive.
 * what a user         With driver 580, each launch takes 2 to 35 microseconds longer, and each
 * object costs        executable graph that was launched leaves 208 bytes of host memory allocated
 *                     until the process ends. instantiate() therefore removes the user object from
 *                     the CUDA graph while CUDA copies the graph, and the GraphExec itself keeps
 *                     alive what its nodes use. A GraphExec has a user object only in two cases:
 *                     - InstantiateOptions::kept_by_cuda or device_launch is set.
 *                     - Its graph was adopted or borrowed, and the CUDA graph already had a user
 *                       object: one added by another library, by the Graph that released or lent
 *                       the handle, or by launch_host_function() in a capture that the program
 *                       ended with cuStreamEndCapture.
 *
 * threads that use    cushim destroys, clones and instantiates one graph at a time, and also
 * different graphs,   serialises destroying nodes, find_in_clone(), and adding and setting child
 * such as clones      graphs: driver 580 corrupts its memory otherwise. Instantiating a large graph
 *                     therefore delays these calls on other threads. Direct calls of CUDA are not
 *                     serialised: cuGraphDestroy, cuGraphClone, cuGraphInstantiate,
 *                     cuGraphDestroyNode, cuGraphNodeFindInClone, cuGraphAddChildGraphNode. Nor are
 *                     calls in two libraries that each contain cushim.
 *
 * driver 580, memory  After add_mem_alloc_node(), the first launch fails with
 * of several devices  CUDA_ERROR_ALREADY_MAPPED (208) if it reuses memory that an earlier graph
 *                     shared with another device; the next launch succeeds. */

#endif
