// Graphs of both APIs together: one API reads, changes and launches graphs of the other. The other
// tests of graphs run with each API alone.
#include "harness/graph_scenario.hpp"

#include <cushim/device_buffer.hpp>
#include <cushim/pinned_buffer.hpp>

#ifndef _WIN32
#include "harness/registered_kernel.hpp"
#include "harness/simulated_semaphore.hpp"
#endif

#include <cstdlib>
#include <utility>

using namespace api_test;
using namespace cushim;

namespace {

// An object made by a direct call of the runtime library.
template <class Handle>
class TheirObject {
  public:
    using Destroy = cudaError_t (*)(Handle);

    explicit TheirObject(Destroy destroy) : destroy_(destroy) {}
    ~TheirObject() { (void)destroy(); }
    TheirObject(const TheirObject &) = delete;
    TheirObject &operator=(const TheirObject &) = delete;

    Handle *out() { return &handle_; }
    // Takes the result of the call that makes the object; a failed call made none.
    Result<void> made(Result<void> result) {
        if (!result) {
            handle_ = nullptr;
        }
        return result;
    }
    Handle get() const { return handle_; }
    Result<void> destroy() {
        const Handle handle = std::exchange(handle_, nullptr);
        return handle == nullptr ? Result<void>()
                                 : answer(destroy_(handle), "its destroy function");
    }

  private:
    Handle handle_ = nullptr;
    Destroy destroy_;
};

} // namespace

// --- reading through the other API

