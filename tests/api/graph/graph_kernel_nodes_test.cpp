// Kernel nodes: their parameters and launch attributes, and the context in which they are added
// and changed.
#include "harness/graph_scenario.hpp"
#include "harness/memory.hpp"

#include <cushim/device_buffer.hpp>
#include <cushim/override.hpp>
#include <cushim/pinned_buffer.hpp>

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

using namespace api_test;
using namespace cushim;

namespace {

// The value of a kernel node attribute. Its first words suffice for the attributes used here.
struct Words {
    alignas(8) std::array<unsigned int, 16> words = {};
    int first() const { return static_cast<int>(words[0]); }
};
Result<Words> attribute(const GraphNode &node, unsigned int id) {
    Words found;
    const CUresult status =
        driver().cuGraphKernelNodeGetAttribute(node.native(), static_cast<CUkernelNodeAttrID>(id),
                                               reinterpret_cast<CUkernelNodeAttrValue *>(&found));
    return status == CUDA_SUCCESS
               ? Result<Words>(found)
               : Error::status(Api::driver, status, "cuGraphKernelNodeGetAttribute");
}
constexpr unsigned int cooperative = 2, cluster = 4, priority = 8; // CU_LAUNCH_ATTRIBUTE_...

} // namespace

GRAPH_SCENARIO_TEST("a graph keeps its kernel and its memory alive", "[graph][G11]",
                    (Trial &trial, Api api, const Context &context, const Stream &stream)) {
    CUSHIM_TRY(auto out, PinnedBuffer<int>::allocate(context, 100));
    GraphExec exec;
    {
        CUSHIM_TRY(auto memory, DeviceBuffer<int>::allocate(context, 100));
        CUSHIM_TRY(const auto kernel, graph_kernel<Fill>(trial, api, context, "fill"));
        CUSHIM_TRY(Graph graph, create_graph(api, context));
        CUSHIM_TRY(const GraphNode fill,
                   graph.add_kernel_node({}, kernel, LaunchConfig::covering(100), memory, 3, 100u));
        CUSHIM_TRY_VOID(graph.add_memcpy_node(fill, out, memory));
        CUSHIM_TRY(exec, graph.instantiate());
    }
    // The executable graph is the only owner of the graph, the kernel and the memory.
    CUSHIM_TRY_VOID(launch_and_wait(exec, stream));
    CHECK(std::count(out.begin(), out.end(), 3) == 100);
    return {};
}

GRAPH_SCENARIO_TEST("set_kernel_node() changes the arguments", "[graph][G11]",
                    (Trial &trial, Api api, const Context &context, const Stream &stream,
                     Graph &graph)) {
    CUSHIM_TRY(auto first, DeviceBuffer<int>::allocate(context, 10));
    CUSHIM_TRY(auto second, DeviceBuffer<int>::allocate(context, 10));
    CUSHIM_TRY_VOID(fill(context, first.span(), 0));
    CUSHIM_TRY(const auto kernel, graph_kernel<Fill>(trial, api, context, "fill"));
    CUSHIM_TRY(const GraphNode node,
               graph.add_kernel_node({}, kernel, LaunchConfig::covering(10), first, 1, 10u));
    CUSHIM_TRY_VOID(
        graph.set_kernel_node(node, kernel, LaunchConfig::covering(10), second, 8, 10u));
    CUSHIM_TRY_VOID(check_run(graph, stream, first, 0));
    return check_filled(context, second, 8);
}

GRAPH_SCENARIO_TEST("a kernel node has the launch attributes of its last configuration",
                    "[graph][G11]",
                    (Trial &trial, Api api, const Context &context, const Stream &stream,
                     Graph &graph)) {
    trial.needs_cuda(11, 8);
    CUSHIM_TRY(const StreamPriorities range, context.stream_priorities());
    CUSHIM_TRY(const auto idle, graph_kernel<void()>(trial, api, context, "idle"));
    CUSHIM_TRY(const GraphNode node,
               graph.add_kernel_node({}, idle, {.grid = 4, .block = 32, .cooperative = true}));
    const auto check = [&](int is_cooperative, int urgency) -> Result<void> {
        CUSHIM_TRY(const Words how, attribute(node, cooperative));
        CHECK(how.first() == is_cooperative);
        CUSHIM_TRY(const Words when, attribute(node, priority));
        CHECK(when.first() == urgency);
        return run_once(graph, stream);
    };
    CUSHIM_TRY_VOID(check(1, 0));
    CUSHIM_TRY_VOID(graph.set_kernel_node(node, idle, {.priority = range.greatest}));
    CUSHIM_TRY_VOID(check(0, range.greatest));
    CUSHIM_TRY_VOID(graph.set_kernel_node(node, idle, {.grid = 2, .cooperative = true}));
    CUSHIM_TRY_VOID(check(1, 0));
    CUSHIM_TRY_VOID(graph.set_kernel_node(node, idle, {.grid = 3}));
    return check(0, 0);
}

