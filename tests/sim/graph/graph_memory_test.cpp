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
    CUDA_MEM_ALLOC_NODE_PARAMS parameters{};
    parameters.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    parameters.poolProps.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    parameters.bytesize = bytes;
    return parameters;
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
    cuuint64_t value = ~0ull;
    REQUIRE(d.cuDeviceGetGraphMemAttribute(0, attribute, &value) == good);
    return value;
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
    const CUgraphNode free = add_free(graph, memory.address, {read});
    const auto back =
        got<CUDA_MEM_ALLOC_NODE_PARAMS>(&Driver::cuGraphMemAllocNodeGetParams, memory.node, out);
    CHECK((back.dptr == memory.address && back.bytesize == 16));
    CUdeviceptr freed = 0;
    CHECK(got(d.cuGraphMemFreeNodeGetParams(free, &freed), freed) == memory.address);
    CHECK(d.cuGraphMemFreeNodeGetParams(set, &freed) == invalid);
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
    CHECK(reported(d.cuMemFree(memory.address), "not allocated") == invalid);
    CHECK(d.cuDeviceGraphMemTrim(0) == good);
    CHECK(used() == 0);
    CHECK(graph_memory(CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT) == 0);
    run(exec);
    CHECK(used() == piece);
    destroy(exec);
    CHECK(used() == 0);
    CHECK(graph_memory(CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT) == piece);
    destroy(graph);
    CHECK(reported(d.cuMemsetD8(memory.address, 0, 1), "freed") == invalid);
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
        CHECK(d.cuMemsetD32(memory, 5, 16) == good);
        CHECK(d.cuStreamSynchronize(nullptr) == good);
        CHECK(used() == piece);
        // No new launch until it is freed.
        CHECK(d.cuGraphLaunch(exec, nullptr) == invalid);
        SECTION("by cuMemFree") {
            CHECK(d.cuMemFree(memory) == good);
        }
        SECTION("by cuMemFreeAsync") {
            CHECK(d.cuMemFreeAsync(memory, nullptr) == good);
            CHECK(reported(d.cuMemFreeAsync(memory, nullptr), "not allocated") == invalid);
        }
        SECTION("by another graph") {
            const Graph other;
            add_free(other, memory);
            const Executable freeing(other);
            CHECK(d.cuGraphLaunch(freeing, nullptr) == good);
            CHECK(d.cuGraphLaunch(freeing, nullptr) == invalid);
        }
        run(exec);
        CHECK(d.cuMemFree(memory) == good);
        run(exec);
        // The graph itself can no longer free it.
        CUgraphNode late = nullptr;
        CHECK(d.cuGraphAddMemFreeNode(&late, graph, &allocation.node, 1, memory) == invalid);
    }
    // The memory outlives its graph.
    CHECK(leaks().size() == 1);
    CHECK(d.cuMemsetD32(memory, 5, 16) == good);
    CHECK(d.cuStreamSynchronize(nullptr) == good);
    CHECK(d.cuMemFree(memory) == good);
    CHECK(used() == 0);
}

TEST_CASE("a graph with AUTO_FREE_ON_LAUNCH frees memory of its previous launch") {
    start(GENERATE_COPY(from_range(all_modes())));
    CUdeviceptr left = 0;
    {
        const Graph graph;
        const Allocation memory = add_allocation(graph, 64);
        left = memory.address;
        add_memset(graph, words(left, 6, 16), {memory.node});
        const Executable exec(graph, CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH);
        for (int i = 0; i < 4; ++i) {
            REQUIRE(d.cuGraphLaunch(exec, nullptr) == good);
        }
        CHECK(d.cuStreamSynchronize(nullptr) == good);
        CHECK(used() == piece);
    }
    CHECK(leaks().size() == 1);
    CHECK(d.cuMemFree(left) == good);
}

TEST_CASE("a graph with memory nodes cannot be copied, changed or instantiated twice at once") {
    constexpr auto not_supported = CUDA_ERROR_NOT_SUPPORTED;
    const CUgraph graph = make_graph();
    const Graph other;
    const CUgraphNode first = add_empty(graph);
    const Allocation memory = add_allocation(graph, 64, {first});
    CUgraph clone = nullptr;
    CUgraphNode node = nullptr;
    CHECK(d.cuGraphClone(&clone, graph) == not_supported);
    CHECK(d.cuGraphAddChildGraphNode(&node, other, nullptr, 0, graph) == not_supported);
    CHECK(nodes_of(other).empty());
    CHECK(d.cuGraphDestroyNode(first) == not_supported);
    CHECK(remove_edge(graph, first, memory.node) == not_supported);
    const CUgraphExec exec = instantiate(graph);
    CHECK(try_instantiate(graph) == not_supported);
    destroy(exec);
    destroy(instantiate(graph));

    const Words plain(4);
    const Calls free(&Driver::cuGraphAddMemFreeNode);
    free[invalid] = {{&node, graph, nullptr, 0, plain.address},
                     {&node, graph, nullptr, 0, memory.address + 4}};
    // An allocation is freed either in its own graph or in one other graph.
    add_free(graph, memory.address);
    free[invalid] = {{&node, graph, nullptr, 0, memory.address},
                     {&node, other, nullptr, 0, memory.address}};
    const Allocation second = add_allocation(other, 64);
    destroy(graph);
    {
        const Graph third;
        add_free(third, second.address);
        free[invalid] = {{&node, other, nullptr, 0, second.address}};
        const Executable freeing(third);
        CHECK(d.cuGraphLaunch(freeing, nullptr) == invalid); // not allocated yet
    }
    // Destroying that graph lets another one free the memory.
    add_free(other, second.address, {second.node});
}

