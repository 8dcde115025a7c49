// Executable graphs: what runs, after what, and with which parameters.
#include "graph_tools.hpp"
#include "plan_fault.hpp"

#include <catch2/generators/catch_generators_range.hpp>

#include <algorithm>
#include <random>
#include <set>
#include <string>
#include <thread>

using namespace sim_test;

namespace {

std::size_t position(const std::vector<int> &ran, int number) {
    return static_cast<std::size_t>(std::find(ran.begin(), ran.end(), number) - ran.begin());
}

} // namespace

TEST_CASE("an empty graph launches", "[graph_exec]") {
    start(GENERATE_COPY(from_range(all_modes())));
    const CUgraph graph = make_graph();
    const CUgraphExec exec = instantiate(graph);
    run(exec);
    run(exec);
    destroy(exec);
    destroy(graph);
}

TEST_CASE("copies, memsets, kernels and host nodes do their work at every launch", "[graph_exec]") {
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
    TestModule module("cushim-sim-image 1\nkernel add params=8,4\n");
    const CUstream stream = make_stream();
    const CUgraph graph = make_graph();
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
    const CUgraphExec exec = instantiate(graph);
    for (int i = 0; i < 3; ++i) {
        result[3] = 0;
        run(exec, stream);
        CHECK(result[3] == 43);
    }
    CHECK(order.ran().size() == 3);
    // It does not need its graph any more.
    destroy(graph);
    result[3] = 0;
    run(exec, stream);
    CHECK(result[3] == 43);
    destroy(exec);
    destroy(stream);
    one.free();
    two.free();
    module.unload();
}

TEST_CASE("nodes run after what they depend on, and nothing else holds them", "[graph_exec]") {
    // Random graphs, many orders: edges are kept in all of them, and orders differ.
    std::mt19937 random(7);
    for (int round = 0; round < 30; ++round) {
        const std::string mode = round % 3 == 0   ? "mode=immediate"
                                 : round % 3 == 1 ? "mode=threaded"
                                                  : adversarial(static_cast<unsigned>(round));
        start(mode);
        const CUgraph graph = make_graph();
        RunOrder order;
        std::vector<CUgraphNode> nodes;
        std::vector<std::pair<int, int>> edges;
        const int count = 1 + static_cast<int>(random() % 20);
        for (int i = 0; i < count; ++i) {
            nodes.push_back(add_note(graph, order, i));
        }
        // Edges in any direction that makes no cycle: along a random ranking.
        std::vector<int> rank(nodes.size());
        for (int i = 0; i < count; ++i) {
            rank[static_cast<std::size_t>(i)] = i;
        }
        std::shuffle(rank.begin(), rank.end(), random);
        for (int from = 0; from < count; ++from) {
            for (int to = 0; to < count; ++to) {
                const auto f = static_cast<std::size_t>(from), t = static_cast<std::size_t>(to);
                if (rank[f] < rank[t] && random() % 4 == 0) {
                    REQUIRE(add_edge(graph, nodes[f], nodes[t]) == CUDA_SUCCESS);
                    edges.emplace_back(from, to);
                }
            }
        }
        const CUgraphExec exec = instantiate(graph);
        const CUstream stream = make_stream();
        run(exec, stream);
        const std::vector<int> ran = order.ran();
        REQUIRE(ran.size() == nodes.size());
        for (const auto &[from, to] : edges) {
            REQUIRE(position(ran, from) < position(ran, to));
        }
        destroy(exec);
        destroy(graph);
        destroy(stream);
    }
}

TEST_CASE("independent branches run in any order", "[graph_exec]") {
    std::set<std::vector<int>> seen;
    for (unsigned int seed = 1; seed <= 60; ++seed) {
        start(adversarial(seed));
        const CUgraph graph = make_graph();
        RunOrder order;
        const CUgraphNode a = add_note(graph, order, 1);
        add_note(graph, order, 2, {a});
        add_note(graph, order, 3, {a});
        add_note(graph, order, 4);
        const CUgraphExec exec = instantiate(graph);
        run(exec);
        seen.insert(order.ran());
        destroy(exec);
        destroy(graph);
    }
    CHECK(seen.size() == 8); // of 4! orders those with 1 before 2 and 3
}

