// Memory that graphs allocate and free.
#include "harness/graph_scenario.hpp"
#include "harness/memory.hpp"
#include "harness/spied_call.hpp"

#include <catch2/matchers/catch_matchers_string.hpp>
#include <cushim/pinned_buffer.hpp>

#include <algorithm>

using namespace api_test;
using namespace cushim;

namespace {

const Device device = Device::from_native(0);

// Records the parameters of an allocation node, of either API.
class PassedAllocation {
  public:
    PassedAllocation() { passed_ = {}; }
    const CUDA_MEM_ALLOC_NODE_PARAMS &operator*() const { return passed_; }

  private:
    static inline CUDA_MEM_ALLOC_NODE_PARAMS passed_;

    template <class Params>
    static void look(CUgraphNode *, CUgraph, const CUgraphNode *, std::size_t, Params *params) {
        const auto &pool = params->poolProps;
        passed_.poolProps.allocType = static_cast<CUmemAllocationType>(pool.allocType);
        passed_.poolProps.handleTypes = static_cast<CUmemAllocationHandleType>(pool.handleTypes);
        passed_.poolProps.location.type = static_cast<CUmemLocationType>(pool.location.type);
        passed_.poolProps.location.id = pool.location.id;
        passed_.accessDescCount = params->accessDescCount;
        passed_.bytesize = params->bytesize;
    }
    SpiedCall<entry::cuGraphAddMemAllocNode> by_driver_{look<CUDA_MEM_ALLOC_NODE_PARAMS>};
    SpiedCall<entry::cudaGraphAddMemAllocNode> by_runtime_{look<cudaMemAllocNodeParams>};
};

} // namespace

GRAPH_TEST_CASE("graph memory is pinned memory of its device without other access rights",
                "[graph][memory][G16]", (Api api)) {
    auto [context, graph] = make_graph(api);
    const PassedAllocation passed;
    const auto memory = ok(graph.add_mem_alloc_node<int>({}, device, 100));
    CHECK((*passed).poolProps.allocType == CU_MEM_ALLOCATION_TYPE_PINNED);
    CHECK((*passed).poolProps.handleTypes == CU_MEM_HANDLE_TYPE_NONE);
    CHECK((*passed).poolProps.location.type == CU_MEM_LOCATION_TYPE_DEVICE);
    CHECK((*passed).poolProps.location.id == device.native());
    CHECK((*passed).accessDescCount == 0);
    CHECK((*passed).bytesize == 400);
    CHECK(memory.native() != 0);
}

GRAPH_TEST_CASE("graph memory is allocated on the requested device", "[graph][memory][G16]",
                (Api api)) {
    auto [context, graph] = make_graph(api, "devices=2");
    if (ok(Device::count()) < 2) {
        SKIP("needs 2 devices");
    }
    const Device second = ok(Device::get(1));
    const PassedAllocation passed;
    const auto memory = ok(graph.add_mem_alloc_node<int>({}, second, 100));
    CHECK((*passed).poolProps.location.id == second.native());
    CHECK(ok(graph.mem_alloc_params(memory.node())).device == second.native());
}

GRAPH_SCENARIO_TEST("graph memory has the same address in all launches", "[graph][memory][G16]",
                    (const Context &context, const Stream &stream, Graph &graph)) {
    CUSHIM_TRY(auto out, PinnedBuffer<int>::allocate(context, 16));
    CUSHIM_TRY(const auto memory, graph.add_mem_alloc_node<int>({}, device, 16));
    CUSHIM_TRY(const GraphNode fill, graph.add_memset_node(memory.node(), memory.span(), 12));
    CHECK(fill);
    CUSHIM_TRY(const GraphExec exec, graph.instantiate());
    for (int launch = 0; launch < 3; ++launch) {
        std::fill(out.begin(), out.end(), 0);
        CUSHIM_TRY_VOID(exec.launch(stream));
        const Result<void> copied = copy(stream, out.span(), memory.span());
        CUSHIM_TRY_VOID(memory.free_in(stream));
        CUSHIM_TRY_VOID(copied);
        CUSHIM_TRY_VOID(stream.synchronize());
        CHECK(std::count(out.begin(), out.end(), 12) == 16);
        CUSHIM_TRY(const MemAllocNodeParams params, graph.mem_alloc_params(memory.node()));
        CHECK(params.address == memory.native());
    }
    return {};
}

GRAPH_TEST_CASE("a graph with memory nodes has at most one executable graph at a time",
                "[graph][memory][G16]", (Api api)) {
    auto [context, graph] = make_graph(api);
    const auto memory = ok(graph.add_mem_alloc_node<int>({}, device, 16));
    (void)ok(graph.add_mem_free_node(memory.node(), memory));
    GraphExec exec = ok(graph.instantiate());
    CHECK_FALSE(graph.instantiate().has_value());
    exec.reset();
    CHECK(graph.instantiate().has_value());
}

