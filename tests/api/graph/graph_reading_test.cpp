// The types and parameters of nodes, read by the API that made them and by the other.
#include "harness/graph_scenario.hpp"
#include "harness/memory.hpp"

#ifndef _WIN32
#include "harness/simulated_semaphore.hpp"
#endif

#include <cushim/device_buffer.hpp>
#include <cushim/graph_conditional.hpp>
#include <cushim/override.hpp>
#include <cushim/pinned_buffer.hpp>

#include <algorithm>
#include <string>
#include <type_traits>

using namespace api_test;
using namespace cushim;

// Types have CUDA's numbers.
constexpr bool is_type(GraphNodeType type, int number) {
    return static_cast<int>(type) == number;
}
static_assert(is_type(GraphNodeType::kernel, CU_GRAPH_NODE_TYPE_KERNEL));
static_assert(is_type(GraphNodeType::memcpy, CU_GRAPH_NODE_TYPE_MEMCPY));
static_assert(is_type(GraphNodeType::memset, CU_GRAPH_NODE_TYPE_MEMSET));
static_assert(is_type(GraphNodeType::host, CU_GRAPH_NODE_TYPE_HOST));
static_assert(is_type(GraphNodeType::child_graph, CU_GRAPH_NODE_TYPE_GRAPH));
static_assert(is_type(GraphNodeType::empty, CU_GRAPH_NODE_TYPE_EMPTY));
static_assert(is_type(GraphNodeType::event_wait, CU_GRAPH_NODE_TYPE_WAIT_EVENT));
static_assert(is_type(GraphNodeType::event_record, CU_GRAPH_NODE_TYPE_EVENT_RECORD));
static_assert(is_type(GraphNodeType::semaphore_signal, CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL));
static_assert(is_type(GraphNodeType::semaphore_wait, CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT));
static_assert(is_type(GraphNodeType::mem_alloc, CU_GRAPH_NODE_TYPE_MEM_ALLOC));
static_assert(is_type(GraphNodeType::mem_free, CU_GRAPH_NODE_TYPE_MEM_FREE));
#if CUDA_VERSION >= 11070
static_assert(is_type(GraphNodeType::batch_mem_op, CU_GRAPH_NODE_TYPE_BATCH_MEM_OP));
#endif
#if CUDA_VERSION >= 12030
static_assert(is_type(GraphNodeType::conditional, CU_GRAPH_NODE_TYPE_CONDITIONAL));
static_assert(static_cast<int>(GraphConditionalType::if_) == CU_GRAPH_COND_TYPE_IF);
static_assert(static_cast<int>(GraphConditionalType::while_) == CU_GRAPH_COND_TYPE_WHILE);
#endif
#if CUDA_VERSION >= 12080
static_assert(static_cast<int>(GraphConditionalType::switch_) == CU_GRAPH_COND_TYPE_SWITCH);
#endif

namespace {

// Checks that Graphs of both APIs report the type of each node.
struct Typed {
    GraphNode node;
    GraphNodeType type;
};
Result<void> check_types(Api api, const Context &context, Graph &graph,
                         const std::vector<Typed> &expected) {
    CUSHIM_TRY(const Graph same, borrow_graph(other(api), context, graph.native()));
    for (const auto &[node, type] : expected) {
        INFO("of type " << static_cast<int>(type));
        CUSHIM_TRY_VOID(check_gives(graph.node_type(node), type));
        CUSHIM_TRY(const GraphNode same_node, node_in(same, node));
        CUSHIM_TRY_VOID(check_gives(same.node_type(same_node), type));
    }
    return {};
}

} // namespace

