/* CUDA graphs: work that is defined once and launched many times as a unit.
 *
 *     CUSHIM_TRY(auto graph, Graph::create(context));
 *     CUSHIM_TRY(const GraphNode clear, graph.add_memset_node({}, sums, 0));
 *     CUSHIM_TRY(const GraphNode add, graph.add_kernel_node(clear, kernel, config, sums, n));
 *     CUSHIM_TRY(const auto exec, graph.instantiate());
 *     CUSHIM_TRY_VOID(exec.launch(stream));
 *
 * A graph is created by the driver API, which needs only a driver, or by the runtime API, with
 * rt::create_graph() or rt::capture() (runtime_graph.hpp). Both use this class. Functions that an
 * API lacks fail with unsupported_platform. Both use the same classes of streams, events, kernels
 * and memory, but a runtime graph accepts only kernels of a Library. A graph can also be captured
 * from a stream: capture.hpp.
 *
 * Lifetime: every graph, clone and executable graph keeps alive what its nodes use, and what the
 * nodes of graphs inside it use. That is: kernels, closures, events, semaphores, and memory, if the
 * buffer itself is passed and not a span. Graphs and clones also keep what nodes used before they
 * were changed or destroyed; for executable graphs, see graph_exec.hpp. Captured work keeps only
 * closures alive: see capture.hpp. The owner of a span is unknown: keep it alive with keep_alive(),
 * or yourself. A GrowableBuffer is kept alive; do not call its shrink_to_fit(), or its reserve()
 * beyond the capacity, while a graph may use it.
 *
 * A cushim thread releases what was kept, soon after the last graph that can use it is destroyed
 * and the launches of that graph have completed: see graph_exec.hpp. Memory that was allocated in
 * Stream::per_thread() is then freed immediately, not in stream order: all other work that uses it
 * must have completed.
 *
 * A Graph that keeps something alive adds a CUDA user object to its CUDA graph. If the program
 * itself calls cuGraphClone, cuGraphInstantiate or cuGraphAddChildGraphNode with native(), the copy
 * therefore keeps alive what the graph uses. So does the CUDA graph itself after release(). If the
 * program passes native() of a graph that is inside another one (from child_graph(), or a body),
 * the copy keeps nothing alive: keep the outer graph alive.
 *
 * A user object has costs: with driver 580, each launch takes 2 to 35 microseconds longer, and each
 * executable graph that was launched leaves 208 bytes of host memory allocated until the process
 * ends. instantiate() therefore removes the user object from the CUDA graph for the time in which
 * CUDA copies the graph. The GraphExec itself, without a user object, keeps alive what its nodes
 * use. It has a user object only in two cases:
 * - InstantiateOptions::kept_by_cuda or device_launch is set.
 * - Its graph was adopted or borrowed, and the CUDA graph already had a user object: one added by
 *   another library, by the Graph that released or lent the handle, or by launch_host_function() in
 *   a capture that the program ended with cuStreamEndCapture.
 *
 * Threads: only one thread at a time may use a graph, its nodes and the graphs inside it, even
 * through different owners (unlike handle.hpp). Different threads may use different graphs at the
 * same time, also clones of one another. cushim destroys, clones and instantiates one graph at a
 * time, and also serialises destroying nodes, find_in_clone(), and adding and setting child graphs:
 * driver 580 corrupts its memory otherwise. Instantiating a large graph therefore delays these
 * calls on other threads. Two libraries that each contain cushim do not wait for each other. Direct
 * calls of cuGraphDestroy, cuGraphClone, cuGraphInstantiate, cuGraphDestroyNode,
 * cuGraphNodeFindInClone and cuGraphAddChildGraphNode are not serialised.
 * Context: see handle.hpp.
 * Errors: invalid_argument for an empty argument, for a destroyed node, and for a node of another
 * graph; requires_newer_driver, requires_newer_headers; out_of_memory; the status of the CUDA call.
 * A call that keeps something alive requires CUDA 11.3: with an older driver it fails with
 * requires_newer_driver. The comments name the entry points of the driver API; those of the runtime
 * API have the same names with cuda instead of cu, most without _v2. A runtime graph reads the
 * parameters of kernels, copies and conditional nodes through the driver API, because the runtime
 * API does not always report them.
 */