GRAPH_SCENARIO_TEST("a kernel node has the cluster size of its last configuration", "[graph][G11]",
                    (Trial &trial, const Context &context, const Stream &stream, Graph &graph)) {
    trial.needs_cuda(12, 0);
    CUSHIM_TRY(const Device device, context.device());
    CUSHIM_TRY(const ComputeCapability capability, device.compute_capability());
    if (capability < ComputeCapability{9, 0}) {
        trial.skip("the device has no clusters");
        return {};
    }
    register_kernels();
    CUSHIM_TRY(const Library library, Library::load(cluster_code));
    CUSHIM_TRY(const auto idle, library.kernel<void()>("idle"));
    CUSHIM_TRY(const GraphNode node,
               graph.add_kernel_node({}, idle, {.grid = 4, .block = 32, .cluster = 2}));
    CUSHIM_TRY(const Words before, attribute(node, cluster));
    CHECK((before.words[0] == 2 && before.words[1] == 1 && before.words[2] == 1));
    CUSHIM_TRY_VOID(run_once(graph, stream));
    CUSHIM_TRY_VOID(
        graph.set_kernel_node(node, idle, {.grid = 3, .block = 32})); // not divisible by 2
    CUSHIM_TRY_VOID(run_once(graph, stream));
    CUSHIM_TRY_VOID(graph.set_kernel_node(node, idle, {.grid = 8, .block = 32, .cluster = 4}));
    CUSHIM_TRY_VOID(graph.set_kernel_node(node, idle, {.grid = 5, .block = 32}));
    CUSHIM_TRY(const Words after, attribute(node, cluster));
    CHECK((after.words[0] == 1 && after.words[1] == 1 && after.words[2] == 1));
    return run_once(graph, stream);
}

GRAPH_TEST_CASE("a kernel node whose attributes cannot be set is not added",
                "[graph][current][G11]", (Api api)) {
    need_faults();
    need_cuda(12, 0);
    const std::string prefix = api == Api::runtime ? "cudaGraphKernelNode" : "cuGraphKernelNode";
    restart("fault=" + prefix + "SetAttribute:2:999:instead");
    register_kernels();
    auto context = ok(Trial::context());
    auto library = ok(Library::load(device_code));
    auto graph = ok(create_graph(api, context));
    auto idle = ok(library.kernel<void()>("idle"));
    const Error failed = error_of(graph.add_kernel_node(
        {}, idle, {.grid = 4, .block = 32, .cooperative = true, .priority = -1}));
    CHECK(failed.status() == 999);
    CHECK(ok(graph.node_count()) == 0);
}

GRAPH_TEST_CASE("a kernel node whose change fails keeps its parameters and attributes",
                "[graph][current][G11]", (Api api)) {
    need_faults();
    need_cuda(12, 0);
    const bool is_runtime = api == Api::runtime;
    const std::string prefix = is_runtime ? "cudaGraphKernelNode" : "cuGraphKernelNode";
    const std::string parameters = is_runtime ? "SetParams" : "SetParams_v2";
    // The first two attribute calls are those of the new node; then one is removed and one is
    // added.
    for (const std::string &failing :
         {parameters + ":1", std::string("SetAttribute:3"), std::string("SetAttribute:4"),
          std::string("GetAttribute:1"), std::string("GetAttribute:3"),
          std::string("GetAttribute:4")}) {
        INFO(failing);
        restart("fault=" + prefix + failing + ":999:instead");
        register_kernels();
        auto context = ok(Trial::context());
        auto library = ok(Library::load(device_code));
        auto graph = ok(create_graph(api, context));
        auto idle = ok(library.kernel<void()>("idle"));
        auto node = ok(graph.add_kernel_node(
            {}, idle, {.grid = 4, .block = 32, .cooperative = true, .priority = -1}));
        const Error changed =
            error_of(graph.set_kernel_node(node, idle, {.grid = 2, .priority = -2}));
        CHECK(changed.status() == 999);
        const auto params = graph.kernel_params(node);
        const auto how = attribute(node, cooperative), when = attribute(node, priority);
        REQUIRE((params && how && when));
        CHECK(params->grid == Dim3(4));
        CHECK(how->first() == 1);
        CHECK(when->first() == -1);
    }
}

// --- module kernels on a thread without a current context. Driver 580 ends the process if one is
// added without a current context.

namespace {

bool is_of_kernel_node(const std::string &call) {
    return call.find("KernelNode") != std::string::npos || call.starts_with("cuGraphAddNode");
}

// Checks that `work` makes calls for kernel nodes, all of them inside a context scope.
template <class Work>
void check_in_context(const Work &work) {
    const std::vector<std::string> calls = calls_in(work);
    if (simulator() == nullptr) {
        return; // the test shows that the process survives
    }
    int entered = 0, found = 0;
    for (const std::string &call : calls) {
        entered += call.starts_with("cuCtxPushCurrent") ? 1 : 0;
        entered -= call.starts_with("cuCtxPopCurrent") ? 1 : 0;
        if (is_of_kernel_node(call)) {
            ++found;
            INFO(call);
            CHECK(entered == 1);
        }
    }
    CHECK(found > 0);
    CHECK(entered == 0);
}

// A kernel of a module, and no current context.
struct Parts {
    Context context;
    Graph graph;
    Kernel<void()> idle;
};

Parts make_parts() {
    auto [context, graph] = make_graph(Api::driver);
    const Module module = ok(load_device_code(context));
    const auto idle = ok(module.kernel<void()>("idle"));
    REQUIRE(driver().cuCtxSetCurrent(nullptr) == CUDA_SUCCESS);
    return {std::move(context), std::move(graph), idle.share()};
}

const LaunchConfig plain = LaunchConfig::covering(1);

} // namespace

