// Parameters of graph nodes, by the call for each type and by the structure for all types.
#include "graph_tools.hpp"

#ifndef _WIN32
#include "external_tools.hpp"
#endif

using namespace sim_test;

TEST_CASE("new parameters of a copy read back, and its reserved members must be zero") {
    const Graph graph;
    Words memory(16), more(16);
    const CUgraphNode node = add_copy(graph, device_copy(more.address, memory.address, 64));
    CUDA_MEMCPY3D copy = device_copy(memory.address, more.address, 32), back{};
    ok(driver().cuGraphMemcpyNodeSetParams(node, &copy));
    ok(driver().cuGraphMemcpyNodeGetParams(node, &back));
    CHECK((back.srcDevice == more.address && back.dstDevice == memory.address &&
           back.WidthInBytes == 32 && back.Height == 1 && back.Depth == 1));
    copy.reserved0 = &back;
    CHECK(driver().cuGraphMemcpyNodeSetParams(node, &copy) == invalid);
}

TEST_CASE("parameters of a kernel node can be read and changed") {
    const Module module("cushim-sim-image 1\nkernel add params=8,4\nkernel none\n");
    const Graph graph;
    CUdeviceptr address = 0x1234;
    int number = 5;
    void *arguments[] = {&address, &number}, *with_null[] = {&address, nullptr};
    CUDA_KERNEL_NODE_PARAMS parameters = kernel_parameters(module.function("add"), arguments);
    parameters.gridDimX = 3;
    parameters.blockDimY = 2;
    const CUgraphNode node = add_kernel(graph, parameters);
    address = 0; // the node has copies
    number = 0;
    auto back = got<CUDA_KERNEL_NODE_PARAMS>(&Driver::cuGraphKernelNodeGetParams, node, out);
    CHECK((back.func == parameters.func && back.gridDimX == 3 && back.blockDimY == 2));
    REQUIRE(back.kernelParams != nullptr);
    CHECK(*static_cast<CUdeviceptr *>(back.kernelParams[0]) == 0x1234);
    CHECK(*static_cast<int *>(back.kernelParams[1]) == 5);
    // Parameters that were read can be set.
    back.gridDimX = 4;
    ok(driver().cuGraphKernelNodeSetParams(node, &back));
    require_ok(driver().cuGraphKernelNodeGetParams(node, &back));
    CHECK((back.gridDimX == 4 && *static_cast<int *>(back.kernelParams[1]) == 5));

    CUDA_KERNEL_NODE_PARAMS null_argument = parameters, no_function = parameters;
    null_argument.kernelParams = with_null;
    no_function.func = nullptr;
    CHECK(driver().cuGraphKernelNodeSetParams(node, &null_argument) == invalid);
    CHECK(driver().cuGraphKernelNodeSetParams(node, &no_function) == invalid);
}

TEST_CASE("attributes of a kernel node are stored and copied") {
    const Module module("cushim-sim-image 1\nkernel none\n");
    const Graph graph;
    const CUDA_KERNEL_NODE_PARAMS parameters = kernel_parameters(module.function("none"));
    const CUgraphNode node = add_kernel(graph, parameters), plain = add_kernel(graph, parameters);
    constexpr auto priority = CU_LAUNCH_ATTRIBUTE_PRIORITY;
    const auto priority_of = [&](CUgraphNode of) {
        return got<CUkernelNodeAttrValue>(&Driver::cuGraphKernelNodeGetAttribute, of, priority, out)
            .priority;
    };
    CHECK(priority_of(node) == 0);
    CUkernelNodeAttrValue value{};
    value.priority = -2;
    ok(driver().cuGraphKernelNodeSetAttribute(node, priority, &value));
    ok(driver().cuGraphKernelNodeCopyAttributes(plain, node));
    CHECK(priority_of(plain) == -2);
    // New parameters keep the attributes.
    ok(driver().cuGraphKernelNodeSetParams(node, &parameters));
    CHECK(priority_of(node) == -2);
}

TEST_CASE("adding or changing a kernel node of a function needs a current context") {
    const Module module("cushim-sim-image 1\nkernel none\n");
    const Graph graph, around;
    const CUDA_KERNEL_NODE_PARAMS parameters = kernel_parameters(module.function("none"));
    CUgraphNode node = add_kernel(graph, parameters);
    const CUcontext context = current();
    require_ok(driver().cuCtxSetCurrent(nullptr));
    const auto refused = [](CUresult status) {
        CHECK(status == CUDA_ERROR_INVALID_CONTEXT);
        expect_misuse("a kernel node of a function without a current context");
    };
    refused(driver().cuGraphKernelNodeSetParams(node, &parameters));
    refused(driver().cuGraphAddChildGraphNode(&node, around, nullptr, 0, graph));
    refused(driver().cuGraphAddKernelNode(&node, graph, nullptr, 0, &parameters));
    require_ok(driver().cuCtxSetCurrent(context));
}

TEST_CASE("the first version of the kernel node parameters still works") {
    const Module module("cushim-sim-image 1\nkernel none\n");
    const Graph graph;
    const CUDA_KERNEL_NODE_PARAMS_v1 parameters{module.function("none"), 2, 2, 2, 1, 1, 1};
    const CUgraphNode node = added(&Driver::cuGraphAddKernelNode_v1, graph, {}, &parameters);
    // Bytes behind the structure must not be written.
    struct {
        CUDA_KERNEL_NODE_PARAMS_v1 first;
        unsigned char guard[16];
    } back;
    std::memset(static_cast<void *>(&back), 0x5a, sizeof back);
    require_ok(driver().cuGraphKernelNodeGetParams_v1(node, &back.first));
    CHECK((back.first.func == parameters.func && back.first.gridDimX == 2));
    CHECK(std::all_of(back.guard, back.guard + 16, [](unsigned char c) { return c == 0x5a; }));
}

