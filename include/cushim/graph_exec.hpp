/* Executable graphs: what Graph::instantiate() makes, ready to be launched. */
#ifndef CUSHIM_GRAPH_EXEC_HPP
#define CUSHIM_GRAPH_EXEC_HPP

#include <cushim/graph_node.hpp>
#include <cushim/graph_setters.hpp>
#include <cushim/stream.hpp>
#include <cushim/text.hpp>

namespace cushim {

struct InstantiateOptions {
    // Memory that a launch left allocated is freed before the next one. CUDA 11.4.
    bool auto_free_on_launch = false;
    // Uploaded into this stream at once, as by upload(). CUDA 12.0.
    const Stream *upload = nullptr;
    // May be launched from device code, and then has one device only. CUDA 12.0.
    bool device_launch = false;
    // Nodes have the priorities they were given, instead of that of the stream. CUDA 11.7.
    bool use_node_priority = false;
};

// Why a graph cannot be instantiated.
enum class InstantiateResult : unsigned char {
    success = 0,
    error = 1, // what the error itself says
    invalid_structure = 2,
    node_operation_not_supported = 3, // of a graph for device launch
    multiple_contexts = 4,            // likewise
    conditional_handle_unused = 5
};
CUSHIM_API Text to_text(InstantiateResult result) noexcept;
struct InstantiateFailure {
    InstantiateResult result = InstantiateResult::error;
    // Of the graph. None where CUDA does not tell, and where it is a node of a graph inside it that nobody has
    // asked for.
    GraphNode node;
};

// CUDA's own numbers.
enum class GraphUpdateResult : unsigned char {
    success = 0,
    error = 1,
    topology_changed = 2,
    node_type_changed = 3,
    function_changed = 4,
    parameters_changed = 5,
    not_supported = 6,
    unsupported_function_change = 7,
    attributes_changed = 8
};
CUSHIM_API Text to_text(GraphUpdateResult result) noexcept;
struct GraphUpdate {
    GraphUpdateResult result = GraphUpdateResult::success;
    // Of the graph that it was to become: the node that did not fit, and where an edge did not, the node at
    // the other end of it (driver since CUDA 12.0). None where CUDA does not tell, and where they are nodes of a
    // graph inside it that nobody has asked for.
    GraphNode node;
    GraphNode from;

    bool is_success() const noexcept { return result == GraphUpdateResult::success; }
};

/* An executable graph.
 *
 * Threads: the rules of handle.hpp; one thread at a time launches it or changes it. What is said of one node, by
 * its name, asks the Graph whether it is there: set_...(), set_enabled() and is_enabled() count as uses of the Graph
 * that it was instantiated from, and update() as one of the graph that it takes. Launches of one do not
 * run at the same time: each waits for the one before. Destroying it does not wait: what was launched runs
 * to its end.
 *
 * What a node was set to by set_...() is let go when the node is set to something else, or a child graph that it is
 * in, when update() succeeds, and when this object and those that share it are gone; then as soon as what these have
 * launched is through. Launches with native(), by a GraphExec that borrows it, or from the device are not seen: wait
 * for them before any of these, or let the graph keep what is to be set, by Graph::keep_alive() before instantiate()
 * or update().
 *
 * Needs no current context and does not change it, but for launches into Stream::legacy() and
 * Stream::per_thread(), which are streams of the current context: wrong_context where the driver API finds none; the
 * runtime API launches in the graph's.
 * Errors: invalid_argument for nodes that are gone, or another graph's; what earlier work failed with.
 * Since CUDA 11.0 where nothing else is said. */
class GraphExec : public detail::Shared<GraphExec, CUgraphExec>,
                  public detail::NodeSetters<GraphExec> {
  public:
    GraphExec() noexcept = default;

    // Takes over one of that context. Its nodes are not known: nothing can be set in it but by update(), with a
    // graph of the driver API; rt::adopt_exec() and rt::borrow_exec() are for the others.
    CUSHIM_API static Result<GraphExec> adopt(const Context &context, CUgraphExec exec) noexcept;
    // Does not own: the lender keeps it.
    CUSHIM_API static Result<GraphExec> borrow(const Context &context, CUgraphExec exec) noexcept;

    // driver or runtime.
    CUSHIM_API Api api() const noexcept;

    // Queues all of it. Cannot be captured: not_permitted; a child graph node is for that. cuGraphLaunch.
    CUSHIM_API Result<void> launch(const Stream &stream) const noexcept;
    // Queues what the first launch would otherwise do first. cuGraphUpload, since CUDA 11.1.
    CUSHIM_API Result<void> upload(const Stream &stream) const noexcept;

    /* Makes it do from the next launch on what `graph` does, which has the same nodes with the same edges,
     * added in the same order. That it does not fit is no error: the result says why, and nothing has
     * changed. What the new nodes use is kept in place of what the old ones used.
     * cuGraphExecUpdate (CUDA 10.2), _v2 (CUDA 12.0). */
    CUSHIM_API Result<GraphUpdate> update(const Graph &graph) const noexcept;

    /* For single nodes: graph_setters.hpp. The child graph in a node becomes like that one, which has the
     * same nodes, whatever nodes inside it were set to; those that are not enabled stay so. What its nodes use is
     * kept by a clone. cuGraphExecChildGraphNodeSetParams, since CUDA 11.1; cuGraphClone. */
    CUSHIM_API Result<void> set_child_graph_node(const GraphNode &node,
                                                 const Graph &child) const noexcept;

    // A node that is not enabled does nothing. Kernels, copies and fills, of the graph and of those inside it; each
    // is enabled at first.
    // cuGraphNodeSetEnabled, cuGraphNodeGetEnabled, since CUDA 11.6.
    CUSHIM_API Result<void> set_enabled(const GraphNode &node, bool enabled) const noexcept;
    CUSHIM_API Result<bool> is_enabled(const GraphNode &node) const noexcept;

    // CUDA_GRAPH_INSTANTIATE_FLAG_...; drivers tell of auto_free_on_launch and device_launch only.
    // cuGraphExecGetFlags, since CUDA 12.0.
    CUSHIM_API Result<unsigned long long> flags() const noexcept;

  private:
    friend class detail::NodeSetters<GraphExec>;
    friend class Graph;
    using Shared::Shared;

    CUSHIM_API Result<void> set(const GraphNode &node, const detail::NodeParameters &parameters,
                                const detail::NodeUses &uses) const noexcept;
    CUSHIM_API Result<void> set_signals(const GraphNode &node,
                                        std::span<const SemaphoreSignal> signals) const noexcept;
    CUSHIM_API Result<void> set_waits(const GraphNode &node,
                                      std::span<const SemaphoreWait> waits) const noexcept;
};

inline Text to_text(const GraphExec &exec) noexcept {
    return detail::text_of("GraphExec", exec);
}

} // namespace cushim

#endif
