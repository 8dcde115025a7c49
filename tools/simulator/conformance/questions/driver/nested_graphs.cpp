// Whether nodes of nested graphs can change an executable graph: nodes of a child graph, of its own
// child graph, and of a conditional body. CUDA's documentation refers to nodes of the instantiated
// graph.
#include "../parameters.hpp"

namespace record::QUESTIONS {

namespace {

constexpr unsigned int before = 1, after = 2;

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
    const auto fill = fill_of(work.word, before, 4, 1);
    const auto launch = launch_of(work.empty, 32);
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
    ASK(cuGraphChildGraphNodeGetGraph, "", node, &graph);
    return graph;
}

void launch(CUgraphExec exec, CUdeviceptr word) {
    unsigned int value = 77;
    d.cuMemsetD32(word, 0, 1);
    ASK(cuGraphLaunch, "", exec, nullptr);
    ASK(cuStreamSynchronize, "", nullptr);
    d.cuMemcpyDtoH(&value, word, sizeof value);
    note("value", value);
}

// The nodes are inside the graph at some depth, or were copied into it.
void change(const Work &work, CUgraphExec exec, const Nodes &nodes) {
    const auto fill = fill_of(work.word, after, 4, 1);
    const auto threads = launch_of(work.empty, 64);
    ASK(cuGraphExecMemsetNodeSetParams, "", exec, nodes.fill, &fill, context());
    launch(exec, work.word);
    CUgraphNodeParams any{};
    any.type = CU_GRAPH_NODE_TYPE_MEMSET;
    any.memset.dst = work.word;
    any.memset.elementSize = 4;
    any.memset.value = after + 1;
    any.memset.width = any.memset.height = 1;
    any.memset.ctx = context();
    ASK(cuGraphExecNodeSetParams, "", exec, nodes.fill, &any);
    ASK(cuGraphExecKernelNodeSetParams, "", exec, nodes.launch, &threads);
    launch(exec, work.word);
    unsigned int enabled = 77;
    const CUresult told = d.cuGraphNodeGetEnabled(exec, nodes.fill, &enabled);
    ask("cuGraphNodeGetEnabled", told);
    if (told == CUDA_SUCCESS) {
        note("enabled", enabled);
    }
    ASK(cuGraphNodeSetEnabled, "(0)", exec, nodes.fill, 0);
    launch(exec, work.word);
}

CUgraphExec instantiate(CUgraph graph) {
    CUgraphExec exec = nullptr;
    const CUresult made = d.cuGraphInstantiateWithFlags(&exec, graph, 0);
    ask("cuGraphInstantiateWithFlags", made);
    return made == CUDA_SUCCESS ? exec : nullptr;
}

} // namespace

SECTION("child_graph_nodes", start) {
    const Work work;
    CUgraph child = MAKE(cuGraphCreate, 0);
    CUgraph graph = MAKE(cuGraphCreate, 0);
    const Nodes copied = add_work(work, child);
    CUgraphNode node = MAKE(cuGraphAddChildGraphNode, graph, nullptr, 0, child);
    const Nodes inner = nodes_of(inside(node));
    const CUgraphExec exec = instantiate(graph);
    note("nodes of the graph that was copied into the node", 1);
    change(work, exec, copied);
    note("nodes of the graph inside the node", 1);
    change(work, exec, inner);
    ASK(cuGraphExecDestroy, "", exec);
    d.cuGraphDestroy(graph);
    d.cuGraphDestroy(child);
}

SECTION("grandchild_graph_nodes", start) {
    const Work work;
    CUgraphNode inner = nullptr;
    std::size_t count = 1;
    CUgraph grandchild = MAKE(cuGraphCreate, 0);
    CUgraph child = MAKE(cuGraphCreate, 0);
    CUgraph graph = MAKE(cuGraphCreate, 0);
    add_work(work, grandchild);
    MAKE(cuGraphAddChildGraphNode, child, nullptr, 0, grandchild);
    CUgraphNode node = MAKE(cuGraphAddChildGraphNode, graph, nullptr, 0, child);
    ASK(cuGraphGetNodes, "", inside(node), &inner, &count);
    const Nodes nodes = nodes_of(inside(inner));
    const CUgraphExec exec = instantiate(graph);
    change(work, exec, nodes);
    ASK(cuGraphExecChildGraphNodeSetParams, " of the inner node", exec, inner, grandchild);
    launch(exec, work.word);
    ASK(cuGraphExecDestroy, "", exec);
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
        ASK(cuGraphConditionalHandleCreate, "", &handle, graph, context(), 1,
            CU_GRAPH_COND_ASSIGN_DEFAULT);
        CUgraphNodeParams wanted{};
        wanted.type = CU_GRAPH_NODE_TYPE_CONDITIONAL;
        wanted.conditional.handle = handle;
        wanted.conditional.type = CU_GRAPH_COND_TYPE_IF;
        wanted.conditional.size = 1;
        wanted.conditional.ctx = context();
        ASK(cuGraphAddNode, "", &node, graph, nullptr, nullptr, 0, &wanted);
        if (wanted.conditional.phGraph_out) {
            body = wanted.conditional.phGraph_out[0];
        }
    }
    ~Conditional() { d.cuGraphDestroy(graph); }
    Conditional(const Conditional &) = delete;
    Conditional &operator=(const Conditional &) = delete;
};

