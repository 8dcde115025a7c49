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
    cudaKernelNodeParams launch{};
    launch.func = kernel("empty");
    launch.gridDim = {1, 1, 1};
    launch.blockDim = {count, 1, 1};
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
    ask("cudaGraphAddKernelNode",
        r.cudaGraphAddKernelNode(&nodes.launch, graph, &nodes.copy, 1, &launch));
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
    ask("cudaGraphLaunch", r.cudaGraphLaunch(exec, nullptr));
    ask("cudaDeviceSynchronize", r.cudaDeviceSynchronize());
    note("first byte", static_cast<unsigned char *>(in.h)[0]);
    note("byte 40", static_cast<unsigned char *>(in.h)[40]);
}

cudaGraphExec_t instantiate(cudaGraph_t graph) {
    cudaGraphExec_t exec = nullptr;
    ask("cudaGraphInstantiateWithFlags", r.cudaGraphInstantiateWithFlags(&exec, graph, 0));
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
    ask("cudaGraphExecNodeSetParams", r.cudaGraphExecNodeSetParams(exec, node, &any));
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
    ask("cudaGraphExecMemsetNodeSetParams",
        r.cudaGraphExecMemsetNodeSetParams(exec, nodes.fill, &fill));
    launch(exec, in);
    ask("cudaGraphExecMemcpyNodeSetParams1D",
        r.cudaGraphExecMemcpyNodeSetParams1D(exec, nodes.copy, in.h, in.p, 32,
                                             cudaMemcpyDeviceToHost));
    ask("cudaGraphExecKernelNodeSetParams",
        r.cudaGraphExecKernelNodeSetParams(exec, nodes.launch, &wider));
    ask("cudaGraphExecHostNodeSetParams",
        r.cudaGraphExecHostNodeSetParams(exec, nodes.call, &host));
    launch(exec, in);
    change_by_any(in, exec, nodes.fill);
    unsigned int enabled = 77;
    const cudaError_t told = r.cudaGraphNodeGetEnabled(exec, nodes.fill, &enabled);
    ask("cudaGraphNodeGetEnabled", told);
    if (told == cudaSuccess) {
        note("enabled", enabled);
    }
    r.cudaMemset(in.p, 5, 256);
    ask("cudaGraphNodeSetEnabled(0)", r.cudaGraphNodeSetEnabled(exec, nodes.fill, 0));
    launch(exec, in);
}

} // namespace

void inner_graph_nodes() {
    if (!begin()) {
        return;
    }
    const Graph in;
    cudaGraph_t child = nullptr, inside = nullptr, anew = nullptr;
    cudaGraphNode_t node = nullptr;
    r.cudaGraphCreate(&child, 0);
    const Nodes copied = add_work(in, child);
    r.cudaGraphAddChildGraphNode(&node, in.graph, &in.empty, 1, child);
    ask("cudaGraphChildGraphNodeGetGraph", r.cudaGraphChildGraphNodeGetGraph(node, &inside));
    const Nodes inner = nodes_of(inside);
    const cudaGraphExec_t exec = instantiate(in.graph);
    note("nodes of the graph that was copied into the node", 1);
    change(in, exec, copied);
    note("nodes of the graph inside the node", 1);
    change(in, exec, inner);
    ask("cudaGraphClone of the graph inside", r.cudaGraphClone(&anew, inside));
    ask("cudaGraphExecChildGraphNodeSetParams of the clone",
        r.cudaGraphExecChildGraphNodeSetParams(exec, node, anew));
    launch(exec, in);
    change(in, exec, inner);
    ask("cudaGraphExecDestroy", r.cudaGraphExecDestroy(exec));
    r.cudaGraphDestroy(anew);
    r.cudaGraphDestroy(child);
}

// Older headers declare cudaGraphAddNode without edge data.
#if CUDART_VERSION >= 13000
void inner_body_nodes() {
    if (!begin()) {
        return;
    }
    const Graph in;
    cudaGraphConditionalHandle handle = 0;
    cudaGraphNode_t node = nullptr, of_body = nullptr;
    cudaGraph_t copy = nullptr;
    ask("cudaGraphConditionalHandleCreate",
        r.cudaGraphConditionalHandleCreate(&handle, in.graph, 1, cudaGraphCondAssignDefault));
    cudaGraphNodeParams wanted{};
    wanted.type = cudaGraphNodeTypeConditional;
    wanted.conditional.handle = handle;
    wanted.conditional.type = cudaGraphCondTypeIf;
    wanted.conditional.size = 1;
    ask("cudaGraphAddNode, conditional",
        r.cudaGraphAddNode(&node, in.graph, nullptr, nullptr, 0, &wanted));
    if (wanted.conditional.phGraph_out == nullptr) {
        return;
    }
    const cudaGraph_t body = wanted.conditional.phGraph_out[0];
    const Nodes nodes = add_work(in, body);
    // A body must not contain host nodes.
    ask("cudaGraphDestroyNode", r.cudaGraphDestroyNode(nodes.call));
    const cudaGraphExec_t exec = instantiate(in.graph);
    change(in, exec, {nodes.fill, nodes.copy, nodes.launch, nodes.launch});
    ask("cudaGraphExecDestroy", r.cudaGraphExecDestroy(exec));
    ask("cudaGraphClone of the body", r.cudaGraphClone(&copy, body));
    ask("cudaGraphAddChildGraphNode of the body",
        r.cudaGraphAddChildGraphNode(&of_body, in.graph, &in.empty, 1, body));
    const cudaGraphExec_t last = instantiate(in.graph);
    launch(last, in);
    ask("cudaGraphExecDestroy", r.cudaGraphExecDestroy(last));
}
#else
void inner_body_nodes() {}
#endif

} // namespace record::QUESTIONS::runtime