TEST_CASE("a launch is one piece of its stream's work", "[graph_exec]") {
    start(GENERATE_COPY(from_range(all_modes())));
    const CUstream stream = GENERATE(false, true) ? make_stream() : nullptr;
    const CUgraph graph = make_graph();
    RunOrder order;
    for (int i = 10; i < 15; ++i) {
        add_note(graph, order, i);
    }
    const CUgraphExec exec = instantiate(graph);
    REQUIRE(order.launch(stream, 1) == CUDA_SUCCESS);
    REQUIRE(d().cuGraphLaunch(exec, stream) == CUDA_SUCCESS);
    REQUIRE(order.launch(stream, 2) == CUDA_SUCCESS);
    CHECK(d().cuStreamSynchronize(stream) == CUDA_SUCCESS);
    const auto ran = order.ran();
    REQUIRE(ran.size() == 7);
    CHECK((ran.front() == 1 && ran.back() == 2));
    destroy(exec);
    destroy(graph);
    if (stream != nullptr) {
        destroy(stream);
    }
}

TEST_CASE("launches of one executable graph do not overlap", "[graph_exec]") {
    start(GENERATE_COPY(from_range(all_modes())));
    const CUstream one = make_stream(CU_STREAM_NON_BLOCKING),
                   two = make_stream(CU_STREAM_NON_BLOCKING);
    const CUgraph graph = make_graph();
    RunOrder order;
    add_note(graph, order, 2, {add_note(graph, order, 1)});
    const CUgraphExec exec = instantiate(graph);
    for (int i = 0; i < 5; ++i) {
        REQUIRE(d().cuGraphLaunch(exec, one) == CUDA_SUCCESS);
        REQUIRE(d().cuGraphLaunch(exec, two) == CUDA_SUCCESS);
    }
    CHECK(d().cuCtxSynchronize() == CUDA_SUCCESS);
    const auto ran = order.ran();
    REQUIRE(ran.size() == 20);
    for (std::size_t i = 0; i < ran.size(); ++i) {
        REQUIRE(ran[i] == (i % 2 == 0 ? 1 : 2));
    }
    destroy(exec);
    destroy(graph);
    destroy(one);
    destroy(two);
}

TEST_CASE("a launch in flight does not need what it was launched with", "[graph_exec]") {
    start(GENERATE(as<std::string>(), "mode=threaded", "mode=adversarial;seed=1",
                   "mode=adversarial;seed=9"));
    const CUgraph graph = make_graph();
    RunOrder order;
    const CUgraphNode node = add_note(graph, order, 1);
    const CUgraphExec exec = instantiate(graph);
    REQUIRE(d().cuGraphLaunch(exec, nullptr) == CUDA_SUCCESS);
    // New parameters are for launches to come.
    const CUDA_HOST_NODE_PARAMS changed = host_parameters(order, 2);
    CHECK(d().cuGraphExecHostNodeSetParams(exec, node, &changed) == CUDA_SUCCESS);
    REQUIRE(d().cuGraphLaunch(exec, nullptr) == CUDA_SUCCESS);
    destroy(exec);
    destroy(graph);
    CHECK(d().cuCtxSynchronize() == CUDA_SUCCESS);
    CHECK(order.ran() == std::vector<int>{1, 2});
}

