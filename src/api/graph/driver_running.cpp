// Executable graphs and captures by the driver API.
#include "common_calls.hpp"
#include "driver.hpp"
#include "relatives.hpp"

#include <cushim/feature.hpp>
#include <cushim/loader.hpp>

namespace cushim::detail {
namespace {

// As CUDA 11 has it: one function has flags, the other tells the node.
Result<void> instantiate_plainly(CUgraphExec *exec, CUgraph graph, unsigned long long flags,
                                 NativeInstantiateFailure *failure) noexcept {
    if (flags != 0) {
        return CUSHIM_DRIVER(cuGraphInstantiateWithFlags, exec, graph, flags);
    }
    return CUSHIM_DRIVER(cuGraphInstantiate_v2, exec, graph, &failure->node, nullptr, 0);
}

Result<void> instantiate(CUgraphExec *exec, CUgraph graph, const InstantiateOptions &options,
                         NativeInstantiateFailure *failure) noexcept {
    const RelativesGuard guard;
    CUSHIM_TRY_VOID(require_flags(options, {"CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH",
                                            "CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY"}));
    const unsigned long long flags = instantiate_flags(options);
#if CUDA_VERSION >= 12000
    // The newer call says why it fails; and only it uploads.
    if (options.upload != nullptr ||
        supports(driver_version(), Feature::graph_instantiate_params)) {
        CUDA_GRAPH_INSTANTIATE_PARAMS parameters{};
        parameters.flags = flags;
        parameters.hUploadStream = options.upload != nullptr ? options.upload->native() : nullptr;
        parameters.result_out = CUDA_GRAPH_INSTANTIATE_ERROR; // where the call does not get so far
        Result<void> done = CUSHIM_DRIVER(cuGraphInstantiateWithParams, exec, graph, &parameters);
        failure->result = static_cast<InstantiateResult>(parameters.result_out);
        failure->node = parameters.hErrNode_out;
        return done;
    }
#else
    if (options.upload != nullptr) {
        return Error::requires_newer_headers("cuGraphInstantiateWithParams", Version::of(12, 0));
    }
#endif
    return instantiate_plainly(exec, graph, flags, failure);
}

Destroyed destroy(CUgraphExec exec) noexcept {
    return CUSHIM_DESTROY(cuGraphExecDestroy, exec, exec);
}

Result<void> launch(CUgraphExec exec, CUstream stream) noexcept {
    return CUSHIM_DRIVER(cuGraphLaunch, exec, stream);
}

Result<void> upload(CUgraphExec exec, CUstream stream) noexcept {
    return CUSHIM_DRIVER(cuGraphUpload, exec, stream);
}

// CUDA answers a refusal with CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE and the result.
Result<void> refused_or(CUresult status, const char *entry_point, int introduced,
                        GraphUpdateResult result) noexcept {
    if (status == CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE && result != GraphUpdateResult::success) {
        return {};
    }
    return checked(status, entry_point, introduced);
}

Result<void> update(CUgraphExec exec, CUgraph graph, NativeUpdate *update) noexcept {
#if CUDA_VERSION >= 12000
    if (supports(driver_version(), Feature::graph_update_2)) {
        CUgraphExecUpdateResultInfo info{};
        const CUresult status = driver().cuGraphExecUpdate_v2(exec, graph, &info);
        *update = {static_cast<GraphUpdateResult>(info.result), info.errorNode, info.errorFromNode};
        return refused_or(status, entry::cuGraphExecUpdate_v2::name,
                          entry::cuGraphExecUpdate_v2::introduced, update->result);
    }
#endif
    CUgraphExecUpdateResult result{};
    const CUresult status = driver().cuGraphExecUpdate_v1(exec, graph, &update->node, &result);
    update->result = static_cast<GraphUpdateResult>(result);
    return refused_or(status, entry::cuGraphExecUpdate_v1::name,
                      entry::cuGraphExecUpdate_v1::introduced, update->result);
}

Result<void> set_enabled([[maybe_unused]] CUgraphExec exec, [[maybe_unused]] CUgraphNode node,
                         [[maybe_unused]] bool enabled) noexcept {
#if CUDA_VERSION >= 11060
    return CUSHIM_DRIVER(cuGraphNodeSetEnabled, exec, node, enabled ? 1 : 0);
#else
    return Error::requires_newer_headers("cuGraphNodeSetEnabled", Version::of(11, 6));
#endif
}

Result<void> is_enabled([[maybe_unused]] CUgraphExec exec, [[maybe_unused]] CUgraphNode node,
                        [[maybe_unused]] bool *enabled) noexcept {
#if CUDA_VERSION >= 11060
    unsigned int found = 0;
    CUSHIM_TRY_VOID(CUSHIM_DRIVER(cuGraphNodeGetEnabled, exec, node, &found));
    *enabled = found != 0;
    return {};
#else
    return Error::requires_newer_headers("cuGraphNodeGetEnabled", Version::of(11, 6));
#endif
}

Result<void> flags([[maybe_unused]] CUgraphExec exec,
                   [[maybe_unused]] unsigned long long *flags) noexcept {
#if CUDA_VERSION >= 12000
    cuuint64_t found = 0;
    CUSHIM_TRY_VOID(CUSHIM_DRIVER(cuGraphExecGetFlags, exec, &found));
    *flags = found;
    return {};
#else
    return Error::requires_newer_headers("cuGraphExecGetFlags", Version::of(12, 0));
#endif
}

// --- capture

Result<void> begin_capture(CUstream stream, CaptureMode mode) noexcept {
    return CUSHIM_DRIVER(cuStreamBeginCapture, stream, static_cast<CUstreamCaptureMode>(mode));
}

Result<void> begin_capture_to([[maybe_unused]] CUstream stream,
                              [[maybe_unused]] const NodePlace &place,
                              [[maybe_unused]] CaptureMode mode) noexcept {
#if CUDA_VERSION >= 12030
    return CUSHIM_DRIVER(cuStreamBeginCaptureToGraph, stream, place.graph, place.dependencies,
                         nullptr, place.count, static_cast<CUstreamCaptureMode>(mode));
#else
    return Error::requires_newer_headers("cuStreamBeginCaptureToGraph", Version::of(12, 3));
#endif
}

Result<void> end_capture(CUstream stream, CUgraph *graph) noexcept {
    return CUSHIM_DRIVER(cuStreamEndCapture, stream, graph);
}

} // namespace

Result<void> captured_graph(CUstream stream, CUgraph *graph) noexcept {
    CUstreamCaptureStatus status{};
    return CUSHIM_DRIVER(cuStreamGetCaptureInfo_v2, stream, &status, nullptr, graph, nullptr,
                         nullptr);
}

const GraphRunning driver_running = {
    .instantiate = instantiate,
    .destroy = destroy,
    .launch = launch,
    .upload = upload,
    .update = update,
    .set_enabled = set_enabled,
    .is_enabled = is_enabled,
    .flags = flags,
};

const GraphCapture driver_capture = {
    .begin = begin_capture,
    .begin_to = begin_capture_to,
    .end = end_capture,
};

} // namespace cushim::detail
