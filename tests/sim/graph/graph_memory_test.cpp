// Memory that graph nodes allocate and free.
#include "graph_tools.hpp"
#include "vmm_tools.hpp"

using namespace sim_test;

namespace {

struct Allocation {
    CUgraphNode node = nullptr;
    CUdeviceptr address = 0;
};

CUDA_MEM_ALLOC_NODE_PARAMS allocation_parameters(std::size_t bytes) {
    return {.poolProps = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                          .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE}},
            .bytesize = bytes};
}

Allocation add_allocation(CUgraph graph, std::size_t bytes, const Nodes &after = {}) {
    CUDA_MEM_ALLOC_NODE_PARAMS parameters = allocation_parameters(bytes);
    const CUgraphNode node = added(&Driver::cuGraphAddMemAllocNode, graph, after, &parameters);
    REQUIRE(parameters.dptr != 0);
    return {node, parameters.dptr};
}

CUgraphNode add_free(CUgraph graph, CUdeviceptr address, const Nodes &after = {}) {
    return added(&Driver::cuGraphAddMemFreeNode, graph, after, address);
}

// The unit in which a device counts graph memory.
constexpr std::uint64_t piece = 32 << 20;

std::uint64_t graph_memory(CUgraphMem_attribute attribute) {
    return got<cuuint64_t>(&Driver::cuDeviceGetGraphMemAttribute, 0, attribute, out);
}
std::uint64_t used() {
    return graph_memory(CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT);
}

} // namespace

TEST_CASE("memory of a graph is valid from its allocation node to its free node") {
    start(GENERATE_COPY(from_range(all_modes())));
    const CUgraph graph = make_graph();
    std::uint32_t result[4] = {};
    const Allocation memory = add_allocation(graph, 16);
    const CUgraphNode set = add_memset(graph, words(memory.address, 77, 4), {memory.node});
    const CUgraphNode read = add_copy(graph, copy_to_host(result, memory.address, 16), {set});
    add_free(graph, memory.address, {read});
    const auto back =
        got<CUDA_MEM_ALLOC_NODE_PARAMS>(&Driver::cuGraphMemAllocNodeGetParams, memory.node, out);
    CHECK((back.dptr == memory.address && back.bytesize == 16));
    const CUgraphExec exec = instantiate(graph);
    for (int i = 0; i < 3; ++i) {
        result[3] = 0;
        run(exec);
        CHECK(result[3] == 77);
    }
    CHECK(sim_control().view(memory.address, 16) == nullptr);
    // The executable graph keeps the memory for its next launch.
    CHECK(used() == piece);
    CHECK(graph_memory(CU_GRAPH_MEM_ATTR_USED_MEM_HIGH) == piece);
    CHECK(leaks().size() == 2); // the graphs
    // It cannot be freed outside of the graph.
    CHECK(reported(driver().cuMemFree(memory.address), "not allocated") == invalid);
    ok(driver().cuDeviceGraphMemTrim(0));
    CHECK(used() == 0);
    CHECK(graph_memory(CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT) == 0);
    run(exec);
    CHECK(used() == piece);
    destroy(exec);
    CHECK(used() == 0);
    CHECK(graph_memory(CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT) == piece);
    destroy(graph);
    CHECK(reported(driver().cuMemsetD8(memory.address, 0, 1), "freed") == invalid);
}