TEST_CASE("arguments of allocation nodes are checked") {
    const Graph graph;
    CUgraphNode node = nullptr;
    using P = CUDA_MEM_ALLOC_NODE_PARAMS;
    const auto with = [&](auto change) {
        P parameters = allocation_parameters(64);
        change(parameters);
        return d.cuGraphAddMemAllocNode(&node, graph, nullptr, 0, &parameters);
    };
    CHECK(with([](P &p) { p.bytesize = 0; }) == invalid);
    CHECK(with([](P &p) { p.bytesize = ~std::size_t(0); }) == CUDA_ERROR_OUT_OF_MEMORY);
    CHECK(d.cuGraphAddMemAllocNode(&node, graph, nullptr, 0, nullptr) == invalid);
    CHECK(with([](P &p) { p.poolProps.location.id = 9; }) == invalid);
    CHECK(with([](P &p) { p.poolProps.location.id = -1; }) == invalid);
    CHECK(with([](P &p) { p.poolProps.location.type = CU_MEM_LOCATION_TYPE_INVALID; }) == invalid);
    CHECK(with([](P &p) { p.poolProps.handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR; }) ==
          CUDA_ERROR_NOT_SUPPORTED);
    CHECK(with([](P &p) { p.accessDescCount = 1; }) == invalid); // without an array
    for (const int device : {0, 9}) {
        const CUmemAccessDesc access = grant(device);
        CHECK(with([&](P &p) { p.accessDescCount = 1, p.accessDescs = &access; }) ==
              (device == 0 ? good : invalid));
    }
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
        CHECK(reported(d.cuMemFree(memory.address), "not allocated") ==
              invalid); // freed by the graph
    }
    // An indirect dependency is enough.
    const CUgraphNode between = add_empty(graph, {memory.node});
    REQUIRE(add_edge(graph, between, free) == good);
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
    REQUIRE(d.cuGraphLaunch(exec, nullptr) == good);
    CHECK(all() == Pieces{2, 2, 2, 2}); // before its work has run, too
    CHECK(d.cuDeviceGraphMemTrim(0) == good);
    CHECK(d.cuStreamSynchronize(nullptr) == good);
    CHECK(all() == Pieces{2, 2, 2, 2});
    CHECK(d.cuMemFree(memory.address) == good);
    CHECK(all() == Pieces{1, 2, 2, 2});
    CHECK(d.cuDeviceGraphMemTrim(0) == good);
    CHECK(all() == Pieces{1, 2, 1, 2});
    CHECK(d.cuMemFree(small.address) == good);
    CHECK(d.cuDeviceGraphMemTrim(0) == good);
    CHECK(all() == Pieces{0, 2, 0, 2});
    constexpr auto most = CU_GRAPH_MEM_ATTR_USED_MEM_HIGH;
    cuuint64_t value = 0, five = 5;
    CHECK(d.cuDeviceSetGraphMemAttribute(0, most, &value) == good);
    CHECK(d.cuDeviceSetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH, &value) == good);
    CHECK(all() == Pieces{0, 0, 0, 0});
    CHECK(d.cuDeviceSetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT, &value) == invalid);
    CHECK(d.cuDeviceSetGraphMemAttribute(0, most, &five) == invalid);
    constexpr auto unknown = static_cast<CUgraphMem_attribute>(77);
    CHECK(d.cuDeviceGetGraphMemAttribute(7, most, &value) == CUDA_ERROR_INVALID_DEVICE);
    CHECK(d.cuDeviceGetGraphMemAttribute(0, unknown, &value) == invalid);
    CHECK(d.cuDeviceGetGraphMemAttribute(0, most, nullptr) == invalid);
    CHECK(d.cuDeviceGraphMemTrim(-1) == CUDA_ERROR_INVALID_DEVICE);
}

TEST_CASE("resetting the simulator frees graph memory, even if it is in use") {
    const std::string mode = GENERATE_COPY(from_range(all_modes()));
    start(mode);
    const CUgraph graph = make_graph();
    add_allocation(graph, 64);
    REQUIRE(d.cuGraphLaunch(instantiate(graph), nullptr) == good);
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
    CHECK(d.cuMemsetD8Async(memory.address, 0, 64, nullptr) == good);
    CHECK(d.cuStreamSynchronize(nullptr) == CUDA_ERROR_ILLEGAL_ADDRESS);
    expect_misuse("before its allocation or after its free");
    sim_control().reset();
}
