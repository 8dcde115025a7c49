// Executable graphs: which nodes run, in what order, with which parameters.
#include "graph_tools.hpp"
#include "plan_fault.hpp"

#include <algorithm>
#include <random>
#include <set>

using namespace sim_test;

namespace {

std::size_t position(const std::vector<int> &ran, int number) {
    return static_cast<std::size_t>(std::find(ran.begin(), ran.end(), number) - ran.begin());
}

} // namespace

TEST_CASE("copies, memsets, kernels and host nodes run in each launch") {
    start(GENERATE_COPY(from_range(all_modes())));
    sim_control().register_kernel(
        "add",
        [](const cushim_sim_launch *launch, void *) {
            auto *data = static_cast<std::uint32_t *>(
                sim_control().view(parameter<CUdeviceptr>(launch, 0), 16));
            for (int i = 0; i < 4; ++i) {
                data[i] += parameter<std::uint32_t>(launch, 1);
            }
            return 0;
        },
        nullptr);
    const Module module("cushim-sim-image 1\nkernel add params=8,4\n");
    const Stream stream;
    const CUgraph graph = make_graph();
    const Executable empty(graph); // can be launched
    Words one(4), two(4);
    std::uint32_t result[4] = {};
    RunOrder order;
    CUdeviceptr address = two.address;
    std::uint32_t number = 3;
    void *arguments[] = {&address, &number};
    const CUgraphNode set = add_memset(graph, words(one.address, 40, 4));
    const CUgraphNode copy = add_copy(graph, device_copy(two.address, one.address, 16), {set});
    const CUgraphNode kernel =
        add_kernel(graph, kernel_parameters(module.function("add"), arguments), {copy});
    const CUgraphNode read = add_copy(graph, copy_to_host(result, two.address, 16), {kernel});
    add_note(graph, order, 1, {read});
    const Executable exec(graph);
    CHECK(d.cuGraphUpload(exec, stream) == good); // work of the stream
    CHECK(d.cuStreamSynchronize(stream) == good);
    CHECK(order.ran().empty());
    CHECK(d.cuGraphUpload(nullptr, nullptr) == invalid);
    for (int i = 0; i < 4; ++i) {
        if (i == 3) { // no longer needed
            destroy(graph);
        }
        result[3] = 0;
        run(empty, stream);
        run(exec, stream);
        CHECK(result[3] == 43);
    }
    CHECK(order.ran().size() == 4);
}

TEST_CASE("nodes run after all their dependencies") {
    // Random graphs in several modes.
    std::mt19937 random(7);
    for (unsigned int round = 0; round < 30; ++round) {
        const std::string modes[] = {"mode=immediate", "mode=threaded", adversarial(round)};
        start(modes[round % 3]);
        const Graph graph;
        RunOrder order;
        Nodes nodes;
        std::vector<std::pair<int, int>> edges;
        std::vector<int> rank;
        const int count = 1 + static_cast<int>(random() % 20);
        for (int i = 0; i < count; ++i) {
            nodes.push_back(add_note(graph, order, i));
            rank.push_back(i);
        }
        // Edges follow a random ranking, so they form no cycle.
        std::shuffle(rank.begin(), rank.end(), random);
        for (int from = 0; from < count; ++from) {
            for (int to = 0; to < count; ++to) {
                const auto f = static_cast<std::size_t>(from), t = static_cast<std::size_t>(to);
                if (rank[f] < rank[t] && random() % 4 == 0) {
                    REQUIRE(add_edge(graph, nodes[f], nodes[t]) == good);
                    edges.emplace_back(from, to);
                }
            }
        }
        const Executable exec(graph);
        const Stream stream;
        run(exec, stream);
        const std::vector<int> ran = order.ran();
        REQUIRE(ran.size() == nodes.size());
        for (const auto &[from, to] : edges) {
            REQUIRE(position(ran, from) < position(ran, to));
        }
    }
}

