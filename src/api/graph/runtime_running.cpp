// Executable graphs and captures by the runtime API.
#include "common_calls.hpp"
#include "relatives.hpp"
#include "runtime.hpp"

namespace cushim::detail {
namespace {

constexpr FlagNames flag_names = {"cudaGraphInstantiateFlagDeviceLaunch",
                                  "cudaGraphInstantiateFlagUseNodePriority"};

#if CUDART_VERSION >= 12000
static_assert(int(cudaGraphInstantiateFlagDeviceLaunch) == 4);
static_assert(int(cudaGraphInstantiateFlagUseNodePriority) == 8);
static_assert(int(cudaGraphInstantiateMultipleDevicesNotSupported) ==
              int(InstantiateResult::multiple_contexts));

Result<void> instantiate(CUgraphExec *exec, CUgraph graph, const InstantiateOptions &options,
                         NativeInstantiateFailure *failure) noexcept {
    const RelativesGuard guard;
    CUSHIM_TRY_VOID(require_flags(options, flag_names));
    cudaGraphInstantiateParams parameters{};
    parameters.flags = instantiate_flags(options);
    parameters.uploadStream = options.upload != nullptr ? options.upload->native() : nullptr;
    parameters.result_out = cudaGraphInstantiateError; // where the call does not get so far
    Result<void> done = CUSHIM_RUNTIME(cudaGraphInstantiateWithParams, exec, graph, &parameters);
    failure->result = static_cast<InstantiateResult>(parameters.result_out);
    failure->node = parameters.errNode_out;
    return done;
}
#else
// What libcudart of CUDA 11 has not, whatever the driver has.
Result<void> require_headers(const InstantiateOptions &options) noexcept {
    if (options.upload != nullptr) {
        return Error::requires_newer_headers("cudaGraphInstantiateWithParams", Version::of(12, 0));
    }
    if (options.device_launch) {
        return Error::requires_newer_headers(flag_names.device_launch, Version::of(12, 0));
    }
    if (CUDART_VERSION < 11070 && options.use_node_priority) {
        return Error::requires_newer_headers(flag_names.use_node_priority, Version::of(11, 7));
    }
    return {};
}

// One function has flags, the other tells the node.
Result<void> instantiate(CUgraphExec *exec, CUgraph graph, const InstantiateOptions &options,
                         NativeInstantiateFailure *failure) noexcept {
    const RelativesGuard guard;
    CUSHIM_TRY_VOID(require_headers(options));
    CUSHIM_TRY_VOID(require_flags(options, flag_names));
    if (const unsigned long long flags = instantiate_flags(options)) {
        return CUSHIM_RUNTIME(cudaGraphInstantiateWithFlags, exec, graph, flags);
    }
    return CUSHIM_RUNTIME(cudaGraphInstantiate, exec, graph, &failure->node, nullptr, 0);
}
#endif

Destroyed destroy(CUgraphExec exec) noexcept {
    return CUSHIM_RUNTIME_DESTROY(cudaGraphExecDestroy, exec, exec);
}

Result<void> launch(CUgraphExec exec, CUstream stream) noexcept {
    return CUSHIM_RUNTIME(cudaGraphLaunch, exec, stream);
}

Result<void> upload(CUgraphExec exec, CUstream stream) noexcept {
    return CUSHIM_RUNTIME(cudaGraphUpload, exec, stream);
}

// --- update

static_assert(int(cudaGraphExecUpdateErrorAttributesChanged) ==
              int(GraphUpdateResult::attributes_changed));

#if CUDART_VERSION >= 12000
cudaError_t call_update(CUgraphExec exec, CUgraph graph, NativeUpdate *update) noexcept {
    cudaGraphExecUpdateResultInfo info{};
    const cudaError_t status = runtime().cudaGraphExecUpdate(exec, graph, &info);
    *update = {static_cast<GraphUpdateResult>(info.result), info.errorNode, info.errorFromNode};
    return status;
}
#else
cudaError_t call_update(CUgraphExec exec, CUgraph graph, NativeUpdate *update) noexcept {
    cudaGraphExecUpdateResult result{};
    const cudaError_t status = runtime().cudaGraphExecUpdate(exec, graph, &update->node, &result);
    update->result = static_cast<GraphUpdateResult>(result);
    return status;
}
#endif

// A refusal is no error to our caller, and must not be what his next cudaGetLastError() finds.
Result<void> forget_refusal() noexcept {
    const cudaError_t last = runtime().cudaGetLastError();
    return last == cudaErrorGraphExecUpdateFailure ? Result<void>()
                                                   : checked(last, entry::cudaGetLastError::name);
}

// CUDA answers a refusal with cudaErrorGraphExecUpdateFailure and the result.
Result<void> update(CUgraphExec exec, CUgraph graph, NativeUpdate *update) noexcept {
    const cudaError_t status = call_update(exec, graph, update);
    if (status == cudaErrorGraphExecUpdateFailure && update->result != GraphUpdateResult::success) {
        return forget_refusal();
    }
    return checked(status, entry::cudaGraphExecUpdate::name);
}

// --- single nodes, flags

Result<void> set_enabled([[maybe_unused]] CUgraphExec exec, [[maybe_unused]] CUgraphNode node,
                         [[maybe_unused]] bool enabled) noexcept {
#if CUDART_VERSION >= 11060
    return CUSHIM_RUNTIME_NEEDS(Feature::graph_node_enable, cudaGraphNodeSetEnabled, exec, node,
                                enabled ? 1 : 0);
#else
    return Error::requires_newer_headers("cudaGraphNodeSetEnabled", Version::of(11, 6));
#endif
}

Result<void> is_enabled([[maybe_unused]] CUgraphExec exec, [[maybe_unused]] CUgraphNode node,
                        [[maybe_unused]] bool *enabled) noexcept {
#if CUDART_VERSION >= 11060
    unsigned int found = 0;
    CUSHIM_TRY_VOID(CUSHIM_RUNTIME_NEEDS(Feature::graph_node_enable, cudaGraphNodeGetEnabled, exec,
                                         node, &found));
    *enabled = found != 0;
    return {};
#else
    return Error::requires_newer_headers("cudaGraphNodeGetEnabled", Version::of(11, 6));
#endif
}

Result<void> flags([[maybe_unused]] CUgraphExec exec,
                   [[maybe_unused]] unsigned long long *flags) noexcept {
#if CUDART_VERSION >= 12000
    return CUSHIM_RUNTIME(cudaGraphExecGetFlags, exec, flags);
#else
    return Error::requires_newer_headers("cudaGraphExecGetFlags", Version::of(12, 0));
#endif
}

// --- capture

static_assert(int(cudaStreamCaptureModeRelaxed) == int(CaptureMode::relaxed));

Result<void> begin_capture(CUstream stream, CaptureMode mode) noexcept {
    return CUSHIM_RUNTIME(cudaStreamBeginCapture, stream, static_cast<cudaStreamCaptureMode>(mode));
}

Result<void> begin_capture_to([[maybe_unused]] CUstream stream,
                              [[maybe_unused]] const NodePlace &place,
                              [[maybe_unused]] CaptureMode mode) noexcept {
#if CUDART_VERSION >= 12030
    return CUSHIM_RUNTIME_NEEDS(Feature::capture_to_graph, cudaStreamBeginCaptureToGraph, stream,
                                place.graph, place.dependencies, nullptr, place.count,
                                static_cast<cudaStreamCaptureMode>(mode));
#else
    return Error::requires_newer_headers("cudaStreamBeginCaptureToGraph", Version::of(12, 3));
#endif
}

Result<void> end_capture(CUstream stream, CUgraph *graph) noexcept {
    return CUSHIM_RUNTIME(cudaStreamEndCapture, stream, graph);
}

} // namespace

const GraphRunning runtime_running = {
    .instantiate = instantiate,
    .destroy = destroy,
    .launch = launch,
    .upload = upload,
    .update = update,
    .set_enabled = set_enabled,
    .is_enabled = is_enabled,
    .flags = flags,
};

const GraphCapture runtime_capture = {
    .begin = begin_capture,
    .begin_to = begin_capture_to,
    .end = end_capture,
};

} // namespace cushim::detail
