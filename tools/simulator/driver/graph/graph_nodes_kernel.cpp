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

// Parameters of a kernel node, from any version of the structure.
struct KernelParameters {
    void *function; // CUfunction or CUkernel
    unsigned int grid[3], block[3], shared_bytes;
    void **arguments;
    void **extra;
    CUcontext context;
};

template <class Parameters>
KernelParameters kernel_of(const Parameters &p) {
    KernelParameters kernel = {reinterpret_cast<void *>(p.func),
                               {p.gridDimX, p.gridDimY, p.gridDimZ},
                               {p.blockDimX, p.blockDimY, p.blockDimZ},
                               p.sharedMemBytes,
                               p.kernelParams,
                               p.extra,
                               nullptr};
    if constexpr (requires { p.kern; }) { // a function or a kernel; a kernel may have a context
        require((p.func == nullptr) != (p.kern == nullptr));
        if (p.kern != nullptr) {
            kernel.function = reinterpret_cast<void *>(p.kern);
        }
        if (p.ctx != nullptr) {
            kernel.context = &checked_context(p.ctx);
        }
    }
    return kernel;
}

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
void need_context(const KernelParameters &node) {
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

template <class Parameters>
NodeContent KernelNode::content(const Parameters &parameters) {
    const KernelParameters kernel = kernel_of(parameters);
    require(kernel.function != nullptr);
    need_context(kernel);
    NodeContent content;
    content.context = kernel.context;
    content.work = kernel_work(kernel_launch(kernel.function, kernel.grid, kernel.block,
                                             kernel.shared_bytes, kernel.arguments, kernel.extra),
                               "kernel node");
    CUctx_st *bound = content.context != nullptr ? content.context : kernel_context(content);
    content.home = bound != nullptr ? bound : current_or_null();
    return content;
}

template <class Parameters>
void KernelNode::show(Node &node, Parameters &out) {
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
    if constexpr (requires { out.kern; }) {
        Object *function = Registry::get().find(launch.function);
        if (function != nullptr && function->kind == Kind::kernel) {
            out.func = nullptr;
            out.kern = reinterpret_cast<decltype(out.kern)>(function);
        }
        out.ctx = node.content.context;
    }
}

template NodeContent KernelNode::content(const CUDA_KERNEL_NODE_PARAMS_v1 &);
template void KernelNode::show(Node &, CUDA_KERNEL_NODE_PARAMS_v1 &);
#if CUDA_VERSION >= 12000
template NodeContent KernelNode::content(const CUDA_KERNEL_NODE_PARAMS_v2 &);
template void KernelNode::show(Node &, CUDA_KERNEL_NODE_PARAMS_v2 &);
#endif
#if CUDA_VERSION >= 12030
template NodeContent KernelNode::content(const CUDA_KERNEL_NODE_PARAMS_v3 &);
template void KernelNode::show(Node &, CUDA_KERNEL_NODE_PARAMS_v3 &);
#endif

namespace driver {

EXPORT CUresult cuGraphKernelNodeGetAttribute(CUgraphNode hNode, CUkernelNodeAttrID attr,
                                              OUT CUkernelNodeAttrValue *value_out) {
    require(value_out != nullptr);
    check_attribute(attr);
    Node &node = node_of(hNode);
    require(node.type() == CU_GRAPH_NODE_TYPE_KERNEL, "hNode is not a kernel node");
    const CUlaunchAttribute *attribute = find_attribute(launch_of(node.content), attr);
    *value_out = attribute ? attribute->value : CUkernelNodeAttrValue{};
    return CUDA_SUCCESS;
}

EXPORT CUresult cuGraphKernelNodeSetAttribute(CUgraphNode hNode, CUkernelNodeAttrID attr,
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

EXPORT CUresult cuGraphKernelNodeCopyAttributes(CUgraphNode dst, CUgraphNode src) {
    Node &to = node_of(dst);
    require(to.type() == CU_GRAPH_NODE_TYPE_KERNEL, "Destination node is not a kernel node");
    KernelLaunch launch = launch_of(to.content);
    require(!Registry::get().ended_with_context(launch.function)); // as recorded
    launch.attributes = launch_of(node_of(src, CU_GRAPH_NODE_TYPE_KERNEL).content).attributes;
    set_launch(to, std::move(launch));
    return CUDA_SUCCESS;
}

} // namespace driver
} // namespace sim