TEST_CASE("independent branches run in any order") {
    std::set<std::vector<int>> seen;
    for (unsigned int seed = 1; seed <= 60; ++seed) {
        start(adversarial(seed));
        const Graph graph;
        RunOrder order;
        const CUgraphNode a = add_note(graph, order, 1);
        add_note(graph, order, 2, {a});
        add_note(graph, order, 3, {a});
        add_note(graph, order, 4);
        const Executable exec(graph);
        run(exec);
        seen.insert(order.ran());
    }
    CHECK(seen.size() == 8); // all orders with 1 before 2 and 3
}

TEST_CASE("a launch runs between the earlier and later work of its stream") {
    start(GENERATE_COPY(from_range(all_modes())));
    const Stream made;
    const CUstream stream = GENERATE(false, true) ? made.get() : nullptr;
    const Graph graph;
    RunOrder order;
    for (int i = 10; i < 15; ++i) {
        add_note(graph, order, i);
    }
    const Executable exec(graph);
    REQUIRE(order.launch(stream, 1) == good);
    REQUIRE(d.cuGraphLaunch(exec, stream) == good);
    REQUIRE(order.launch(stream, 2) == good);
    CHECK(d.cuStreamSynchronize(stream) == good);
    const auto ran = order.ran();
    REQUIRE(ran.size() == 7);
    CHECK((ran.front() == 1 && ran.back() == 2));
}

TEST_CASE("launches of one executable graph do not overlap") {
    start(GENERATE_COPY(from_range(all_modes())));
    const Stream one(non_blocking), two(non_blocking);
    const Graph graph;
    RunOrder order;
    add_note(graph, order, 2, {add_note(graph, order, 1)});
    const Executable exec(graph);
    for (int i = 0; i < 5; ++i) {
        REQUIRE(d.cuGraphLaunch(exec, one) == good);
        REQUIRE(d.cuGraphLaunch(exec, two) == good);
    }
    CHECK(d.cuCtxSynchronize() == good);
    const auto ran = order.ran();
    REQUIRE(ran.size() == 20);
    for (std::size_t i = 0; i < ran.size(); ++i) {
        REQUIRE(ran[i] == (i % 2 == 0 ? 1 : 2));
    }
}

TEST_CASE("a pending launch is unaffected by updates and destruction of its graph") {
    start(GENERATE(as<std::string>(), "mode=threaded", "mode=adversarial;seed=1",
                   "mode=adversarial;seed=9"));
    const CUgraph graph = make_graph();
    const Graph other;
    RunOrder order;
    const CUgraphNode node = add_note(graph, order, 1);
    add_note(other, order, 3);
    const CUgraphExec exec = instantiate(graph);
    REQUIRE(d.cuGraphLaunch(exec, nullptr) == good);
    // New parameters and updates affect later launches only.
    const CUDA_HOST_NODE_PARAMS changed = host_parameters(order, 2);
    CHECK(d.cuGraphExecHostNodeSetParams(exec, node, &changed) == good);
    REQUIRE(d.cuGraphLaunch(exec, nullptr) == good);
    REQUIRE(update(exec, other).status == good);
    REQUIRE(d.cuGraphLaunch(exec, nullptr) == good);
    destroy(exec);
    destroy(graph);
    CHECK(d.cuCtxSynchronize() == good);
    CHECK(order.ran() == std::vector<int>{1, 2, 3});
}

