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

TEST_CASE("copies, memsets and host nodes run in each launch, also without their graph") {
    start(GENERATE_COPY(from_range(all_modes())));
    const Stream stream;
    const CUgraph graph = make_graph();
    const Executable empty(graph); // can be launched
    Words one(4), two(4);
    std::uint32_t result[4] = {};
    RunOrder order;
    const CUgraphNode set = add_memset(graph, words(one.address, 40, 4));
    const CUgraphNode copy = add_copy(graph, device_copy(two.address, one.address, 16), {set});
    const CUgraphNode read = add_copy(graph, copy_to_host(result, two.address, 16), {copy});
    add_note(graph, order, 1, {read});
    const Executable exec(graph);
    ok(driver().cuGraphUpload(exec, stream)); // work of the stream
    ok(driver().cuStreamSynchronize(stream));
    CHECK(order.ran().empty());
    destroy(graph);
    for (int i = 0; i < 3; ++i) {
        result[3] = 0;
        run(empty, stream);
        run(exec, stream);
        CHECK(result[3] == 40);
    }
    CHECK(order.ran().size() == 3);
}

TEST_CASE("an executable graph outlives a context of cuCtxCreate") {
    const CUcontext context = make_context();
    const CUevent event = make_event();
    const Graph graph;
    RunOrder order;
    add_note(graph, order, 1);
    const Executable exec(graph);
    destroy(context);
    const Stream stream;
    run(exec, stream);
    CHECK(order.ran() == std::vector<int>{1});
    // An event of the context can still be added, but not recorded.
    CUgraphNode node = nullptr;
    ok(driver().cuGraphAddEventRecordNode(&node, graph, nullptr, 0, event));
    const Executable with_event(graph);
    CHECK(reported(driver().cuGraphLaunch(with_event, stream), "whose object was destroyed") ==
          invalid);
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
                    require_ok(add_edge(graph, nodes[f], nodes[t]));
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
    require_ok(order.launch(stream, 1));
    require_ok(driver().cuGraphLaunch(exec, stream));
    require_ok(order.launch(stream, 2));
    ok(driver().cuStreamSynchronize(stream));
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
        require_ok(driver().cuGraphLaunch(exec, one));
        require_ok(driver().cuGraphLaunch(exec, two));
    }
    ok(driver().cuCtxSynchronize());
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
    require_ok(driver().cuGraphLaunch(exec, nullptr));
    // New parameters and updates affect later launches only.
    const CUDA_HOST_NODE_PARAMS changed = host_parameters(order, 2);
    ok(driver().cuGraphExecHostNodeSetParams(exec, node, &changed));
    require_ok(driver().cuGraphLaunch(exec, nullptr));
    REQUIRE(update(exec, other).status == CUDA_SUCCESS);
    require_ok(driver().cuGraphLaunch(exec, nullptr));
    destroy(exec);
    destroy(graph);
    ok(driver().cuCtxSynchronize());
    CHECK(order.ran() == std::vector<int>{1, 2, 3});
}

TEST_CASE("new parameters of a node of an executable graph must keep its shape") {
    start(GENERATE(as<std::string>(), "mode=immediate", "mode=adversarial;seed=1"));
    const Graph graph;
    Words one(8), two(8);
    std::uint32_t host[8] = {};
    const CUgraphNode set = add_memset(graph, words(one.address, 1, 8));
    const CUgraphNode copy = add_copy(graph, device_copy(two.address, one.address, 32), {set});
    const Executable exec(graph);
    run(exec);
    CHECK(two.at(7) == 1);
    const auto set_copy = [&](const CUDA_MEMCPY3D &parameters) {
        return driver().cuGraphExecMemcpyNodeSetParams(exec, copy, &parameters, current());
    };
    const CUDA_MEMSET_NODE_PARAMS twos = words(one.address, 2, 8);
    ok(driver().cuGraphExecMemsetNodeSetParams(exec, set, &twos, current()));
    ok(set_copy(device_copy(two.address, one.address, 16)));
    run(exec);
    CHECK((one.at(7) == 2 && two.at(3) == 2 && two.at(7) == 1));
    CHECK(got<CUDA_MEMSET_NODE_PARAMS>(&Driver::cuGraphMemsetNodeGetParams, set, out).value == 1);
    const CUgraphNode late = add_memset(graph, words(one.address, 3, 8));
    CHECK(driver().cuGraphExecMemsetNodeSetParams(exec, late, &twos, current()) == invalid);
    CHECK(set_copy(copy_to_host(host, one.address, 16)) == invalid);
    CUDA_MEMCPY3D block = device_copy(two.address, one.address, 8);
    block.Height = 2;
    block.srcPitch = block.dstPitch = 16;
    CHECK(set_copy(block) == invalid);
}