GRAPH_SCENARIO_TEST("both APIs read the nodes that one of them adds",
                    "[graph][memory][G9][G12][G14][G15][G16][G17][G22]",
                    (Trial &trial, Api api, const Context &context, Graph &graph)) {
    trial.needs_runtime();
    CUSHIM_TRY(const Device device, Device::get(0));
    CUSHIM_TRY(auto memory, DeviceBuffer<int>::allocate(context, 64));
    CUSHIM_TRY(auto host, PinnedBuffer<int>::allocate(context, 64));
    CUSHIM_TRY(const Event event, Event::create(context, {.timing = false}));
    CUSHIM_TRY(const auto idle, graph_kernel<void()>(trial, api, context, "idle"));
    CUSHIM_TRY(Graph inner, create_graph(api, context));
    CUSHIM_TRY_VOID(inner.add_empty_node({}));
    CUSHIM_TRY(const GraphNode launch, graph.add_kernel_node({}, idle, {}));
    CUSHIM_TRY(const GraphNode move, graph.add_memcpy_node({}, memory, host));
    CUSHIM_TRY(const GraphNode set, graph.add_memset_node(move, memory, 7));
    CUSHIM_TRY(const GraphNode call, graph.add_host_node({}, [] {}));
    CUSHIM_TRY(const GraphNode child, graph.add_child_graph_node({}, inner));
    CUSHIM_TRY(const GraphNode empty, graph.add_empty_node({}));
    CUSHIM_TRY(const GraphNode record, graph.add_event_record_node({}, event));
    CUSHIM_TRY(const GraphNode wait, graph.add_event_wait_node({}, event));
    CUSHIM_TRY(const auto allocation, graph.add_mem_alloc_node<int>({}, device, 100));
    CUSHIM_TRY(const GraphNode free, graph.add_mem_free_node(allocation.node(), allocation));
    CUSHIM_TRY_VOID(check_types(api, context, graph,
                                {{launch, GraphNodeType::kernel},
                                 {move, GraphNodeType::memcpy},
                                 {set, GraphNodeType::memset},
                                 {call, GraphNodeType::host},
                                 {child, GraphNodeType::child_graph},
                                 {empty, GraphNodeType::empty},
                                 {record, GraphNodeType::event_record},
                                 {wait, GraphNodeType::event_wait},
                                 {allocation.node(), GraphNodeType::mem_alloc},
                                 {free, GraphNodeType::mem_free}}));

    CUSHIM_TRY(const Graph same, borrow_graph(other(api), context, graph.native()));
    CHECK(same.api() == other(api));
    CUSHIM_TRY(const auto nodes, same.nodes());
    const auto named = [&](const GraphNode &node) {
        return *std::ranges::find(nodes, node.native(), &GraphNode::native);
    };
    CUSHIM_TRY_VOID(check_gives(same.dependencies(named(set)), std::vector{named(move)}));
    CUSHIM_TRY_VOID(check_gives(same.dependents(named(move)), std::vector{named(set)}));
    CUSHIM_TRY(const auto edges, same.edges());
    CHECK(edges.size() == 2);
    CUSHIM_TRY(const MemsetNodeParams fill, same.memset_params(named(set)));
    CHECK(fill.to.address == memory.native());
    CHECK(fill.to.extent.width == 64);
    CHECK(fill.element_size == 4);
    CHECK(fill.value == 7);
    CUSHIM_TRY(const MemcpyNodeParams copy, same.memcpy_params(named(move)));
    CHECK(copy.to.address == memory.native());
    CHECK(copy.from.address == reinterpret_cast<std::uintptr_t>(host.data()));
    CHECK(copy.to.extent == Extent{64 * sizeof(int), 1, 1});
    for (const GraphNode &node : {record, wait}) {
        CUSHIM_TRY(const Event found, same.event_params(named(node)));
        CHECK(found.native() == event.native());
    }
    CUSHIM_TRY(const Graph nested, same.child_graph_params(named(child)));
    CUSHIM_TRY_VOID(check_gives(nested.node_count(), 1));
    CUSHIM_TRY(const auto params, same.mem_alloc_params(named(allocation.node())));
    CHECK(params.address == allocation.native());
    CHECK(params.bytes == 100 * sizeof(int));
    CHECK(params.device == 0);
    return check_gives(same.mem_free_params(named(free)), allocation.native());
}