GRAPH_SCENARIO_TEST("a graph allocates, uses and frees memory in each launch",
                    "[graph][memory][G16][G17][G22]",
                    (const Context &context, const Stream &stream, Graph &graph)) {
    CUSHIM_TRY(auto out, PinnedBuffer<int>::allocate(context, 100));
    CUSHIM_TRY(const auto memory, graph.add_mem_alloc_node<int>({}, device, 100));
    CHECK(memory.size() == 100);
    CHECK(memory.native() != 0);
    CUSHIM_TRY(const GraphNode fill, graph.add_memset_node(memory.node(), memory.span(), 12));
    CUSHIM_TRY(const GraphNode back, graph.add_memcpy_node(fill, out, memory.span()));
    CUSHIM_TRY(const GraphNode free, graph.add_mem_free_node(back, memory));
    CUSHIM_TRY(const MemAllocNodeParams params, graph.mem_alloc_params(memory.node()));
    CHECK(params.address == memory.native());
    CHECK(params.bytes == 400);
    CHECK(params.device == 0);
    CUSHIM_TRY_VOID(check_gives(graph.mem_free_params(free), memory.native()));
    CUSHIM_TRY(const GraphExec exec, graph.instantiate());
    for (int launch = 0; launch < 2; ++launch) {
        std::fill(out.begin(), out.end(), 0);
        CUSHIM_TRY_VOID(launch_and_wait(exec, stream));
        CHECK(std::count(out.begin(), out.end(), 12) == 100);
    }
    return {};
}

GRAPH_SCENARIO_TEST("auto_free_on_launch frees the previous launch's memory",
                    "[graph][memory][G16]", (const Stream &stream, Graph &graph)) {
    CUSHIM_TRY(const auto memory, graph.add_mem_alloc_node<int>({}, device, 16));
    CUSHIM_TRY(const GraphExec exec, graph.instantiate({.auto_free_on_launch = true}));
    CUSHIM_TRY_VOID(exec.launch(stream));
    const Result<void> again = exec.launch(stream);
    CUSHIM_TRY_VOID(memory.free_in(stream));
    CUSHIM_TRY_VOID(again);
    return stream.synchronize();
}

GRAPH_SCENARIO_TEST("a graph with memory nodes cannot be cloned or added as a child",
                    "[graph][memory][G14][G16]", (Api api, const Context &context, Graph &graph)) {
    CUSHIM_TRY(const auto memory, graph.add_mem_alloc_node<int>({}, device, 16));
    CUSHIM_TRY_VOID(graph.add_mem_free_node(memory.node(), memory));
    CUSHIM_TRY(Graph around, create_graph(api, context));
    const auto clone = graph.clone();
    CHECK_FALSE(clone.has_value());
    if (clone.error().status() != 801) {
        return clone.error();
    }
    const auto child = around.add_child_graph_node({}, graph);
    CHECK_FALSE(child.has_value());
    return child.error().status() == 801 ? Result<void>() : child.error();
}

SCENARIO_TEST("graph memory usage is reported and trimmed", "[graph][memory]",
              (const Context &context, const Stream &stream)) {
    CUSHIM_TRY_VOID(reset_graph_memory_high_marks(device));
    {
        CUSHIM_TRY(Graph graph, Graph::create(context));
        CUSHIM_TRY(const auto memory, graph.add_mem_alloc_node<char>({}, device, 1 << 20));
        CUSHIM_TRY_VOID(graph.add_mem_free_node(memory.node(), memory));
        CUSHIM_TRY_VOID(run_once(graph, stream));
        CUSHIM_TRY(const GraphMemoryUsage usage, graph_memory_usage(device));
        CHECK(usage.used_high >= 1 << 20);
        CHECK(usage.reserved_high >= usage.used_high);
    }
    CUSHIM_TRY_VOID(trim_graph_memory(device));
    CUSHIM_TRY(const GraphMemoryUsage trimmed, graph_memory_usage(device));
    CHECK(trimmed.used == 0);
    CHECK(trimmed.used_high >= 1 << 20);
    CUSHIM_TRY_VOID(reset_graph_memory_high_marks(device));
    CUSHIM_TRY(const GraphMemoryUsage after, graph_memory_usage(device));
    CHECK(after.used == 0);
    CHECK(after.used_high == after.used);
    CHECK(after.reserved_high == after.reserved);
    return {};
}

TEST_CASE("an allocation node of size 0 or of an overflowing size is rejected", "[graph][memory]") {
    auto context = context_after_restart("");
    auto graph = ok(Graph::create(context));
    check_invalid(graph.add_mem_alloc_node<int>({}, device, 0), "0 elements requested, minimum 1");
    CHECK_THAT(refusal(graph.add_mem_alloc_node<int>({}, device, ~std::size_t{0} / 2)),
               Catch::Matchers::ContainsSubstring("elements of 4 bytes exceed the address space"));
    auto stream = ok(Stream::create(context));
    check_invalid(GraphAllocation<int>().free_in(stream), "the GraphAllocation is empty");
}

static_assert(std::is_convertible_v<GraphAllocation<int>, DeviceSpan<const int>>);
static_assert(detail::KernelArgument<GraphAllocation<int>, const int *>);
