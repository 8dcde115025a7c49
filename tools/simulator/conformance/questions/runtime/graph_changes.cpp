// Runtime kernel nodes, nodes through the generic functions, executable graphs and their changes.
#include "../../runtime_questions.hpp"
#include "graph_tools.hpp"

namespace record::QUESTIONS::runtime {
namespace {

cudaKernelNodeParams launching(void *function) {
    cudaKernelNodeParams launch{.func = function, .gridDim = {1, 1, 1}, .blockDim = {1, 1, 1}};
    return launch;
}

constexpr auto unknown_kind = static_cast<cudaMemcpyKind>(99);

} // namespace

SECTION_ONCE("graph_kernels", begin) {
    const Graph in;
    cudaGraphNode_t node = nullptr;
    cudaKernelNodeParams launch = launching(nullptr), seen{};
    ASK(cudaGraphAddKernelNode, " of null", &node, in.graph, nullptr, 0, &launch);
    launch.func = kernel("empty");
    if (launch.func == nullptr) {
        return;
    }
    ASK(cudaGraphAddKernelNode, "", &node, in.graph, nullptr, 0, &launch);
    ASK(cudaGraphKernelNodeGetParams, "", node, &seen);
    ASK(cudaGraphKernelNodeGetParams, " of an empty node", in.empty, &seen);
    launch.blockDim.x = 32;
    ASK(cudaGraphKernelNodeSetParams, "", node, &launch);
    ASK(cudaGraphKernelNodeSetParams, " of an empty node", in.empty, &launch);
    cudaKernelNodeAttrValue value{};
    const auto cooperative = cudaLaunchAttributeCooperative;
    const auto unknown = static_cast<cudaKernelNodeAttrID>(99);
    ASK(cudaGraphKernelNodeGetAttribute, "", node, cooperative, &value);
    note("cooperative", value.cooperative);
    ASK(cudaGraphKernelNodeGetAttribute, "(99)", node, unknown, &value);
    value = {};
    value.cooperative = 1;
    ASK(cudaGraphKernelNodeSetAttribute, "", node, cooperative, &value);
    ASK(cudaGraphKernelNodeSetAttribute, "(99)", node, unknown, &value);
    cudaGraphNode_t other = MAKE(cudaGraphAddKernelNode, in.graph, nullptr, 0, &launch);
    ASK(cudaGraphKernelNodeCopyAttributes, "", other, node);
    value = {};
    r.cudaGraphKernelNodeGetAttribute(other, cooperative, &value);
    note("cooperative", value.cooperative);
    ASK(cudaGraphKernelNodeCopyAttributes, " to an empty node", in.empty, node);
    cudaGraphExec_t exec = nullptr;
    ASK(cudaGraphInstantiateWithFlags, "", &exec, in.graph, 0);
    launch.blockDim.x = 64;
    ASK(cudaGraphExecKernelNodeSetParams, "", exec, node, &launch);
    ASK(cudaGraphExecKernelNodeSetParams, " of an empty node", exec, in.empty, &launch);
    ASK(cudaGraphLaunch, "", exec, nullptr);
    ASK(cudaDeviceSynchronize, "");
    ASK(cudaGraphExecDestroy, "", exec);
}

// Symbols are host addresses that nvcc's code registers; this program has none.
SECTION_ONCE("graph_symbols", begin) {
    const Graph in;
    int no_symbol = 0;
    cudaGraphNode_t none = nullptr;
    const auto to = cudaMemcpyHostToDevice, from = cudaMemcpyDeviceToHost;
    cudaGraphNode_t node = MAKE(cudaGraphAddMemcpyNode1D, in.graph, nullptr, 0, in.p, in.h, 4, to);
    cudaGraphExec_t exec = MAKE(cudaGraphInstantiateWithFlags, in.graph, 0);
    ASK(cudaGraphAddMemcpyNodeToSymbol, " of none", &none, in.graph, nullptr, 0, &no_symbol, in.h,
        4, 0, to);
    ASK(cudaGraphAddMemcpyNodeFromSymbol, " of none", &none, in.graph, nullptr, 0, in.h, &no_symbol,
        4, 0, from);
    ASK(cudaGraphMemcpyNodeSetParamsToSymbol, " of none", node, &no_symbol, in.h, 4, 0, to);
    ASK(cudaGraphMemcpyNodeSetParamsFromSymbol, " of none", node, in.h, &no_symbol, 4, 0, from);
    ASK(cudaGraphExecMemcpyNodeSetParamsToSymbol, " of none", exec, node, &no_symbol, in.h, 4, 0,
        to);
    ASK(cudaGraphExecMemcpyNodeSetParamsFromSymbol, " of none", exec, node, in.h, &no_symbol, 4, 0,
        from);
    ASK(cudaGraphExecDestroy, "", exec);
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
    ASK(cudaGraphAddNode, ", conditional", &node, in.graph, nullptr, nullptr, 0, &wanted);
    note("it has a body", wanted.conditional.phGraph_out != nullptr);
}

} // namespace