GRAPH_SCENARIO_TEST("graph memory is accessible to a second device", "[graph][memory][G16]",
                    (Trial &trial, Graph &graph), "devices=2") {
    CUSHIM_TRY_VOID(trial.needs_devices(2));
    CUSHIM_TRY(const Device device, Device::get(0));
    CUSHIM_TRY(const Device second, Device::get(1));
    const AccessGrant grants[] = {{second, AccessFlags::read_write}};
    CUSHIM_TRY(const auto memory, graph.add_mem_alloc_node<int>({}, device, 100, grants));
    CUDA_MEM_ALLOC_NODE_PARAMS seen{};
    CUSHIM_TRY_VOID(answer(driver().cuGraphMemAllocNodeGetParams(memory.node().native(), &seen),
                           "cuGraphMemAllocNodeGetParams"));
    CHECK(seen.poolProps.location.id == device.native());
    REQUIRE(seen.accessDescCount == 1);
    CHECK(seen.accessDescs[0].location.type == CU_MEM_LOCATION_TYPE_DEVICE);
    CHECK(seen.accessDescs[0].location.id == second.native());
    CHECK(seen.accessDescs[0].flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    return {};
}

// --- kernels

#if CUDART_VERSION >= 12000
GRAPH_SCENARIO_TEST("the other API reads a kernel and its attributes", "[graph][G11][G22]",
                    (Trial &trial, Api api, const Context &context, Graph &graph)) {
    trial.needs_runtime();
    register_kernels();
    CUSHIM_TRY(const Library library, Library::load(device_code));
    CUSHIM_TRY(const auto idle, library.kernel<void()>("idle"));
    const LaunchConfig config = {.grid = {2, 3, 4}, .block = {32, 2, 1}, .cooperative = true};
    CUSHIM_TRY(const GraphNode node, graph.add_kernel_node({}, idle, config));

    CUSHIM_TRY(Graph same, borrow_graph(other(api), context, graph.native()));
    CUSHIM_TRY(const GraphNode same_node, node_in(same, node));
    CUSHIM_TRY(const KernelNodeParams params, same.kernel_params(same_node));
    CHECK(params.function == idle.native());
    CHECK(params.grid == config.grid);
    CHECK(params.block == config.block);
    // For the direct calls: without a current context, libcudart would make one current.
    CUSHIM_TRY(const ContextScope scope, context.enter());
    CUkernelNodeAttrValue to_driver{};
    CUSHIM_TRY_VOID(answer(driver().cuGraphKernelNodeGetAttribute(
                               node.native(), CU_KERNEL_NODE_ATTRIBUTE_COOPERATIVE, &to_driver),
                           "cuGraphKernelNodeGetAttribute"));
    CHECK(to_driver.cooperative == 1);
    cudaKernelNodeAttrValue to_runtime{};
    CUSHIM_TRY_VOID(answer(runtime().cudaGraphKernelNodeGetAttribute(
                               node.native(), cudaLaunchAttributeCooperative, &to_runtime),
                           "cudaGraphKernelNodeGetAttribute"));
    CHECK(to_runtime.cooperative == 1);
    return {};
}
#endif

#if CUDART_VERSION >= 12030 && !defined(_WIN32)
TEST_CASE("a kernel registered by a compiler is read as its driver handle",
          "[graph][current][G11][G22]") {
    need_simulator("needs the simulator, which accepts kernels that no compiler registered");
    auto [context, graph] = make_graph(Api::runtime);
    const RegisteredKernel idle("idle");
    const Stream stream = ok(Stream::create(context));
    const Graph captured = ok(rt::capture(stream, [&, &in = context]() -> Result<void> {
        CUSHIM_TRY(const ContextScope scope, in.enter());
        return answer(runtime().cudaLaunchKernel(idle.symbol(), {1, 2, 3}, {32, 1, 1}, nullptr, 0,
                                                 stream.native()),
                      "cudaLaunchKernel");
    }));
    const auto nodes = ok(captured.nodes());
    REQUIRE(nodes.size() == 1);
    const KernelNodeParams params = ok(captured.kernel_params(nodes[0]));
    CHECK(params.grid == Dim3(1, 2, 3));
    CHECK(reinterpret_cast<const void *>(params.function) != idle.symbol());
    const char *name = nullptr;
    CHECK(driver().cuFuncGetName(&name, params.function) == CUDA_SUCCESS);
    CHECK(std::string(name != nullptr ? name : "") == "idle");
    CHECK(runtime().cudaGetLastError() == cudaSuccess);
}
#endif

#if CUDART_VERSION >= 12000
TEST_CASE("reading nodes that libcudart cannot does not set the last error",
          "[graph][current][G22]") {
    auto [context, graph] = make_graph(Api::runtime);
    register_kernels();
    const Library library = ok(Library::load(device_code));
    const auto idle = ok(library.kernel<void()>("idle"));
    auto memory = ok(DeviceBuffer<int>::allocate(context, 8));
    auto host = ok(PinnedBuffer<int>::allocate(context, 8));
    Graph drivers = ok(Graph::create(context));
    const GraphNode launch = ok(drivers.add_kernel_node({}, idle, {}));
    const GraphNode move = ok(drivers.add_memcpy_node({}, memory, host));
    Graph same = ok(rt::borrow_graph(context, drivers.native()));
    CHECK(ok(same.kernel_params(ok(node_in(same, launch)))).function == idle.native());
    CHECK(ok(same.memcpy_params(ok(node_in(same, move)))).to.address == memory.native());
    CHECK(runtime().cudaGetLastError() == cudaSuccess);
}
#endif

#if CUDART_VERSION >= 12080
GRAPH_SCENARIO_TEST("a kernel that the runtime loaded runs in graphs of both APIs",
                    "[graph][current][G11]",
                    (Api api, const Context &context, const Stream &stream)) {
    register_kernels();
    CUSHIM_TRY(auto memory, DeviceBuffer<int>::allocate(context, 64));
    TheirObject<cudaLibrary_t> library(
        [](cudaLibrary_t loaded) { return runtime().cudaLibraryUnload(loaded); });
    cudaKernel_t kernel = nullptr;
    {
        // Without a current context, libcudart would make one current.
        CUSHIM_TRY(const ContextScope scope, context.enter());
        CUSHIM_TRY_VOID(
            library.made(answer(runtime().cudaLibraryLoadData(library.out(), device_code, nullptr,
                                                              nullptr, 0, nullptr, nullptr, 0),
                                "cudaLibraryLoadData")));
        CUSHIM_TRY_VOID(answer(runtime().cudaLibraryGetKernel(&kernel, library.get(), "fill"),
                               "cudaLibraryGetKernel"));
    }
    CUSHIM_TRY(const auto fill, AnyKernel::borrow(kernel).as<Fill>());
    {
        CUSHIM_TRY(Graph graph, create_graph(api, context));
        CUSHIM_TRY(const GraphNode node,
                   graph.add_kernel_node({}, fill, LaunchConfig::covering(64), memory, 3, 64u));
        CHECK(node);
        CUSHIM_TRY_VOID(check_run(graph, stream, memory, 3));
    }
    CUSHIM_TRY(const ContextScope scope, context.enter());
    return library.destroy();
}
#endif

GRAPH_SCENARIO_TEST("both APIs read edges with data", "[graph][G20]",
                    (Trial &trial, Api api, const Context &context, Graph &graph)) {
    trial.needs_runtime();
    trial.needs_cuda(12, 3);
    CUSHIM_TRY(const auto idle, graph_kernel<void()>(trial, api, context, "idle"));
    CUSHIM_TRY(const GraphNode a, graph.add_kernel_node({}, idle, LaunchConfig::covering(1)));
    CUSHIM_TRY(const GraphNode b, graph.add_kernel_node({}, idle, LaunchConfig::covering(1)));
    // b may begin when a triggers it.
    const GraphEdgeData early = {.from_port = 1, .to_port = 0, .type = 1};
    const GraphEdge edge[] = {{a, b, early}};
    CUSHIM_TRY_VOID(graph.add_dependencies(edge));
    CUSHIM_TRY_VOID(check_gives(graph.edges(), std::vector{edge[0]}));
    CUSHIM_TRY_VOID(check_gives(graph.dependencies(b), std::vector{a}));
    CUSHIM_TRY_VOID(check_gives(graph.dependents(a), std::vector{b}));

    CUSHIM_TRY(Graph same, borrow_graph(other(api), context, graph.native()));
    CUSHIM_TRY(const auto same_edges, same.edges());
    REQUIRE(same_edges.size() == 1);
    CHECK(same_edges[0].from.native() == a.native());
    CHECK(same_edges[0].data == early);
    CUSHIM_TRY_VOID(same.remove_dependencies(same_edges));
    CUSHIM_TRY(const auto none, graph.edges());
    CHECK(none.empty());
    return {};
}

// --- changes and launches through the other API

GRAPH_SCENARIO_TEST("the other API changes and launches a graph", "[graph][G24]",
                    (Trial &trial, Api api, const Context &context, const Stream &stream,
                     Graph &graph)) {
    trial.needs_runtime();
    CUSHIM_TRY(auto memory, DeviceBuffer<int>::allocate(context, 16));
    CUSHIM_TRY(const GraphNode set, graph.add_memset_node({}, memory, 1));
    CUSHIM_TRY(Graph same, borrow_graph(other(api), context, graph.native()));
    CUSHIM_TRY(const GraphNode same_set, node_in(same, set));
    CUSHIM_TRY_VOID(same.set_memset_node(same_set, memory, 2));
    CUSHIM_TRY_VOID(check_run(graph, stream, memory, 2));

    CUSHIM_TRY_VOID(graph.set_memset_node(set, memory, 3));
    return check_run(same, stream, memory, 3);
}

GRAPH_SCENARIO_TEST("the driver API launches an executable graph of either API",
                    "[graph][G23][G24]",
                    (const Context &context, const Stream &stream, Graph &graph)) {
    Watched count;
    CUSHIM_TRY_VOID(graph.add_host_node({}, count.closure()));
    CUSHIM_TRY(GraphExec exec, graph.instantiate());
    CUSHIM_TRY(GraphExec same, GraphExec::borrow(context, exec.native()));
    CHECK(same.api() == Api::driver);
    CUSHIM_TRY_VOID(exec.launch(stream));
    CUSHIM_TRY_VOID(launch_and_wait(same, stream));
    CHECK(count.calls() == 2);
    return {};
}

GRAPH_SCENARIO_TEST("graphs of both APIs use streams and events of the runtime",
                    "[graph][current][G15][G24]", (Api api, const Context &context)) {
    CUSHIM_TRY(auto memory, DeviceBuffer<int>::allocate(context, 16));
    TheirObject<cudaStream_t> stream(
        [](cudaStream_t made) { return runtime().cudaStreamDestroy(made); });
    TheirObject<cudaEvent_t> event(
        [](cudaEvent_t made) { return runtime().cudaEventDestroy(made); });
    {
        CUSHIM_TRY(const ContextScope scope, context.enter());
        CUSHIM_TRY_VOID(stream.made(
            answer(runtime().cudaStreamCreateWithFlags(stream.out(), cudaStreamNonBlocking),
                   "cudaStreamCreateWithFlags")));
        CUSHIM_TRY_VOID(event.made(
            answer(runtime().cudaEventCreateWithFlags(event.out(), cudaEventDisableTiming),
                   "cudaEventCreateWithFlags")));
    }
    const Stream ours = Stream::borrow(stream.get());
    const Event recorded = Event::borrow(event.get());
    {
        CUSHIM_TRY(Graph graph, create_graph(api, context));
        CUSHIM_TRY(const GraphNode set, graph.add_memset_node({}, memory, 6));
        CUSHIM_TRY(const GraphNode record, graph.add_event_record_node(set, recorded));
        CHECK(record);
        CUSHIM_TRY(GraphExec exec, graph.instantiate());
        CUSHIM_TRY_VOID(exec.upload(ours));
        CUSHIM_TRY_VOID(exec.launch(ours));
        CUSHIM_TRY_VOID(recorded.synchronize());
        CUSHIM_TRY_VOID(check_gives(read(context, memory), std::vector<int>(16, 6)));
        CUSHIM_TRY_VOID(ours.synchronize());
    }
    CUSHIM_TRY(const ContextScope scope, context.enter());
    CUSHIM_TRY_VOID(event.destroy());
    return stream.destroy();
}

GRAPH_SCENARIO_TEST("one API ends a capture that the other begins", "[graph][capture][G2][G3]",
                    (Trial &trial, Api api, const Context &context, const StreamAside &aside)) {
    const Stream &stream = aside.stream;
    trial.needs_runtime();
    CUSHIM_TRY(auto memory, DeviceBuffer<int>::allocate(context, 16));
    const bool by_runtime = api == Api::runtime;
    CUSHIM_TRY_VOID(by_runtime ? rt::begin_capture(stream) : stream.begin_capture());
    const Result<void> queued = fill(stream, memory.span(), 8);
    auto ended = by_runtime ? stream.end_capture() : rt::end_capture(stream);
    if (!ended) {
        (void)stream.end_capture(); // so that the capture has ended
        return ended.error();
    }
    CUSHIM_TRY_VOID(queued);
    CHECK(ended->api() == other(api));
    CUSHIM_TRY_VOID(run_once(*ended, stream));
    return check_filled(context, memory, 8);
}

#ifndef _WIN32
GRAPH_SCENARIO_TEST("nodes wait for and signal semaphores of another API", "[graph][X8][X9]",
                    (Trial &trial, const Context &context, const Stream &stream, Graph &graph)) {
    need_simulator(trial);
    SimulatedSemaphore theirs(1);
    CUSHIM_TRY(const auto semaphore, TimelineSemaphore::import_fd(context, theirs.exported()));
    const SemaphoreWait first[] = {semaphore.waiting(1)};
    const SemaphoreSignal second[] = {semaphore.signaling(2)};
    CUSHIM_TRY(const GraphNode wait, graph.add_semaphore_wait_node({}, first));
    CUSHIM_TRY(const GraphNode signal, graph.add_semaphore_signal_node(wait, second));
    CUSHIM_TRY(GraphExec exec, graph.instantiate());
    CUSHIM_TRY_VOID(launch_and_wait(exec, stream));
    CHECK(theirs.value() == 2);

    const SemaphoreWait third[] = {semaphore.waiting(2)};
    const SemaphoreSignal fourth[] = {semaphore.signaling(5)};
    CUSHIM_TRY_VOID(exec.set_semaphore_wait_node(wait, third));
    CUSHIM_TRY_VOID(exec.set_semaphore_signal_node(signal, fourth));
    CUSHIM_TRY_VOID(launch_and_wait(exec, stream));
    CHECK(theirs.value() == 5);

    const SemaphoreSignal last[] = {semaphore.signaling(9)};
    CUSHIM_TRY_VOID(graph.set_semaphore_wait_node(wait, third));
    CUSHIM_TRY_VOID(graph.set_semaphore_signal_node(signal, last));
    CUSHIM_TRY_VOID(run_once(graph, stream));
    CHECK(theirs.value() == 9);
    return {};
}

GRAPH_SCENARIO_TEST("a graph keeps the semaphores of its nodes alive", "[graph][X8][X9]",
                    (Trial &trial, const Context &context, const Stream &stream, Graph &graph)) {
    need_simulator(trial);
    SimulatedSemaphore theirs(1);
    {
        CUSHIM_TRY(const auto first, TimelineSemaphore::import_fd(context, theirs.exported()));
        CUSHIM_TRY(const auto second, TimelineSemaphore::import_fd(context, theirs.exported()));
        const SemaphoreWait waits[] = {first.waiting(1)};
        const SemaphoreSignal signals[] = {second.signaling(2)};
        CUSHIM_TRY(const GraphNode wait, graph.add_semaphore_wait_node({}, waits));
        CUSHIM_TRY_VOID(graph.add_semaphore_signal_node(wait, signals));
    }
    CUSHIM_TRY_VOID(run_once(graph, stream));
    CHECK(theirs.value() == 2);
    return {};
}
#endif