#ifndef CUSHIM_GRAPH_HPP
#define CUSHIM_GRAPH_HPP

#include <vector>

#include <cushim/detail/added_node.hpp>
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

// --- the parameters of nodes, as Graph::kernel_node_params() and similar functions return them

// A kernel node.
struct KernelNodeParams {
    CUfunction function = nullptr; // for a kernel of a library, the CUkernel cast to CUfunction;
                                   // in both APIs
    Dim3 grid = {};                // blocks
    Dim3 block = {};               // threads
    std::size_t shared_bytes = 0;  // dynamic shared memory of a block
};
// A copy, linear or with rows and layers.
struct MemcpyNodeParams {
    detail::PitchedView to;   // address, extent and pitch; widths in bytes
    detail::PitchedView from; // the same
};
// A fill.
struct MemsetNodeParams {
    detail::PitchedView to;        // address, extent and pitch; widths in elements
    unsigned int element_size = 0; // bytes: 1, 2 or 4
    unsigned int value = 0;        // of each element
};
// A call of a host function. In a node of add_host_node(), `function` is a function of cushim.
// `user` points to the closure, which the graph keeps alive; a small closure is stored in the
// pointer itself.
struct HostNodeParams {
    void (*function)(void *user) = nullptr; // what the node calls
    void *user = nullptr;                   // the argument of the function
};
// One signal or wait of a semaphore node. CUDA does not report the kind of the semaphore, which
// determines the members that apply; in nodes added by cushim the others are 0.
struct SemaphoreNodeParams {
    CUexternalSemaphore semaphore = nullptr; // what the node signals or waits for
    unsigned long long value = 0;            // of a timeline, or of a Direct3D fence
    unsigned long long key = 0;              // of a keyed mutex
    unsigned int timeout_ms = 0;             // of a wait for a keyed mutex
    void *fence = nullptr;                   // of NvSciSync
    bool skip_memory_sync = false;           // of NvSciSync
};
// An allocation that each launch makes.
struct MemAllocNodeParams {
    CUdeviceptr address = 0; // the same in each launch
    std::size_t bytes = 0;   // the size of the memory
    int device = 0;          // the CUdevice whose memory it is
};