SECTION_ONCE("generic_nodes", begin) {
    const Graph in;
    cudaGraphNode_t node = nullptr, none = nullptr;
    cudaGraphNodeParams wanted{};
    wanted.type = static_cast<cudaGraphNodeType>(99);
    ASK(cudaGraphAddNode, " of type 99", &none, in.graph, nullptr, nullptr, 0, &wanted);
    wanted.type = cudaGraphNodeTypeMemset;
    wanted.memset.dst = in.p;
    wanted.memset.elementSize = 1;
    wanted.memset.width = 64;
    wanted.memset.height = 1;
    ASK(cudaGraphAddNode, ", memset", &node, in.graph, nullptr, nullptr, 0, &wanted);
    wanted.memset.width = 32;
    ASK(cudaGraphNodeSetParams, "", node, &wanted);
    ASK(cudaGraphNodeSetParams, " of an empty node", in.empty, &wanted);
    cudaGraphExec_t exec = nullptr;
    ASK(cudaGraphInstantiateWithFlags, "", &exec, in.graph, 0);
    ASK(cudaGraphExecNodeSetParams, "", exec, node, &wanted);
    ASK(cudaGraphExecNodeSetParams, " of an empty node", exec, in.empty, &wanted);
    ASK(cudaGraphExecDestroy, "", exec);
    wanted = {};
    wanted.type = cudaGraphNodeTypeHost;
    wanted.host.fn = nothing;
    ASK(cudaGraphAddNode, ", host", &node, in.graph, &in.empty, nullptr, 1, &wanted);
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
        r.cudaEventCreate(&event);
        r.cudaGraphCreate(&inner, 0);
        MAKE(cudaGraphAddEmptyNode, inner, nullptr, 0);
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
    ASK(cudaGraphExecMemsetNodeSetParams, "", exec, in.set, &in.fill);
    ASK(cudaGraphExecMemsetNodeSetParams, " of an empty node", exec, in.empty, &in.fill);
    ASK(cudaGraphExecMemcpyNodeSetParams, " of a row", exec, in.line, &in.line_of);
    ASK(cudaGraphExecMemcpyNodeSetParams, " of a block", exec, in.copy, &in.block);
    ASK(cudaGraphExecMemcpyNodeSetParams, " of an empty node", exec, in.empty, &in.block);
    ASK(cudaGraphExecMemcpyNodeSetParams1D, "", exec, in.row, in.p, in.h, 32,
        cudaMemcpyHostToDevice);
    ASK(cudaGraphExecMemcpyNodeSetParams1D, ", kind 99", exec, in.row, in.p, in.h, 32,
        unknown_kind);
}