GRAPH_SCENARIO_TEST("a host node reports its function", "[graph][G13][G22]",
                    (Trial &trial, Api api, const Context &context, Graph &graph)) {
    trial.needs_runtime();
    Watched first, second;
    CUSHIM_TRY(const GraphNode call, graph.add_host_node({}, first.closure()));
    CUSHIM_TRY(const HostNodeParams params, graph.host_params(call));
    REQUIRE(params.function != nullptr);
    params.function(params.user);
    CHECK(first.calls() == 1);

    CUSHIM_TRY(const Graph same, borrow_graph(other(api), context, graph.native()));
    CUSHIM_TRY(const GraphNode same_call, node_in(same, call));
    CUSHIM_TRY(const HostNodeParams same_params, same.host_params(same_call));
    CHECK(same_params.function == params.function);
    CHECK(same_params.user == params.user);

    CUSHIM_TRY_VOID(graph.set_host_node(call, second.closure()));
    CUSHIM_TRY(const HostNodeParams changed, graph.host_params(call));
    CHECK(changed.user != params.user);
    changed.function(changed.user);
    CHECK(first.calls() == 1);
    CHECK(second.calls() == 1);
    return {};
}

// --- semaphores

#ifndef _WIN32
namespace {

template <class Node>
using StatusOf = std::conditional_t<std::is_same_v<Node, CUDA_EXT_SEM_SIGNAL_NODE_PARAMS> ||
                                        std::is_same_v<Node, CUDA_EXT_SEM_WAIT_NODE_PARAMS>,
                                    CUresult, cudaError_t>;

// Parameters of one semaphore with a flag; the rest is 0.
template <class Node, class Operation, unsigned int flag>
StatusOf<Node> tell_flag(CUgraphNode, Node *node) {
    static std::remove_cvref_t<decltype(node->extSemArray[0])> semaphore{};
    static Operation operation{};
    operation.flags = flag;
    node->extSemArray = &semaphore;
    node->paramsArray = &operation;
    node->numExtSems = 1;
    return {};
}

} // namespace

GRAPH_SCENARIO_TEST("semaphore nodes report their signals and waits in order",
                    "[graph][X8][X9][G22]",
                    (Trial &trial, Api api, const Context &context, Graph &graph)) {
    trial.needs_runtime();
    need_simulator(trial);
    const SimulatedSemaphore theirs(1), theirs_too(1);
    CUSHIM_TRY(const auto one, TimelineSemaphore::import_fd(context, theirs.exported()));
    CUSHIM_TRY(const auto two, TimelineSemaphore::import_fd(context, theirs_too.exported()));
    const SemaphoreWait waits[] = {two.waiting(1), one.waiting(3)};
    const SemaphoreSignal signals[] = {one.signaling(1ULL << 40), two.signaling(7)};
    CUSHIM_TRY(const GraphNode wait, graph.add_semaphore_wait_node({}, waits));
    CUSHIM_TRY(const GraphNode signal, graph.add_semaphore_signal_node(wait, signals));
    CUSHIM_TRY_VOID(check_types(
        api, context, graph,
        {{wait, GraphNodeType::semaphore_wait}, {signal, GraphNodeType::semaphore_signal}}));

    CUSHIM_TRY(const auto waited, graph.semaphore_params(wait));
    REQUIRE(waited.size() == 2);
    CHECK(waited[0].semaphore == two.native());
    CHECK(waited[0].value == 1);
    CHECK(waited[1].semaphore == one.native());
    CHECK(waited[1].value == 3);
    CHECK(waited[1].key == 0);
    CHECK(waited[1].timeout_ms == 0);
    CHECK_FALSE(waited[1].skip_memory_sync);
    CUSHIM_TRY(const auto signalled, graph.semaphore_params(signal));
    REQUIRE(signalled.size() == 2);
    CHECK(signalled[0].semaphore == one.native());
    CHECK(signalled[0].value == 1ULL << 40);
    CHECK(signalled[1].semaphore == two.native());
    CHECK(signalled[1].value == 7);

    const SemaphoreSignal later[] = {one.signaling(8), two.signaling(9)};
    CUSHIM_TRY_VOID(graph.set_semaphore_signal_node(signal, later));
    CUSHIM_TRY(const Graph same, borrow_graph(other(api), context, graph.native()));
    CUSHIM_TRY(const GraphNode same_signal, node_in(same, signal));
    CUSHIM_TRY(const auto changed, same.semaphore_params(same_signal));
    REQUIRE(changed.size() == 2);
    CHECK(changed[0].semaphore == one.native());
    CHECK(changed[0].value == 8);
    CHECK(changed[1].value == 9);
    CUSHIM_TRY(const GraphNode same_wait, node_in(same, wait));
    CUSHIM_TRY(const auto same_waited, same.semaphore_params(same_wait));
    REQUIRE(same_waited.size() == 2);
    CHECK(same_waited[1].semaphore == one.native());
    CHECK(same_waited[1].value == 3);
    CHECK(signalled[0].value == 1ULL << 40); // an earlier result is unchanged
    return {};
}