TEST_CASE("parameters of single nodes of an executable graph can be changed") {
    start(GENERATE(as<std::string>(), "mode=immediate", "mode=adversarial;seed=1"));
    const Graph graph;
    RunOrder order;
    Words one(8), two(8);
    std::uint32_t host[8] = {};
    const CUgraphNode set = add_memset(graph, words(one.address, 1, 8));
    const CUgraphNode copy = add_copy(graph, device_copy(two.address, one.address, 32), {set});
    const CUgraphNode note = add_note(graph, order, 1, {copy});
    const Executable exec(graph);
    run(exec);
    CHECK(two.at(7) == 1);

    const CUDA_MEMSET_NODE_PARAMS twos = words(one.address, 2, 8);
    CHECK(d.cuGraphExecMemsetNodeSetParams(exec, set, &twos, current()) == good);
    const CUDA_MEMCPY3D shorter = device_copy(two.address, one.address, 16);
    CHECK(d.cuGraphExecMemcpyNodeSetParams(exec, copy, &shorter, current()) == good);
    run(exec);
    CHECK(one.at(7) == 2);
    CHECK(two.at(3) == 2);
    CHECK(two.at(7) == 1);
    CHECK(got<CUDA_MEMSET_NODE_PARAMS>(&Driver::cuGraphMemsetNodeGetParams, set, out).value == 1);

    // Rejected: another shape, a node added after instantiation, a node of another type.
    CUDA_MEMSET_NODE_PARAMS block = words(one.address, 2, 4);
    block.height = 2;
    block.pitch = 16;
    const CUgraphNode late = add_memset(graph, words(one.address, 3, 8));
    const CUcontext context = current();
    const Calls set_memset(&Driver::cuGraphExecMemsetNodeSetParams);
    set_memset[invalid] = {{exec, set, &block, context},
                           {exec, late, &twos, context},
                           {exec, note, &twos, context},
                           {exec, set, nullptr, context},
                           {nullptr, set, &twos, context}};
    const CUDA_MEMCPY3D elsewhere = copy_to_host(host, one.address, 16);
    CHECK(d.cuGraphExecMemcpyNodeSetParams(exec, copy, &elsewhere, context) == invalid);
    CUDA_MEMCPY3D flat_no_more = device_copy(two.address, one.address, 8);
    flat_no_more.Height = 2;
    flat_no_more.srcPitch = flat_no_more.dstPitch = 16;
    CHECK(d.cuGraphExecMemcpyNodeSetParams(exec, copy, &flat_no_more, context) == invalid);
}

TEST_CASE("new parameters of a block copy must keep its shape") {
    const Graph graph;
    const Words one(8), two(8);
    CUDA_MEMCPY3D block = device_copy(two.address, one.address, 8);
    block.Height = 2;
    block.srcPitch = block.dstPitch = 16;
    const CUgraphNode copy = add_copy(graph, block);
    const Executable exec(graph);
    std::swap(block.dstDevice, block.srcDevice);
    CHECK(d.cuGraphExecMemcpyNodeSetParams(exec, copy, &block, current()) == good);
    REQUIRE(d.cuMemsetD32(one.address, 0, 8) == good);
    REQUIRE(d.cuMemsetD32(two.address, 7, 8) == good);
    run(exec);
    CHECK((one.at(0) == 7 && one.at(5) == 7 && one.at(2) == 0 && one.at(7) == 0));
    block.WidthInBytes = 4;
    CHECK(d.cuGraphExecMemcpyNodeSetParams(exec, copy, &block, current()) == invalid);
}

TEST_CASE("nodes of child graphs can be changed in the executable graph") {
    const Graph child, graph;
    RunOrder order;
    const CUgraphNode original = add_note(child, order, 1), node = add_child(graph, child);
    CUgraphNode inner = nullptr;
    REQUIRE(d.cuGraphNodeFindInClone(&inner, original, child_of(node)) == good);
    const Executable exec(graph);
    CUDA_HOST_NODE_PARAMS changed = host_parameters(order, 2);
    CHECK(d.cuGraphExecHostNodeSetParams(exec, inner, &changed) == good);
    CHECK(d.cuGraphExecHostNodeSetParams(exec, original, &changed) == invalid);
    run(exec);
    CHECK(order.ran() == std::vector<int>{2});
    // Replaces all nodes of the child graph.
    changed = host_parameters(order, 3);
    REQUIRE(d.cuGraphHostNodeSetParams(original, &changed) == good);
    const Calls set_child(&Driver::cuGraphExecChildGraphNodeSetParams);
    set_child[good] = {{exec, node, child}};
    run(exec);
    CHECK(order.ran() == std::vector<int>{2, 3});
    add_empty(child);
    set_child[CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE] = {{exec, node, child}};
    set_child[invalid] = {{exec, inner, child}};
}

