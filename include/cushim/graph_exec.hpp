/* Executable graphs, from Graph::instantiate(). A program that repeats the same work with other
 * parameters sets them in the executable graph:
 *
 *     for (int step = 0; step < steps; ++step) {
 *         CUSHIM_TRY_VOID(exec.set_kernel_node(node, kernel, config, values, step));
 *         CUSHIM_TRY_VOID(exec.launch(stream));
 *     }
 *
 * The setters are in detail/node_setters.hpp: set_kernel_node(), set_memcpy_node(),
 * set_memset_node(), set_host_node() and others, one for each add_...() of Graph. */
#ifndef CUSHIM_GRAPH_EXEC_HPP
#define CUSHIM_GRAPH_EXEC_HPP

#include <cushim/detail/node_setters.hpp>
#include <cushim/graph_node.hpp>
#include <cushim/stream.hpp>
#include <cushim/text.hpp>

namespace cushim {

// How Graph::instantiate() creates an executable graph.
struct InstantiateOptions {
    // Before a launch, memory that the previous one left allocated is freed. CUDA 11.4.
    bool auto_free_on_launch = false;
    // Uploads the executable graph in this stream: see upload(). CUDA 12.0.
    const Stream *upload = nullptr;
    // Device code can launch it; its nodes must then use one context. CUDA 12.0.
    bool device_launch = false;
    // Nodes use their own priorities instead of that of the stream. CUDA 11.7.
    bool use_node_priority = false;
    // A CUDA user object keeps alive what the nodes of the graph use, also for launches that
    // GraphExec does not see and after release(), but not what set_...() sets. No effect if the
    // Graph itself is inside a node (a child graph or a body). Each launch takes longer: see
    // graph.hpp. Always on if device_launch is set. CUDA 11.3.
    bool kept_by_cuda = false;
};

// Why a graph cannot be instantiated.
enum class InstantiateResult : unsigned char {
    success = 0,
    error = 1,                        // see the error itself
    invalid_structure = 2,            // such as a cycle
    node_operation_not_supported = 3, // by a device launch
    multiple_contexts = 4,            // in a device launch
    conditional_handle_unused = 5     // a condition has no conditional node
};
CUSHIM_API Text to_text(InstantiateResult result) noexcept;
// What Graph::instantiate_failure() returns.
struct InstantiateFailure {
    InstantiateResult result = InstantiateResult::error; // why it failed
    // The node that caused it, a node of the graph. Empty if CUDA does not report it. Also empty if
    // the node is in a child graph or conditional body for which the program has no Graph yet (from
    // child_graph_params(), conditional_params() or add_..._node()).
    GraphNode node;
};

// Why a graph cannot update an executable graph. The values are those of CUDA.
enum class GraphUpdateResult : unsigned char {
    success = 0,
    error = 1,                       // unexpected; CUDA reports no details
    topology_changed = 2,            // other nodes, edges or order
    node_type_changed = 3,           // a node has another type
    function_changed = 4,            // of a kernel node; drivers before CUDA 11.2
    parameters_changed = 5,          // of a node, in a way that CUDA does not support
    not_supported = 6,               // CUDA cannot update this node
    unsupported_function_change = 7, // of a kernel node, in a way that CUDA does not support
    attributes_changed = 8           // of a node, in a way that CUDA does not support
};
CUSHIM_API Text to_text(GraphUpdateResult result) noexcept;
// The result of GraphExec::update().
struct GraphUpdate {
    GraphUpdateResult result = GraphUpdateResult::success; // success, or why nothing has changed
    // The node of the graph passed to update() that does not match. Empty in the same cases as
    // InstantiateFailure::node.
    GraphNode node;
    // If an edge does not match: the node where that edge begins; `node` is where it ends.
    // Otherwise empty. Requires a driver of CUDA 12.0 or newer.
    GraphNode from;