void change_others(Changing &in, cudaGraphExec_t exec) {
    ASK(cudaGraphExecHostNodeSetParams, "", exec, in.call, &in.host);
    ASK(cudaGraphExecHostNodeSetParams, " of an empty node", exec, in.empty, &in.host);
    ASK(cudaGraphExecChildGraphNodeSetParams, "", exec, in.child, in.inner);
    ASK(cudaGraphExecChildGraphNodeSetParams, " of an empty node", exec, in.empty, in.inner);
    ASK(cudaGraphExecEventRecordNodeSetEvent, "", exec, in.recording, in.event);
    ASK(cudaGraphExecEventRecordNodeSetEvent, " of an empty node", exec, in.empty, in.event);
    ASK(cudaGraphExecEventWaitNodeSetEvent, "", exec, in.waiting, in.event);
    ASK(cudaGraphExecEventWaitNodeSetEvent, " of an empty node", exec, in.empty, in.event);
    unsigned int enabled = 77;
    ASK(cudaGraphNodeGetEnabled, "", exec, in.set, &enabled).note("enabled", enabled);
    ASK(cudaGraphNodeSetEnabled, "(0)", exec, in.set, 0);
    r.cudaGraphNodeGetEnabled(exec, in.set, &enabled);
    note("enabled", enabled);
    ASK(cudaGraphNodeSetEnabled, " of an empty node", exec, in.empty, 0);
    ASK(cudaGraphNodeGetEnabled, " of an empty node", exec, in.empty, &enabled);
}

} // namespace

SECTION_ONCE("graph_changes", begin) {
    Changing in;
    cudaGraphExec_t exec = nullptr;
    ASK(cudaGraphInstantiateWithFlags, "(0x100)", &exec, in.graph, 0x100);
    ASK(cudaGraphInstantiateWithFlags, "", &exec, in.graph, 0);
    change_memory(in, exec);
    change_others(in, exec);
    ASK(cudaGraphLaunch, "", exec, nullptr);
    ASK(cudaDeviceSynchronize, "");
    ASK(cudaGraphExecDestroy, "", exec);
    r.cudaGraphDestroy(in.inner);
}

namespace {

void update(const char *what, cudaGraphExec_t exec, cudaGraph_t graph) {
#if CUDART_VERSION >= 12000
    cudaGraphExecUpdateResultInfo info{};
    ask(what, r.cudaGraphExecUpdate(exec, graph, &info)).note("result", info.result);
#else
    cudaGraphExecUpdateResult result{};
    cudaGraphNode_t wrong = nullptr;
    ask(what, r.cudaGraphExecUpdate(exec, graph, &wrong, &result)).note("result", result);
#endif
}

} // namespace

SECTION_ONCE("graph_updates", begin) {
    const Graph in;
    cudaGraphExec_t exec = nullptr;
    cudaGraphNode_t more = nullptr;
    cudaMemsetParams fill = filling(in.p);
    cudaGraphNode_t node = MAKE(cudaGraphAddMemsetNode, in.graph, &in.empty, 1, &fill);
#if CUDART_VERSION >= 12000
    ASK(cudaGraphInstantiate, "(0x100)", &exec, in.graph, 0x100);
    ASK(cudaGraphInstantiate, "", &exec, in.graph, 0);
    unsigned long long flags = 77;
    ASK(cudaGraphExecGetFlags, "", exec, &flags).note("flags", flags);
    ASK(cudaGraphExecGetFlags, "(null)", nullptr, &flags);
#else
    ASK(cudaGraphInstantiate, "", &exec, in.graph, nullptr, nullptr, 0);
#endif
    update("cudaGraphExecUpdate by its own graph", exec, in.graph);
    fill.value = 3;
    r.cudaGraphMemsetNodeSetParams(node, &fill);
    update("cudaGraphExecUpdate of a value", exec, in.graph);
    unlink(in.graph, in.empty, node);
    update("cudaGraphExecUpdate of fewer edges", exec, in.graph);
    r.cudaGraphAddEmptyNode(&more, in.graph, nullptr, 0);
    update("cudaGraphExecUpdate of more nodes", exec, in.graph);
    cudaGraph_t other = MAKE(cudaGraphCreate, 0);
    update("cudaGraphExecUpdate by an empty graph", exec, other);
    r.cudaGraphDestroy(other);
    ASK(cudaGraphLaunch, "", exec, nullptr);
    ASK(cudaGraphExecDestroy, "(null)", nullptr);
    ASK(cudaGraphExecDestroy, "", exec);
}