TEST_CASE("copies, memsets and kernels can be disabled") {
    start(GENERATE(as<std::string>(), "mode=immediate", "mode=adversarial;seed=2"));
    const Graph graph;
    RunOrder order;
    Words memory(4);
    const CUgraphNode first = add_memset(graph, words(memory.address, 1, 4));
    const CUgraphNode second = add_memset(graph, words(memory.address, 2, 4), {first});
    const CUgraphNode note = add_note(graph, order, 1, {second});
    const Executable exec(graph);
    unsigned int enabled = 7;
    CHECK(got(d.cuGraphNodeGetEnabled(exec, second, &enabled), enabled) == 1);
    CHECK(d.cuGraphNodeSetEnabled(exec, second, 0) == good);
    CHECK(got(d.cuGraphNodeGetEnabled(exec, second, &enabled), enabled) == 0);
    run(exec);
    CHECK(memory.at(0) == 1);
    CHECK(order.ran().size() == 1);
    // Parameters of a disabled node can be changed and apply once it is enabled.
    const CUDA_MEMSET_NODE_PARAMS changed = words(memory.address, 5, 4);
    CHECK(d.cuGraphExecMemsetNodeSetParams(exec, second, &changed, current()) == good);
    CHECK(d.cuGraphNodeSetEnabled(exec, second, 3) == good);
    run(exec);
    CHECK(memory.at(0) == 5);
    CHECK(d.cuGraphNodeSetEnabled(exec, note, 0) == invalid);
    CHECK(d.cuGraphNodeGetEnabled(exec, note, &enabled) == invalid);
    CHECK(d.cuGraphNodeGetEnabled(exec, second, nullptr) == invalid);
}

TEST_CASE("flags of executable graphs are checked") {
    const Graph graph;
    Words memory(4);
    const CUgraphNode set = add_memset(graph, words(memory.address, 1, 4));
    for (const unsigned long long flags :
         {16ull, ~0ull, 1ull | 4ull, 2ull /* upload requires a stream */}) {
        CHECK(try_instantiate(graph, flags) == invalid);
    }
    const Executable exec(graph, CUDA_VERSION >= 11070 ? 8 : 0);
#if CUDA_VERSION >= 12000
    // Measured: the flag for node priorities is not reported.
    CHECK(got<cuuint64_t>(&Driver::cuGraphExecGetFlags, exec.get(), out) == 0);
    CHECK(d.cuGraphExecGetFlags(exec, nullptr) == invalid);
    // Launch from the device, since CUDA 12.0: only kernels, copies and memsets, at least one.
    destroy(instantiate(graph, 4));
#endif
    const CUgraphNode empty = add_empty(graph);
    CHECK(try_instantiate(graph, 4) == invalid);
    CHECK(d.cuGraphDestroyNode(empty) == good);
    CHECK(d.cuGraphDestroyNode(set) == good);
    CHECK(try_instantiate(graph, 4) == invalid);
}

TEST_CASE("an older driver rejects flags it does not know") {
    for (const auto &[version, expected] : {std::pair{"11070", good}, {"11060", invalid}}) {
        start(std::string("driver=") + version);
        const Graph graph;
        Words memory(4);
        add_memset(graph, words(memory.address, 1, 4));
        for (const auto &[flags, status] : {std::pair{1u, good}, {8u, expected}, {4u, invalid}}) {
            CUgraphExec exec = nullptr;
            CHECK(d.cuGraphInstantiateWithFlags(&exec, graph, flags) == status);
            CHECK((status != good || d.cuGraphExecDestroy(exec) == good));
        }
    }
}

