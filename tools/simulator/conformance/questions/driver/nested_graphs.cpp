// Whether nodes of nested graphs can change an executable graph: nodes of a child graph, of its own
// child graph, and of a conditional body. CUDA's documentation refers to nodes of the instantiated
// graph.
#include "../../record.hpp"

namespace record::QUESTIONS {

namespace {

constexpr unsigned int before = 1, after = 2;

CUDA_MEMSET_NODE_PARAMS fill_of(CUdeviceptr p, unsigned int value) {
    CUDA_MEMSET_NODE_PARAMS fill{};
    fill.dst = p;
    fill.elementSize = 4;
    fill.value = value;
    fill.width = fill.height = 1;
    return fill;
}

CUDA_KERNEL_NODE_PARAMS threads_of(CUfunction function, unsigned int threads) {
    CUDA_KERNEL_NODE_PARAMS launch{};
    launch.func = function;
    launch.gridDimX = launch.gridDimY = launch.gridDimZ = 1;
    launch.blockDimX = threads;
    launch.blockDimY = launch.blockDimZ = 1;
    return launch;
}

// A memset of one word and an empty kernel.
struct Work {
    CUdeviceptr word = 0;
    CUmodule module = nullptr;
    CUfunction empty = nullptr;

    Work() {
        d.cuMemAlloc(&word, 64);
        d.cuModuleLoadData(&module, ptx);
        d.cuModuleGetFunction(&empty, module, "empty");
    }
    ~Work() {
        d.cuModuleUnload(module);
        d.cuMemFree(word);
    }
    Work(const Work &) = delete;
    Work &operator=(const Work &) = delete;
};

struct Nodes {
    CUgraphNode fill = nullptr, launch = nullptr;
};

Nodes add_work(const Work &work, CUgraph graph) {
    Nodes nodes;
    const auto fill = fill_of(work.word, before);
    const auto launch = threads_of(work.empty, 32);
    d.cuGraphAddMemsetNode(&nodes.fill, graph, nullptr, 0, &fill, context());
    d.cuGraphAddKernelNode(&nodes.launch, graph, &nodes.fill, 1, &launch);
    return nodes;
}

// The nodes of a graph that is a copy of another one.
Nodes nodes_of(CUgraph graph) {
    CUgraphNode found[2] = {};
    std::size_t count = 2;
    d.cuGraphGetNodes(graph, found, &count);
    CUgraphNodeType first{};
    d.cuGraphNodeGetType(found[0], &first);
    return first == CU_GRAPH_NODE_TYPE_MEMSET ? Nodes{found[0], found[1]}
                                              : Nodes{found[1], found[0]};
}

CUgraph inside(CUgraphNode node) {
    CUgraph graph = nullptr;
    ask("cuGraphChildGraphNodeGetGraph", d.cuGraphChildGraphNodeGetGraph(node, &graph));
    return graph;
}

void launch(CUgraphExec exec, CUdeviceptr word) {
    unsigned int value = 77;
    d.cuMemsetD32(word, 0, 1);
    ask("cuGraphLaunch", d.cuGraphLaunch(exec, nullptr));
    ask("cuStreamSynchronize", d.cuStreamSynchronize(nullptr));
    d.cuMemcpyDtoH(&value, word, sizeof value);
    note("value", value);
}

// The nodes are inside the graph at some depth, or were copied into it.
void change(const Work &work, CUgraphExec exec, const Nodes &nodes) {
    const auto fill = fill_of(work.word, after);
    const auto threads = threads_of(work.empty, 64);
    ask("cuGraphExecMemsetNodeSetParams",
        d.cuGraphExecMemsetNodeSetParams(exec, nodes.fill, &fill, context()));
    launch(exec, work.word);
    CUgraphNodeParams any{};
    any.type = CU_GRAPH_NODE_TYPE_MEMSET;
    any.memset.dst = work.word;
    any.memset.elementSize = 4;
    any.memset.value = after + 1;
    any.memset.width = any.memset.height = 1;
    any.memset.ctx = context();
    ask("cuGraphExecNodeSetParams", d.cuGraphExecNodeSetParams(exec, nodes.fill, &any));
    ask("cuGraphExecKernelNodeSetParams",
        d.cuGraphExecKernelNodeSetParams(exec, nodes.launch, &threads));
    launch(exec, work.word);
    unsigned int enabled = 77;
    const CUresult told = d.cuGraphNodeGetEnabled(exec, nodes.fill, &enabled);
    ask("cuGraphNodeGetEnabled", told);
    if (told == CUDA_SUCCESS) {
        note("enabled", enabled);
    }
    ask("cuGraphNodeSetEnabled(0)", d.cuGraphNodeSetEnabled(exec, nodes.fill, 0));
    launch(exec, work.word);
}

CUgraphExec instantiate(CUgraph graph) {
    CUgraphExec exec = nullptr;
    const CUresult made = d.cuGraphInstantiateWithFlags(&exec, graph, 0);
    ask("cuGraphInstantiateWithFlags", made);
    return made == CUDA_SUCCESS ? exec : nullptr;
}

} // namespace

void child_graph_nodes() {
    if (!start()) {
        return;
    }
    const Work work;
    CUgraph child = nullptr, graph = nullptr;
    CUgraphNode node = nullptr;
    d.cuGraphCreate(&child, 0);
    d.cuGraphCreate(&graph, 0);
    const Nodes copied = add_work(work, child);
    d.cuGraphAddChildGraphNode(&node, graph, nullptr, 0, child);
    const Nodes inner = nodes_of(inside(node));
    const CUgraphExec exec = instantiate(graph);
    note("nodes of the graph that was copied into the node", 1);
    change(work, exec, copied);
    note("nodes of the graph inside the node", 1);
    change(work, exec, inner);
    ask("cuGraphExecDestroy", d.cuGraphExecDestroy(exec));
    d.cuGraphDestroy(graph);
    d.cuGraphDestroy(child);
}

void grandchild_graph_nodes() {
    if (!start()) {
        return;
    }
    const Work work;
    CUgraph grandchild = nullptr, child = nullptr, graph = nullptr;
    CUgraphNode in_child = nullptr, node = nullptr, inner = nullptr;
    std::size_t count = 1;
    d.cuGraphCreate(&grandchild, 0);
    d.cuGraphCreate(&child, 0);
    d.cuGraphCreate(&graph, 0);
    add_work(work, grandchild);
    d.cuGraphAddChildGraphNode(&in_child, child, nullptr, 0, grandchild);
    d.cuGraphAddChildGraphNode(&node, graph, nullptr, 0, child);
    ask("cuGraphGetNodes", d.cuGraphGetNodes(inside(node), &inner, &count));
    const Nodes nodes = nodes_of(inside(inner));
    const CUgraphExec exec = instantiate(graph);
    change(work, exec, nodes);
    ask("cuGraphExecChildGraphNodeSetParams of the inner node",
        d.cuGraphExecChildGraphNodeSetParams(exec, inner, grandchild));
    launch(exec, work.word);
    ask("cuGraphExecDestroy", d.cuGraphExecDestroy(exec));
    d.cuGraphDestroy(graph);
    d.cuGraphDestroy(child);
    d.cuGraphDestroy(grandchild);
}

// A graph with one conditional node; null without support.
struct Conditional {
    CUgraph graph = nullptr, body = nullptr;
    CUgraphNode node = nullptr;

