// Parameters of graph nodes: conversion between the API's structures and node contents.
#pragma once

#include "engine/graph.hpp"

namespace sim {

// Parameters of a kernel node, from any version of the structure.
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
// Checks a graph that is copied into a node.
void need_context_for_kernels(const Graph &graph);
NodeContent copy_content(const CUDA_MEMCPY3D &parameters, CUcontext context);
NodeContent memset_content(const CUDA_MEMSET_NODE_PARAMS &parameters, CUcontext context);
NodeContent host_content(const CUDA_HOST_NODE_PARAMS &parameters);
NodeContent empty_content();
NodeContent event_content(CUgraphNodeType type, CUevent event);
NodeContent signal_content(const CUDA_EXT_SEM_SIGNAL_NODE_PARAMS &parameters);
NodeContent wait_content(const CUDA_EXT_SEM_WAIT_NODE_PARAMS &parameters);
NodeContent child_content(); // the graph itself is a ChildCopy
NodeContent batch_content(const CUDA_BATCH_MEM_OP_NODE_PARAMS &parameters);

// The context that a kernel node is bound to, or null.
CUctx_st *kernel_context(const NodeContent &content);
// New content of a kernel node, with the attributes of the old one.
NodeContent with_attributes_of(const NodeContent &old, NodeContent content);

// A node's parameters as the API returns them; pointers point into the node.
CUDA_MEMCPY3D copy_parameters(const NodeContent &content);
CUDA_MEMSET_NODE_PARAMS memset_parameters(const NodeContent &content);
CUDA_HOST_NODE_PARAMS host_parameters(const NodeContent &content);
CUDA_EXT_SEM_SIGNAL_NODE_PARAMS signal_parameters(NodeContent &content);
CUDA_EXT_SEM_WAIT_NODE_PARAMS wait_parameters(NodeContent &content);
CUDA_BATCH_MEM_OP_NODE_PARAMS batch_parameters(NodeContent &content);
CUDA_MEM_ALLOC_NODE_PARAMS allocation_parameters(const NodeContent &content);

// The common part of all calls that add a node. `make()` returns the content, after everything else
// was checked.
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

// Sets the content of a node, or of a step of an executable graph. The type must be the same. Fails
// for changes that an executable graph does not support.
void set_content(CUgraphNode node, NodeContent content);
void set_content(CUgraphExec exec, CUgraphNode node, NodeContent content);

// The condition of a handle, or null.
std::shared_ptr<Conditional> find_condition(std::uint64_t handle);
// Does what cudaGraphSetConditional does in device code, for kernels that run on the host. Returns
// false if the handle does not exist. The caller holds the lock.
bool set_conditional(std::uint64_t handle, unsigned int value);
// Adds the bodies of a conditional node; its content's condition is set.
void add_bodies(Node &node);

} // namespace sim