#if CUDA_VERSION >= 12000
TEST_CASE("cuGraphInstantiateWithParams reports the reason of a failure") {
    const Graph graph;
    const CUgraphNode a = add_empty(graph), b = add_empty(graph, {a});
    const Stream stream;
    CUgraphExec exec = nullptr;
    CUDA_GRAPH_INSTANTIATE_PARAMS parameters{};
    const auto status = [&](unsigned long long flags, CUstream upload = nullptr) {
        parameters = {};
        parameters.flags = flags;
        parameters.hUploadStream = upload;
        parameters.result_out = CUDA_GRAPH_INSTANTIATE_ERROR;
        return d.cuGraphInstantiateWithParams(&exec, graph, &parameters);
    };
    REQUIRE(
        status(CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD | CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY,
               stream) == good);
    CHECK(parameters.result_out == CUDA_GRAPH_INSTANTIATE_SUCCESS);
    CHECK(parameters.hErrNode_out == nullptr);
    CHECK(got<cuuint64_t>(&Driver::cuGraphExecGetFlags, exec, out) == 0);
    destroy(exec);

    REQUIRE(add_edge(graph, b, a) == good);
    CHECK(status(0) == invalid);
    CHECK(parameters.result_out == CUDA_GRAPH_INSTANTIATE_INVALID_STRUCTURE);
    CHECK((parameters.hErrNode_out == a || parameters.hErrNode_out == b));
    REQUIRE(remove_edge(graph, b, a) == good);
    CHECK(status(CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH) != good);
    CHECK(parameters.result_out == CUDA_GRAPH_INSTANTIATE_NODE_OPERATION_NOT_SUPPORTED);
    CHECK(parameters.hErrNode_out == a);
    CHECK(status(64) == invalid);
    CHECK(parameters.result_out == CUDA_GRAPH_INSTANTIATE_ERROR);
    CHECK(parameters.hErrNode_out == nullptr);
    CHECK(d.cuGraphInstantiateWithParams(&exec, graph, nullptr) == invalid);
    // A failed upload leaks nothing.
    CHECK(status(CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD, garbage<CUstream>()) != good);
    expect_misuse("is not a stream handle");
    CHECK(leaks().size() == 2); // the graph, the stream
}
#endif

TEST_CASE("event nodes order a graph with streams") {
    start(GENERATE_COPY(from_range(all_modes())));
    const Stream one(non_blocking), two(non_blocking);
    const CUevent before = make_event(), after = make_event(), third = make_event();
    const Graph graph;
    RunOrder order;
    const CUgraphNode wait = add_wait(graph, before);
    const CUgraphNode record = add_record(graph, after, {add_note(graph, order, 2, {wait})});
    const Executable exec(graph);
    for (int i = 0; i < 3; ++i) {
        REQUIRE(order.launch(two, 1) == good);
        REQUIRE(d.cuEventRecord(before, two) == good);
        REQUIRE(d.cuGraphLaunch(exec, one) == good);
        REQUIRE(d.cuStreamWaitEvent(two, after, 0) == good);
        REQUIRE(order.launch(two, 3) == good);
    }
    CHECK(d.cuStreamSynchronize(two) == good);
    CHECK(order.ran() == std::vector<int>{1, 2, 3, 1, 2, 3, 1, 2, 3});
    CHECK(d.cuEventQuery(after) == good);
    // Replaces the events of both nodes.
    CHECK(d.cuGraphExecEventRecordNodeSetEvent(exec, record, third) == good);
    CHECK(d.cuGraphExecEventWaitNodeSetEvent(exec, wait, third) == good);
    CHECK(d.cuGraphExecEventWaitNodeSetEvent(exec, record, third) == invalid);
    run(exec, one);
    CHECK(got<float>(&Driver::cuEventElapsedTime, out, after, third) > 0);
    destroy(before);
    destroy(after);
    run(exec, one);
    destroy(third);
    CHECK(reported(d.cuGraphLaunch(exec, one), "whose object was destroyed") == invalid);
}