TEST_CASE("steps get new parameters one by one", "[graph_exec]") {
    start(GENERATE(as<std::string>(), "mode=immediate", "mode=adversarial;seed=1"));
    const CUgraph graph = make_graph();
    RunOrder order;
    Words one(8), two(8);
    std::uint32_t host[8] = {};
    const CUgraphNode set = add_memset(graph, words(one.address, 1, 8));
    const CUgraphNode copy = add_copy(graph, device_copy(two.address, one.address, 32), {set});
    const CUgraphNode note = add_note(graph, order, 1, {copy});
    const CUgraphExec exec = instantiate(graph);
    run(exec);
    CHECK(two.at(7) == 1);

    CUDA_MEMSET_NODE_PARAMS changed = words(one.address, 2, 8);
    CHECK(d().cuGraphExecMemsetNodeSetParams(exec, set, &changed, current()) == CUDA_SUCCESS);
    const CUDA_MEMCPY3D shorter = device_copy(two.address, one.address, 16);
    CHECK(d().cuGraphExecMemcpyNodeSetParams(exec, copy, &shorter, current()) == CUDA_SUCCESS);
    run(exec);
    CHECK(one.at(7) == 2);
    CHECK(two.at(3) == 2);
    CHECK(two.at(7) == 1);
    CUDA_MEMSET_NODE_PARAMS untouched{};
    CHECK(d().cuGraphMemsetNodeGetParams(set, &untouched) == CUDA_SUCCESS);
    CHECK(untouched.value == 1);

    // What cannot change.
    changed.height = 2;
    changed.pitch = 16;
    changed.width = 4;
    CHECK(d().cuGraphExecMemsetNodeSetParams(exec, set, &changed, current()) ==
          CUDA_ERROR_INVALID_VALUE);
    const CUDA_MEMCPY3D elsewhere = copy_to_host(host, one.address, 16);
    CHECK(d().cuGraphExecMemcpyNodeSetParams(exec, copy, &elsewhere, current()) ==
          CUDA_ERROR_INVALID_VALUE);
    CUDA_MEMCPY3D flat_no_more = device_copy(two.address, one.address, 8);
    flat_no_more.Height = 2;
    flat_no_more.srcPitch = flat_no_more.dstPitch = 16;
    CHECK(d().cuGraphExecMemcpyNodeSetParams(exec, copy, &flat_no_more, current()) ==
          CUDA_ERROR_INVALID_VALUE);
    // Other nodes than those of its graph, and of other types.
    const CUgraphNode late = add_memset(graph, words(one.address, 3, 8));
    changed = words(one.address, 4, 8);
    CHECK(d().cuGraphExecMemsetNodeSetParams(exec, late, &changed, current()) ==
          CUDA_ERROR_INVALID_VALUE);
    CHECK(d().cuGraphExecMemsetNodeSetParams(exec, note, &changed, current()) ==
          CUDA_ERROR_INVALID_VALUE);
    CHECK(d().cuGraphExecMemsetNodeSetParams(exec, set, nullptr, current()) ==
          CUDA_ERROR_INVALID_VALUE);
    CHECK(d().cuGraphExecMemsetNodeSetParams(nullptr, set, &changed, current()) ==
          CUDA_ERROR_INVALID_VALUE);
    destroy(exec);
    destroy(graph);
    one.free();
    two.free();
}

TEST_CASE("a step that copies a block keeps its shape", "[graph_exec]") {
    start();
    const CUgraph graph = make_graph();
    Words one(8), two(8);
    CUDA_MEMCPY3D block = device_copy(two.address, one.address, 8);
    block.Height = 2;
    block.srcPitch = block.dstPitch = 16;
    const CUgraphNode copy = add_copy(graph, block);
    const CUgraphExec exec = instantiate(graph);
    block.dstDevice = one.address;
    block.srcDevice = two.address;
    CHECK(d().cuGraphExecMemcpyNodeSetParams(exec, copy, &block, current()) == CUDA_SUCCESS);
    REQUIRE(d().cuMemsetD32(one.address, 0, 8) == CUDA_SUCCESS);
    REQUIRE(d().cuMemsetD32(two.address, 7, 8) == CUDA_SUCCESS);
    run(exec);
    CHECK((one.at(0) == 7 && one.at(5) == 7));
    CHECK((one.at(2) == 0 && one.at(7) == 0));
    block.WidthInBytes = 4;
    CHECK(d().cuGraphExecMemcpyNodeSetParams(exec, copy, &block, current()) ==
          CUDA_ERROR_INVALID_VALUE);
    destroy(exec);
    destroy(graph);
    one.free();
    two.free();
}