/* A CUDA graph: nodes, and the edges between them. Lifetime, threads, context and errors: see
 * the beginning of graph.hpp. */
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

    // The API that created the graph, `driver` or `runtime`; `loader` if the Graph holds no graph.
    CUSHIM_API Api api() const noexcept;

    // --- adding nodes. A node runs after its dependencies, once per launch; in a body, once each
    // time that the body runs.

    // A node without work, which joins its dependencies. cuGraphAddEmptyNode.
    Result<GraphNode> add_empty_node(const GraphDependencies &dependencies) const noexcept {
        return add(dependencies, detail::EmptyNode());
    }

    /* A kernel launch. Arguments are those of Kernel::launch(), and are copied. Launch attributes
     * require headers of CUDA 11.8. They require a driver of CUDA 11.8, except priorities (11.7)
     * and cooperative launches (any). A graph of the runtime API accepts only kernels of a Library
     * (unsupported_platform). cuGraphAddKernelNode, _v2 for a library's kernel (CUDA 12.0),
     * cuGraphKernelNodeSetAttribute. */
    template <class... Parameters, class... Arguments>
        requires(
            detail::arguments_fit<detail::TypeList<Arguments...>, detail::TypeList<Parameters...>>)
    Result<GraphNode> add_kernel_node(const GraphDependencies &dependencies,
                                      const Kernel<void(Parameters...)> &kernel,
                                      const LaunchConfig &config,
                                      const Arguments &...arguments) const noexcept {
        return after(dependencies, [&](detail::NodesBefore before) CUSHIM_INLINE {
            if (!detail::have_states(kernel, arguments...)) [[unlikely]] {
                return add_any_kernel_node(before, kernel, config, detail::by_value(arguments)...);
            }
            return kernel.with_pointers(
                [&](void **pointers) CUSHIM_INLINE {
                    using States = detail::States<Kernel<void(Parameters...)>, Arguments...>;
                    if constexpr (States::count <= detail::few_states) {
                        if (before.count == 1) [[likely]] {
                            const States states(kernel, arguments...);
                            return result_of(detail::add_kernel_node_after(
                                *this, before.nodes, detail::KernelNode{kernel, config, pointers},
                                states.get_or_last(1), states.get_or_last(2),
                                states.get_or_last(3)));
                        }
                    }
                    return result_of(detail::add_kernel_node(
                        *this, before, detail::KernelNode{kernel, config, pointers},
                        States(kernel, arguments...)));
                },
                arguments...);
        });
    }

    /* A copy between spans, buffers or contiguous ranges of one element type, linear or with rows
     * and layers. Accepts what copy() of copy.hpp and copy_2d.hpp accepts, and also host to host. A
     * range must not be a temporary, and must outlive the graph and everything made from it
     * (clones, executable graphs and their launches). A copy of 0 elements adds an empty node.
     * cuGraphAddMemcpyNode. */
    template <detail::LastingMemory To, detail::LastingMemory From>
        requires detail::CopyableTo<To, From>
    Result<GraphNode> add_memcpy_node(const GraphDependencies &dependencies, To &&to,
                                      From &&from) const noexcept {
        return add(dependencies, detail::copy_between(detail::view_of(to), detail::view_of(from)),
                   detail::state_of(to), detail::state_of(from));
    }

    /* A fill: sets every element to `value`, which has one, two or four bytes. The layers of
     * three-dimensional memory must follow one another without a gap. A fill of 0 elements adds an
     * empty node. cuGraphAddMemsetNode. */
    template <detail::Fillable To>
    Result<GraphNode> add_memset_node(const GraphDependencies &dependencies, const To &to,
                                      const detail::ElementOf<To> &value) const noexcept {
        return add(dependencies, detail::fill_with(detail::view_of(to), value),
                   detail::state_of(to));
    }

    /* A call of `function` on a driver thread. It must not call CUDA and must not throw
     * (std::terminate).
     * Launches of several executable graphs may call it at the same time. It may own CUDA objects:
     * the thread that destroys it is allowed to call CUDA. A function object that is trivially
     * copyable, no larger than a pointer and callable as const, such as a lambda that captures one
     * reference, needs no memory: each call uses a copy. cuGraphAddHostNode. */
    template <detail::HostFunction Function>
    Result<GraphNode> add_host_node(const GraphDependencies &dependencies,
                                    Function &&function) const noexcept {
        return detail::with_host_node(
            static_cast<Function &&>(function),
            [&](const detail::HostNode &node, const detail::NodeUses &uses) noexcept {
                return uses.closure == nullptr ? add(dependencies, node)
                                               : add(dependencies, node, uses);
            });
    }

    /* A copy of a whole graph as one node. `child` must belong to the same API, and must not
     * contain memory or conditional nodes: CUDA rejects these with status 801
     * (not_supported_by_device). cuGraphAddChildGraphNode. */
    CUSHIM_API Result<GraphNode> add_child_graph_node(const GraphDependencies &dependencies,
                                                      const Graph &child) const noexcept;

    // Each launch records the event, or waits for its latest record. The graph keeps it alive,
    // which requires CUDA 11.3. cuGraphAddEventRecordNode, cuGraphAddEventWaitNode.
    Result<GraphNode> add_event_record_node(const GraphDependencies &dependencies,
                                            const Event &event) const noexcept {
        return add_event_node(GraphNodeType::event_record, dependencies, event);
    }
    Result<GraphNode> add_event_wait_node(const GraphDependencies &dependencies,
                                          const Event &event) const noexcept {
        return add_event_node(GraphNodeType::event_wait, dependencies, event);
    }

    /* Each launch signals the semaphores, or waits for them, with the same values. The graph
     * keeps them alive, which requires CUDA 11.3. cuGraphAddExternalSemaphoresSignalNode,
     * cuGraphAddExternalSemaphoresWaitNode. */
    CUSHIM_API Result<GraphNode>
    add_semaphore_signal_node(const GraphDependencies &dependencies,
                              std::span<const SemaphoreSignal> signals) const noexcept;
    CUSHIM_API Result<GraphNode>
    add_semaphore_wait_node(const GraphDependencies &dependencies,
                            std::span<const SemaphoreWait> waits) const noexcept;

    /* Waits for values in memory and writes values, in order. Driver API only. `operations` are
     * CUDA's CUstreamBatchMemOpParams; keep the memory that they name alive with keep_alive().
     * cuGraphAddBatchMemOpNode, since CUDA 11.7. */
    CUSHIM_API Result<GraphNode>
    add_batch_mem_op_node(const GraphDependencies &dependencies,
                          std::span<const CUstreamBatchMemOpParams> operations) const noexcept;

    /* Memory that each launch allocates at the same address, which is returned. It is valid from
     * this node to the node that frees it or, without such a node, to GraphAllocation::free(). It
     * is memory of `device`; `grants` give other devices read and write access. A graph with such a
     * node cannot be cloned or passed to add_child_graph_node(). It can have only one executable
     * graph at a time. Its nodes and edges cannot be removed. With driver 580, the first launch
     * fails with CUDA_ERROR_ALREADY_MAPPED (208) if it reuses memory that an earlier graph shared
     * with another device; the next launch succeeds. cuGraphAddMemAllocNode, since CUDA 11.4. */
    template <DeviceType T>
    Result<GraphAllocation<T>>
    add_mem_alloc_node(const GraphDependencies &dependencies, Device device, std::size_t count,
                       std::span<const AccessGrant> grants = {}) const noexcept {
        CUSHIM_TRY(const auto allocated,
                   add_allocation(dependencies, device, count, sizeof(T), grants));
        return GraphAllocation<T>(allocated);
    }
    // Frees the memory of a mem_alloc node. cuGraphAddMemFreeNode, since CUDA 11.4.
    Result<GraphNode> add_mem_free_node(const GraphDependencies &dependencies,
                                        const detail::GraphMemory &allocation) const noexcept {
        return add(dependencies, detail::MemFreeNode{allocation.address()}, detail::no_uses);
    }

    // --- conditional nodes; see graph_conditional.hpp

    /* A condition for one conditional node of this graph at a time: the functions that add such a
     * node fail with invalid_argument while another node uses the condition. Kernels of the graph
     * set it, with cudaGraphSetConditional(condition.native(), value).
     * cuGraphConditionalHandleCreate, since CUDA 12.3. */
    CUSHIM_API Result<GraphCondition>
    create_condition(const GraphConditionOptions &options) const noexcept;

    /* Runs the body if the condition is not 0 when the node is reached. The body is a graph
     * without nodes; add them before this graph is instantiated. cuGraphAddNode, since CUDA 12.3.
     */
    CUSHIM_API Result<GraphBody> add_if_node(const GraphDependencies &dependencies,
                                             const GraphCondition &condition) const noexcept;
    // Runs one of two bodies. Since CUDA 12.8.
    CUSHIM_API Result<GraphBranches>
    add_if_else_node(const GraphDependencies &dependencies,
                     const GraphCondition &condition) const noexcept;
    // Runs the body while the condition is not 0, which is tested before each iteration.
    // cuGraphAddNode, since CUDA 12.3.
    CUSHIM_API Result<GraphBody> add_while_node(const GraphDependencies &dependencies,
                                                const GraphCondition &condition) const noexcept;
    // Runs the body whose index is the value of the condition, if it exists. Since CUDA 12.8.
    CUSHIM_API Result<GraphCases> add_switch_node(const GraphDependencies &dependencies,
                                                  const GraphCondition &condition,
                                                  std::size_t cases) const noexcept;

    /* Any CUDA node. `parameters` is a CUgraphNodeParams, for a graph of the runtime API a
     * cudaGraphNodeParams; CUDA may write to it. Nothing that it names is kept alive.
     * cuGraphAddNode, since CUDA 12.2. */
    CUSHIM_API Result<GraphNode> add_node_raw(const GraphDependencies &dependencies,
                                              void *parameters) const noexcept;

    // --- order

    // Adds or removes edges: to[i] waits for from[i]; both have the same size. Without nodes, no
    // CUDA call is made.
    // cuGraphAddDependencies, cuGraphRemoveDependencies.
    CUSHIM_API Result<void> add_dependencies(std::span<const GraphNode> from,
                                             std::span<const GraphNode> to) const noexcept;
    CUSHIM_API Result<void> remove_dependencies(std::span<const GraphNode> from,
                                                std::span<const GraphNode> to) const noexcept;
    // Adds or removes these edges, as edges() returns them. Edges with data use
    // cuGraphAddDependencies_v2, cuGraphRemoveDependencies_v2 (CUDA 12.3).
    CUSHIM_API Result<void> add_dependencies(std::span<const GraphEdge> edges) const noexcept;
    CUSHIM_API Result<void> remove_dependencies(std::span<const GraphEdge> edges) const noexcept;

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
    CUSHIM_API Result<KernelNodeParams> kernel_node_params(const GraphNode &node) const noexcept;
    CUSHIM_API Result<MemcpyNodeParams> memcpy_node_params(const GraphNode &node) const noexcept;
    CUSHIM_API Result<MemsetNodeParams> memset_node_params(const GraphNode &node) const noexcept;
    CUSHIM_API Result<HostNodeParams> host_node_params(const GraphNode &node) const noexcept;
    // Borrows the event of an event_record or event_wait node; invalid_argument for another type.
    // cuGraphEventRecordNodeGetEvent, cuGraphEventWaitNodeGetEvent, since CUDA 11.1.
    CUSHIM_API Result<Event> event_of(const GraphNode &node) const noexcept;
    // The signals or the waits of a node, in order. cuGraphExternalSemaphoresSignalNodeGetParams,
    // cuGraphExternalSemaphoresWaitNodeGetParams, since CUDA 11.2.
    CUSHIM_API Result<std::vector<SemaphoreNodeParams>>
    semaphore_node_params(const GraphNode &node) const noexcept;
    // The operations of a batch_mem_op node, in order. Driver API only.
    // cuGraphBatchMemOpNodeGetParams, since CUDA 11.7.
    CUSHIM_API Result<std::vector<CUstreamBatchMemOpParams>>
    batch_mem_op_node_params(const GraphNode &node) const noexcept;
    // The allocation of a mem_alloc node. cuGraphMemAllocNodeGetParams, since CUDA 11.4.
    CUSHIM_API Result<MemAllocNodeParams>
    mem_alloc_node_params(const GraphNode &node) const noexcept;
    // The address that a mem_free node frees. cuGraphMemFreeNodeGetParams, since CUDA 11.4.
    CUSHIM_API Result<CUdeviceptr> mem_free_ptr(const GraphNode &node) const noexcept;
    // The graph inside a child graph node; valid as long as the node.
    // cuGraphChildGraphNodeGetGraph.
    CUSHIM_API Result<Graph> child_graph(const GraphNode &node) const noexcept;
    // The type, the condition and the bodies of a conditional node. cuGraphNodeGetParams, since
    // CUDA 13.2; older drivers do not report these parameters.
    CUSHIM_API Result<ConditionalNodeParams>
    conditional_node_params(const GraphNode &node) const noexcept;

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
    CUSHIM_API Result<void> destroy_node(const GraphNode &node) const noexcept;

    // Keeps the object of this owner alive (a buffer's memory, an event, ...) until this graph, and
    // every clone and executable graph made after this call, are destroyed. An executable
    // graph also stops keeping it when it is updated from another graph.
    // cuUserObjectCreate, cuGraphRetainUserObject, since CUDA 11.3.
    template <detail::Owning Owner>
    Result<void> keep_alive(const Owner &owner) const noexcept {
        const detail::States uses(owner);
        return keep({uses});
    }
    // Keeps another graph alive. invalid_argument if both are the same graph or lie in the same
    // outermost graph, which would keep itself alive permanently. A cycle of two graphs that keep
    // each other alive is not detected, and leaks both.
    CUSHIM_API Result<void> keep_alive(const Graph &other) const noexcept;

    // Writes a Graphviz description of the nodes and edges to the file `path`. An existing file is
    // overwritten. `flags` (CU_GRAPH_DEBUG_DOT_FLAGS_...) adds details. invalid_argument if the
    // path is null; CUDA_ERROR_OPERATING_SYSTEM (304) if CUDA cannot write the file.
    // cuGraphDebugDotPrint, since CUDA 11.3.
    CUSHIM_API Result<void> debug_dot(const char *path, unsigned int flags = 0) const noexcept;

    /* Creates an executable graph; later changes of the graph do not affect it. If the call fails,
     * CUDA may report the node that caused it: `*failure`, if given, names that node.
     * cuGraphInstantiateWithParams (CUDA 12.0). On older drivers: without flags
     * cuGraphInstantiate_v2; with flags cuGraphInstantiateWithFlags (CUDA 11.4), which reports no
     * node. */
    CUSHIM_API Result<GraphExec> instantiate(const InstantiateOptions &options = {},
                                             InstantiateFailure *failure = nullptr) const noexcept;

  private:
    friend class detail::NodeSetters<Graph>;
    using Shared::Shared;

    // Calls add(nodes). A single node is copied to `only`, so that the compiler need not keep
    // `dependencies` in memory.
    template <class Add>
    CUSHIM_INLINE static Result<GraphNode> after(const GraphDependencies &dependencies,
                                                 const Add &add) noexcept {
        detail::NodesBefore before = detail::nodes_before(dependencies);
        GraphNode only;
        if (before.count == 1) [[likely]] {
            only = *before.nodes;
            before.nodes = &only;
        }
        return add(before);
    }
    CUSHIM_INLINE static Result<GraphNode> result_of(detail::AddedNode added) noexcept {
        if (added.name == 0) [[unlikely]] {
            return detail::result_of_add_node(added.native);
        }
        return GraphNode(added.native, added.name);
    }
    // Adds a node. Uses: a NodeUses, or a State * for each owner.
    template <class Node, class... Uses>
    CUSHIM_INLINE Result<GraphNode> add(const GraphDependencies &dependencies, const Node &node,
                                        const Uses &...uses) const noexcept {
        return after(dependencies, [&](detail::NodesBefore before) CUSHIM_INLINE {
            return result_of(
                before.count == 1   ? detail::add_node_after(*this, before.nodes, node, uses...)
                : before.count == 0 ? detail::add_node_after(*this, nullptr, node, uses...)
                                    : detail::add_node(*this, before, node, uses...));
        });
    }
    // Some owners have no state: they are empty, or hold an object that they do not own.
    template <class... Parameters, class... Arguments>
    CUSHIM_COLD Result<GraphNode>
    add_any_kernel_node(detail::NodesBefore before, const Kernel<void(Parameters...)> &kernel,
                        const LaunchConfig &config, const Arguments &...arguments) const noexcept {
        return kernel.with_arguments(
            "Graph::add_kernel_node",
            [&](void **pointers) noexcept {
                const detail::States uses(kernel, arguments...);
                return result_of(detail::add_node(*this, before,
                                                  detail::KernelNode{kernel, config, pointers},
                                                  detail::NodeUses{uses}));
            },
            arguments...);
    }

    CUSHIM_API Result<void> set(const GraphNode &node, const detail::NodeParameters &parameters,
                                const detail::NodeUses &uses) const noexcept;
    CUSHIM_API Result<void> set_signals(const GraphNode &node,
                                        std::span<const SemaphoreSignal> signals) const noexcept;
    CUSHIM_API Result<void> set_waits(const GraphNode &node,
                                      std::span<const SemaphoreWait> waits) const noexcept;
    CUSHIM_API Result<void> keep(const detail::NodeUses &uses) const noexcept;

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
