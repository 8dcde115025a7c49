// Conditional nodes: handles, bodies, and how often the bodies run.
#include "graph_tools.hpp"

#if CUDA_VERSION >= 12030

using namespace sim_test;

namespace {

constexpr auto if_type = static_cast<CUgraphConditionalNodeType>(0),
               while_type = static_cast<CUgraphConditionalNodeType>(1),
               switch_type = static_cast<CUgraphConditionalNodeType>(2);

CUgraphConditionalHandle make_handle(CUgraph graph, unsigned int value,
                                     unsigned int flags = CU_GRAPH_COND_ASSIGN_DEFAULT) {
    return got<CUgraphConditionalHandle>(&Driver::cuGraphConditionalHandleCreate, out, graph,
                                         current(), value, flags);
}

CUresult add(CUgraphNode *node, CUgraph graph, CUgraphNodeParams *parameters,
             const Nodes &after = {}) {
    return driver().cuGraphAddNode_v1(node, graph, after.data(), after.size(), parameters);
}

CUgraphNodeParams conditional(CUgraphConditionalHandle handle, CUgraphConditionalNodeType type,
                              unsigned int size) {
    CUgraphNodeParams parameters{};
    parameters.type = CU_GRAPH_NODE_TYPE_CONDITIONAL;
    parameters.conditional.handle = handle;
    parameters.conditional.type = type;
    parameters.conditional.size = size;
    parameters.conditional.ctx = current();
    return parameters;
}

struct Bodies {
    CUgraphNode node = nullptr;
    std::vector<CUgraph> graphs;
};
Bodies add_conditional(CUgraph graph, CUgraphConditionalHandle handle,
                       CUgraphConditionalNodeType type, unsigned int size,
                       const Nodes &after = {}) {
    CUgraphNodeParams parameters = conditional(handle, type, size);
    Bodies bodies;
    require_ok(add(&bodies.node, graph, &parameters, after));
    REQUIRE(parameters.conditional.phGraph_out != nullptr);
    bodies.graphs.assign(parameters.conditional.phGraph_out,
                         parameters.conditional.phGraph_out + size);
    return bodies;
}

// Kernels that set the condition, as device code does with cudaGraphSetConditional(), and count.
struct Kernels {
    Kernels() {
        sim_control().register_kernel("count", count, this);
        sim_control().register_kernel("set", set_value, this);
    }
    static int count(const cushim_sim_launch *, void *user) {
        auto &s = *static_cast<Kernels *>(user);
        ++s.ran;
        return sim_control().set_conditional(s.handle, s.ran < s.rounds ? 1 : 0);
    }
    static int set_value(const cushim_sim_launch *, void *user) {
        auto &s = *static_cast<Kernels *>(user);
        return sim_control().set_conditional(s.handle, s.set);
    }
    CUgraphNode add(CUgraph graph, const char *name, const Nodes &after = {}) const {
        return add_kernel(graph, kernel_parameters(module.function(name)), after);
    }

    CUgraphConditionalHandle handle = 0;
    int rounds = 0;       // requested iterations of a loop
    int ran = 0;          // launches of "count"
    unsigned int set = 0; // the value that "set" writes
    const Module module{"cushim-sim-image 1\nkernel count\nkernel set\n"};
};

} // namespace

TEST_CASE("an if node runs its first body if the condition is set, otherwise its second") {
    start(GENERATE_COPY(from_range(all_modes())));
    Kernels kernels;
    Words memory(4);
    const unsigned int size = GENERATE(1u, 2u);
    const Graph graph;
    kernels.handle = make_handle(graph, 0);
    const CUgraphNode reset = add_memset(graph, words(memory.address, 0, 4));
    const Bodies bodies =
        add_conditional(graph, kernels.handle, if_type, size, {kernels.add(graph, "set", {reset})});
    for (std::uint32_t i = 0; i < size; ++i) {
        add_memset(bodies.graphs[i], words(memory.address, i + 1, 4));
    }
    std::uint32_t result = 99;
    add_copy(graph, copy_to_host(&result, memory.address, 4), {bodies.node});
    const Executable exec(graph);
    kernels.set = 5;
    run(exec);
    CHECK(result == 1);
    kernels.set = 0;
    run(exec);
    CHECK(result == (size == 2 ? 2 : 0));
}

TEST_CASE("a condition without a default keeps its value between launches") {
    Kernels kernels; // the body sets the condition to 0
    const Graph graph;
    kernels.handle = make_handle(graph, 1, 0);
    kernels.add(add_conditional(graph, kernels.handle, while_type, 1).graphs[0], "count");
    const Executable exec(graph);
    REQUIRE(sim_control().set_conditional(kernels.handle, 1) == 0);
    for (int i = 0; i < 2; ++i) {
        run(exec);
        CHECK(kernels.ran == 1);
    }
    CHECK(sim_control().set_conditional(kernels.handle + 1, 1) == -1);
}

TEST_CASE("a switch node runs the body whose number is the condition, otherwise none") {
    start(GENERATE_COPY(from_range(all_modes())));
    Kernels kernels;
    Words memory(1);
    const Graph graph;
    kernels.handle = make_handle(graph, 0);
    const CUgraphNode reset = add_memset(graph, words(memory.address, 77, 1));
    const Bodies bodies = add_conditional(graph, kernels.handle, switch_type, 3,
                                          {kernels.add(graph, "set", {reset})});
    for (std::uint32_t i = 0; i < 3; ++i) {
        add_memset(bodies.graphs[i], words(memory.address, 10 + i, 1));
    }
    const Executable exec(graph);
    for (unsigned int value : {2u, 0u, 1u, 3u, ~0u}) {
        kernels.set = value;
        run(exec);
        CHECK(memory.at(0) == (value < 3 ? 10 + value : 77));
    }
}