// A node does not pass the kind of its semaphore to CUDA. Until it is launched, a timeline
// semaphore can stand in for the kinds that this system lacks.
GRAPH_TEST_CASE("semaphore nodes report keys, timeouts and fences", "[graph][current][X8][X9][G22]",
                (Api api)) {
    need_simulator(needs_vulkan);
    auto [context, graph] = make_graph(api);
    const SimulatedSemaphore theirs(1);
    const auto semaphore = ok(TimelineSemaphore::import_fd(context, theirs.exported()));
    const KeyedMutex mutex = KeyedMutex::borrow(context, semaphore.native());
    const NvSciSemaphore sync = NvSciSemaphore::borrow(context, semaphore.native());
    int fence = 0;
    const SemaphoreWait waits[] = {mutex.waiting(5, 250), sync.waiting(&fence)};
    const auto waited = ok(graph.semaphore_params(ok(graph.add_semaphore_wait_node({}, waits))));
    REQUIRE(waited.size() == 2);
    CHECK(waited[0].key == 5);
    CHECK(waited[0].timeout_ms == 250);
    CHECK(waited[0].fence == nullptr);
    CHECK(waited[1].fence == &fence);
    CHECK_FALSE(waited[1].skip_memory_sync);
    const SemaphoreSignal signals[] = {mutex.signaling(6), sync.signaling(&fence)};
    const auto signalled =
        ok(graph.semaphore_params(ok(graph.add_semaphore_signal_node({}, signals))));
    REQUIRE(signalled.size() == 2);
    CHECK(signalled[0].key == 6);
    CHECK(signalled[0].timeout_ms == 0);
    CHECK(signalled[1].key == 0);
    CHECK(signalled[1].fence == &fence);
}

// Only NvSciSync semaphores have flags, so the driver's result is replaced.
GRAPH_TEST_CASE("semaphore nodes report skip_memory_sync", "[graph][current][X8][X9][G22]",
                (Api api)) {
    need_simulator(needs_vulkan);
    auto [context, graph] = make_graph(api);
    const SimulatedSemaphore theirs(1);
    const auto semaphore = ok(TimelineSemaphore::import_fd(context, theirs.exported()));
    const SemaphoreWait waits[] = {semaphore.waiting(1)};
    const SemaphoreSignal signals[] = {semaphore.signaling(2)};
    const GraphNode wait = ok(graph.add_semaphore_wait_node({}, waits));
    const GraphNode signal = ok(graph.add_semaphore_signal_node({}, signals));
    const ScopedOverride<entry::cuGraphExternalSemaphoresSignalNodeGetParams> tell_signal(
        tell_flag<CUDA_EXT_SEM_SIGNAL_NODE_PARAMS, CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS,
                  CUDA_EXTERNAL_SEMAPHORE_SIGNAL_SKIP_NVSCIBUF_MEMSYNC>);
    const ScopedOverride<entry::cuGraphExternalSemaphoresWaitNodeGetParams> tell_wait(
        tell_flag<CUDA_EXT_SEM_WAIT_NODE_PARAMS, CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS,
                  CUDA_EXTERNAL_SEMAPHORE_WAIT_SKIP_NVSCIBUF_MEMSYNC>);
    const ScopedOverride<entry::cudaGraphExternalSemaphoresSignalNodeGetParams> rt_tell_signal(
        tell_flag<cudaExternalSemaphoreSignalNodeParams, cudaExternalSemaphoreSignalParams,
                  cudaExternalSemaphoreSignalSkipNvSciBufMemSync>);
    const ScopedOverride<entry::cudaGraphExternalSemaphoresWaitNodeGetParams> rt_tell_wait(
        tell_flag<cudaExternalSemaphoreWaitNodeParams, cudaExternalSemaphoreWaitParams,
                  cudaExternalSemaphoreWaitSkipNvSciBufMemSync>);
    const auto signalled = ok(graph.semaphore_params(signal));
    REQUIRE(signalled.size() == 1);
    CHECK(signalled[0].skip_memory_sync);
    const auto waited = ok(graph.semaphore_params(wait));
    REQUIRE(waited.size() == 1);
    CHECK(waited[0].skip_memory_sync);
}
#endif