SECTION("graph_launches", begin) {
    const Graph in;
    cudaGraphExec_t exec = nullptr;
    cudaMemsetParams fill = filling(in.p);
    cudaStream_t s = MAKE(cudaStreamCreate);
    MAKE(cudaGraphAddMemsetNode, in.graph, nullptr, 0, &fill);
    ASK(cudaGraphInstantiateWithFlags, "", &exec, in.graph, 0);
    ASK(cudaGraphUpload, "", exec, s);
    ASK(cudaGraphUpload, "(null)", nullptr, s);
    ASK(cudaGraphLaunch, "", exec, s);
    ASK(cudaGraphLaunch, " in the null stream", exec, nullptr);
    ASK(cudaGraphLaunch, "(null)", nullptr, s);
    ASK(cudaStreamSynchronize, "", s);
#if CUDART_VERSION >= 12000
    cudaGraphExec_t other = nullptr;
    cudaGraphInstantiateParams parameters{.flags = cudaGraphInstantiateFlagUpload,
                                          .uploadStream = s};
    ASK(cudaGraphInstantiateWithParams, "", &other, in.graph, &parameters);
    note("result", parameters.result_out);
    ASK(cudaGraphLaunch, "", other, s);
    ASK(cudaStreamSynchronize, "", s);
    ASK(cudaGraphExecDestroy, "", other);
    parameters.flags = 0x100;
    ASK(cudaGraphInstantiateWithParams, "(0x100)", &other, in.graph, &parameters);
    note("result", parameters.result_out);
#endif
    ASK(cudaGraphExecDestroy, "", exec);
    ASK(cudaStreamDestroy, "", s);
}

// No other API shares the semaphore, so no graph with it is launched.
SECTION_ONCE("semaphore_nodes", begin) {
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
    ASK(cudaGraphAddExternalSemaphoresSignalNode, "", &signalling, in.graph, nullptr, 0, &signals);
    ask("cudaGraphAddExternalSemaphoresSignalNode after another graph's node", [&] {
        const Graph other;
        cudaGraphNode_t none = nullptr;
        return r.cudaGraphAddExternalSemaphoresSignalNode(&none, in.graph, &other.empty, 1,
                                                          &signals);
    }());
    ASK(cudaGraphAddExternalSemaphoresWaitNode, "", &waiting, in.graph, &signalling, 1, &waits);
    ask("cudaGraphAddExternalSemaphoresWaitNode after another graph's node", [&] {
        const Graph other;
        cudaGraphNode_t none = nullptr;
        return r.cudaGraphAddExternalSemaphoresWaitNode(&none, in.graph, &other.empty, 1, &waits);
    }());
    ASK(cudaGraphExternalSemaphoresSignalNodeGetParams, "", signalling, &signals_seen);
    note("semaphores", signals_seen.numExtSems);
    ASK(cudaGraphExternalSemaphoresSignalNodeGetParams, " of an empty node", in.empty,
        &signals_seen);
    ASK(cudaGraphExternalSemaphoresWaitNodeGetParams, "", waiting, &waits_seen);
    note("semaphores", waits_seen.numExtSems);
    ASK(cudaGraphExternalSemaphoresWaitNodeGetParams, " of an empty node", in.empty, &waits_seen);
    ASK(cudaGraphExternalSemaphoresSignalNodeSetParams, "", signalling, &signals);
    ASK(cudaGraphExternalSemaphoresSignalNodeSetParams, " of an empty node", in.empty, &signals);
    ASK(cudaGraphExternalSemaphoresWaitNodeSetParams, "", waiting, &waits);
    ASK(cudaGraphExternalSemaphoresWaitNodeSetParams, " of an empty node", in.empty, &waits);
    cudaGraphExec_t exec = nullptr;
    ASK(cudaGraphInstantiateWithFlags, "", &exec, in.graph, 0);
    ASK(cudaGraphExecExternalSemaphoresSignalNodeSetParams, "", exec, signalling, &signals);
    ASK(cudaGraphExecExternalSemaphoresSignalNodeSetParams, " of an empty node", exec, in.empty,
        &signals);
    ASK(cudaGraphExecExternalSemaphoresWaitNodeSetParams, "", exec, waiting, &waits);
    ASK(cudaGraphExecExternalSemaphoresWaitNodeSetParams, " of an empty node", exec, in.empty,
        &waits);
    ASK(cudaGraphExecDestroy, "", exec);
}

} // namespace record::QUESTIONS::runtime