TEST_CASE("memory that a graph does not free can be freed outside of it") {
    start(GENERATE_COPY(from_range(all_modes())));
    CUdeviceptr memory = 0;
    {
        const Graph graph;
        const Allocation allocation = add_allocation(graph, 64);
        memory = allocation.address;
        const Executable exec(graph);
        CHECK(leaks().size() == 2);
        run(exec);
        CHECK(leaks().size() == 3);
        ok(driver().cuMemsetD32(memory, 5, 16));
        ok(driver().cuStreamSynchronize(nullptr));
        CHECK(used() == piece);
        SECTION("by cuMemFree") {
            ok(driver().cuMemFree(memory));
        }
        SECTION("by cuMemFreeAsync") {
            ok(driver().cuMemFreeAsync(memory, nullptr));
            CHECK(reported(driver().cuMemFreeAsync(memory, nullptr), "not allocated") == invalid);
        }
        SECTION("by another graph") {
            const Graph other;
            add_free(other, memory);
            const Executable freeing(other);
            ok(driver().cuGraphLaunch(freeing, nullptr));
            CHECK(driver().cuGraphLaunch(freeing, nullptr) == invalid);
        }
        run(exec);
        ok(driver().cuMemFree(memory));
        run(exec);
        // The graph itself can no longer free it.
        CUgraphNode late = nullptr;
        CHECK(driver().cuGraphAddMemFreeNode(&late, graph, &allocation.node, 1, memory) == invalid);
    }
    // The memory outlives its graph.
    CHECK(leaks().size() == 1);
    ok(driver().cuMemsetD32(memory, 5, 16));
    ok(driver().cuStreamSynchronize(nullptr));
    ok(driver().cuMemFree(memory));
    CHECK(used() == 0);
}

TEST_CASE("an allocation is freed either in its own graph or in one other graph") {
    const CUgraph graph = make_graph();
    const Graph other;
    const CUgraphNode first = add_empty(graph);
    const Allocation memory = add_allocation(graph, 64, {first});
    CHECK(driver().cuGraphDestroyNode(first) == CUDA_ERROR_NOT_SUPPORTED);
    CHECK(remove_edge(graph, first, memory.node) == CUDA_ERROR_NOT_SUPPORTED);
    const Words plain(4);
    CUgraphNode node = nullptr;
    const auto free = [&](CUgraph in, CUdeviceptr address) {
        return driver().cuGraphAddMemFreeNode(&node, in, nullptr, 0, address);
    };
    check_all(invalid, {free(graph, plain.address), free(graph, memory.address + 4)});
    add_free(graph, memory.address);
    CHECK(free(other, memory.address) == invalid);
    const Allocation second = add_allocation(other, 64);
    destroy(graph);
    {
        const Graph third;
        add_free(third, second.address);
        CHECK(free(other, second.address) == invalid);
        const Executable freeing(third);
        CHECK(driver().cuGraphLaunch(freeing, nullptr) == invalid); // not allocated yet
    }
    // Destroying that graph lets another one free the memory.
    add_free(other, second.address, {second.node});
}

TEST_CASE("parameters of allocation nodes are checked") {
    const Graph graph;
    using Parameters = CUDA_MEM_ALLOC_NODE_PARAMS;
    static const CUmemAccessDesc own = grant(0), none = grant(9);
    constexpr auto file = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    const auto add = [&](Parameters parameters) {
        CUgraphNode node = nullptr;
        return driver().cuGraphAddMemAllocNode(&node, graph, nullptr, 0, &parameters);
    };
    check_changes(
        allocation_parameters(64), add,
        {{"size", [](Parameters &p) { p.bytesize = ~std::size_t(0); }, CUDA_ERROR_OUT_OF_MEMORY},
         {"device 9", [](Parameters &p) { p.poolProps.location.id = 9; }},
         {"device -1", [](Parameters &p) { p.poolProps.location.id = -1; }},
         {"place", [](Parameters &p) { p.poolProps.location.type = CU_MEM_LOCATION_TYPE_INVALID; }},
         {"sharing", [](Parameters &p) { p.poolProps.handleTypes = file; },
          CUDA_ERROR_NOT_SUPPORTED},
         {"no access", [](Parameters &p) { p.accessDescCount = 1; }},
         {"access 9", [](Parameters &p) { p.accessDescCount = 1, p.accessDescs = &none; }},
         {"access 0", [](Parameters &p) { p.accessDescCount = 1, p.accessDescs = &own; },
          CUDA_SUCCESS}});
    CHECK(nodes_of(graph).size() == 1);
}