SECTION("body_nodes", start) {
    const Work work;
    const Conditional conditional;
    if (!conditional.body) {
        return;
    }
    const Nodes nodes = add_work(work, conditional.body);
    const CUgraphExec exec = instantiate(conditional.graph);
    change(work, exec, nodes);
    ASK(cuGraphExecDestroy, "", exec);
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
    CUgraphNode node = nullptr;
    CUgraph graph = MAKE(cuGraphCreate, 0);
    const CUresult added = d.cuGraphAddChildGraphNode(&node, graph, nullptr, 0, child);
    ask("cuGraphAddChildGraphNode", added);
    if (added == CUDA_SUCCESS) {
        if (const CUgraphExec exec = try_out(graph, word)) {
            ASK(cuGraphExecDestroy, "", exec);
        }
    }
    CUgraphNodeParams any{};
    any.type = CU_GRAPH_NODE_TYPE_GRAPH;
    any.graph.graph = child;
    ASK(cuGraphAddNode, "", &node, graph, nullptr, nullptr, 0, &any);
    d.cuGraphDestroy(graph);
}

// An executable graph whose child graph has the same topology as the body.
void set_to_body(const Work &work, CUgraph body) {
    CUgraph child = MAKE(cuGraphCreate, 0);
    CUgraph graph = MAKE(cuGraphCreate, 0);
    add_work(work, child);
    CUgraphNode node = MAKE(cuGraphAddChildGraphNode, graph, nullptr, 0, child);
    const Nodes inner = nodes_of(inside(node));
    const auto fill = fill_of(work.word, after, 4, 1);
    if (const CUgraphExec exec = try_out(graph, work.word)) {
        ASK(cuGraphExecMemsetNodeSetParams, "", exec, inner.fill, &fill, context());
        ASK(cuGraphExecChildGraphNodeSetParams, "", exec, node, body);
        launch(exec, work.word);
        ASK(cuGraphExecDestroy, "", exec);
    }
    if (const CUgraphExec exec = try_out(child, work.word)) {
        CUgraphExecUpdateResultInfo info{};
        ASK(cuGraphExecUpdate, "", exec, body, &info).note("result", info.result);
        launch(exec, work.word);
        ASK(cuGraphExecDestroy, "", exec);
    }
    d.cuGraphDestroy(graph);
    d.cuGraphDestroy(child);
}

} // namespace

// Whether a body can be copied like other graphs, and a graph with a conditional node too.
SECTION("bodies_copied", start) {
    const Work work;
    const Conditional conditional;
    if (!conditional.body) {
        return;
    }
    add_work(work, conditional.body);
    CUgraph clone = nullptr;
    note("the body", 1);
    ASK(cuGraphClone, "", &clone, conditional.body);
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
    CUgraphNode node = nullptr;
    CUgraph child = MAKE(cuGraphCreate, 0);
    add_work(work, child);
    ASK(cuGraphAddChildGraphNode, " to the body", &node, conditional.body, nullptr, 0, child);
    ASK(cuGraphClone, " of the graph inside", &clone, inside(node));
    try_out(conditional.graph, work.word);
    d.cuGraphDestroy(child);
}

// Nodes that were added after instantiation, and the effects of setting a node's graph again.
SECTION("inner_graphs_set_anew", start) {
    const Work work;
    CUgraph clone = nullptr;
    CUgraphNode late = nullptr;
    CUgraph child = MAKE(cuGraphCreate, 0);
    CUgraph graph = MAKE(cuGraphCreate, 0);
    add_work(work, child);
    CUgraphNode node = MAKE(cuGraphAddChildGraphNode, graph, nullptr, 0, child);
    const CUgraph inner = inside(node);
    const Nodes nodes = nodes_of(inner);
    ASK(cuGraphClone, " of the graph inside", &clone, inner);
    const CUgraphExec exec = instantiate(graph);
    const auto fill = fill_of(work.word, after, 4, 1);
    ASK(cuGraphExecMemsetNodeSetParams, "", exec, nodes.fill, &fill, context());
    ASK(cuGraphExecChildGraphNodeSetParams, " of the clone", exec, node, clone);
    launch(exec, work.word);
    ASK(cuGraphExecMemsetNodeSetParams, " after that", exec, nodes.fill, &fill, context());
    launch(exec, work.word);
    ASK(cuGraphExecChildGraphNodeSetParams, " of the graph inside", exec, node, inner);
    launch(exec, work.word);
    ASK(cuGraphAddMemsetNode, " inside", &late, inner, nullptr, 0, &fill, context());
    ASK(cuGraphExecMemsetNodeSetParams, " of that one", exec, late, &fill, context());
    ASK(cuGraphExecDestroy, "", exec);
    d.cuGraphDestroy(clone);
    d.cuGraphDestroy(graph);
    d.cuGraphDestroy(child);
}

} // namespace record::QUESTIONS
