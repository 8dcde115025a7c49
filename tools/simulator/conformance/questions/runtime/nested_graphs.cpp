// Whether nodes of nested graphs can change a runtime executable graph: nodes of a child graph and
// of a conditional body.
#include "../../runtime_questions.hpp"
#include "graph_tools.hpp"

#include <cstring>

namespace record::QUESTIONS::runtime {

namespace {

// The nodes of one graph: a memset of `p`, a copy from it to `h`, an empty kernel, and a host
// function.
struct Nodes {
    cudaGraphNode_t fill = nullptr, copy = nullptr, launch = nullptr, call = nullptr;
};

cudaKernelNodeParams threads(unsigned int count) {
    cudaKernelNodeParams launch{
        .func = kernel("empty"), .gridDim = {1, 1, 1}, .blockDim = {count, 1, 1}};
    return launch;
}

cudaMemsetParams fill_with(void *p, unsigned int value) {
    cudaMemsetParams fill = filling(p);
    fill.value = value;
    return fill;
}

Nodes add_work(const Graph &in, cudaGraph_t graph) {
    Nodes nodes;
    const cudaMemsetParams fill = fill_with(in.p, 1);
    const cudaKernelNodeParams launch = threads(32);
    const cudaHostNodeParams host{nothing, nullptr};
    r.cudaGraphAddMemsetNode(&nodes.fill, graph, nullptr, 0, &fill);
    r.cudaGraphAddMemcpyNode1D(&nodes.copy, graph, &nodes.fill, 1, in.h, in.p, 64,
                               cudaMemcpyDeviceToHost);
    ASK(cudaGraphAddKernelNode, "", &nodes.launch, graph, &nodes.copy, 1, &launch);
    r.cudaGraphAddHostNode(&nodes.call, graph, &nodes.launch, 1, &host);
    return nodes;
}

// The nodes of a copied graph, each of which follows the previous one.
Nodes nodes_of(cudaGraph_t graph) {
    cudaGraphNode_t all[4] = {};
    std::size_t count = 4;
    r.cudaGraphGetNodes(graph, all, &count);
    Nodes nodes;
    for (const cudaGraphNode_t node : all) {
        cudaGraphNodeType type{};
        r.cudaGraphNodeGetType(node, &type);
        (type == cudaGraphNodeTypeMemset   ? nodes.fill
         : type == cudaGraphNodeTypeMemcpy ? nodes.copy
         : type == cudaGraphNodeTypeKernel ? nodes.launch
                                           : nodes.call) = node;
    }
    return nodes;
}

void launch(cudaGraphExec_t exec, const Graph &in) {
    if (exec == nullptr) {
        return;
    }
    std::memset(in.h, 77, 256);
    ASK(cudaGraphLaunch, "", exec, nullptr);
    ASK(cudaDeviceSynchronize, "").note("first byte", static_cast<unsigned char *>(in.h)[0]);
    note("byte 40", static_cast<unsigned char *>(in.h)[40]);
}

cudaGraphExec_t instantiate(cudaGraph_t graph) {
    cudaGraphExec_t exec = nullptr;
    ASK(cudaGraphInstantiateWithFlags, "", &exec, graph, 0);
    return exec;
}

#if CUDART_VERSION >= 12020
void change_by_any(const Graph &in, cudaGraphExec_t exec, cudaGraphNode_t node) {
    cudaGraphNodeParams any{};
    any.type = cudaGraphNodeTypeMemset;
    any.memset.dst = in.p;
    any.memset.elementSize = 1;
    any.memset.value = 4;
    any.memset.width = 64;
    any.memset.height = 1;
    ASK(cudaGraphExecNodeSetParams, "", exec, node, &any);
    launch(exec, in);
}
#else
void change_by_any(const Graph &, cudaGraphExec_t, cudaGraphNode_t) {}
#endif

void change(const Graph &in, cudaGraphExec_t exec, const Nodes &nodes) {
    if (exec == nullptr) {
        return;
    }
    const cudaMemsetParams fill = fill_with(in.p, 2);
    const cudaKernelNodeParams wider = threads(64);
    const cudaHostNodeParams host{nothing, nullptr};
    ASK(cudaGraphExecMemsetNodeSetParams, "", exec, nodes.fill, &fill);
    launch(exec, in);
    ASK(cudaGraphExecMemcpyNodeSetParams1D, "", exec, nodes.copy, in.h, in.p, 32,
        cudaMemcpyDeviceToHost);
    ASK(cudaGraphExecKernelNodeSetParams, "", exec, nodes.launch, &wider);
    ASK(cudaGraphExecHostNodeSetParams, "", exec, nodes.call, &host);
    launch(exec, in);
    change_by_any(in, exec, nodes.fill);
    unsigned int enabled = 77;
    const cudaError_t told = r.cudaGraphNodeGetEnabled(exec, nodes.fill, &enabled);
    ask("cudaGraphNodeGetEnabled", told);
    if (told == cudaSuccess) {
        note("enabled", enabled);
    }
    r.cudaMemset(in.p, 5, 256);
    ASK(cudaGraphNodeSetEnabled, "(0)", exec, nodes.fill, 0);
    launch(exec, in);
}

} // namespace

SECTION("inner_graph_nodes", begin) {
    const Graph in;
    cudaGraph_t inside = nullptr, anew = nullptr;
    cudaGraph_t child = MAKE(cudaGraphCreate, 0);
    const Nodes copied = add_work(in, child);
    cudaGraphNode_t node = MAKE(cudaGraphAddChildGraphNode, in.graph, &in.empty, 1, child);
    ASK(cudaGraphChildGraphNodeGetGraph, "", node, &inside);
    const Nodes inner = nodes_of(inside);
    const cudaGraphExec_t exec = instantiate(in.graph);
    note("nodes of the graph that was copied into the node", 1);
    change(in, exec, copied);
    note("nodes of the graph inside the node", 1);
    change(in, exec, inner);
    ASK(cudaGraphClone, " of the graph inside", &anew, inside);
    ASK(cudaGraphExecChildGraphNodeSetParams, " of the clone", exec, node, anew);
    launch(exec, in);
    change(in, exec, inner);
    ASK(cudaGraphExecDestroy, "", exec);
    r.cudaGraphDestroy(anew);
    r.cudaGraphDestroy(child);
}

// Older headers declare cudaGraphAddNode without edge data.
#if CUDART_VERSION >= 13000
SECTION("inner_body_nodes", begin) {
    const Graph in;
    cudaGraphConditionalHandle handle = 0;
    cudaGraphNode_t node = nullptr, of_body = nullptr;
    cudaGraph_t copy = nullptr;
    ASK(cudaGraphConditionalHandleCreate, "", &handle, in.graph, 1, cudaGraphCondAssignDefault);
    cudaGraphNodeParams wanted{};
    wanted.type = cudaGraphNodeTypeConditional;
    wanted.conditional.handle = handle;
    wanted.conditional.type = cudaGraphCondTypeIf;
    wanted.conditional.size = 1;
    ASK(cudaGraphAddNode, ", conditional", &node, in.graph, nullptr, nullptr, 0, &wanted);
    if (wanted.conditional.phGraph_out == nullptr) {
        return;
    }
    const cudaGraph_t body = wanted.conditional.phGraph_out[0];
    const Nodes nodes = add_work(in, body);
    // A body must not contain host nodes.
    ASK(cudaGraphDestroyNode, "", nodes.call);
    const cudaGraphExec_t exec = instantiate(in.graph);
    change(in, exec, {nodes.fill, nodes.copy, nodes.launch, nodes.launch});
    ASK(cudaGraphExecDestroy, "", exec);
    ASK(cudaGraphClone, " of the body", &copy, body);
    ASK(cudaGraphAddChildGraphNode, " of the body", &of_body, in.graph, &in.empty, 1, body);
    const cudaGraphExec_t last = instantiate(in.graph);
    launch(last, in);
    ASK(cudaGraphExecDestroy, "", last);
}
#else
void inner_body_nodes() {}
#endif

} // namespace record::QUESTIONS::runtime
