// Runtime kernel nodes, nodes through the generic functions, executable graphs and their changes.
#include "../../runtime_questions.hpp"
#include "graph_tools.hpp"

namespace record::QUESTIONS::runtime {
namespace {

cudaKernelNodeParams launching(void *function) {
    cudaKernelNodeParams launch{};
    launch.func = function;
    launch.gridDim = launch.blockDim = {1, 1, 1};
    return launch;
}

constexpr auto unknown_kind = static_cast<cudaMemcpyKind>(99);

} // namespace

void graph_kernels() {
    if (!begin()) {
        return;
    }
    const Graph in;
    cudaGraphNode_t node = nullptr, other = nullptr;
    cudaKernelNodeParams launch = launching(nullptr), seen{};
    ask("cudaGraphAddKernelNode of null",
        r.cudaGraphAddKernelNode(&node, in.graph, nullptr, 0, &launch));
    launch.func = kernel("empty");
    if (launch.func == nullptr) {
        return;
    }
    ask("cudaGraphAddKernelNode", r.cudaGraphAddKernelNode(&node, in.graph, nullptr, 0, &launch));
    ask("cudaGraphKernelNodeGetParams", r.cudaGraphKernelNodeGetParams(node, &seen));
    ask("cudaGraphKernelNodeGetParams of an empty node",
        r.cudaGraphKernelNodeGetParams(in.empty, &seen));
    launch.blockDim.x = 32;
    ask("cudaGraphKernelNodeSetParams", r.cudaGraphKernelNodeSetParams(node, &launch));
    ask("cudaGraphKernelNodeSetParams of an empty node",
        r.cudaGraphKernelNodeSetParams(in.empty, &launch));
    cudaKernelNodeAttrValue value{};
    const auto cooperative = cudaLaunchAttributeCooperative;
    const auto unknown = static_cast<cudaKernelNodeAttrID>(99);
    ask("cudaGraphKernelNodeGetAttribute",
        r.cudaGraphKernelNodeGetAttribute(node, cooperative, &value));
    note("cooperative", value.cooperative);
    ask("cudaGraphKernelNodeGetAttribute(99)",
        r.cudaGraphKernelNodeGetAttribute(node, unknown, &value));
    value = {};
    value.cooperative = 1;
    ask("cudaGraphKernelNodeSetAttribute",
        r.cudaGraphKernelNodeSetAttribute(node, cooperative, &value));
    ask("cudaGraphKernelNodeSetAttribute(99)",
        r.cudaGraphKernelNodeSetAttribute(node, unknown, &value));
    r.cudaGraphAddKernelNode(&other, in.graph, nullptr, 0, &launch);
    ask("cudaGraphKernelNodeCopyAttributes", r.cudaGraphKernelNodeCopyAttributes(other, node));
    value = {};
    r.cudaGraphKernelNodeGetAttribute(other, cooperative, &value);
    note("cooperative", value.cooperative);
    ask("cudaGraphKernelNodeCopyAttributes to an empty node",
        r.cudaGraphKernelNodeCopyAttributes(in.empty, node));
    cudaGraphExec_t exec = nullptr;
    ask("cudaGraphInstantiateWithFlags", r.cudaGraphInstantiateWithFlags(&exec, in.graph, 0));
    launch.blockDim.x = 64;
    ask("cudaGraphExecKernelNodeSetParams",
        r.cudaGraphExecKernelNodeSetParams(exec, node, &launch));
    ask("cudaGraphExecKernelNodeSetParams of an empty node",
        r.cudaGraphExecKernelNodeSetParams(exec, in.empty, &launch));
    ask("cudaGraphLaunch", r.cudaGraphLaunch(exec, nullptr));
    ask("cudaDeviceSynchronize", r.cudaDeviceSynchronize());
    ask("cudaGraphExecDestroy", r.cudaGraphExecDestroy(exec));
}

// Symbols are host addresses that nvcc's code registers; this program has none.
void graph_symbols() {
    if (!begin()) {
        return;
    }
    const Graph in;
    int no_symbol = 0;
    cudaGraphNode_t node = nullptr, none = nullptr;
    cudaGraphExec_t exec = nullptr;
    const auto to = cudaMemcpyHostToDevice, from = cudaMemcpyDeviceToHost;
    r.cudaGraphAddMemcpyNode1D(&node, in.graph, nullptr, 0, in.p, in.h, 4, to);
    r.cudaGraphInstantiateWithFlags(&exec, in.graph, 0);
    ask("cudaGraphAddMemcpyNodeToSymbol of none",
        r.cudaGraphAddMemcpyNodeToSymbol(&none, in.graph, nullptr, 0, &no_symbol, in.h, 4, 0, to));
    ask("cudaGraphAddMemcpyNodeFromSymbol of none",
        r.cudaGraphAddMemcpyNodeFromSymbol(&none, in.graph, nullptr, 0, in.h, &no_symbol, 4, 0,
                                           from));
    ask("cudaGraphMemcpyNodeSetParamsToSymbol of none",
        r.cudaGraphMemcpyNodeSetParamsToSymbol(node, &no_symbol, in.h, 4, 0, to));
    ask("cudaGraphMemcpyNodeSetParamsFromSymbol of none",
        r.cudaGraphMemcpyNodeSetParamsFromSymbol(node, in.h, &no_symbol, 4, 0, from));
    ask("cudaGraphExecMemcpyNodeSetParamsToSymbol of none",
        r.cudaGraphExecMemcpyNodeSetParamsToSymbol(exec, node, &no_symbol, in.h, 4, 0, to));
    ask("cudaGraphExecMemcpyNodeSetParamsFromSymbol of none",
        r.cudaGraphExecMemcpyNodeSetParamsFromSymbol(exec, node, in.h, &no_symbol, 4, 0, from));
    ask("cudaGraphExecDestroy", r.cudaGraphExecDestroy(exec));
}

// Only with CUDA 13 headers, since older ones declare these functions without edge data.
#if CUDART_VERSION >= 13000
namespace {

void conditional_nodes(const Graph &in) {
    cudaGraphConditionalHandle handle = 0, unused = 0;
    const auto create = [&](cudaGraphConditionalHandle &made, unsigned int flags) {
        return r.cudaGraphConditionalHandleCreate(&made, in.graph, 0, flags);
    };
    ask("cudaGraphConditionalHandleCreate(flags 77)", create(unused, 77));
    ask("cudaGraphConditionalHandleCreate", create(handle, cudaGraphCondAssignDefault));
    cudaGraphNodeParams wanted{};
    wanted.type = cudaGraphNodeTypeConditional;
    wanted.conditional.handle = handle;
    wanted.conditional.type = cudaGraphCondTypeIf;
    wanted.conditional.size = 1;
    cudaGraphNode_t node = nullptr;
    ask("cudaGraphAddNode, conditional",
        r.cudaGraphAddNode(&node, in.graph, nullptr, nullptr, 0, &wanted));
    note("it has a body", wanted.conditional.phGraph_out != nullptr);
}

} // namespace

void generic_nodes() {
    if (!begin()) {
        return;
    }
    const Graph in;
    cudaGraphNode_t node = nullptr, none = nullptr;
    cudaGraphNodeParams wanted{};
    wanted.type = static_cast<cudaGraphNodeType>(99);
    ask("cudaGraphAddNode of type 99",
        r.cudaGraphAddNode(&none, in.graph, nullptr, nullptr, 0, &wanted));
    wanted.type = cudaGraphNodeTypeMemset;
    wanted.memset.dst = in.p;
    wanted.memset.elementSize = 1;
    wanted.memset.width = 64;
    wanted.memset.height = 1;
    ask("cudaGraphAddNode, memset",
        r.cudaGraphAddNode(&node, in.graph, nullptr, nullptr, 0, &wanted));
    wanted.memset.width = 32;
    ask("cudaGraphNodeSetParams", r.cudaGraphNodeSetParams(node, &wanted));
    ask("cudaGraphNodeSetParams of an empty node", r.cudaGraphNodeSetParams(in.empty, &wanted));
    cudaGraphExec_t exec = nullptr;
    ask("cudaGraphInstantiateWithFlags", r.cudaGraphInstantiateWithFlags(&exec, in.graph, 0));
    ask("cudaGraphExecNodeSetParams", r.cudaGraphExecNodeSetParams(exec, node, &wanted));
    ask("cudaGraphExecNodeSetParams of an empty node",
        r.cudaGraphExecNodeSetParams(exec, in.empty, &wanted));
    ask("cudaGraphExecDestroy", r.cudaGraphExecDestroy(exec));
    wanted = {};
    wanted.type = cudaGraphNodeTypeHost;
    wanted.host.fn = nothing;
    ask("cudaGraphAddNode, host",
        r.cudaGraphAddNode(&node, in.graph, &in.empty, nullptr, 1, &wanted));
    conditional_nodes(in);
}
#else
void generic_nodes() {}
#endif

namespace {

// A graph with a node of each type whose parameters can be changed in an executable graph.
struct Changing : Graph {
    cudaGraphNode_t set = nullptr, copy = nullptr, line = nullptr, row = nullptr, call = nullptr,
                    child = nullptr, recording = nullptr, waiting = nullptr;
    cudaGraph_t inner = nullptr;
    cudaEvent_t event = nullptr;
    cudaMemsetParams fill = filling(p);
    cudaMemcpy3DParms block = copying(p, h), line_of = copying(p, h);
    cudaHostNodeParams host{nothing, nullptr};