// --- memory operations

namespace {

struct WriteAndWait {
    explicit WriteAndWait(CUdeviceptr address) {
        operations[0].operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
        operations[0].writeValue.address = address;
        operations[0].writeValue.value = 77;
        operations[1].operation = CU_STREAM_MEM_OP_WAIT_VALUE_32;
        operations[1].waitValue.address = address;
        operations[1].waitValue.value = 78;
        operations[1].waitValue.flags = CU_STREAM_WAIT_VALUE_EQ;
    }
    CUstreamBatchMemOpParams operations[2] = {};
};

} // namespace

SCENARIO_TEST("a batch memory operation node reports its operations in order", "[graph][G22]",
              (Trial &trial, const Context &context)) {
    trial.needs_cuda(11, 7);
    CUSHIM_TRY(auto memory, DeviceBuffer<unsigned int>::allocate(context, 2));
    CUSHIM_TRY(Graph graph, Graph::create(context));
    WriteAndWait wanted(memory.native());
    CUSHIM_TRY(const GraphNode node, graph.add_batch_mem_op_node({}, wanted.operations));
    CUSHIM_TRY(const auto read, graph.batch_mem_op_params(node));
    REQUIRE(read.size() == 2);
    CHECK(read[0].operation == CU_STREAM_MEM_OP_WRITE_VALUE_32);
    CHECK(read[0].writeValue.address == memory.native());
    CHECK(read[0].writeValue.value == 77);
    CHECK(read[1].operation == CU_STREAM_MEM_OP_WAIT_VALUE_32);
    CHECK(read[1].waitValue.address == memory.native());
    CHECK(read[1].waitValue.value == 78);
    CHECK(read[1].waitValue.flags == CU_STREAM_WAIT_VALUE_EQ);

    wanted.operations[0].writeValue.value = 80;
    CUSHIM_TRY_VOID(graph.set_batch_mem_op_node(node, {wanted.operations, 1}));
    CUSHIM_TRY(const auto fewer, graph.batch_mem_op_params(node));
    REQUIRE(fewer.size() == 1);
    CHECK(fewer[0].writeValue.value == 80);
    CHECK(read[0].writeValue.value == 77);
    return {};
}

#if CUDA_VERSION >= 11070
TEST_CASE("the runtime API does not report memory operations", "[graph][current][G22]") {
    need_simulator("needs the simulator, whose runtime reports the types of all nodes");
    auto [context, graph] = make_graph(Api::driver);
    auto memory = ok(DeviceBuffer<unsigned int>::allocate(context, 2));
    WriteAndWait wanted(memory.native());
    const GraphNode node = ok(graph.add_batch_mem_op_node({}, wanted.operations));
    const Graph same = ok(rt::borrow_graph(context, graph.native()));
    const GraphNode same_node = ok(node_in(same, node));
    CHECK(ok(same.node_type(same_node)) == GraphNodeType::batch_mem_op);
    const Error error = error_of(same.batch_mem_op_params(same_node));
    CHECK(error.kind() == ErrorKind::unsupported_platform);
    CHECK(contains(error.message(), "memory operations"));
}
#endif

// --- conditional nodes

namespace {

// Checks that both are the same body, with equal nodes.
Result<void> check_body(const Graph &reported, Graph &body) {
    CHECK(reported.native() == body.native());
    CUSHIM_TRY(const GraphNode added, body.add_empty_node({}));
    return check_gives(reported.nodes(), std::vector{added});
}

} // namespace