TEST_CASE("new parameters of a disabled node apply once it is enabled") {
    start(GENERATE(as<std::string>(), "mode=immediate", "mode=adversarial;seed=2"));
    const Graph graph;
    RunOrder order;
    Words memory(4);
    const CUgraphNode first = add_memset(graph, words(memory.address, 1, 4));
    const CUgraphNode second = add_memset(graph, words(memory.address, 2, 4), {first});
    add_note(graph, order, 1, {second});
    const Executable exec(graph);
    ok(driver().cuGraphNodeSetEnabled(exec, second, 0));
    run(exec);
    CHECK(memory.at(0) == 1);
    CHECK(order.ran().size() == 1);
    const CUDA_MEMSET_NODE_PARAMS changed = words(memory.address, 5, 4);
    ok(driver().cuGraphExecMemsetNodeSetParams(exec, second, &changed, current()));
    run(exec);
    CHECK(memory.at(0) == 1);
    ok(driver().cuGraphNodeSetEnabled(exec, second, 3));
    run(exec);
    CHECK(memory.at(0) == 5);
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
    // Launch from the device, since CUDA 12.0: only kernels, copies and memsets, at least one.
    destroy(instantiate(graph, 4));
#endif
    const CUgraphNode empty = add_empty(graph);
    CHECK(try_instantiate(graph, 4) == invalid);
    ok(driver().cuGraphDestroyNode(empty));
    ok(driver().cuGraphDestroyNode(set));
    CHECK(try_instantiate(graph, 4) == invalid);
}

TEST_CASE("an older driver rejects flags it does not know") {
    for (const auto &[version, expected] : {std::pair{"11070", CUDA_SUCCESS}, {"11060", invalid}}) {
        start(std::string("driver=") + version);
        const Graph graph;
        Words memory(4);
        add_memset(graph, words(memory.address, 1, 4));
        for (const auto &[flags, status] :
             {std::pair{1u, CUDA_SUCCESS}, {8u, expected}, {4u, invalid}}) {
            CUgraphExec exec = nullptr;
            CHECK(driver().cuGraphInstantiateWithFlags(&exec, graph, flags) == status);
            CHECK((status != CUDA_SUCCESS || driver().cuGraphExecDestroy(exec) == CUDA_SUCCESS));
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
        return driver().cuGraphInstantiateWithParams(&exec, graph, &parameters);
    };
    require_ok(
        status(CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD | CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY,
               stream));
    CHECK(parameters.result_out == CUDA_GRAPH_INSTANTIATE_SUCCESS);
    CHECK(parameters.hErrNode_out == nullptr);
    CHECK(got<cuuint64_t>(&Driver::cuGraphExecGetFlags, exec, out) == 0);
    destroy(exec);

    require_ok(add_edge(graph, b, a));
    CHECK(status(0) == invalid);
    CHECK(parameters.result_out == CUDA_GRAPH_INSTANTIATE_INVALID_STRUCTURE);
    CHECK((parameters.hErrNode_out == a || parameters.hErrNode_out == b));
    require_ok(remove_edge(graph, b, a));
    CHECK(status(CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH) != CUDA_SUCCESS);
    CHECK(parameters.result_out == CUDA_GRAPH_INSTANTIATE_NODE_OPERATION_NOT_SUPPORTED);
    CHECK(parameters.hErrNode_out == a);
    CHECK(status(64) == invalid);
    CHECK(parameters.result_out == CUDA_GRAPH_INSTANTIATE_ERROR);
    CHECK(parameters.hErrNode_out == nullptr);
    // A failed upload leaks nothing.
    CHECK(status(CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD, garbage<CUstream>()) != CUDA_SUCCESS);
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
        require_ok(order.launch(two, 1));
        require_ok(driver().cuEventRecord(before, two));
        require_ok(driver().cuGraphLaunch(exec, one));
        require_ok(driver().cuStreamWaitEvent(two, after, 0));
        require_ok(order.launch(two, 3));
    }
    ok(driver().cuStreamSynchronize(two));
    CHECK(order.ran() == std::vector<int>{1, 2, 3, 1, 2, 3, 1, 2, 3});
    ok(driver().cuEventQuery(after));
    // Replaces the events of both nodes.
    ok(driver().cuGraphExecEventRecordNodeSetEvent(exec, record, third));
    ok(driver().cuGraphExecEventWaitNodeSetEvent(exec, wait, third));
    destroy(before);
    destroy(after);
    run(exec, one);
    ok(driver().cuEventQuery(third));
    destroy(third);
    CHECK(reported(driver().cuGraphLaunch(exec, one), "whose object was destroyed") == invalid);
}

