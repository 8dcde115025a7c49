// What kernel.cpp and kernel_attributes.cpp share.
#pragma once

#include <cushim/detail/node_kinds.hpp>
#include <cushim/loader.hpp>

#include "graph/kind.hpp"

namespace cushim::detail {

// CUDA's functions for kernel nodes: the driver's for a kernel of a module, the driver's for a
// kernel of a library, and the runtime's. The runtime's take a kernel of a library, a CUkernel,
// since CUDA 12.
struct ModuleKernels {
    using Native = CUDA_KERNEL_NODE_PARAMS_v1;
    using Add = entry::cuGraphAddKernelNode_v1;
    using Set = entry::cuGraphKernelNodeSetParams_v1;
    using SetInExec = entry::cuGraphExecKernelNodeSetParams_v1;
    using Get = entry::cuGraphKernelNodeGetParams_v1;
};
#if CUDA_VERSION >= 12000
struct LibraryKernels {
    using Native = CUDA_KERNEL_NODE_PARAMS_v2;
    using Add = entry::cuGraphAddKernelNode;
    using Set = entry::cuGraphKernelNodeSetParams;
    using SetInExec = entry::cuGraphExecKernelNodeSetParams;
    using Get = entry::cuGraphKernelNodeGetParams;
};
struct RuntimeKernels {
    using Native = cudaKernelNodeParams;
    using Add = entry::cudaGraphAddKernelNode;
    using Set = entry::cudaGraphKernelNodeSetParams;
    using SetInExec = entry::cudaGraphExecKernelNodeSetParams;
};
#else
struct RuntimeKernels {
    using Native = cudaKernelNodeParams;
    using Add = NoKernels;
    using Set = NoKernels;
    using SetInExec = NoKernels;
};
#endif

// Calls use(functions, parameters) with the current parameters of a kernel node. Reads them through
// the driver for both APIs. Recorded: libcudart returns 98 for kernels that the driver loaded,
// although it launches them. For its own kernels it returns host functions, which driver calls
// cannot use.
template <class Use>
Result<void> with_parameters_of(CUgraphNode node, const Use &use) noexcept {
    const auto read = [&]<class Kernels>(Kernels kernels) noexcept -> Result<void> {
        typename Kernels::Native native{};
        CUSHIM_TRY_VOID(call<typename Kernels::Get>(node, &native));
        return use(kernels, native);
    };
#if CUDA_VERSION >= 12000
    if (supports(driver_version(), Feature::graph_library_kernels)) {
        return read(LibraryKernels());
    }
#endif
    return read(ModuleKernels()); // older drivers have no others
}

// A node, in a current context, and its new launch.
struct KernelChange {
    Api api;
    CUgraphNode node;
    const KernelNode &to;
    CUcontext context;
};

/* Calls add(place, node), which adds a node without launch attributes, then sets those of the
 * configuration. If one cannot be set, the node is destroyed. */
Result<void> add_with_attributes(Api api, const NewNode &place, const KernelNode &node,
                                 Result<void> (*add)(const NewNode &,
                                                     const KernelNode &) noexcept) noexcept;

/* unsupported_platform unless the node has exactly the attributes of the configuration, since those
 * of an executable graph's node cannot change. */
Result<void> require_same_attributes(const KernelChange &change) noexcept;

/* Sets the node's parameters and attributes from the configuration. Attributes that it does not
 * request get their defaults, except those that only LaunchConfig::more can name. If a call fails,
 * the node is restored. */
Result<void> change_kernel(const KernelChange &change,
                           Result<void> (*set_parameters)(const KernelChange &) noexcept) noexcept;

} // namespace cushim::detail
