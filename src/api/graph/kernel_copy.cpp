#include "kernel_copy.hpp"

#include <cushim/feature.hpp>
#include <cushim/loader.hpp>

#include "api.hpp"
#include "base/call.hpp"
#include "base/state.hpp"

namespace cushim::detail {
namespace {

#if CUDA_VERSION >= 12000
// The older struct knows of modules' kernels only, and is all that older drivers have.
bool has_library_kernels() noexcept {
    return supports(driver_version(), Feature::graph_library_kernels);
}

Result<CUDA_KERNEL_NODE_PARAMS_v2> any_parameters(CUgraphNode of) noexcept {
    CUDA_KERNEL_NODE_PARAMS_v2 native{};
    CUSHIM_TRY_VOID(CUSHIM_DRIVER(cuGraphKernelNodeGetParams, of, &native));
    if (native.kern != nullptr) {
        native.func = nullptr; // it tells both, and takes one
    }
    return native;
}
#endif

Result<CUDA_KERNEL_NODE_PARAMS_v1> module_parameters(CUgraphNode of) noexcept {
    CUDA_KERNEL_NODE_PARAMS_v1 native{};
    CUSHIM_TRY_VOID(CUSHIM_DRIVER(cuGraphKernelNodeGetParams_v1, of, &native));
    return native;
}

Result<void> add(CUgraphNode *node, CUgraph graph, CUgraphNode like) noexcept {
#if CUDA_VERSION >= 12000
    if (has_library_kernels()) {
        CUSHIM_TRY(const auto native, any_parameters(like));
        return CUSHIM_DRIVER(cuGraphAddKernelNode, node, graph, nullptr, 0, &native);
    }
#endif
    CUSHIM_TRY(const auto native, module_parameters(like));
    return CUSHIM_DRIVER(cuGraphAddKernelNode_v1, node, graph, nullptr, 0, &native);
}

Result<void> set(CUgraphNode node, CUgraphNode like) noexcept {
#if CUDA_VERSION >= 12000
    if (has_library_kernels()) {
        CUSHIM_TRY(const auto native, any_parameters(like));
        return CUSHIM_DRIVER(cuGraphKernelNodeSetParams, node, &native);
    }
#endif
    CUSHIM_TRY(const auto native, module_parameters(like));
    return CUSHIM_DRIVER(cuGraphKernelNodeSetParams_v1, node, &native);
}

} // namespace

KernelCopy::~KernelCopy() {
    if (graph_ != nullptr) {
        report_teardown(driver_graphs.destroy(graph_));
    }
}

Result<void> KernelCopy::take(CUgraphNode from) noexcept {
    CUgraph graph = nullptr;
    CUSHIM_TRY_VOID(CUSHIM_DRIVER(cuGraphCreate, &graph, 0));
    graph_ = graph;
    return add(&node_, graph_, from);
}

void KernelCopy::restore(CUgraphNode to) const noexcept {
    (void)set(to, node_);
}

} // namespace cushim::detail
