// The parameters of graph nodes, from the API's structures to what a node does and back.
#pragma once

#include "engine/graph.hpp"

namespace sim {

// Parameters of a kernel node, whichever version of the structure they came in.
struct KernelNode {
    void *function; // CUfunction or CUkernel
    unsigned int grid[3], block[3], shared_bytes;
    void **arguments;
    void **extra;
    CUcontext context;
};
KernelNode kernel_node(const CUDA_KERNEL_NODE_PARAMS_v1 &parameters);
#if CUDA_VERSION >= 12000
KernelNode kernel_node(const CUDA_KERNEL_NODE_PARAMS_v2 &parameters);
void show_kernel(Node &node, CUDA_KERNEL_NODE_PARAMS_v2 &out);
#endif
#if CUDA_VERSION >= 12030
KernelNode kernel_node(const CUDA_KERNEL_NODE_PARAMS_v3 &parameters);
void show_kernel(Node &node, CUDA_KERNEL_NODE_PARAMS_v3 &out);
#endif

NodeContent kernel_content(const KernelNode &parameters);
// Of a graph that is copied into a node.
void need_context_for_kernels(const Graph &graph);
NodeContent copy_content(const CUDA_MEMCPY3D &parameters, CUcontext context);
NodeContent memset_content(const CUDA_MEMSET_NODE_PARAMS &parameters, CUcontext context);
NodeContent host_content(const CUDA_HOST_NODE_PARAMS &parameters);
NodeContent empty_content();
NodeContent event_content(CUgraphNodeType type, CUevent event);
NodeContent signal_content(const CUDA_EXT_SEM_SIGNAL_NODE_PARAMS &parameters);
NodeContent wait_content(const CUDA_EXT_SEM_WAIT_NODE_PARAMS &parameters);
NodeContent child_content(); // the graph is a ChildCopy
NodeContent batch_content(const CUDA_BATCH_MEM_OP_NODE_PARAMS &parameters);

// To which a kernel node is bound, or null.
CUctx_st *kernel_context(const NodeContent &content);
// A new content of a kernel node keeps the attributes.
NodeContent with_attributes_of(const NodeContent &old, NodeContent content);

// What the API shows of a node; pointers are into the node.
CUDA_MEMCPY3D copy_parameters(const NodeContent &content);
CUDA_MEMSET_NODE_PARAMS memset_parameters(const NodeContent &content);
CUDA_HOST_NODE_PARAMS host_parameters(const NodeContent &content);
CUDA_EXT_SEM_SIGNAL_NODE_PARAMS signal_parameters(NodeContent &content);
CUDA_EXT_SEM_WAIT_NODE_PARAMS wait_parameters(NodeContent &content);
CUDA_BATCH_MEM_OP_NODE_PARAMS batch_parameters(NodeContent &content);
CUDA_MEM_ALLOC_NODE_PARAMS allocation_parameters(const NodeContent &content);

// The common part of all calls that add a node: `make()` returns the content, after the rest was
// checked.
template <class Make>
Node &new_node(CUgraphNode *output, CUgraph graph, const CUgraphNode *dependencies,
               std::size_t count, const void *edge_data, const Make &make) {
    require(output != nullptr);
    Graph &owner = graph_of(graph);
    const std::vector<Edge> after = edges_of(owner, dependencies, count, edge_data);
    Node &node = add_node(owner, make(owner), after);
    *output = &node;
    return node;
}

// Gives a node of the same type other content, or a step of an executable graph; refuses what that
// cannot change.
void set_content(CUgraphNode node, NodeContent content);
void set_content(CUgraphExec exec, CUgraphNode node, NodeContent content);

// The condition behind a handle, or null.
std::shared_ptr<Conditional> find_condition(std::uint64_t handle);
// What cudaGraphSetConditional does in device code: kernels that run on the host do it by this.
// False where there is no such handle. With the lock held.
bool set_conditional(std::uint64_t handle, unsigned int value);
// Adds the bodies of a conditional node, in whose content condition is set.
void add_bodies(Node &node);

} // namespace sim