    Changing() {
        cudaGraphNode_t inside = nullptr;
        r.cudaEventCreate(&event);
        r.cudaGraphCreate(&inner, 0);
        r.cudaGraphAddEmptyNode(&inside, inner, nullptr, 0);
        r.cudaGraphAddMemsetNode(&set, graph, nullptr, 0, &fill);
        r.cudaGraphAddMemcpyNode(&copy, graph, &set, 1, &block);
        line_of.extent = {8, 1, 1};
        r.cudaGraphAddMemcpyNode(&line, graph, &copy, 1, &line_of);
        r.cudaGraphAddMemcpyNode1D(&row, graph, &line, 1, p, h, 64, cudaMemcpyHostToDevice);
        r.cudaGraphAddHostNode(&call, graph, &row, 1, &host);
        r.cudaGraphAddChildGraphNode(&child, graph, &call, 1, inner);
        r.cudaGraphAddEventRecordNode(&recording, graph, &child, 1, event);
        r.cudaGraphAddEventWaitNode(&waiting, graph, &recording, 1, event);
    }
};

void change_memory(Changing &in, cudaGraphExec_t exec) {
    in.fill.value = 2;
    ask("cudaGraphExecMemsetNodeSetParams",
        r.cudaGraphExecMemsetNodeSetParams(exec, in.set, &in.fill));
    ask("cudaGraphExecMemsetNodeSetParams of an empty node",
        r.cudaGraphExecMemsetNodeSetParams(exec, in.empty, &in.fill));
    ask("cudaGraphExecMemcpyNodeSetParams of a row",
        r.cudaGraphExecMemcpyNodeSetParams(exec, in.line, &in.line_of));
    ask("cudaGraphExecMemcpyNodeSetParams of a block",
        r.cudaGraphExecMemcpyNodeSetParams(exec, in.copy, &in.block));
    ask("cudaGraphExecMemcpyNodeSetParams of an empty node",
        r.cudaGraphExecMemcpyNodeSetParams(exec, in.empty, &in.block));
    ask("cudaGraphExecMemcpyNodeSetParams1D",
        r.cudaGraphExecMemcpyNodeSetParams1D(exec, in.row, in.p, in.h, 32, cudaMemcpyHostToDevice));
    ask("cudaGraphExecMemcpyNodeSetParams1D, kind 99",
        r.cudaGraphExecMemcpyNodeSetParams1D(exec, in.row, in.p, in.h, 32, unknown_kind));
}

void change_others(Changing &in, cudaGraphExec_t exec) {
    ask("cudaGraphExecHostNodeSetParams",
        r.cudaGraphExecHostNodeSetParams(exec, in.call, &in.host));
    ask("cudaGraphExecHostNodeSetParams of an empty node",
        r.cudaGraphExecHostNodeSetParams(exec, in.empty, &in.host));
    ask("cudaGraphExecChildGraphNodeSetParams",
        r.cudaGraphExecChildGraphNodeSetParams(exec, in.child, in.inner));
    ask("cudaGraphExecChildGraphNodeSetParams of an empty node",
        r.cudaGraphExecChildGraphNodeSetParams(exec, in.empty, in.inner));
    ask("cudaGraphExecEventRecordNodeSetEvent",
        r.cudaGraphExecEventRecordNodeSetEvent(exec, in.recording, in.event));
    ask("cudaGraphExecEventRecordNodeSetEvent of an empty node",
        r.cudaGraphExecEventRecordNodeSetEvent(exec, in.empty, in.event));
    ask("cudaGraphExecEventWaitNodeSetEvent",
        r.cudaGraphExecEventWaitNodeSetEvent(exec, in.waiting, in.event));
    ask("cudaGraphExecEventWaitNodeSetEvent of an empty node",
        r.cudaGraphExecEventWaitNodeSetEvent(exec, in.empty, in.event));
    unsigned int enabled = 77;
    ask("cudaGraphNodeGetEnabled", r.cudaGraphNodeGetEnabled(exec, in.set, &enabled));
    note("enabled", enabled);
    ask("cudaGraphNodeSetEnabled(0)", r.cudaGraphNodeSetEnabled(exec, in.set, 0));
    r.cudaGraphNodeGetEnabled(exec, in.set, &enabled);
    note("enabled", enabled);
    ask("cudaGraphNodeSetEnabled of an empty node", r.cudaGraphNodeSetEnabled(exec, in.empty, 0));
    ask("cudaGraphNodeGetEnabled of an empty node",
        r.cudaGraphNodeGetEnabled(exec, in.empty, &enabled));
}

} // namespace

void graph_changes() {
    if (!begin()) {
        return;
    }
    Changing in;
    cudaGraphExec_t exec = nullptr;
    ask("cudaGraphInstantiateWithFlags(0x100)",
        r.cudaGraphInstantiateWithFlags(&exec, in.graph, 0x100));
    ask("cudaGraphInstantiateWithFlags", r.cudaGraphInstantiateWithFlags(&exec, in.graph, 0));
    change_memory(in, exec);
    change_others(in, exec);
    ask("cudaGraphLaunch", r.cudaGraphLaunch(exec, nullptr));
    ask("cudaDeviceSynchronize", r.cudaDeviceSynchronize());
    ask("cudaGraphExecDestroy", r.cudaGraphExecDestroy(exec));
    r.cudaGraphDestroy(in.inner);
}

namespace {

void update(const char *what, cudaGraphExec_t exec, cudaGraph_t graph) {
#if CUDART_VERSION >= 12000
    cudaGraphExecUpdateResultInfo info{};
    ask(what, r.cudaGraphExecUpdate(exec, graph, &info));
    note("result", info.result);
#else
    cudaGraphExecUpdateResult result{};
    cudaGraphNode_t wrong = nullptr;
    ask(what, r.cudaGraphExecUpdate(exec, graph, &wrong, &result));
    note("result", result);
#endif
}

} // namespace

void graph_updates() {
    if (!begin()) {
        return;
    }
    const Graph in;
    cudaGraphExec_t exec = nullptr;
    cudaGraphNode_t node = nullptr, more = nullptr;
    cudaMemsetParams fill = filling(in.p);
    r.cudaGraphAddMemsetNode(&node, in.graph, &in.empty, 1, &fill);
#if CUDART_VERSION >= 12000
    ask("cudaGraphInstantiate(0x100)", r.cudaGraphInstantiate(&exec, in.graph, 0x100));
    ask("cudaGraphInstantiate", r.cudaGraphInstantiate(&exec, in.graph, 0));
    unsigned long long flags = 77;
    ask("cudaGraphExecGetFlags", r.cudaGraphExecGetFlags(exec, &flags));
    note("flags", static_cast<long long>(flags));
    ask("cudaGraphExecGetFlags(null)", r.cudaGraphExecGetFlags(nullptr, &flags));
#else
    ask("cudaGraphInstantiate", r.cudaGraphInstantiate(&exec, in.graph, nullptr, nullptr, 0));
#endif
    update("cudaGraphExecUpdate by its own graph", exec, in.graph);
    fill.value = 3;
    r.cudaGraphMemsetNodeSetParams(node, &fill);
    update("cudaGraphExecUpdate of a value", exec, in.graph);
    unlink(in.graph, in.empty, node);
    update("cudaGraphExecUpdate of fewer edges", exec, in.graph);
    r.cudaGraphAddEmptyNode(&more, in.graph, nullptr, 0);
    update("cudaGraphExecUpdate of more nodes", exec, in.graph);
    cudaGraph_t other = nullptr;
    r.cudaGraphCreate(&other, 0);
    update("cudaGraphExecUpdate by an empty graph", exec, other);
    r.cudaGraphDestroy(other);
    ask("cudaGraphLaunch", r.cudaGraphLaunch(exec, nullptr));
    ask("cudaGraphExecDestroy(null)", r.cudaGraphExecDestroy(nullptr));
    ask("cudaGraphExecDestroy", r.cudaGraphExecDestroy(exec));
}

void graph_launches() {
    if (!begin()) {
        return;
    }
    const Graph in;
    cudaGraphExec_t exec = nullptr;
    cudaGraphNode_t node = nullptr;
    cudaStream_t s = nullptr;
    cudaMemsetParams fill = filling(in.p);
    r.cudaStreamCreate(&s);
    r.cudaGraphAddMemsetNode(&node, in.graph, nullptr, 0, &fill);
    ask("cudaGraphInstantiateWithFlags", r.cudaGraphInstantiateWithFlags(&exec, in.graph, 0));
    ask("cudaGraphUpload", r.cudaGraphUpload(exec, s));
    ask("cudaGraphUpload(null)", r.cudaGraphUpload(nullptr, s));
    ask("cudaGraphLaunch", r.cudaGraphLaunch(exec, s));
    ask("cudaGraphLaunch in the null stream", r.cudaGraphLaunch(exec, nullptr));
    ask("cudaGraphLaunch(null)", r.cudaGraphLaunch(nullptr, s));
    ask("cudaStreamSynchronize", r.cudaStreamSynchronize(s));
#if CUDART_VERSION >= 12000
    cudaGraphExec_t other = nullptr;
    cudaGraphInstantiateParams parameters{};
    parameters.flags = cudaGraphInstantiateFlagUpload;
    parameters.uploadStream = s;
    ask("cudaGraphInstantiateWithParams",
        r.cudaGraphInstantiateWithParams(&other, in.graph, &parameters));
    note("result", parameters.result_out);
    ask("cudaGraphLaunch", r.cudaGraphLaunch(other, s));
    ask("cudaStreamSynchronize", r.cudaStreamSynchronize(s));
    ask("cudaGraphExecDestroy", r.cudaGraphExecDestroy(other));
    parameters.flags = 0x100;
    ask("cudaGraphInstantiateWithParams(0x100)",
        r.cudaGraphInstantiateWithParams(&other, in.graph, &parameters));
    note("result", parameters.result_out);
#endif
    ask("cudaGraphExecDestroy", r.cudaGraphExecDestroy(exec));
    ask("cudaStreamDestroy", r.cudaStreamDestroy(s));
}

// No other API shares the semaphore, so no graph with it is launched.
void semaphore_nodes() {
    if (!begin()) {
        return;
    }
    const Graph in;
    std::size_t size = 0;
    cudaExternalSemaphoreHandleDesc handle{};
    cudaExternalSemaphore_t semaphore = nullptr;
    handle.type = cudaExternalSemaphoreHandleTypeOpaqueFd;
    handle.handle.fd = shared_descriptor(size);
    if (r.cudaImportExternalSemaphore(&semaphore, &handle) != cudaSuccess) {
        return;
    }
    cudaExternalSemaphoreSignalParams signal{};
    cudaExternalSemaphoreWaitParams wait{};
    cudaExternalSemaphoreSignalNodeParams signals{&semaphore, &signal, 1}, signals_seen{};
    cudaExternalSemaphoreWaitNodeParams waits{&semaphore, &wait, 1}, waits_seen{};
    cudaGraphNode_t signalling = nullptr, waiting = nullptr;
    ask("cudaGraphAddExternalSemaphoresSignalNode",
        r.cudaGraphAddExternalSemaphoresSignalNode(&signalling, in.graph, nullptr, 0, &signals));
    ask("cudaGraphAddExternalSemaphoresSignalNode after another graph's node", [&] {
        const Graph other;
        cudaGraphNode_t none = nullptr;
        return r.cudaGraphAddExternalSemaphoresSignalNode(&none, in.graph, &other.empty, 1,
                                                          &signals);
    }());
    ask("cudaGraphAddExternalSemaphoresWaitNode",
        r.cudaGraphAddExternalSemaphoresWaitNode(&waiting, in.graph, &signalling, 1, &waits));
    ask("cudaGraphAddExternalSemaphoresWaitNode after another graph's node", [&] {
        const Graph other;
        cudaGraphNode_t none = nullptr;
        return r.cudaGraphAddExternalSemaphoresWaitNode(&none, in.graph, &other.empty, 1, &waits);
    }());
    ask("cudaGraphExternalSemaphoresSignalNodeGetParams",
        r.cudaGraphExternalSemaphoresSignalNodeGetParams(signalling, &signals_seen));
    note("semaphores", signals_seen.numExtSems);
    ask("cudaGraphExternalSemaphoresSignalNodeGetParams of an empty node",
        r.cudaGraphExternalSemaphoresSignalNodeGetParams(in.empty, &signals_seen));
    ask("cudaGraphExternalSemaphoresWaitNodeGetParams",
        r.cudaGraphExternalSemaphoresWaitNodeGetParams(waiting, &waits_seen));
    note("semaphores", waits_seen.numExtSems);
    ask("cudaGraphExternalSemaphoresWaitNodeGetParams of an empty node",
        r.cudaGraphExternalSemaphoresWaitNodeGetParams(in.empty, &waits_seen));
    ask("cudaGraphExternalSemaphoresSignalNodeSetParams",
        r.cudaGraphExternalSemaphoresSignalNodeSetParams(signalling, &signals));
    ask("cudaGraphExternalSemaphoresSignalNodeSetParams of an empty node",
        r.cudaGraphExternalSemaphoresSignalNodeSetParams(in.empty, &signals));
    ask("cudaGraphExternalSemaphoresWaitNodeSetParams",
        r.cudaGraphExternalSemaphoresWaitNodeSetParams(waiting, &waits));
    ask("cudaGraphExternalSemaphoresWaitNodeSetParams of an empty node",
        r.cudaGraphExternalSemaphoresWaitNodeSetParams(in.empty, &waits));
    cudaGraphExec_t exec = nullptr;
    ask("cudaGraphInstantiateWithFlags", r.cudaGraphInstantiateWithFlags(&exec, in.graph, 0));
    ask("cudaGraphExecExternalSemaphoresSignalNodeSetParams",
        r.cudaGraphExecExternalSemaphoresSignalNodeSetParams(exec, signalling, &signals));
    ask("cudaGraphExecExternalSemaphoresSignalNodeSetParams of an empty node",
        r.cudaGraphExecExternalSemaphoresSignalNodeSetParams(exec, in.empty, &signals));
    ask("cudaGraphExecExternalSemaphoresWaitNodeSetParams",
        r.cudaGraphExecExternalSemaphoresWaitNodeSetParams(exec, waiting, &waits));
    ask("cudaGraphExecExternalSemaphoresWaitNodeSetParams of an empty node",
        r.cudaGraphExecExternalSemaphoresWaitNodeSetParams(exec, in.empty, &waits));
    ask("cudaGraphExecDestroy", r.cudaGraphExecDestroy(exec));
}

} // namespace record::QUESTIONS::runtime