TEST_CASE("nodes of child graphs are steps, too", "[graph_exec]") {
    start();
    const CUgraph child = make_graph(), graph = make_graph();
    RunOrder order;
    const CUgraphNode original = add_note(child, order, 1);
    CUgraphNode node = nullptr, inner = nullptr;
    REQUIRE(d().cuGraphAddChildGraphNode(&node, graph, nullptr, 0, child) == CUDA_SUCCESS);
    CUgraph embedded = nullptr;
    REQUIRE(d().cuGraphChildGraphNodeGetGraph(node, &embedded) == CUDA_SUCCESS);
    REQUIRE(d().cuGraphNodeFindInClone(&inner, original, embedded) == CUDA_SUCCESS);
    const CUgraphExec exec = instantiate(graph);
    CUDA_HOST_NODE_PARAMS changed = host_parameters(order, 2);
    CHECK(d().cuGraphExecHostNodeSetParams(exec, inner, &changed) == CUDA_SUCCESS);
    CHECK(d().cuGraphExecHostNodeSetParams(exec, original, &changed) == CUDA_ERROR_INVALID_VALUE);
    run(exec);
    CHECK(order.ran() == std::vector<int>{2});
    // A whole child at once.
    changed = host_parameters(order, 3);
    REQUIRE(d().cuGraphHostNodeSetParams(original, &changed) == CUDA_SUCCESS);
    CHECK(d().cuGraphExecChildGraphNodeSetParams(exec, node, child) == CUDA_SUCCESS);
    run(exec);
    CHECK(order.ran() == std::vector<int>{2, 3});
    add_empty(child);
    CHECK(d().cuGraphExecChildGraphNodeSetParams(exec, node, child) ==
          CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
    CHECK(d().cuGraphExecChildGraphNodeSetParams(exec, inner, child) == CUDA_ERROR_INVALID_VALUE);
    destroy(exec);
    destroy(graph);
    destroy(child);
}

TEST_CASE("copies, memsets and kernels can be left out", "[graph_exec]") {
    start(GENERATE(as<std::string>(), "mode=immediate", "mode=adversarial;seed=2"));
    const CUgraph graph = make_graph();
    RunOrder order;
    Words memory(4);
    const CUgraphNode first = add_memset(graph, words(memory.address, 1, 4));
    const CUgraphNode second = add_memset(graph, words(memory.address, 2, 4), {first});
    const CUgraphNode note = add_note(graph, order, 1, {second});
    const CUgraphExec exec = instantiate(graph);
    unsigned int enabled = 7;
    CHECK(d().cuGraphNodeGetEnabled(exec, second, &enabled) == CUDA_SUCCESS);
    CHECK(enabled == 1);
    CHECK(d().cuGraphNodeSetEnabled(exec, second, 0) == CUDA_SUCCESS);
    CHECK(d().cuGraphNodeGetEnabled(exec, second, &enabled) == CUDA_SUCCESS);
    CHECK(enabled == 0);
    run(exec);
    CHECK(memory.at(0) == 1);
    CHECK(order.ran().size() == 1);
    // Parameters can change meanwhile, and count when it is back.
    const CUDA_MEMSET_NODE_PARAMS changed = words(memory.address, 5, 4);
    CHECK(d().cuGraphExecMemsetNodeSetParams(exec, second, &changed, current()) == CUDA_SUCCESS);
    CHECK(d().cuGraphNodeSetEnabled(exec, second, 3) == CUDA_SUCCESS);
    run(exec);
    CHECK(memory.at(0) == 5);
    CHECK(d().cuGraphNodeSetEnabled(exec, note, 0) == CUDA_ERROR_INVALID_VALUE);
    CHECK(d().cuGraphNodeGetEnabled(exec, note, &enabled) == CUDA_ERROR_INVALID_VALUE);
    CHECK(d().cuGraphNodeGetEnabled(exec, second, nullptr) == CUDA_ERROR_INVALID_VALUE);
    destroy(exec);
    destroy(graph);
    memory.free();
}

TEST_CASE("flags of executable graphs", "[graph_exec]") {
    start();
    const CUgraph graph = make_graph();
    Words memory(4);
    add_memset(graph, words(memory.address, 1, 4));
    CHECK(try_instantiate(graph, 16) == CUDA_ERROR_INVALID_VALUE);
    CHECK(try_instantiate(graph, ~0ull) == CUDA_ERROR_INVALID_VALUE);
    CHECK(try_instantiate(graph, 2) ==
          CUDA_ERROR_INVALID_VALUE); // upload: there is no stream for it
    CHECK(try_instantiate(graph, 1 | 4) == CUDA_ERROR_INVALID_VALUE);
    const CUgraphExec exec = instantiate(graph, CUDA_VERSION >= 11070 ? 8 : 0);
#if CUDA_VERSION >= 12000
    cuuint64_t flags = 99;
    CHECK(d().cuGraphExecGetFlags(exec, &flags) == CUDA_SUCCESS);
    CHECK(flags == 0); // measured: the priorities of nodes are not told
    CHECK(d().cuGraphExecGetFlags(exec, nullptr) == CUDA_ERROR_INVALID_VALUE);
#endif
    destroy(exec);
    // For launches from the device, since CUDA 12.0: work of kernels only.
    if (CUDA_VERSION >= 12000) {
        destroy(instantiate(graph, 4));
    }
    const CUgraphNode empty = add_empty(graph);
    CHECK(try_instantiate(graph, 4) == CUDA_ERROR_INVALID_VALUE);
    CHECK(d().cuGraphDestroyNode(empty) == CUDA_SUCCESS);
    CHECK(d().cuGraphDestroyNode(nodes_of(graph).front()) == CUDA_SUCCESS);
    CHECK(try_instantiate(graph, 4) == CUDA_ERROR_INVALID_VALUE); // nothing in it
    destroy(graph);
    memory.free();
}

TEST_CASE("older drivers refuse flags that they do not know", "[graph_exec]") {
    const bool has_priorities = GENERATE(false, true);
    start(has_priorities ? "driver=11070" : "driver=11060");
    const CUgraph graph = make_graph();
    Words memory(4);
    add_memset(graph, words(memory.address, 1, 4));
    destroy(instantiate(graph, 1));
    if (has_priorities) {
        destroy(instantiate(graph, 8));
    } else {
        CHECK(try_instantiate(graph, 8) == CUDA_ERROR_INVALID_VALUE);
    }
    CHECK(try_instantiate(graph, 4) == CUDA_ERROR_INVALID_VALUE);
    destroy(graph);
    memory.free();
}

TEST_CASE("an upload is work of its stream", "[graph_exec]") {
    start(GENERATE_COPY(from_range(all_modes())));
    const CUgraph graph = make_graph();
    RunOrder order;
    add_note(graph, order, 1);
    const CUgraphExec exec = instantiate(graph);
    CHECK(d().cuGraphUpload(exec, nullptr) == CUDA_SUCCESS);
    CHECK(d().cuStreamSynchronize(nullptr) == CUDA_SUCCESS);
    CHECK(order.ran().empty());
    CHECK(d().cuGraphUpload(nullptr, nullptr) == CUDA_ERROR_INVALID_VALUE);
    destroy(exec);
    destroy(graph);
}

#if CUDA_VERSION >= 12000
TEST_CASE("instantiation by parameters says what is wrong", "[graph_exec]") {
    start();
    const CUgraph graph = make_graph();
    const CUgraphNode a = add_empty(graph), b = add_empty(graph, {a});
    const CUstream stream = make_stream();
    CUgraphExec exec = nullptr;
    CUDA_GRAPH_INSTANTIATE_PARAMS parameters{};
    parameters.flags =
        CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD | CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY;
    parameters.hUploadStream = stream;
    parameters.result_out = CUDA_GRAPH_INSTANTIATE_ERROR;
    REQUIRE(d().cuGraphInstantiateWithParams(&exec, graph, &parameters) == CUDA_SUCCESS);
    CHECK(parameters.result_out == CUDA_GRAPH_INSTANTIATE_SUCCESS);
    CHECK(parameters.hErrNode_out == nullptr);
    cuuint64_t flags = 0;
    CHECK(d().cuGraphExecGetFlags(exec, &flags) == CUDA_SUCCESS);
    CHECK(flags == 0);
    destroy(exec);

    REQUIRE(add_edge(graph, b, a) == CUDA_SUCCESS);
    parameters.flags = 0;
    CHECK(d().cuGraphInstantiateWithParams(&exec, graph, &parameters) == CUDA_ERROR_INVALID_VALUE);
    CHECK(parameters.result_out == CUDA_GRAPH_INSTANTIATE_INVALID_STRUCTURE);
    CHECK((parameters.hErrNode_out == a || parameters.hErrNode_out == b));
    REQUIRE(remove_edge(graph, b, a) == CUDA_SUCCESS);
    parameters.flags = CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH;
    CHECK(d().cuGraphInstantiateWithParams(&exec, graph, &parameters) != CUDA_SUCCESS);
    CHECK(parameters.result_out == CUDA_GRAPH_INSTANTIATE_NODE_OPERATION_NOT_SUPPORTED);
    CHECK(parameters.hErrNode_out == a);
    parameters.flags = 64;
    CHECK(d().cuGraphInstantiateWithParams(&exec, graph, &parameters) == CUDA_ERROR_INVALID_VALUE);
    CHECK(parameters.result_out == CUDA_GRAPH_INSTANTIATE_ERROR);
    CHECK(parameters.hErrNode_out == nullptr);
    CHECK(d().cuGraphInstantiateWithParams(&exec, graph, nullptr) == CUDA_ERROR_INVALID_VALUE);
    // A failed upload leaves nothing behind.
    parameters.flags = CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD;
    parameters.hUploadStream = garbage<CUstream>();
    CHECK(d().cuGraphInstantiateWithParams(&exec, graph, &parameters) != CUDA_SUCCESS);
    expect_misuse("is no handle");
    CHECK(leaks().size() == 2); // the graph, the stream
    destroy(graph);
    destroy(stream);
}
#endif

TEST_CASE("event nodes order a graph with streams", "[graph_exec]") {
    start(GENERATE_COPY(from_range(all_modes())));
    const CUstream one = make_stream(CU_STREAM_NON_BLOCKING),
                   two = make_stream(CU_STREAM_NON_BLOCKING);
    const CUevent before = make_event(), after = make_event();
    const CUgraph graph = make_graph();
    RunOrder order;
    CUgraphNode wait = nullptr, record = nullptr;
    REQUIRE(d().cuGraphAddEventWaitNode(&wait, graph, nullptr, 0, before) == CUDA_SUCCESS);
    const CUgraphNode note = add_note(graph, order, 2, {wait});
    REQUIRE(d().cuGraphAddEventRecordNode(&record, graph, &note, 1, after) == CUDA_SUCCESS);
    const CUgraphExec exec = instantiate(graph);
    for (int i = 0; i < 3; ++i) {
        REQUIRE(order.launch(two, 1) == CUDA_SUCCESS);
        REQUIRE(d().cuEventRecord(before, two) == CUDA_SUCCESS);
        REQUIRE(d().cuGraphLaunch(exec, one) == CUDA_SUCCESS);
        REQUIRE(d().cuStreamWaitEvent(two, after, 0) == CUDA_SUCCESS);
        REQUIRE(order.launch(two, 3) == CUDA_SUCCESS);
    }
    CHECK(d().cuStreamSynchronize(two) == CUDA_SUCCESS);
    CHECK(order.ran() == std::vector<int>{1, 2, 3, 1, 2, 3, 1, 2, 3});
    CHECK(d().cuEventQuery(after) == CUDA_SUCCESS);
    // One event for another.
    const CUevent third = make_event();
    CHECK(d().cuGraphExecEventRecordNodeSetEvent(exec, record, third) == CUDA_SUCCESS);
    CHECK(d().cuGraphExecEventWaitNodeSetEvent(exec, wait, third) == CUDA_SUCCESS);
    CHECK(d().cuGraphExecEventWaitNodeSetEvent(exec, record, third) == CUDA_ERROR_INVALID_VALUE);
    run(exec, one);
    float milliseconds = -1;
    CHECK(d().cuEventElapsedTime(&milliseconds, after, third) == CUDA_SUCCESS);
    CHECK(milliseconds > 0);
    for (const CUevent event : {before, after}) {
        destroy(event);
    }
    run(exec, one);
    destroy(third);
    CHECK(d().cuGraphLaunch(exec, one) == CUDA_ERROR_INVALID_VALUE);
    expect_misuse("whose object was destroyed");
    destroy(exec);
    destroy(graph);
    destroy(one);
    destroy(two);
}

TEST_CASE("a graph outlives neither its kernels nor its memory", "[graph_exec]") {
    start("mode=adversarial;seed=1");
    TestModule module("cushim-sim-image 1\nkernel none\n");
    const CUgraph graph = make_graph();
    add_kernel(graph, kernel_parameters(module.function("none")));
    const CUgraphExec exec = instantiate(graph);
    module.unload();
    CHECK(d().cuGraphLaunch(exec, nullptr) == CUDA_ERROR_INVALID_VALUE);
    expect_misuse("whose object was destroyed");
    destroy(exec);
    destroy(graph);

    const CUgraph writing = make_graph();
    Words memory(4);
    add_memset(writing, words(memory.address, 1, 4));
    const CUgraphExec writer = instantiate(writing);
    memory.free();
    CHECK(d().cuGraphLaunch(writer, nullptr) == CUDA_SUCCESS);
    CHECK(d().cuStreamSynchronize(nullptr) == CUDA_ERROR_ILLEGAL_ADDRESS);
    expect_misuse("freed");
    sim_control().reset(); // the context has failed
}

TEST_CASE("an error of a node is the stream's", "[graph_exec]") {
    start(GENERATE_COPY(from_range(all_modes())));
    sim_control().register_kernel(
        "fails", [](const cushim_sim_launch *, void *) { return int(CUDA_ERROR_LAUNCH_FAILED); },
        nullptr);
    TestModule module("cushim-sim-image 1\nkernel fails\n");
    const CUgraph graph = make_graph();
    RunOrder order;
    add_note(graph, order, 1, {add_kernel(graph, kernel_parameters(module.function("fails")))});
    const CUgraphExec exec = instantiate(graph);
    CHECK(d().cuGraphLaunch(exec, nullptr) == CUDA_SUCCESS);
    CHECK(d().cuStreamSynchronize(nullptr) == CUDA_ERROR_LAUNCH_FAILED);
    CHECK(order.ran().empty());
    CHECK(d().cuGraphLaunch(exec, nullptr) == CUDA_ERROR_LAUNCH_FAILED);
    sim_control().reset();
}

TEST_CASE("planned faults reach launches of graphs", "[graph_exec]") {
    start(GENERATE_COPY(from_range(all_modes())));
    const CUgraph graph = make_graph();
    RunOrder order;
    add_note(graph, order, 1);
    const CUgraphExec exec = instantiate(graph);
    fail_instead("cuGraphLaunch", CUDA_ERROR_OUT_OF_MEMORY);
    CHECK(d().cuGraphLaunch(exec, nullptr) == CUDA_ERROR_OUT_OF_MEMORY);
    CHECK(d().cuStreamSynchronize(nullptr) == CUDA_SUCCESS);
    CHECK(order.ran().empty());
    fail_work("cuGraphLaunch", CUDA_ERROR_LAUNCH_FAILED);
    CHECK(d().cuGraphLaunch(exec, nullptr) == CUDA_SUCCESS);
    CHECK(d().cuStreamSynchronize(nullptr) == CUDA_ERROR_LAUNCH_FAILED);
    CHECK(order.ran().empty());
    sim_control().reset();
}

TEST_CASE("many threads launch graphs of their own", "[graph_exec]") {
    start("mode=threaded");
    const CUcontext context = current();
    std::vector<std::thread> threads;
    std::vector<std::size_t> ran(4);
    for (std::size_t t = 0; t < ran.size(); ++t) {
        threads.emplace_back([&, t] {
            cushim::driver().cuCtxSetCurrent(context);
            RunOrder order;
            CUgraph graph = nullptr;
            CUgraphNode node = nullptr;
            CUgraphExec exec = nullptr;
            CUstream stream = nullptr;
            CUDA_HOST_NODE_PARAMS parameters{};
            parameters.fn = RunOrder::note;
            parameters.userData = order.entry(1);
            cushim::driver().cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
            cushim::driver().cuGraphCreate(&graph, 0);
            for (int i = 0; i < 4; ++i) {
                cushim::driver().cuGraphAddHostNode(&node, graph, nullptr, 0, &parameters);
            }
            cushim::driver().cuGraphInstantiateWithFlags(&exec, graph, 0);
            for (int i = 0; i < 25; ++i) {
                cushim::driver().cuGraphLaunch(exec, stream);
            }
            cushim::driver().cuGraphExecDestroy(exec);
            cushim::driver().cuGraphDestroy(graph);
            cushim::driver().cuStreamSynchronize(stream);
            cushim::driver().cuStreamDestroy(stream);
            ran[t] = order.ran().size();
        });
    }
    for (std::thread &thread : threads) {
        thread.join();
    }
    CHECK(ran == std::vector<std::size_t>(4, 100));
}