TEST_CASE("a free node that does not follow its allocation node is a misuse") {
    start(GENERATE_COPY(from_range(all_modes())));
    const Graph graph;
    const Allocation memory = add_allocation(graph, 64);
    const CUgraphNode free = add_free(graph, memory.address);
    {
        const Executable exec(graph);
        expect_misuse("does not follow its allocation node");
        for (int i = 0; i < 2; ++i) {
            run(exec);
        }
        CHECK(reported(driver().cuMemFree(memory.address), "not allocated") ==
              invalid); // freed by the graph
    }
    // An indirect dependency is enough.
    const CUgraphNode between = add_empty(graph, {memory.node});
    require_ok(add_edge(graph, between, free));
    {
        const Executable exec(graph);
        run(exec);
    }
    CHECK(used() == 0);
}

TEST_CASE(
    "a free node may follow its allocation node over any path, and only one that does not is a "
    "misuse") {
    start("");
    const Graph graph;
    std::vector<Allocation> all;
    Nodes joined;
    for (int i = 0; i < 200; ++i) {
        all.push_back(add_allocation(graph, 64));
        joined.push_back(all.back().node);
    }
    joined.erase(joined.begin() + 150);
    const CUgraphNode join = add_empty(graph, joined);
    for (const Allocation &memory : all) {
        add_free(graph, memory.address, {join});
    }
    const Executable exec(graph);
    CHECK(misuses().size() == 1);
    expect_misuse("does not follow its allocation node");
}

TEST_CASE("a device reports the graph memory in use and reserved") {
    start(GENERATE_COPY(from_range(all_modes())));
    const Graph graph;
    const Allocation memory = add_allocation(graph, piece + 1), small = add_allocation(graph, 1);
    const Executable exec(graph);
    const auto all = [] {
        std::vector<std::uint64_t> pieces;
        for (const CUgraphMem_attribute each :
             {CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT, CU_GRAPH_MEM_ATTR_USED_MEM_HIGH,
              CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT, CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH}) {
            CHECK(graph_memory(each) % piece == 0);
            pieces.push_back(graph_memory(each) / piece);
        }
        return pieces;
    };
    using Pieces = std::vector<std::uint64_t>;
    CHECK(all() == Pieces{0, 0, 0, 0});
    require_ok(driver().cuGraphLaunch(exec, nullptr));
    CHECK(all() == Pieces{2, 2, 2, 2}); // before its work has run, too
    ok(driver().cuDeviceGraphMemTrim(0));
    ok(driver().cuStreamSynchronize(nullptr));
    CHECK(all() == Pieces{2, 2, 2, 2});
    ok(driver().cuMemFree(memory.address));
    CHECK(all() == Pieces{1, 2, 2, 2});
    ok(driver().cuDeviceGraphMemTrim(0));
    CHECK(all() == Pieces{1, 2, 1, 2});
    ok(driver().cuMemFree(small.address));
    ok(driver().cuDeviceGraphMemTrim(0));
    CHECK(all() == Pieces{0, 2, 0, 2});
    constexpr auto most = CU_GRAPH_MEM_ATTR_USED_MEM_HIGH;
    cuuint64_t value = 0, five = 5;
    ok(driver().cuDeviceSetGraphMemAttribute(0, most, &value));
    ok(driver().cuDeviceSetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH, &value));
    CHECK(all() == Pieces{0, 0, 0, 0});
    CHECK(driver().cuDeviceSetGraphMemAttribute(0, most, &five) == invalid);
}

TEST_CASE("resetting the simulator frees graph memory, even if it is in use") {
    const std::string mode = GENERATE_COPY(from_range(all_modes()));
    start(mode);
    const CUgraph graph = make_graph();
    add_allocation(graph, 64);
    require_ok(driver().cuGraphLaunch(instantiate(graph), nullptr));
    CHECK(used() == piece);
    start(mode);
    CHECK(used() == 0);
    CHECK(graph_memory(CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH) == 0);
}

TEST_CASE("using graph memory outside of its lifetime is caught") {
    start("mode=adversarial;seed=3");
    const CUgraph graph = make_graph();
    const Allocation memory = add_allocation(graph, 64);
    instantiate(graph); // not launched
    ok(driver().cuMemsetD8Async(memory.address, 0, 64, nullptr));
    CHECK(driver().cuStreamSynchronize(nullptr) == CUDA_ERROR_ILLEGAL_ADDRESS);
    expect_misuse("before its allocation or after its free");
    sim_control().reset();
}