TEST_CASE("new parameters of a batch of memory operations must keep their kinds") {
    const Graph graph;
    Words memory(4);
    CUstreamBatchMemOpParams operations[2] = {};
    operations[0].writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
    operations[1].waitValue.operation = CU_STREAM_MEM_OP_WAIT_VALUE_32;
    operations[0].writeValue.address = operations[1].waitValue.address = memory.address;
    operations[0].writeValue.value = operations[1].waitValue.value = 7;
    operations[1].waitValue.flags = CU_STREAM_WAIT_VALUE_EQ;
    CUDA_BATCH_MEM_OP_NODE_PARAMS parameters{
        .ctx = current(), .count = 2, .paramArray = operations};
    const CUgraphNode node = added(&Driver::cuGraphAddBatchMemOpNode, graph, {}, &parameters);
    operations[0].writeValue.value = 8; // the node has a copy
    const Executable exec(graph);
    run(exec);
    CHECK(memory.at(0) == 7);
    operations[1] = operations[0];
    CHECK(driver().cuGraphExecBatchMemOpNodeSetParams(exec, node, &parameters) == invalid);
    parameters.count = 1;
    CHECK(driver().cuGraphExecBatchMemOpNodeSetParams(exec, node, &parameters) == invalid);
    ok(driver().cuGraphBatchMemOpNodeSetParams(node, &parameters));
    parameters.count = ~0u;
    CHECK(driver().cuGraphBatchMemOpNodeSetParams(node, &parameters) == invalid);
}

#ifndef _WIN32
TEST_CASE("nodes signal and wait for external semaphores") {
    start(GENERATE_COPY(from_range(all_modes())));
    CUexternalSemaphore semaphores[] = {import_semaphore(sim_control().make_semaphore_fd(0)),
                                        import_semaphore(sim_control().make_semaphore_fd(0))};
    CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS signals[2] = {};
    CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS waits[2] = {};
    signals[0].params.fence.value = waits[0].params.fence.value = 1;
    signals[1].params.fence.value = waits[1].params.fence.value = 2;
    CUDA_EXT_SEM_SIGNAL_NODE_PARAMS signal{semaphores, signals, 2};
    const CUDA_EXT_SEM_WAIT_NODE_PARAMS wait{semaphores, waits, 2};
    RunOrder order;
    const Graph signalling, waiting;
    const CUgraphNode signal_node = added(&Driver::cuGraphAddExternalSemaphoresSignalNode,
                                          signalling, {add_note(signalling, order, 1)}, &signal);
    add_note(waiting, order, 2,
             {added(&Driver::cuGraphAddExternalSemaphoresWaitNode, waiting, {}, &wait)});
    signals[0].params.fence.value = 99; // the nodes have copies
    const Stream one(non_blocking), two(non_blocking);
    const Executable signaller(signalling), waiter(waiting);
    require_ok(driver().cuGraphLaunch(waiter, one));
    CHECK(driver().cuStreamQuery(one) == CUDA_ERROR_NOT_READY);
    require_ok(driver().cuGraphLaunch(signaller, two));
    ok(driver().cuStreamSynchronize(one));
    CHECK(order.ran() == std::vector<int>{1, 2});
    // The values can change, the number of semaphores cannot.
    signals[0].params.fence.value = 3;
    signals[1].params.fence.value = 4;
    const auto set = [&] {
        return driver().cuGraphExecExternalSemaphoresSignalNodeSetParams(signaller, signal_node,
                                                                         &signal);
    };
    ok(set());
    signal.numExtSems = 1;
    CHECK(set() == invalid);
    signal.extSemArray = nullptr;
    CHECK(driver().cuGraphExternalSemaphoresSignalNodeSetParams(signal_node, &signal) == invalid);
    run(signaller, two);
    end(semaphores[0]);
    end(semaphores[1]);
    CHECK(reported(driver().cuGraphLaunch(signaller, two), "whose object was destroyed") ==
          invalid);
}
#endif

#if CUDA_VERSION >= 12030
TEST_CASE("unused bytes of node parameters must be zero") {
    RunOrder order;
    const Graph graph;
    CUgraphNodeParams host{.type = CU_GRAPH_NODE_TYPE_HOST};
    CUgraphNodeParams nothing{.type = CU_GRAPH_NODE_TYPE_EMPTY};
    host.host = {.fn = RunOrder::note, .userData = order.entry(1)};
    added(&Driver::cuGraphAddNode_v1, graph, {}, &host);
    added(&Driver::cuGraphAddNode_v1, graph, {}, &nothing);
    CUgraphNode node = nullptr;
    CUgraphNodeParams first_byte = nothing, second_byte = nothing, last_byte = host;
    first_byte.reserved0[1] = 1;
    second_byte.reserved1[0] = 1;
    last_byte.reserved2 = 1;
    for (CUgraphNodeParams *bad : {&first_byte, &second_byte, &last_byte}) {
        CHECK(driver().cuGraphAddNode_v1(&node, graph, nullptr, 0, bad) == invalid);
    }
    run(Executable(graph));
    CHECK(order.has(1));
}
#endif