TEST_CASE("launching a graph whose kernels or memory are gone is a misuse") {
    start("mode=adversarial;seed=1");
    {
        const CUmodule module = load_module("cushim-sim-image 1\nkernel none\n");
        const Graph graph;
        add_kernel(graph, kernel_parameters(function_of(module, "none")));
        const Executable exec(graph);
        destroy(module);
        CHECK(reported(driver().cuGraphLaunch(exec, nullptr), "whose object was destroyed") ==
              invalid);
    }
    const CUgraph graph = make_graph();
    Words memory(4);
    add_memset(graph, words(memory.address, 1, 4));
    const CUgraphExec exec = instantiate(graph);
    memory.free();
    ok(driver().cuGraphLaunch(exec, nullptr));
    CHECK(reported(driver().cuStreamSynchronize(nullptr), "freed") == CUDA_ERROR_ILLEGAL_ADDRESS);
    sim_control().reset(); // the context has failed
}

TEST_CASE("a failure of a node is reported by the stream") {
    start(GENERATE_COPY(from_range(all_modes())));
    const CUmodule module = load_failing_kernel();
    const CUgraph graph = make_graph();
    RunOrder order;
    add_note(graph, order, 1, {add_kernel(graph, kernel_parameters(function_of(module, "fails")))});
    const CUgraphExec exec = instantiate(graph);
    ok(driver().cuGraphLaunch(exec, nullptr));
    CHECK(driver().cuStreamSynchronize(nullptr) == CUDA_ERROR_LAUNCH_FAILED);
    CHECK(order.ran().empty());
    CHECK(driver().cuGraphLaunch(exec, nullptr) == CUDA_ERROR_LAUNCH_FAILED);
    sim_control().reset();
}

TEST_CASE("planned faults apply to launches of graphs") {
    start(GENERATE_COPY(from_range(all_modes())));
    const CUgraph graph = make_graph();
    RunOrder order;
    add_note(graph, order, 1);
    const CUgraphExec exec = instantiate(graph);
    fail_instead("cuGraphLaunch", CUDA_ERROR_OUT_OF_MEMORY);
    CHECK(driver().cuGraphLaunch(exec, nullptr) == CUDA_ERROR_OUT_OF_MEMORY);
    ok(driver().cuStreamSynchronize(nullptr));
    fail_work("cuGraphLaunch", CUDA_ERROR_LAUNCH_FAILED);
    ok(driver().cuGraphLaunch(exec, nullptr));
    CHECK(driver().cuStreamSynchronize(nullptr) == CUDA_ERROR_LAUNCH_FAILED);
    CHECK(order.ran().empty());
    sim_control().reset();
}

TEST_CASE("threads can launch their own graphs concurrently") {
    start("mode=threaded");
    const CUcontext context = current();
    CHECK(in_threads([&](std::size_t) {
              driver().cuCtxSetCurrent(context);
              RunOrder order;
              CUgraph graph = nullptr;
              CUgraphNode node = nullptr;
              CUgraphExec exec = nullptr;
              CUstream stream = nullptr;
              const CUDA_HOST_NODE_PARAMS parameters = host_parameters(order, 1);
              driver().cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
              driver().cuGraphCreate(&graph, 0);
              for (int i = 0; i < 4; ++i) {
                  driver().cuGraphAddHostNode(&node, graph, nullptr, 0, &parameters);
              }
              driver().cuGraphInstantiateWithFlags(&exec, graph, 0);
              for (int i = 0; i < 25; ++i) {
                  driver().cuGraphLaunch(exec, stream);
              }
              driver().cuGraphExecDestroy(exec);
              driver().cuGraphDestroy(graph);
              driver().cuStreamSynchronize(stream);
              driver().cuStreamDestroy(stream);
              return order.ran().size();
          }) == std::vector<std::size_t>(4, 100));
}