TEST_CASE("a module kernel is added in the context of the graph", "[graph][G11]") {
    auto [context, graph, idle] = make_parts();
    check_in_context([&, &to = graph, &kernel = idle] {
        const GraphNode node = ok(to.add_kernel_node({}, kernel, plain));
        ok(to.set_kernel_node(node, kernel, LaunchConfig::covering(2)));
        ok(ok(to.clone()).add_kernel_node({}, kernel, plain));
    });
}

TEST_CASE("a module kernel is changed in the context of the executable graph",
          "[graph][G11][G25]") {
    auto [context, graph, idle] = make_parts();
    const GraphNode node = ok(graph.add_kernel_node({}, idle, plain));
    GraphExec exec = ok(graph.instantiate());
    check_in_context([&exec, &node, &kernel = idle] {
        ok(exec.set_kernel_node(node, kernel, LaunchConfig::covering(2)));
    });
}

TEST_CASE("attributes of a module kernel are changed in the context of the graph",
          "[graph][G11][current]") {
    need_cuda(11, 8);
    auto [context, graph, idle] = make_parts();
    LaunchConfig cooperative = plain;
    cooperative.cooperative = true;
    check_in_context([&, &to = graph, &kernel = idle] {
        const GraphNode node = ok(to.add_kernel_node({}, kernel, cooperative));
        ok(to.set_kernel_node(node, kernel, plain));
        ok(to.set_kernel_node(node, kernel, cooperative)); // copies the node during the change
    });
}

// A graph with memory nodes keeps all its nodes: CUDA refuses to destroy one.
TEST_CASE("a kernel node that a failure leaves in the graph keeps its memory alive",
          "[graph][G11]") {
    need_cuda(11, 8);
    auto [context, graph, idle] = make_parts();
    const auto write = ok(ok(load_device_code(context)).kernel<Fill>("fill"));
    const auto memory = ok(graph.add_mem_alloc_node<int>({}, ok(context.device()), 100));
    ok(graph.add_mem_free_node(memory.node(), memory));
    const LaunchConfig cooperative = {.grid = 1, .block = 32, .cooperative = true};
    {
        auto buffer = ok(DeviceBuffer<int>::allocate(context, 100));
        const ScopedOverride<entry::cuGraphKernelNodeSetAttribute> refusing(
            [](CUgraphNode, CUkernelNodeAttrID, const CUkernelNodeAttrValue *) {
                return CUDA_ERROR_INVALID_VALUE;
            });
        const auto added = graph.add_kernel_node({}, write, cooperative, buffer, 3, 100u);
        REQUIRE_FALSE(added);
        CHECK(added.error().status() == CUDA_ERROR_INVALID_VALUE);
    }
    CHECK(ok(graph.node_count()) == 3);
    GraphExec exec = ok(graph.instantiate());
    const auto stream = ok(Stream::create(context));
    ok(exec.launch(stream));
    ok(stream.synchronize()); // the kernel writes to the memory
    CHECK(misuses().empty());
}

TEST_CASE("attributes that nodes cannot have are refused before a kernel node is added",
          "[graph][G11]") {
    need_cuda(11, 8);
    auto [context, graph, idle] = make_parts();
    const std::vector<CUlaunchAttribute> many(100);
    LaunchConfig config = plain;
    config.more = many;
    int adds = 0;
    static int *count = nullptr;
    count = &adds;
    const ScopedOverride<entry::cuGraphAddKernelNode_v1> add(
        [](CUgraphNode *, CUgraph, const CUgraphNode *, size_t,
           const CUDA_KERNEL_NODE_PARAMS_v1 *) {
            ++*count;
            return CUDA_ERROR_UNKNOWN;
        });
    CHECK(graph.add_kernel_node({}, idle, config).error().kind() == ErrorKind::invalid_argument);
    CHECK(adds == 0);
}

#if CUDA_VERSION >= 12020
TEST_CASE("add_node_raw() adds a module kernel in the context of the graph",
          "[graph][G19][current]") {
    auto [context, graph, idle] = make_parts();
    CUgraphNodeParams parameters{};
    parameters.type = CU_GRAPH_NODE_TYPE_KERNEL;
    parameters.kernel.func = idle.native();
    parameters.kernel.gridDimX = parameters.kernel.gridDimY = parameters.kernel.gridDimZ = 1;
    parameters.kernel.blockDimX = parameters.kernel.blockDimY = parameters.kernel.blockDimZ = 1;
    check_in_context([&parameters, &to = graph] { (void)ok(to.add_node_raw({}, &parameters)); });
}
#endif