    Conditional() {
        CUgraphConditionalHandle handle = 0;
        d.cuGraphCreate(&graph, 0);
        ask("cuGraphConditionalHandleCreate",
            d.cuGraphConditionalHandleCreate(&handle, graph, context(), 1,
                                             CU_GRAPH_COND_ASSIGN_DEFAULT));
        CUgraphNodeParams wanted{};
        wanted.type = CU_GRAPH_NODE_TYPE_CONDITIONAL;
        wanted.conditional.handle = handle;
        wanted.conditional.type = CU_GRAPH_COND_TYPE_IF;
        wanted.conditional.size = 1;
        wanted.conditional.ctx = context();
        ask("cuGraphAddNode", d.cuGraphAddNode(&node, graph, nullptr, nullptr, 0, &wanted));
        if (wanted.conditional.phGraph_out) {
            body = wanted.conditional.phGraph_out[0];
        }
    }
    ~Conditional() { d.cuGraphDestroy(graph); }
    Conditional(const Conditional &) = delete;
    Conditional &operator=(const Conditional &) = delete;
};

void body_nodes() {
    if (!start()) {
        return;
    }
    const Work work;
    const Conditional conditional;
    if (!conditional.body) {
        return;
    }
    const Nodes nodes = add_work(work, conditional.body);
    const CUgraphExec exec = instantiate(conditional.graph);
    change(work, exec, nodes);
    ask("cuGraphExecDestroy", d.cuGraphExecDestroy(exec));
}

namespace {

// Null, or instantiated and launched once.
CUgraphExec try_out(CUgraph graph, CUdeviceptr word) {
    const CUgraphExec exec = instantiate(graph);
    if (exec) {
        launch(exec, word);
    }
    return exec;
}

void try_as_child(CUgraph child, CUdeviceptr word) {
    CUgraph graph = nullptr;
    CUgraphNode node = nullptr;
    d.cuGraphCreate(&graph, 0);
    const CUresult added = d.cuGraphAddChildGraphNode(&node, graph, nullptr, 0, child);
    ask("cuGraphAddChildGraphNode", added);
    if (added == CUDA_SUCCESS) {
        if (const CUgraphExec exec = try_out(graph, word)) {
            ask("cuGraphExecDestroy", d.cuGraphExecDestroy(exec));
        }
    }
    CUgraphNodeParams any{};
    any.type = CU_GRAPH_NODE_TYPE_GRAPH;
    any.graph.graph = child;
    ask("cuGraphAddNode", d.cuGraphAddNode(&node, graph, nullptr, nullptr, 0, &any));
    d.cuGraphDestroy(graph);
}

// An executable graph whose child graph has the same topology as the body.
void set_to_body(const Work &work, CUgraph body) {
    CUgraph child = nullptr, graph = nullptr;
    CUgraphNode node = nullptr;
    d.cuGraphCreate(&child, 0);
    d.cuGraphCreate(&graph, 0);
    add_work(work, child);
    d.cuGraphAddChildGraphNode(&node, graph, nullptr, 0, child);
    const Nodes inner = nodes_of(inside(node));
    const auto fill = fill_of(work.word, after);
    if (const CUgraphExec exec = try_out(graph, work.word)) {
        ask("cuGraphExecMemsetNodeSetParams",
            d.cuGraphExecMemsetNodeSetParams(exec, inner.fill, &fill, context()));
        ask("cuGraphExecChildGraphNodeSetParams",
            d.cuGraphExecChildGraphNodeSetParams(exec, node, body));
        launch(exec, work.word);
        ask("cuGraphExecDestroy", d.cuGraphExecDestroy(exec));
    }
    if (const CUgraphExec exec = try_out(child, work.word)) {
        CUgraphExecUpdateResultInfo info{};
        ask("cuGraphExecUpdate", d.cuGraphExecUpdate(exec, body, &info));
        note("result", info.result);
        launch(exec, work.word);
        ask("cuGraphExecDestroy", d.cuGraphExecDestroy(exec));
    }
    d.cuGraphDestroy(graph);
    d.cuGraphDestroy(child);
}

} // namespace

// Whether a body can be copied like other graphs, and a graph with a conditional node too.
void bodies_copied() {
    if (!start()) {
        return;
    }
    const Work work;
    const Conditional conditional;
    if (!conditional.body) {
        return;
    }
    add_work(work, conditional.body);
    CUgraph clone = nullptr;
    note("the body", 1);
    ask("cuGraphClone", d.cuGraphClone(&clone, conditional.body));
    try_out(conditional.body, work.word);
    try_as_child(conditional.body, work.word);
    set_to_body(work, conditional.body);
    note("a graph with a conditional node", 1);
    try_as_child(conditional.graph, work.word);
    clone = nullptr;
    const CUresult cloned = d.cuGraphClone(&clone, conditional.graph);
    ask("cuGraphClone", cloned);
    if (cloned == CUDA_SUCCESS) {
        try_out(clone, work.word);
        d.cuGraphDestroy(clone);
    }
    note("a child graph of a body", 1);
    CUgraph child = nullptr;
    CUgraphNode node = nullptr;
    d.cuGraphCreate(&child, 0);
    add_work(work, child);
    ask("cuGraphAddChildGraphNode to the body",
        d.cuGraphAddChildGraphNode(&node, conditional.body, nullptr, 0, child));
    ask("cuGraphClone of the graph inside", d.cuGraphClone(&clone, inside(node)));
    try_out(conditional.graph, work.word);
    d.cuGraphDestroy(child);
}

// Nodes that were added after instantiation, and the effects of setting a node's graph again.
void inner_graphs_set_anew() {
    if (!start()) {
        return;
    }
    const Work work;
    CUgraph child = nullptr, graph = nullptr, clone = nullptr;
    CUgraphNode node = nullptr, late = nullptr;
    d.cuGraphCreate(&child, 0);
    d.cuGraphCreate(&graph, 0);
    add_work(work, child);
    d.cuGraphAddChildGraphNode(&node, graph, nullptr, 0, child);
    const CUgraph inner = inside(node);
    const Nodes nodes = nodes_of(inner);
    ask("cuGraphClone of the graph inside", d.cuGraphClone(&clone, inner));
    const CUgraphExec exec = instantiate(graph);
    const auto fill = fill_of(work.word, after);
    ask("cuGraphExecMemsetNodeSetParams",
        d.cuGraphExecMemsetNodeSetParams(exec, nodes.fill, &fill, context()));
    ask("cuGraphExecChildGraphNodeSetParams of the clone",
        d.cuGraphExecChildGraphNodeSetParams(exec, node, clone));
    launch(exec, work.word);
    ask("cuGraphExecMemsetNodeSetParams after that",
        d.cuGraphExecMemsetNodeSetParams(exec, nodes.fill, &fill, context()));
    launch(exec, work.word);
    ask("cuGraphExecChildGraphNodeSetParams of the graph inside",
        d.cuGraphExecChildGraphNodeSetParams(exec, node, inner));
    launch(exec, work.word);
    ask("cuGraphAddMemsetNode inside",
        d.cuGraphAddMemsetNode(&late, inner, nullptr, 0, &fill, context()));
    ask("cuGraphExecMemsetNodeSetParams of that one",
        d.cuGraphExecMemsetNodeSetParams(exec, late, &fill, context()));
    ask("cuGraphExecDestroy", d.cuGraphExecDestroy(exec));
    d.cuGraphDestroy(clone);
    d.cuGraphDestroy(graph);
    d.cuGraphDestroy(child);
}

} // namespace record::QUESTIONS