    // Whether the executable graph was updated.
    bool is_success() const noexcept { return result == GraphUpdateResult::success; }
};

/* An executable graph, which Graph::instantiate() creates.
 *
 * Launches of one executable graph do not overlap: each waits for the previous one. Destruction
 * does not wait; launched work still runs.
 *
 * Lifetime: it keeps alive what its nodes use. A cushim thread releases the resources of a node
 * when all earlier launches have completed and one of these has happened: the node, or the child
 * graph node around it, was set again; update() succeeded; the last owner was destroyed. What
 * it took over from the Graph, at instantiate() or update(), is released together: after the next
 * update() or the destruction of the last owner.
 *   - Launches in a stream that a Stream owns add no CUDA call. The GraphExec keeps the stream of
 *     its last launch alive, and records an event there when it releases resources. While that
 *     stream is captured, nothing is released.
 *   - A launch in a borrowed stream, Stream::legacy() or Stream::per_thread() is followed by an
 *     event (0.4 microseconds on an H100).
 *   - After Stream::release(): release() records an event that marks the end of the launches. If
 *     the stream is being captured then, the resources stay alive until the process ends.
 *   - After a reset of the context, all launches have ended. After a failure of the context,
 *     nothing is released, since a host function may still run.
 *   - At process exit: see teardown.hpp. In the child of a fork nothing is released.
 * Launches through native(), through a borrowed GraphExec or from the device are not seen. Call
 * launched() after each, or wait for them before set_...(), update() and the destruction of the
 * last owner. With InstantiateOptions::kept_by_cuda, neither is necessary unless set_...() was
 * used, or the Graph is itself inside a node. After release() of a GraphExec without kept_by_cuda,
 * what its nodes use stays alive until the process ends.
 *
 * Threads: see handle.hpp. One thread at a time may launch or change it. During set_...(),
 * set_enabled() and is_enabled(), no other thread may use the Graph it was instantiated from;
 * during update(), none may use the graph passed.
 * Context: see handle.hpp, except launches into Stream::legacy() and Stream::per_thread(). There
 * the driver API uses the current context and fails with wrong_context if none is current; the
 * runtime API uses the graph's context.
 * Errors: invalid_argument for destroyed nodes, and for nodes of another graph; the status of the
 * CUDA call, which may report a failure of earlier asynchronous work. */
class GraphExec : public detail::Shared<GraphExec, CUgraphExec>,
                  public detail::NodeSetters<GraphExec> {
  public:
    GraphExec() noexcept = default;

    // Owns an executable graph of that context. Its nodes are unknown: only update() can change it,
    // with a graph of the driver API. For the runtime API use rt::adopt_exec() and
    // rt::borrow_exec().
    CUSHIM_API static Result<GraphExec> adopt(const Context &context, CUgraphExec exec) noexcept;
    // Does not own; the lender must keep it alive.
    CUSHIM_API static Result<GraphExec> borrow(const Context &context, CUgraphExec exec) noexcept;

    // The API that created it, `driver` or `runtime`; `loader` if it is empty.
    CUSHIM_API Api api() const noexcept;

    // Enqueues the whole graph. Cannot be captured (not_permitted); use a child graph node for
    // that. cuGraphLaunch.
    CUSHIM_API Result<void> launch(const Stream &stream) const noexcept;
    // To be called after a launch into the stream by other means, such as cuGraphLaunch with
    // native(). Resources of its nodes are not released before that launch has completed.
    CUSHIM_API Result<void> launched(const Stream &stream) const noexcept;
    // Enqueues the preparation that the first launch would do. cuGraphUpload, since CUDA 11.1.
    CUSHIM_API Result<void> upload(const Stream &stream) const noexcept;

    /* Makes later launches do what `graph` does. It must have the same nodes with the same edges,
     * added in the same order. If the graphs do not match, the call still returns a value:
     * GraphUpdate::result has the reason, and the executable graph is unchanged. On success,
     * the resources of `graph` are kept alive instead of those of the old nodes.
     * cuGraphExecUpdate, _v2 (CUDA 12.0). */
    CUSHIM_API Result<GraphUpdate> update(const Graph &graph) noexcept;

    /* Changes a child graph node: its nodes get the parameters of the nodes of `child`, which must
     * have the same topology. Parameters set earlier on these nodes are replaced; nodes stay
     * enabled or disabled. The resources of the nodes of `child` are kept alive.
     * cuGraphExecChildGraphNodeSetParams, since CUDA 11.1. */
    CUSHIM_API Result<void> set_child_graph_node(const GraphNode &node,
                                                 const Graph &child) noexcept;

    // Set and get whether a node is enabled; a disabled node does nothing. For kernels, copies and
    // fills, also inside child graphs. Initially all nodes are enabled.
    // cuGraphNodeSetEnabled, cuGraphNodeGetEnabled, since CUDA 11.6.
    CUSHIM_API Result<void> set_enabled(const GraphNode &node, bool enabled) noexcept;
    CUSHIM_API Result<bool> is_enabled(const GraphNode &node) const noexcept;

    // The CUDA_GRAPH_INSTANTIATE_FLAG_... that it was created with; drivers report only
    // auto_free_on_launch and device_launch. cuGraphExecGetFlags, since CUDA 12.0.
    CUSHIM_API Result<unsigned long long> flags() const noexcept;

  private:
    friend class detail::NodeSetters<GraphExec>;
    friend class Graph;
    using Shared::Shared;

    CUSHIM_API Result<void> set(const GraphNode &node, const detail::NodeParameters &to,
                                const detail::NodeUses &uses) noexcept;
};

inline Text to_text(const GraphExec &exec) noexcept {
    return detail::text_of("GraphExec", exec);
}

} // namespace cushim

#endif
