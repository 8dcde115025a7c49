// The functions that graphs need from an API: one table for the driver, one for the runtime
// library. Both use the same handle types; names, parameter structs, and signatures in different
// runtime headers differ. All graph calls of src/api go through these tables.
#pragma once

#include <cushim/capture_mode.hpp>
#include <cushim/graph.hpp>
#include <cushim/graph_exec.hpp>
#include <cushim/result.hpp>

#include <array>
#include <tuple>
#include <vector>

#include "base/call.hpp"
#include "base/explained.hpp"
#include "base/state.hpp"

namespace cushim::detail {

// The position of a new node.
struct NodePlace {
    CUgraphNode *node; // output
    CUgraph graph;
    const CUgraphNode *dependencies;
    std::size_t count;
    CUcontext context; // the node's
};

struct MemAllocRequest {
    int device;
    std::size_t bytes;
    std::span<const AccessGrant> grants;
};

struct ConditionalRequest {
    GraphConditionalType type;
    unsigned long long handle;
    unsigned int bodies;
};
// CUDA owns the bodies' handles, which exist as long as the node.
struct NativeConditional {
    GraphConditionalType type;
    unsigned long long handle;
    std::span<const CUgraph> bodies;
};

struct EdgeList {
    const CUgraphNode *from;
    const CUgraphNode *to;
    const GraphEdgeData *data; // null if no edge has data
    std::size_t count;
};
// Null pointers request only the count, which is always set.
struct EdgeRoom {
    CUgraphNode *from;
    CUgraphNode *to;
    GraphEdgeData *data;
    std::size_t *count;
};
struct NodeRoom {
    CUgraphNode *nodes;
    std::size_t *count;
};

// The edges that read(room) returns.
template <class Read>
Result<std::vector<CUgraphNode>> read_natives(const Read &read) {
    std::size_t count = 0;
    CUSHIM_TRY_VOID(read(NodeRoom{nullptr, &count}));
    std::vector<CUgraphNode> natives(count);
    if (count != 0) {
        CUSHIM_TRY_VOID(read(NodeRoom{natives.data(), &count}));
    }
    natives.resize(count);
    return natives;
}

struct NativeInstantiateFailure {
    InstantiateResult result = InstantiateResult::error;
    CUgraphNode node = nullptr;
};
struct NativeUpdate {
    GraphUpdateResult result = GraphUpdateResult::success;
    CUgraphNode node = nullptr;
    CUgraphNode from = nullptr;
};

using SemaphoreParams = std::vector<SemaphoreNodeParams>;
using BatchMemOpParams = std::vector<CUstreamBatchMemOpParams>;

// All of these require the graph's context to be current, except an AddNode. None is null: a
// missing function returns its error.

struct GraphReading {
    Result<void> (*nodes)(CUgraph graph, const NodeRoom &room) noexcept;
    Result<void> (*root_nodes)(CUgraph graph, const NodeRoom &room) noexcept;
    Result<void> (*edges)(CUgraph graph, const EdgeRoom &room) noexcept;
    Result<void> (*dependencies)(CUgraphNode node, const NodeRoom &room) noexcept;
    Result<void> (*dependents)(CUgraphNode node, const NodeRoom &room) noexcept;
    Result<void> (*node_type)(CUgraphNode node, GraphNodeType *type) noexcept;
    Result<void> (*kernel_params)(CUgraphNode node, KernelNodeParams *params) noexcept;
    Result<void> (*memcpy_params)(CUgraphNode node, MemcpyNodeParams *params) noexcept;
    Result<void> (*memset_params)(CUgraphNode node, MemsetNodeParams *params) noexcept;
    Result<void> (*host_params)(CUgraphNode node, HostNodeParams *params) noexcept;
    Result<void> (*event_record_event)(CUgraphNode node, CUevent *event) noexcept;
    Result<void> (*event_wait_event)(CUgraphNode node, CUevent *event) noexcept;
    Result<void> (*signal_params)(CUgraphNode node, SemaphoreParams *params) noexcept;
    Result<void> (*wait_params)(CUgraphNode node, SemaphoreParams *params) noexcept;
    Result<void> (*batch_mem_op_params)(CUgraphNode node, BatchMemOpParams *params) noexcept;
    Result<void> (*mem_alloc_params)(CUgraphNode node, MemAllocNodeParams *params) noexcept;
    Result<void> (*mem_free_ptr)(CUgraphNode node, CUdeviceptr *address) noexcept;
    Result<void> (*child_graph)(CUgraphNode node, CUgraph *graph) noexcept;
    Result<void> (*conditional_params)(CUgraphNode node, NativeConditional *params) noexcept;
    Result<void> (*debug_dot)(CUgraph graph, const char *path, unsigned int flags) noexcept;
};

struct GraphRunning {
    Result<void> (*instantiate)(CUgraphExec *exec, CUgraph graph, const InstantiateOptions &options,
                                NativeInstantiateFailure *failure) noexcept;
    Destroyed (*destroy)(CUgraphExec exec) noexcept;
    Result<void> (*launch)(CUgraphExec exec, CUstream stream) noexcept;
    Result<void> (*upload)(CUgraphExec exec, CUstream stream) noexcept;
    // A rejected update is a success with the reason in the result.
    Result<void> (*update)(CUgraphExec exec, CUgraph graph, NativeUpdate *update) noexcept;
    Result<void> (*set_enabled)(CUgraphExec exec, CUgraphNode node, bool enabled) noexcept;
    Result<void> (*is_enabled)(CUgraphExec exec, CUgraphNode node, bool *enabled) noexcept;
    Result<void> (*flags)(CUgraphExec exec, unsigned long long *flags) noexcept;
};

struct GraphCapture {
    Result<void> (*begin)(CUstream stream, CaptureMode mode) noexcept;
    Result<void> (*begin_to)(CUstream stream, const NodePlace &place, CaptureMode mode) noexcept;
    Result<void> (*end)(CUstream stream, CUgraph *graph) noexcept;
};

struct GraphState;

// Adds a node with these parameters; enters the graph's context if CUDA needs that. Checks the
// parameters first: invalid_argument. Takes ownership of the closure. Errors name
// the public function.
using AddNode = AddedNode (*)(GraphState &state, NodesBefore before, NodeParameters parameters,
                              const NodeUses &uses) noexcept;
// What an AddNode returns for this result, which result_of_add_node() then returns if the node is
// null.
AddedNode added_node(Result<GraphNode> &&result) noexcept;

// Adds a node after one, or after none if it is null.
template <class... Arguments>
using AddByArguments = AddedNode (*)(GraphState &state, const GraphNode *before,
                                     Arguments... arguments) noexcept;

struct GraphApi {
    Api api;
    GraphReading read;
    GraphRunning exec;
    GraphCapture capture;

