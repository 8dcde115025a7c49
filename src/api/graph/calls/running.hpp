// Executable graphs and captures. Compiled for each API: graph.hpp.
#pragma once

#include "graph/relatives.hpp"

namespace cushim::detail {
namespace {

// CU_GRAPH_INSTANTIATE_FLAG_..., cudaGraphInstantiateFlag...: older headers lack some.
unsigned long long instantiate_flags(const InstantiateOptions &options) noexcept {
    return (options.auto_free_on_launch ? 1ULL : 0) | (options.upload != nullptr ? 2ULL : 0) |
           (options.device_launch ? 4ULL : 0) | (options.use_node_priority ? 8ULL : 0);
}

Result<void> require_options(const InstantiateOptions &options) noexcept {
    if (headers_first) {
        CUSHIM_TRY_VOID(require_headers(options));
    }
    // Flags that older drivers reject without a reason.
    if (options.device_launch) {
        CUSHIM_TRY_VOID(require_feature(Feature::graph_device_launch, device_launch_flag));
    }
    if (options.use_node_priority) {
        CUSHIM_TRY_VOID(require_feature(Feature::graph_node_priorities, use_node_priority_flag));
    }
    return require_headers(options);
}

Result<void> instantiate(CUgraphExec *exec, CUgraph graph, const InstantiateOptions &options,
                         NativeInstantiateFailure *failure) noexcept {
    const RelativesGuard guard;
    CUSHIM_TRY_VOID(require_options(options));
#if CUSHIM_GRAPH_HEADERS >= 12000
    if (instantiates_with_params(options)) {
        CUSHIM_EITHER(CUDA_GRAPH_INSTANTIATE_PARAMS, cudaGraphInstantiateParams) parameters{};
        parameters.flags = instantiate_flags(options);
        parameters.CUSHIM_EITHER(hUploadStream, uploadStream) =
            options.upload != nullptr ? options.upload->native() : nullptr;
        parameters.result_out = // if the call fails earlier
            CUSHIM_EITHER(CUDA_GRAPH_INSTANTIATE_ERROR, cudaGraphInstantiateError);
        Result<void> done = CUSHIM_GRAPH(GraphInstantiateWithParams, exec, graph, &parameters);
        failure->result = static_cast<InstantiateResult>(parameters.result_out);
        failure->node = parameters.CUSHIM_EITHER(hErrNode_out, errNode_out);
        return done;
    }
#endif
    return instantiate_plainly(exec, graph, instantiate_flags(options), failure);
}

Destroyed destroy_exec(CUgraphExec exec) noexcept {
    const RelativesGuard guard;
    return CUSHIM_GRAPH_DESTROY(GraphExecDestroy, exec);
}

Result<void> launch(CUgraphExec exec, CUstream stream) noexcept {
    return CUSHIM_GRAPH(GraphLaunch, exec, stream);
}

Result<void> upload(CUgraphExec exec, CUstream stream) noexcept {
    return CUSHIM_GRAPH(GraphUpload, exec, stream);
}

Result<void> set_enabled([[maybe_unused]] CUgraphExec exec, [[maybe_unused]] CUgraphNode node,
                         [[maybe_unused]] bool enabled) noexcept {
#if CUSHIM_GRAPH_HEADERS >= 11060
    return CUSHIM_GRAPH_NEEDS(Feature::graph_node_enable, GraphNodeSetEnabled, exec, node,
                              enabled ? 1 : 0);
#else
    return Error::requires_newer_headers(CUSHIM_GRAPH_NAME(GraphNodeSetEnabled),
                                         Version::of(11, 6));
#endif
}

Result<void> is_enabled([[maybe_unused]] CUgraphExec exec, [[maybe_unused]] CUgraphNode node,
                        [[maybe_unused]] bool *enabled) noexcept {
#if CUSHIM_GRAPH_HEADERS >= 11060
    unsigned int found = 0;
    CUSHIM_TRY_VOID(
        CUSHIM_GRAPH_NEEDS(Feature::graph_node_enable, GraphNodeGetEnabled, exec, node, &found));
    *enabled = found != 0;
    return {};
#else
    return Error::requires_newer_headers(CUSHIM_GRAPH_NAME(GraphNodeGetEnabled),
                                         Version::of(11, 6));
#endif
}

Result<void> flags([[maybe_unused]] CUgraphExec exec,
                   [[maybe_unused]] unsigned long long *flags) noexcept {
#if CUSHIM_GRAPH_HEADERS >= 12000
    CUSHIM_EITHER(cuuint64_t, unsigned long long) found = 0;
    CUSHIM_TRY_VOID(CUSHIM_GRAPH(GraphExecGetFlags, exec, &found));
    *flags = found;
    return {};
#else
    return Error::requires_newer_headers(CUSHIM_GRAPH_NAME(GraphExecGetFlags), Version::of(12, 0));
#endif
}

// --- capture

using NativeCaptureMode = CUSHIM_EITHER(CUstreamCaptureMode, cudaStreamCaptureMode);

Result<void> begin_capture(CUstream stream, CaptureMode mode) noexcept {
    return CUSHIM_GRAPH(StreamBeginCapture, stream, static_cast<NativeCaptureMode>(mode));
}

Result<void> begin_capture_to([[maybe_unused]] CUstream stream,
                              [[maybe_unused]] const NodePlace &place,
                              [[maybe_unused]] CaptureMode mode) noexcept {
#if CUSHIM_GRAPH_HEADERS >= 12030
    return CUSHIM_GRAPH_NEEDS(Feature::capture_to_graph, StreamBeginCaptureToGraph, stream,
                              place.graph, place.dependencies, nullptr, place.count,
                              static_cast<NativeCaptureMode>(mode));
#else
    return Error::requires_newer_headers(CUSHIM_GRAPH_NAME(StreamBeginCaptureToGraph),
                                         Version::of(12, 3));
#endif
}

Result<void> end_capture(CUstream stream, CUgraph *graph) noexcept {
    return CUSHIM_GRAPH(StreamEndCapture, stream, graph);
}

} // namespace
} // namespace cushim::detail