GRAPH_SCENARIO_TEST("a conditional node reports its condition and its bodies",
                    "[graph][conditional][G18][G22]",
                    (Trial &trial, Api api, const Context &context, Graph &graph)) {
    trial.needs_cuda(13, 2);
    CUSHIM_TRY(const auto may, graph.create_condition({.initial = 1}));
    CUSHIM_TRY(const auto more, graph.create_condition({}));
    CUSHIM_TRY(const auto which, graph.create_condition({}));
    CUSHIM_TRY(GraphBranches branches, graph.add_if_else_node({}, may));
    CUSHIM_TRY(GraphBody loop, graph.add_while_node(branches.node, more));
    CUSHIM_TRY(GraphCases cases, graph.add_switch_node(loop.node, which, 3));

    CUSHIM_TRY(const auto either, graph.conditional_params(branches.node));
    CHECK(either.type == GraphConditionalType::if_);
    CHECK(either.condition == may.native());
    REQUIRE(either.bodies.size() == 2);
    CUSHIM_TRY_VOID(check_body(either.bodies[0], branches.then_body));
    CUSHIM_TRY_VOID(check_body(either.bodies[1], branches.else_body));

    CUSHIM_TRY(const auto again, graph.conditional_params(loop.node));
    CHECK(again.type == GraphConditionalType::while_);
    CHECK(again.condition == more.native());
    REQUIRE(again.bodies.size() == 1);
    CUSHIM_TRY_VOID(check_body(again.bodies[0], loop.body));

    CUSHIM_TRY(const auto one_of, graph.conditional_params(cases.node));
    CHECK(one_of.type == GraphConditionalType::switch_);
    CHECK(one_of.condition == which.native());
    REQUIRE(one_of.bodies.size() == 3);
    for (std::size_t index = 0; index < 3; ++index) {
        CUSHIM_TRY_VOID(check_body(one_of.bodies[index], cases.bodies[index]));
    }
    return check_types(api, context, graph,
                       {{branches.node, GraphNodeType::conditional},
                        {loop.node, GraphNodeType::conditional},
                        {cases.node, GraphNodeType::conditional}});
}

#if CUDA_VERSION >= 12030 && CUDA_VERSION < 13020
GRAPH_TEST_CASE("before CUDA 13.2 reading a conditional node fails with the required version",
                "[graph][current][conditional][G22]", (Api api)) {
    auto [context, graph] = make_graph(api);
    GraphBody body = ok(graph.add_if_node({}, ok(graph.create_condition({}))));
    const Error error = error_of(graph.conditional_params(body.node));
    CHECK(error.kind() == ErrorKind::requires_newer_headers);
    CHECK(std::string(error.entry_point()) == "cuGraphNodeGetParams");
    CHECK(error.required() == Version::of(13, 2));
}
#endif

// --- nodes of another type

GRAPH_TEST_CASE("reading a node as another type fails", "[graph][G22]", (Api api)) {
    auto [context, graph] = make_graph(api);
    const GraphNode empty = ok(graph.add_empty_node({}));
    const auto of_type = [](const std::string &type) {
        return "the node has type GraphNodeType::empty, expected GraphNodeType::" + type;
    };
    CHECK(refusal(graph.kernel_params(empty)) == of_type("kernel"));
    CHECK(refusal(graph.memcpy_params(empty)) == of_type("memcpy"));
    CHECK(refusal(graph.memset_params(empty)) == of_type("memset"));
    CHECK(refusal(graph.host_params(empty)) == of_type("host"));
    CHECK(refusal(graph.child_graph_params(empty)) == of_type("child_graph"));
    CHECK(refusal(graph.event_params(empty)) ==
          of_type("event_record or GraphNodeType::event_wait"));
    CHECK(refusal(graph.semaphore_params(empty)) ==
          of_type("semaphore_signal or GraphNodeType::semaphore_wait"));
    CHECK(refusal(graph.mem_alloc_params(empty)) == of_type("mem_alloc"));
    CHECK(refusal(graph.mem_free_params(empty)) == of_type("mem_free"));
    CHECK(refusal(graph.batch_mem_op_params(empty)) == of_type("batch_mem_op"));
    CHECK(refusal(graph.conditional_params(empty)) == of_type("conditional"));
}