    // --- graphs
    Result<void> (*create)(CUgraph *graph) noexcept;
    Destroyed (*destroy)(CUgraph graph) noexcept;
    Result<void> (*clone)(CUgraph *clone, CUgraph original) noexcept;
    Result<void> (*find_in_clone)(CUgraphNode *found, CUgraphNode original, CUgraph clone) noexcept;
    Result<void> (*destroy_node)(CUgraphNode node) noexcept;

    // --- nodes
    using AddNodes = std::array<AddNode, NodeParameters::Kinds::count>; // by kind
    AddNodes add;
    AddNodes add_after_one; // the same for one dependency
    // The same by the arguments of add_node_after() and add_kernel_node_after(), whose functions
    // for the driver API call these. Reached only from here, so that programs without runtime
    // graphs do not contain them. Null for the driver API.
    using AddersByArguments =
        std::tuple<AddByArguments<EmptyNode>, AddByArguments<HostNode>,
                   AddByArguments<CUdeviceptr, std::size_t, FillElement, State *>,
                   AddByArguments<unsigned long long, unsigned long long, std::size_t, CopyKind,
                                  State *, State *>,
                   AddByArguments<const KernelNode &, State *, State *, State *>>;
    AddersByArguments add_by_arguments;
    // What an AddNode checks.
    Result<void> (*check)(const NodeParameters &parameters) noexcept;
    Result<void> (*set)(CUgraphNode node, const NodeParameters &parameters,
                        CUcontext context) noexcept;
    Result<void> (*exec_set)(CUgraphExec exec, CUgraphNode node, const NodeParameters &parameters,
                             CUcontext context) noexcept;
    Result<void> (*add_mem_alloc)(const NodePlace &place, const MemAllocRequest &request,
                                  CUdeviceptr *address) noexcept;
    Result<void> (*create_condition)(CUgraph graph, CUcontext context, unsigned int initial,
                                     bool assign_initial, unsigned long long *handle) noexcept;
    Result<void> (*add_conditional)(const NodePlace &place, const ConditionalRequest &request,
                                    CUgraph *bodies) noexcept;
    Result<void> (*add_raw)(const NodePlace &place, void *parameters) noexcept;

    // --- order
    Result<void> (*add_dependencies)(CUgraph graph, const EdgeList &edges) noexcept;
    Result<void> (*remove_dependencies)(CUgraph graph, const EdgeList &edges) noexcept;
};

extern const GraphApi driver_graphs;
extern const GraphApi runtime_graphs;

inline const GraphApi &graphs_of(Api api) noexcept {
    return api == Api::runtime ? runtime_graphs : driver_graphs;
}

} // namespace cushim::detail
