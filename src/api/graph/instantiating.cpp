// Instantiating graphs, and updating executable graphs from graphs.
#include <cushim/graph.hpp>
#include <cushim/graph_exec.hpp>
#include <cushim/loader.hpp>

#include "base/explained.hpp"
#include "context/requirements.hpp"
#include "exec_state.hpp"
#include "reading.hpp"
#include "relatives.hpp"

namespace cushim {

using namespace detail;

namespace {

// Calls `copy`, which returns whether it copied the graph to the executable graph. If so,
// the latter keeps the graph's resources alive.
template <class Copy>
Result<void> copy_with_uses(GraphExecState &state, GraphState &graph, const Copy &copy) noexcept {
    std::unique_ptr<KeptUses> kept;
    if (!state.is_kept_by_cuda && graph.uses().any()) {
        CUSHIM_TRY_VOID(state.make_uses());
        CUSHIM_TRY(kept, keep_uses(graph.uses().share()));
    }
    const Result<bool> copied = graph.copied(copy, state.is_kept_by_cuda);
    if (copied && *copied) {
        if (state.uses) {
            state.uses->keep(std::move(kept));
        }
    } else if (kept && !copied && state.owned.load(std::memory_order_relaxed) &&
               may_be_done(copied.error())) {
        state.uses->keep_also(std::move(kept)); // it may be updated
    }
    return copied ? Result<void>() : copied.error();
}

struct NativeFailure {
    InstantiateResult result = InstantiateResult::error;
    CUgraphNode node = nullptr;
};

// The name of an option, or of what it needs.
constexpr const char *either(Api api, const char *driver, const char *runtime) noexcept {
    return api == Api::driver ? driver : runtime;
}

// Options that these headers lack.
Result<void> require_headers([[maybe_unused]] Api api,
                             [[maybe_unused]] const InstantiateOptions &options) noexcept {
#if CUDA_VERSION < 12000
    if (options.upload != nullptr) {
        return Error::requires_newer_headers(
            either(api, "cuGraphInstantiateWithParams", "cudaGraphInstantiateWithParams"),
            Version::of(12, 0));
    }
    if (api == Api::runtime && options.device_launch) {
        return Error::requires_newer_headers("cudaGraphInstantiateFlagDeviceLaunch",
                                             Version::of(12, 0));
    }
    if (api == Api::runtime && CUDART_VERSION < 11070 && options.use_node_priority) {
        return Error::requires_newer_headers("cudaGraphInstantiateFlagUseNodePriority",
                                             Version::of(11, 7));
    }
#endif
    return {};
}

// Flags that older drivers reject without a reason.
Result<void> require_options(Api api, const InstantiateOptions &options) noexcept {
    if (api == Api::runtime) { // for the driver, a function that it lacks is reported first
        CUSHIM_TRY_VOID(require_headers(api, options));
    }
    if (options.device_launch) {
        CUSHIM_TRY_VOID(require_feature(Feature::graph_device_launch,
                                        either(api, "CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH",
                                               "cudaGraphInstantiateFlagDeviceLaunch")));
    }
    if (options.use_node_priority) {
        CUSHIM_TRY_VOID(require_feature(Feature::graph_node_priorities,
                                        either(api, "CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY",
                                               "cudaGraphInstantiateFlagUseNodePriority")));
    }
    return require_headers(api, options);
}

// CU_GRAPH_INSTANTIATE_FLAG_..., cudaGraphInstantiateFlag...: older headers lack some.
unsigned long long instantiate_flags(const InstantiateOptions &options) noexcept {
    return (options.auto_free_on_launch ? 1ULL : 0) | (options.upload != nullptr ? 2ULL : 0) |
           (options.device_launch ? 4ULL : 0) | (options.use_node_priority ? 8ULL : 0);
}

#if CUDA_VERSION >= 12000
static_assert(int(cudaGraphInstantiateFlagDeviceLaunch) == 4);
static_assert(int(cudaGraphInstantiateFlagUseNodePriority) == 8);
static_assert(int(cudaGraphInstantiateMultipleDevicesNotSupported) ==
              int(InstantiateResult::multiple_contexts));

// The function that reports why it fails, and the only one that uploads.
template <Api api>
Result<void> instantiate_with_params(CUgraphExec *exec, CUgraph graph,
                                     const InstantiateOptions &options,
                                     NativeFailure &failure) noexcept {
    using Instantiate =
        Both<entry::cuGraphInstantiateWithParams, entry::cudaGraphInstantiateWithParams>;
    In<Both<CUDA_GRAPH_INSTANTIATE_PARAMS, cudaGraphInstantiateParams>, api> params{};
    params.flags = instantiate_flags(options);
    params.result_out = // for earlier failures
        static_cast<decltype(params.result_out)>(InstantiateResult::error);
    const CUstream upload = options.upload != nullptr ? options.upload->native() : nullptr;
    if constexpr (api == Api::driver) {
        params.hUploadStream = upload;
    } else {
        params.uploadStream = upload;
    }
    Result<void> done = call<In<Instantiate, api>>(exec, graph, &params);
    failure.result = static_cast<InstantiateResult>(params.result_out);
    if constexpr (api == Api::driver) {
        failure.node = params.hErrNode_out;
    } else {
        failure.node = params.errNode_out;
    }
    return done;
}
#endif

Result<void> instantiate_native(Api of, CUgraphExec *exec, CUgraph graph,
                                const InstantiateOptions &options,
                                NativeFailure &failure) noexcept {
    const RelativesGuard guard;
    CUSHIM_TRY_VOID(require_options(of, options));
#if CUDA_VERSION >= 12000
    if (of == Api::runtime || options.upload != nullptr ||
        supports(driver_version(), Feature::graph_instantiate_params)) {
        return by_api(of, [&](auto api) {
            return instantiate_with_params<api>(exec, graph, options, failure);
        });
    }
#endif
    // In CUDA 11, one function has flags and the other reports the node.
    const unsigned long long flags = instantiate_flags(options);
    if (flags != 0) {
        return call_of<
            Both<entry::cuGraphInstantiateWithFlags, entry::cudaGraphInstantiateWithFlags>>(
            of, exec, graph, flags);
    }
#if CUDART_VERSION < 12000
    return call_of<Both<entry::cuGraphInstantiate_v2, entry::cudaGraphInstantiate>>(
        of, exec, graph, &failure.node, nullptr, std::size_t(0));
#else
    return call<entry::cuGraphInstantiate_v2>(exec, graph, &failure.node, nullptr, std::size_t(0));
#endif
}

// Null if CUDA reported none. CUDA reports the same for graphs that device code launches and for
// bodies of conditional nodes.
const char *text_of_reason(InstantiateResult result, bool device_launch) noexcept {
    switch (result) {
    case InstantiateResult::invalid_structure:
        return "the structure of the graph is invalid; it may have a cycle";
    case InstantiateResult::node_operation_not_supported:
        return device_launch
                   ? "a node is not supported in a graph that device code launches"
                   : "a node is not supported where it is; the body of a conditional node takes "
                     "kernels, copies and fills of device memory, empty nodes, child graphs and "
                     "conditional nodes";
    case InstantiateResult::multiple_contexts:
        return device_launch ? "the nodes of a graph that device code launches must use one context"
                             : "the nodes in the body of a conditional node must use one context";
    case InstantiateResult::conditional_handle_unused:
        return "a condition of the graph has no conditional node; pass it to add_if_node(), "
               "add_while_node() or add_switch_node()";
    default:
        return nullptr;
    }
}

// The node that CUDA reports as the cause of a failure.
Result<GraphNode> find_node(GraphState &graph, CUgraphNode native) noexcept {
    if (native == nullptr) {
        return GraphNode();
    }
    return with_memory([&] { return graph.identity()->find(graph.graph, native); });
}

[[gnu::cold]] Error not_instantiated(const Error &error, GraphState &graph,
                                     const NativeFailure &why, bool device_launch) noexcept {
    const Result<GraphNode> node = find_node(graph, why.node);
    graph.failure = {why.result, node ? *node : GraphNode()};
    const char *const reason = text_of_reason(why.result, device_launch);
    if (why.node == nullptr) {
        return reason != nullptr ? explained(error, "%s", reason) : error;
    }
    const Result<GraphNodeType> type = native_type(graph.api, why.node);
    return explained(error, "%s: node 0x%llx, type %s",
                     reason != nullptr ? reason : "the graph cannot be instantiated",
                     number_of(why.node), type ? to_text(*type).c_str() : "unknown");
}

} // namespace

Result<GraphExec> Graph::instantiate(const InstantiateOptions &options) const noexcept {
    return named("Graph::instantiate", [&]() noexcept -> Result<GraphExec> {
        CUSHIM_TRY(GraphState *const graph, state_of_graph(*this));
        graph->failure = {};
        if (options.upload != nullptr) {
            CUSHIM_TRY_VOID(require(*options.upload, "the Stream for the upload is empty"));
        }
        CUSHIM_TRY(auto state, with_memory([&] {
                       return make_state<GraphExecState>(*graph, graph->identity());
                   }));
        state->is_kept_by_cuda = options.kept_by_cuda || options.device_launch;
        CUSHIM_TRY_VOID(call_in(graph->context, [&]() -> Result<void> {
            NativeFailure why;
            const auto done = copy_with_uses(*state.operator->(), *graph, [&]() -> Result<bool> {
                CUSHIM_TRY_VOID(
                    instantiate_native(graph->api, &state->exec, graph->graph, options, why));
                return true;
            });
            return done ? Result<void>()
                        : not_instantiated(done.error(), *graph, why, options.device_launch);
        }));
        return own_exec(state);
    });
}

InstantiateFailure Graph::instantiate_failure() const noexcept {
    const GraphState *const state = any_state_of(*this);
    return state != nullptr ? state->failure : InstantiateFailure();
}

// --- updating

namespace {

struct NativeUpdate {
    GraphUpdateResult result = GraphUpdateResult::success;
    CUgraphNode node = nullptr;
    CUgraphNode from = nullptr;
};

// A rejected update is a success with the reason in `update`: CUDA returns
// CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE, and the reason.
template <class Entry, class Status>
Result<void> refused_or(Status status, const NativeUpdate &update) noexcept {
    const bool is_refused = static_cast<int>(status) == CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE &&
                            update.result != GraphUpdateResult::success;
    return is_refused ? Result<void>() : checked<Entry>(status);
}

// The functions before CUDA 12.
template <class Entry, class Native>
Result<void> update_by_older(CUgraphExec exec, CUgraph graph, NativeUpdate &update) noexcept {
    Native result{};
    const auto status = status_of<Entry>(exec, graph, &update.node, &result);
    update.result = static_cast<GraphUpdateResult>(result);
    return refused_or<Entry>(status, update);
}
template <class Entry, class Info>
Result<void> update_by_newer(CUgraphExec exec, CUgraph graph, NativeUpdate &update) noexcept {
    Info info{};
    const auto status = status_of<Entry>(exec, graph, &info);
    update = {static_cast<GraphUpdateResult>(info.result), info.errorNode, info.errorFromNode};
    return refused_or<Entry>(status, update);
}

Result<void> update_native(Api api, CUgraphExec exec, CUgraph graph,
                           NativeUpdate &update) noexcept {
    if (api == Api::driver) {
#if CUDA_VERSION >= 12000
        if (supports(driver_version(), Feature::graph_update_2)) {
            return update_by_newer<entry::cuGraphExecUpdate_v2, CUgraphExecUpdateResultInfo>(
                exec, graph, update);
        }
#endif
        return update_by_older<entry::cuGraphExecUpdate_v1, CUgraphExecUpdateResult>(exec, graph,
                                                                                     update);
    }
#if CUDART_VERSION >= 12000
    CUSHIM_TRY_VOID((update_by_newer<entry::cudaGraphExecUpdate, cudaGraphExecUpdateResultInfo>(
        exec, graph, update)));
#else
    CUSHIM_TRY_VOID((update_by_older<entry::cudaGraphExecUpdate, cudaGraphExecUpdateResult>(
        exec, graph, update)));
#endif
    if (update.result == GraphUpdateResult::success) {
        return {};
    }
    // Not an error here, so the caller's next cudaGetLastError() must not return it.
    const cudaError_t last = status_of<entry::cudaGetLastError>();
    return last == cudaErrorGraphExecUpdateFailure ? Result<void>()
                                                   : checked<entry::cudaGetLastError>(last);
}
static_assert(int(cudaGraphExecUpdateErrorAttributesChanged) ==
              int(GraphUpdateResult::attributes_changed));

} // namespace

Result<GraphUpdate> GraphExec::update(const Graph &graph) noexcept {
    return named("GraphExec::update", [&]() noexcept -> Result<GraphUpdate> {
        CUSHIM_TRY(GraphExecState *const state, state_of_exec(*this));
        CUSHIM_TRY(GraphState *const from, state_of_graph(graph));
        if (from->api != state->api) {
            return other_api(state->api, "the executable graph", "the graph");
        }
        CUSHIM_TRY(const ContextScope scope, state->enter());
        NativeUpdate update;
        CUSHIM_TRY_VOID(copy_with_uses(*state, *from, [&]() noexcept -> Result<bool> {
            CUSHIM_TRY_VOID(update_native(state->api, state->exec, from->graph, update));
            return update.result == GraphUpdateResult::success;
        }));
        CUSHIM_TRY(const GraphNode node, find_node(*from, update.node));
        CUSHIM_TRY(const GraphNode source, find_node(*from, update.from));
        return GraphUpdate{update.result, node, source};
    });
}

} // namespace cushim