TEST_CASE("bodies may contain child graphs and conditional nodes") {
    start(GENERATE_COPY(from_range(all_modes())));
    Kernels kernels;
    Words memory(2);
    const Graph graph, child;
    // while (count) { if (true) { child: copy of a word } }
    kernels.handle = make_handle(graph, 1);
    kernels.rounds = 3;
    const CUgraph body = add_conditional(graph, kernels.handle, while_type, 1).graphs[0];
    const CUgraphNode count = kernels.add(body, "count");
    const Bodies inner = add_conditional(body, make_handle(body, 1), if_type, 1, {count});
    add_copy(child, device_copy(memory.address + 4, memory.address, 4),
             {add_memset(child, words(memory.address, 5, 1))});
    add_child(inner.graphs[0], child);
    run(Executable(graph));
    CHECK(kernels.ran == 3);
    CHECK(memory.at(1) == 5);
}

TEST_CASE("a handle can be used again after its node was destroyed") {
    const Graph graph;
    const CUgraphConditionalHandle handle = make_handle(graph, 1);
    const Bodies bodies = add_conditional(graph, handle, if_type, 1);
    ok(driver().cuGraphDestroyNode(bodies.node));
    CHECK(try_instantiate(graph) == invalid); // a handle without a node
    const Bodies again = add_conditional(graph, handle, switch_type, 2);
    CHECK(again.node != bodies.node);
    Words memory(1);
    require_ok(driver().cuMemsetD32(memory.address, 0, 1));
    add_memset(again.graphs[1], words(memory.address, 7, 1));
    const Executable exec(graph);
    run(exec); // the value of the handle is still 1
    CHECK(memory.at(0) == 7);
}

TEST_CASE("arguments of conditional nodes are checked") {
    const Graph graph, other;
    const CUgraphConditionalHandle handle = make_handle(graph, 1);
    CUgraphNode node = nullptr;
    const Calls added([&](CUgraph to, CUgraphConditionalHandle with,
                          CUgraphConditionalNodeType type, unsigned int size) {
        CUgraphNodeParams parameters = conditional(with, type, size);
        return add(&node, to, &parameters);
    });
    added[invalid] = {{graph, handle + 2, if_type, 1},
                      {graph, 0, if_type, 1},
                      {graph, handle, if_type, 0},
                      {graph, handle, while_type, 2},
                      {graph, handle, switch_type, ~0u},
                      {graph, handle, static_cast<CUgraphConditionalNodeType>(3), 1},
                      {other, handle, if_type, 1}};
    CUgraphNodeParams nowhere = conditional(handle, if_type, 1);
    nowhere.conditional.ctx = nullptr; // does not stand for the current context
    CHECK(add(&node, graph, &nowhere) == CUDA_ERROR_INVALID_CONTEXT);
    nowhere.conditional.ctx = garbage<CUcontext>();
    CHECK(reported(add(&node, graph, &nowhere), "is not a context handle") ==
          CUDA_ERROR_CONTEXT_IS_DESTROYED);
    CHECK(nodes_of(graph).empty());
    CHECK(try_instantiate(graph) == invalid); // a handle without a node
    added[CUDA_SUCCESS] = {{graph, handle, if_type, 2}};
}

TEST_CASE("a body belongs to its node and must not contain host nodes") {
    const Graph graph;
    const CUgraph body = add_conditional(graph, make_handle(graph, 1), if_type, 1).graphs[0];
    CHECK(reported(driver().cuGraphDestroy(body), "belongs to a node") == invalid);
    RunOrder order;
    const CUgraphNode note = add_note(body, order, 1);
    CUgraphExec exec = nullptr;
    CUDA_GRAPH_INSTANTIATE_PARAMS parameters{};
    CHECK(driver().cuGraphInstantiateWithParams(&exec, graph, &parameters) != CUDA_SUCCESS);
    CHECK(parameters.result_out == CUDA_GRAPH_INSTANTIATE_NODE_OPERATION_NOT_SUPPORTED);
    CHECK(parameters.hErrNode_out == note);
}

TEST_CASE("an update may change bodies and defaults, not the type of a condition") {
    Words memory(1);
    const Graph off, on, other;
    const auto fill = [&](CUgraph graph, unsigned int value, CUgraphConditionalNodeType type,
                          std::uint32_t written) {
        const Bodies bodies = add_conditional(graph, make_handle(graph, value), type, 1);
        add_memset(bodies.graphs[0], words(memory.address, written, 1));
    };
    require_ok(driver().cuMemsetD32(memory.address, 0, 1));
    fill(off, 0, if_type, 1);
    fill(on, 1, if_type, 2);
    fill(other, 1, switch_type, 3);
    const Executable exec(off);
    run(exec);
    CHECK(memory.at(0) == 0);
    CHECK(update(exec, on).status == CUDA_SUCCESS);
    run(exec);
    CHECK(memory.at(0) == 2);
    CHECK(update(exec, other).result == CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED);
}

#endif
