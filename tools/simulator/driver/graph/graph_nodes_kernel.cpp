// Kernel nodes.
#include "call/misuse.hpp"
#include "driver_functions.hpp"
#include "engine/context.hpp"
#include "graph/graph_nodes.hpp"
#include "kernel/launch.hpp"

#include <algorithm>
#include <cstring>

namespace sim {
namespace {

template <class Parameters>
KernelNode first_version(const Parameters &p) {
    return {reinterpret_cast<void *>(p.func),
            {p.gridDimX, p.gridDimY, p.gridDimZ},
            {p.blockDimX, p.blockDimY, p.blockDimZ},
            p.sharedMemBytes,
            p.kernelParams,
            p.extra,
            nullptr};
}

#if CUDA_VERSION >= 12000
// A function or a kernel; a kernel may have a context.
template <class Parameters>
KernelNode any_version(const Parameters &parameters) {
    KernelNode node = first_version(parameters);
    require((parameters.func == nullptr) != (parameters.kern == nullptr));
    if (parameters.kern != nullptr) {
        node.function = reinterpret_cast<void *>(parameters.kern);
    }
    if (parameters.ctx != nullptr) {
        node.context = &checked_context(parameters.ctx);
    }
    return node;
}
#endif

KernelLaunch &launch_of(NodeContent &content) {
    return std::any_cast<KernelLaunch &>(content.work.parameters);
}

// Returned pointers stay valid until the node's parameters change.
void show_arguments(Node &node) {
    node.argument_pointers.clear();
    for (std::vector<std::byte> &argument : launch_of(node.content).arguments) {
        node.argument_pointers.push_back(argument.data());
    }
}

template <class Parameters>
void show(Node &node, Parameters &out) {
    show_arguments(node);
    const KernelLaunch &launch = launch_of(node.content);
    out = {};
    out.gridDimX = launch.grid[0];
    out.gridDimY = launch.grid[1];
    out.gridDimZ = launch.grid[2];
    out.blockDimX = launch.block[0];
    out.blockDimY = launch.block[1];
    out.blockDimZ = launch.block[2];
    out.sharedMemBytes = launch.shared_bytes;
    out.kernelParams = node.argument_pointers.empty() ? nullptr : node.argument_pointers.data();
    // The first version of the structure has only a function; a kernel's handle takes its place.
    out.func = reinterpret_cast<CUfunction>(launch.function);
}

#if CUDA_VERSION >= 12000
template <class Parameters>
void show_any_version(Node &node, Parameters &out) {
    show(node, out);
    Object *function = Registry::get().find(launch_of(node.content).function);
    if (function != nullptr && function->kind == Kind::kernel) {
        out.func = nullptr;
        out.kern = reinterpret_cast<CUkernel>(function);
    }
    out.ctx = node.content.context;
}
#endif

// Attributes of kernel nodes, by number: headers name them from different versions on.
void check_attribute(unsigned int id) {
    constexpr unsigned int known[] = {
        1,  // access policy window
        2,  // cooperative
        4,  // cluster dimension
        5,  // cluster scheduling policy
        8,  // priority
        9,  // memory synchronization domain map
        10, // memory synchronization domain
        11, // preferred cluster dimension
        13, // device-updatable node
        14, // preferred shared memory carveout
    };
    if (std::find(std::begin(known), std::end(known), id) == std::end(known)) {
        refuse(CUDA_ERROR_INVALID_VALUE, "Invalid kernel attribute: %u", id);
    }
}

CUlaunchAttribute *find_attribute(KernelLaunch &launch, CUlaunchAttributeID id) {
    for (CUlaunchAttribute &attribute : launch.attributes) {
        if (attribute.id == id) {
            return &attribute;
        }
    }
    return nullptr;
}

void set_launch(Node &node, KernelLaunch launch) {
    node.content.work = kernel_work(std::move(launch), node.content.work.what);
    node.argument_pointers.clear();
}

} // namespace

KernelNode kernel_node(const CUDA_KERNEL_NODE_PARAMS_v1 &parameters) {
    return first_version(parameters);
}

#if CUDA_VERSION >= 12000
KernelNode kernel_node(const CUDA_KERNEL_NODE_PARAMS_v2 &parameters) {
    return any_version(parameters);
}
#endif

#if CUDA_VERSION >= 12000
void show_kernel(Node &node, CUDA_KERNEL_NODE_PARAMS_v2 &out) {
    show_any_version(node, out);
}
#endif
#if CUDA_VERSION >= 12030
void show_kernel(Node &node, CUDA_KERNEL_NODE_PARAMS_v3 &out) {
    show_any_version(node, out);
}
KernelNode kernel_node(const CUDA_KERNEL_NODE_PARAMS_v3 &parameters) {
    return any_version(parameters);
}
#endif

CUctx_st *kernel_context(const NodeContent &content) {
    const auto &launch = std::any_cast<const KernelLaunch &>(content.work.parameters);
    const Object *function = Registry::get().find(launch.function);
    return function != nullptr && function->context != nullptr ? function->context
                                                               : content.context;
}

NodeContent with_attributes_of(const NodeContent &old, NodeContent content) {
    auto launch = std::any_cast<KernelLaunch>(content.work.parameters);
    launch.attributes = std::any_cast<const KernelLaunch &>(old.work.parameters).attributes;
    content.work = kernel_work(std::move(launch), content.work.what);
    return content;
}

namespace {

void need_context_for(const void *handle) {
    const Object *function = Registry::get().find(handle);
    if (function != nullptr && function->kind == Kind::function) {
        refuse_fatal("a kernel node of a function without a current context",
                     CUDA_ERROR_INVALID_CONTEXT);
    }
}

// A function runs in the current context, and so does a kernel without a context.
void need_context(const KernelNode &node) {
    if (current_or_null() == nullptr) {
        need_context_for(node.function);
        require(node.context != nullptr, CUDA_ERROR_INVALID_CONTEXT, "NULL is not a valid context");
    }
}

} // namespace

void need_context_for_kernels(const Graph &graph) {
    if (current_or_null() != nullptr) {
        return;
    }
    for (const Node *node : graph.nodes) {
        if (node->type() == CU_GRAPH_NODE_TYPE_KERNEL) {
            need_context_for(
                std::any_cast<const KernelLaunch &>(node->content.work.parameters).function);
        }
        for (const Graph *inner : node->graphs) {
            need_context_for_kernels(*inner);
        }
    }
}

NodeContent kernel_content(const KernelNode &node) {
    require(node.function != nullptr);
    need_context(node);
    NodeContent content;
    content.context = node.context;
    content.work = kernel_work(kernel_launch(node.function, node.grid, node.block,
                                             node.shared_bytes, node.arguments, node.extra),
                               "kernel node");
    CUctx_st *bound = kernel_context(content);
    content.home = bound != nullptr ? bound : current_or_null();
    return content;
}

namespace driver {

CUresult cuGraphAddKernelNode(CUgraphNode *phGraphNode, CUgraph hGraph,
                              const CUgraphNode *dependencies, size_t numDependencies,
                              const CUDA_KERNEL_NODE_PARAMS_v1 *nodeParams) {
    require(nodeParams != nullptr);
    new_node(phGraphNode, hGraph, dependencies, numDependencies, nullptr,
             [&](Graph &) { return kernel_content(kernel_node(*nodeParams)); });
    return CUDA_SUCCESS;
}

CUresult cuGraphKernelNodeGetParams(CUgraphNode hNode, CUDA_KERNEL_NODE_PARAMS_v1 *nodeParams) {
    require(nodeParams != nullptr);
    show(node_of(hNode, CU_GRAPH_NODE_TYPE_KERNEL), *nodeParams);
    return CUDA_SUCCESS;
}

CUresult cuGraphKernelNodeSetParams(CUgraphNode hNode,
                                    const CUDA_KERNEL_NODE_PARAMS_v1 *nodeParams) {
    require(nodeParams != nullptr);
    set_content(hNode, kernel_content(kernel_node(*nodeParams)));
    return CUDA_SUCCESS;
}

CUresult cuGraphExecKernelNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode,
                                        const CUDA_KERNEL_NODE_PARAMS_v1 *nodeParams) {
    require(nodeParams != nullptr);
    set_content(hGraphExec, hNode, kernel_content(kernel_node(*nodeParams)));
    return CUDA_SUCCESS;
}

#if CUDA_VERSION >= 12000
CUresult cuGraphAddKernelNode_v2(CUgraphNode *phGraphNode, CUgraph hGraph,
                                 const CUgraphNode *dependencies, size_t numDependencies,
                                 const CUDA_KERNEL_NODE_PARAMS *nodeParams) {
    require(nodeParams != nullptr);
    new_node(phGraphNode, hGraph, dependencies, numDependencies, nullptr,
             [&](Graph &) { return kernel_content(kernel_node(*nodeParams)); });
    return CUDA_SUCCESS;
}

CUresult cuGraphKernelNodeGetParams_v2(CUgraphNode hNode, CUDA_KERNEL_NODE_PARAMS *nodeParams) {
    require(nodeParams != nullptr);
    show_kernel(node_of(hNode, CU_GRAPH_NODE_TYPE_KERNEL), *nodeParams);
    return CUDA_SUCCESS;
}

CUresult cuGraphKernelNodeSetParams_v2(CUgraphNode hNode,
                                       const CUDA_KERNEL_NODE_PARAMS *nodeParams) {
    require(nodeParams != nullptr);
    set_content(hNode, kernel_content(kernel_node(*nodeParams)));
    return CUDA_SUCCESS;
}

CUresult cuGraphExecKernelNodeSetParams_v2(CUgraphExec hGraphExec, CUgraphNode hNode,
                                           const CUDA_KERNEL_NODE_PARAMS *nodeParams) {
    require(nodeParams != nullptr);
    set_content(hGraphExec, hNode, kernel_content(kernel_node(*nodeParams)));
    return CUDA_SUCCESS;
}
#endif

CUresult cuGraphKernelNodeGetAttribute(CUgraphNode hNode, CUkernelNodeAttrID attr,
                                       CUkernelNodeAttrValue *value_out) {
    require(value_out != nullptr);
    check_attribute(attr);
    Node &node = node_of(hNode);
    require(node.type() == CU_GRAPH_NODE_TYPE_KERNEL, "hNode is not a kernel node");
    const CUlaunchAttribute *attribute = find_attribute(launch_of(node.content), attr);
    *value_out = attribute ? attribute->value : CUkernelNodeAttrValue{};
    return CUDA_SUCCESS;
}

CUresult cuGraphKernelNodeSetAttribute(CUgraphNode hNode, CUkernelNodeAttrID attr,
                                       const CUkernelNodeAttrValue *value) {
    require(value != nullptr);
    check_attribute(attr);
    Node &node = node_of(hNode, CU_GRAPH_NODE_TYPE_KERNEL);
    KernelLaunch launch = launch_of(node.content);
    if (CUlaunchAttribute *attribute = find_attribute(launch, attr)) {
        attribute->value = *value;
    } else {
        CUlaunchAttribute added = {};
        added.id = attr;
        added.value = *value;
        launch.attributes.push_back(added);
    }
    set_launch(node, std::move(launch));
    return CUDA_SUCCESS;
}

CUresult cuGraphKernelNodeCopyAttributes(CUgraphNode dst, CUgraphNode src) {
    Node &to = node_of(dst);
    require(to.type() == CU_GRAPH_NODE_TYPE_KERNEL, "Destination node is not a kernel node");
    KernelLaunch launch = launch_of(to.content);
    launch.attributes = launch_of(node_of(src, CU_GRAPH_NODE_TYPE_KERNEL).content).attributes;
    set_launch(to, std::move(launch));
    return CUDA_SUCCESS;
}

} // namespace driver
} // namespace sim