TEST_CASE("launching a graph whose kernels or memory are gone is a misuse") {
    start("mode=adversarial;seed=1");
    {
        const CUmodule module = load_module("cushim-sim-image 1\nkernel none\n");
        const Graph graph;
        add_kernel(graph, kernel_parameters(function_of(module, "none")));
        const Executable exec(graph);
        destroy(module);
        CHECK(reported(d.cuGraphLaunch(exec, nullptr), "whose object was destroyed") == invalid);
    }
    const CUgraph graph = make_graph();
    Words memory(4);
    add_memset(graph, words(memory.address, 1, 4));
    const CUgraphExec exec = instantiate(graph);
    memory.free();
    CHECK(d.cuGraphLaunch(exec, nullptr) == good);
    CHECK(reported(d.cuStreamSynchronize(nullptr), "freed") == CUDA_ERROR_ILLEGAL_ADDRESS);
    sim_control().reset(); // the context has failed
}

TEST_CASE("a failure of a node is reported by the stream") {
    start(GENERATE_COPY(from_range(all_modes())));
    const CUmodule module = load_failing_kernel();
    const CUgraph graph = make_graph();
    RunOrder order;
    add_note(graph, order, 1, {add_kernel(graph, kernel_parameters(function_of(module, "fails")))});
    const CUgraphExec exec = instantiate(graph);
    CHECK(d.cuGraphLaunch(exec, nullptr) == good);
    CHECK(d.cuStreamSynchronize(nullptr) == CUDA_ERROR_LAUNCH_FAILED);
    CHECK(order.ran().empty());
    CHECK(d.cuGraphLaunch(exec, nullptr) == CUDA_ERROR_LAUNCH_FAILED);
    sim_control().reset();
}

TEST_CASE("planned faults apply to launches of graphs") {
    start(GENERATE_COPY(from_range(all_modes())));
    const CUgraph graph = make_graph();
    RunOrder order;
    add_note(graph, order, 1);
    const CUgraphExec exec = instantiate(graph);
    fail_instead("cuGraphLaunch", CUDA_ERROR_OUT_OF_MEMORY);
    CHECK(d.cuGraphLaunch(exec, nullptr) == CUDA_ERROR_OUT_OF_MEMORY);
    CHECK(d.cuStreamSynchronize(nullptr) == good);
    fail_work("cuGraphLaunch", CUDA_ERROR_LAUNCH_FAILED);
    CHECK(d.cuGraphLaunch(exec, nullptr) == good);
    CHECK(d.cuStreamSynchronize(nullptr) == CUDA_ERROR_LAUNCH_FAILED);
    CHECK(order.ran().empty());
    sim_control().reset();
}

TEST_CASE("threads can launch their own graphs concurrently") {
    start("mode=threaded");
    const CUcontext context = current();
    CHECK(in_threads([&](std::size_t) {
              d.cuCtxSetCurrent(context);
              RunOrder order;
              CUgraph graph = nullptr;
              CUgraphNode node = nullptr;
              CUgraphExec exec = nullptr;
              CUstream stream = nullptr;
              const CUDA_HOST_NODE_PARAMS parameters = host_parameters(order, 1);
              d.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
              d.cuGraphCreate(&graph, 0);
              for (int i = 0; i < 4; ++i) {
                  d.cuGraphAddHostNode(&node, graph, nullptr, 0, &parameters);
              }
              d.cuGraphInstantiateWithFlags(&exec, graph, 0);
              for (int i = 0; i < 25; ++i) {
                  d.cuGraphLaunch(exec, stream);
              }
              d.cuGraphExecDestroy(exec);
              d.cuGraphDestroy(graph);
              d.cuStreamSynchronize(stream);
              d.cuStreamDestroy(stream);
              return order.ran().size();
          }) == std::vector<std::size_t>(4, 100));
}
