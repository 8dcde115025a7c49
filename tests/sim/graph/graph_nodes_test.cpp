// Parameters of graph nodes, by the call for each type and by the structure for all types.
#include "graph_tools.hpp"

#include <algorithm>

using namespace sim_test;

TEST_CASE("parameters of a node read back as they were set") {
    RunOrder order;
    const Graph graph;
    Words memory(16), more(16);
    const CUDA_MEMSET_NODE_PARAMS set = words(memory.address, 0x12345678, 16);
    const CUgraphNode memset_node = add_memset(graph, set);
    const auto memset_params = [&] {
        return got<CUDA_MEMSET_NODE_PARAMS>(&Driver::cuGraphMemsetNodeGetParams, memset_node, out);
    };
    const auto set_back = memset_params();
    CHECK((set_back.dst == set.dst && set_back.value == set.value && set_back.elementSize == 4 &&
           set_back.width == 16 && set_back.height == 1));
    const CUDA_MEMSET_NODE_PARAMS other = words(more.address, 5, 3);
    CHECK(d.cuGraphMemsetNodeSetParams(memset_node, &other) == good);
    CHECK((memset_params().dst == more.address && memset_params().width == 3));

    const CUDA_MEMCPY3D copy = device_copy(more.address, memory.address, 64);
    const CUgraphNode copy_node = add_copy(graph, copy);
    CUDA_MEMCPY3D copy_back{};
    CHECK(d.cuGraphMemcpyNodeGetParams(copy_node, &copy_back) == good);
    CHECK((copy_back.srcDevice == memory.address && copy_back.dstDevice == more.address &&
           copy_back.WidthInBytes == 64 && copy_back.Height == 1 && copy_back.Depth == 1));
    const CUDA_MEMCPY3D back = device_copy(memory.address, more.address, 32);
    CHECK(d.cuGraphMemcpyNodeSetParams(copy_node, &back) == good);
    CHECK(got(d.cuGraphMemcpyNodeGetParams(copy_node, &copy_back), copy_back).WidthInBytes == 32);
    CUDA_MEMCPY3D reserved = copy;
    reserved.reserved0 = &order;
    CHECK(d.cuGraphMemcpyNodeSetParams(copy_node, &reserved) == invalid);

    const CUgraphNode host = add_note(graph, order, 1);
    CUDA_HOST_NODE_PARAMS host_back{}, none{};
    CHECK(got(d.cuGraphHostNodeGetParams(host, &host_back), host_back).fn == RunOrder::note);
    host_back.userData = order.entry(2);
    CHECK(d.cuGraphHostNodeSetParams(host, &host_back) == good);
    CHECK(d.cuGraphHostNodeSetParams(host, &none) == invalid);

    // Calls for another type of node fail.
    CHECK(d.cuGraphHostNodeGetParams(copy_node, &host_back) == invalid);
    CHECK(d.cuGraphMemsetNodeSetParams(host, &set) == invalid);
    CHECK(d.cuGraphMemcpyNodeGetParams(host, &copy_back) == invalid);
    CHECK(d.cuGraphMemcpyNodeGetParams(copy_node, nullptr) == invalid);
    CHECK(d.cuGraphMemsetNodeSetParams(memset_node, nullptr) == invalid);
    CHECK(types_of(graph) ==
          Types{CU_GRAPH_NODE_TYPE_MEMSET, CU_GRAPH_NODE_TYPE_MEMCPY, CU_GRAPH_NODE_TYPE_HOST});
}

TEST_CASE("parameters of an event node can be read and changed") {
    const Graph graph;
    const Event event, another;
    const CUgraphNode record = add_record(graph, event), wait = add_wait(graph, event, {record});
    CUevent found = nullptr;
    CHECK(got(d.cuGraphEventRecordNodeGetEvent(record, &found), found) == event);
    CHECK(d.cuGraphEventWaitNodeSetEvent(wait, another) == good);
    CHECK(got(d.cuGraphEventWaitNodeGetEvent(wait, &found), found) == another);
    CHECK(d.cuGraphEventRecordNodeGetEvent(wait, &found) == invalid);
    CHECK(d.cuGraphEventRecordNodeSetEvent(record, nullptr) == invalid);
    CHECK(type_of(record) == CU_GRAPH_NODE_TYPE_EVENT_RECORD);
    CHECK(type_of(wait) == CU_GRAPH_NODE_TYPE_WAIT_EVENT);
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
    CUDA_KERNEL_NODE_PARAMS back{};
    REQUIRE(d.cuGraphKernelNodeGetParams(node, &back) == good);
    CHECK((back.func == parameters.func && back.gridDimX == 3 && back.blockDimY == 2));
    REQUIRE(back.kernelParams != nullptr);
    CHECK(*static_cast<CUdeviceptr *>(back.kernelParams[0]) == 0x1234);
    CHECK(*static_cast<int *>(back.kernelParams[1]) == 5);
    // Parameters that were read can be set.
    back.gridDimX = 4;
    CHECK(d.cuGraphKernelNodeSetParams(node, &back) == good);
    REQUIRE(d.cuGraphKernelNodeGetParams(node, &back) == good);
    CHECK((back.gridDimX == 4 && *static_cast<int *>(back.kernelParams[1]) == 5));

    CUDA_KERNEL_NODE_PARAMS no_grid = parameters, big_block = parameters,
                            null_argument = parameters, no_function = parameters;
    no_grid.gridDimX = 0;
    big_block.blockDimX = 2048;
    null_argument.kernelParams = with_null;
    no_function.func = nullptr;
    for (const auto &bad : {no_grid, big_block, null_argument, no_function}) {
        CHECK(d.cuGraphKernelNodeSetParams(node, &bad) == invalid);
    }
    CUgraphNode failed = nullptr;
    CHECK(d.cuGraphAddKernelNode(&failed, graph, nullptr, 0, nullptr) == invalid);
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
    CHECK(d.cuGraphKernelNodeSetAttribute(node, priority, &value) == good);
    CHECK(d.cuGraphKernelNodeCopyAttributes(plain, node) == good);
    CHECK(priority_of(plain) == -2);
    // New parameters keep the attributes.
    CHECK(d.cuGraphKernelNodeSetParams(node, &parameters) == good);
    CHECK(priority_of(node) == -2);
    constexpr auto unknown = static_cast<CUkernelNodeAttrID>(999);
    CHECK(d.cuGraphKernelNodeGetAttribute(node, unknown, &value) == invalid);
    CHECK(d.cuGraphKernelNodeGetAttribute(add_empty(graph), priority, &value) == invalid);
}

TEST_CASE("adding or changing a kernel node of a function needs a current context") {
    const Module module("cushim-sim-image 1\nkernel none\n");
    const Graph graph, around;
    const CUDA_KERNEL_NODE_PARAMS parameters = kernel_parameters(module.function("none"));
    CUgraphNode node = add_kernel(graph, parameters);
    const CUcontext context = current();
    REQUIRE(d.cuCtxSetCurrent(nullptr) == good);
    const auto refused = [](CUresult status) {
        CHECK(status == CUDA_ERROR_INVALID_CONTEXT);
        expect_misuse("a kernel node of a function without a current context");
    };
    refused(d.cuGraphKernelNodeSetParams(node, &parameters));
    refused(d.cuGraphAddChildGraphNode(&node, around, nullptr, 0, graph));
    refused(d.cuGraphAddKernelNode(&node, graph, nullptr, 0, &parameters));
    REQUIRE(d.cuCtxSetCurrent(context) == good);
}

TEST_CASE("the first version of the kernel node parameters still works") {
    const Module module("cushim-sim-image 1\nkernel none\n");
    const Graph graph;
    CUDA_KERNEL_NODE_PARAMS_v1 parameters{};
    parameters.func = module.function("none");
    parameters.gridDimX = parameters.gridDimY = parameters.gridDimZ = 2;
    parameters.blockDimX = parameters.blockDimY = parameters.blockDimZ = 1;
    using Add = CUresult(CUgraphNode *, CUgraph, const CUgraphNode *, size_t,
                         const CUDA_KERNEL_NODE_PARAMS_v1 *);
    using Get = CUresult(CUgraphNode, CUDA_KERNEL_NODE_PARAMS_v1 *);
    CUgraphNode node = nullptr;
    REQUIRE(entry<Add>("cuGraphAddKernelNode")(&node, graph, nullptr, 0, &parameters) == good);
    // Bytes behind the structure must not be written.
    struct {
        CUDA_KERNEL_NODE_PARAMS_v1 first;
        unsigned char guard[16];
    } back;
    std::memset(static_cast<void *>(&back), 0x5a, sizeof back);
    REQUIRE(entry<Get>("cuGraphKernelNodeGetParams")(node, &back.first) == good);
    CHECK((back.first.func == parameters.func && back.first.gridDimX == 2));
    CHECK(std::all_of(back.guard, back.guard + 16, [](unsigned char c) { return c == 0x5a; }));
}

#if CUDA_VERSION >= 12000
TEST_CASE("a kernel of a library can be a node") {
    CUlibrary library = nullptr;
    CUkernel kernel = nullptr;
    REQUIRE(d.cuLibraryLoadData(&library, "cushim-sim-image 1\nkernel k params=4\n", nullptr,
                                nullptr, 0, nullptr, nullptr, 0) == good);
    REQUIRE(d.cuLibraryGetKernel(&kernel, library, "k") == good);
    const Graph graph;
    int number = 5;
    void *arguments[] = {&number};
    CUDA_KERNEL_NODE_PARAMS parameters = kernel_parameters(nullptr, arguments);
    parameters.kern = kernel;
    parameters.ctx = current();
    const CUgraphNode node = add_kernel(graph, parameters);
    CUDA_KERNEL_NODE_PARAMS back{};
    REQUIRE(d.cuGraphKernelNodeGetParams(node, &back) == good);
    CHECK((back.kern == kernel && back.func == nullptr && back.ctx == current()));
    // A function and a kernel at once are invalid.
    parameters.func = reinterpret_cast<CUfunction>(kernel);
    CHECK(d.cuGraphKernelNodeSetParams(node, &parameters) == invalid);
    run(Executable(graph));
    CHECK(d.cuLibraryUnload(library) == good);
}
#endif

TEST_CASE("parameters of a batch of memory operations can be read and changed") {
    const Graph graph;
    Words memory(4);
    CUstreamBatchMemOpParams operations[2] = {};
    operations[0].writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
    operations[0].writeValue.address = memory.address;
    operations[0].writeValue.value = 7;
    operations[1].waitValue.operation = CU_STREAM_MEM_OP_WAIT_VALUE_32;
    operations[1].waitValue.address = memory.address;
    operations[1].waitValue.value = 7;
    operations[1].waitValue.flags = CU_STREAM_WAIT_VALUE_EQ;
    CUDA_BATCH_MEM_OP_NODE_PARAMS parameters{
        .ctx = current(), .count = 2, .paramArray = operations};
    const CUgraphNode node = added(&Driver::cuGraphAddBatchMemOpNode, graph, {}, &parameters);
    operations[0].writeValue.value = 8; // the node has a copy
    CUDA_BATCH_MEM_OP_NODE_PARAMS back{};
    REQUIRE(d.cuGraphBatchMemOpNodeGetParams(node, &back) == good);
    REQUIRE((back.count == 2 && back.ctx == current() && back.paramArray != operations));
    CHECK(back.paramArray[0].writeValue.value == 7);
    const Executable exec(graph);
    run(exec);
    CHECK(memory.at(0) == 7);
    operations[1].waitValue.value = 8;
    CHECK(d.cuGraphExecBatchMemOpNodeSetParams(exec, node, &parameters) == good);
    run(exec);
    CHECK(memory.at(0) == 8);
    // The kinds and the number of operations cannot change.
    operations[1] = operations[0];
    CHECK(d.cuGraphExecBatchMemOpNodeSetParams(exec, node, &parameters) == invalid);
    parameters.count = 1;
    CHECK(d.cuGraphExecBatchMemOpNodeSetParams(exec, node, &parameters) == invalid);
    CHECK(d.cuGraphBatchMemOpNodeSetParams(node, &parameters) == good);
    parameters.count = ~0u;
    CHECK(d.cuGraphBatchMemOpNodeSetParams(node, &parameters) == invalid);
}

#ifndef _WIN32
namespace {

CUexternalSemaphore make_semaphore() {
    CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC description{};
    description.type = CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_TIMELINE_SEMAPHORE_FD;
    description.handle.fd = sim_control().make_semaphore_fd(0);
    CUexternalSemaphore semaphore = nullptr;
    REQUIRE(d.cuImportExternalSemaphore(&semaphore, &description) == good);
    return semaphore;
}

} // namespace

TEST_CASE("nodes signal and wait for external semaphores") {
    start(GENERATE_COPY(from_range(all_modes())));
    CUexternalSemaphore semaphores[] = {make_semaphore(), make_semaphore()};
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
    const CUgraphNode wait_node =
        added(&Driver::cuGraphAddExternalSemaphoresWaitNode, waiting, {}, &wait);
    add_note(waiting, order, 2, {wait_node});
    signals[0].params.fence.value = 99; // the nodes have copies
    const auto signal_back = got<CUDA_EXT_SEM_SIGNAL_NODE_PARAMS>(
        &Driver::cuGraphExternalSemaphoresSignalNodeGetParams, signal_node, out);
    REQUIRE((signal_back.numExtSems == 2 && signal_back.paramsArray != signals));
    CHECK((signal_back.extSemArray[1] == semaphores[1] &&
           signal_back.paramsArray[0].params.fence.value == 1));
    const auto wait_back = got<CUDA_EXT_SEM_WAIT_NODE_PARAMS>(
        &Driver::cuGraphExternalSemaphoresWaitNodeGetParams, wait_node, out);
    CHECK(wait_back.paramsArray[1].params.fence.value == 2);
    CHECK(d.cuGraphExternalSemaphoresWaitNodeSetParams(wait_node, &wait_back) == good);

    const Stream one(non_blocking), two(non_blocking);
    const Executable signaller(signalling), waiter(waiting);
    REQUIRE(d.cuGraphLaunch(waiter, one) == good);
    CHECK(d.cuStreamQuery(one) == CUDA_ERROR_NOT_READY);
    REQUIRE(d.cuGraphLaunch(signaller, two) == good);
    CHECK(d.cuStreamSynchronize(one) == good);
    CHECK(order.ran() == std::vector<int>{1, 2});
    // The values can change, the number of semaphores cannot.
    signals[0].params.fence.value = 3;
    signals[1].params.fence.value = 4;
    const Calls set(&Driver::cuGraphExecExternalSemaphoresSignalNodeSetParams);
    set[good] = {{signaller, signal_node, &signal}};
    signal.numExtSems = 1;
    set[invalid] = {{signaller, signal_node, &signal}};
    CHECK(d.cuGraphExternalSemaphoresSignalNodeSetParams(wait_node, &signal) == invalid);
    signal.extSemArray = nullptr;
    CHECK(d.cuGraphExternalSemaphoresSignalNodeSetParams(signal_node, &signal) == invalid);
    run(signaller, two);
    for (const CUexternalSemaphore semaphore : semaphores) {
        CHECK(d.cuDestroyExternalSemaphore(semaphore) == good);
    }
    CHECK(reported(d.cuGraphLaunch(signaller, two), "whose object was destroyed") == invalid);
}
#endif

#if CUDA_VERSION >= 12030
TEST_CASE("cuGraphAddNode adds nodes of every type") {
    RunOrder order;
    const Graph graph;
    Words memory(4);
    using Add = CUresult(CUgraphNode *, CUgraph, const CUgraphNode *, size_t, CUgraphNodeParams *);
    using Add2 = CUresult(CUgraphNode *, CUgraph, const CUgraphNode *, const CUgraphEdgeData *,
                          size_t, CUgraphNodeParams *);
    auto *add = entry<Add>("cuGraphAddNode");
    auto *add2 = entry<Add2>("cuGraphAddNode_v2");
    CUgraphNodeParams parameters{}, memset_parameters{}, nothing{};
    parameters.type = CU_GRAPH_NODE_TYPE_HOST;
    parameters.host.fn = RunOrder::note;
    parameters.host.userData = order.entry(1);
    CUgraphNode host = nullptr, set = nullptr, empty = nullptr, failed = nullptr;
    REQUIRE(add(&host, graph, nullptr, 0, &parameters) == good);
    CHECK(type_of(host) == CU_GRAPH_NODE_TYPE_HOST);
    memset_parameters.type = CU_GRAPH_NODE_TYPE_MEMSET;
    memset_parameters.memset.dst = memory.address;
    memset_parameters.memset.value = 9;
    memset_parameters.memset.elementSize = 4;
    memset_parameters.memset.width = 4;
    memset_parameters.memset.height = 1;
    memset_parameters.memset.ctx = current();
    REQUIRE(add2(&set, graph, &host, nullptr, 1, &memset_parameters) == good);
    CHECK(dependencies_of(set) == Nodes{host});
    nothing.type = CU_GRAPH_NODE_TYPE_EMPTY;
    REQUIRE(add(&empty, graph, nullptr, 0, &nothing) == good);

    // Unused bytes must be zero.
    CUgraphNodeParams first_byte = nothing, second_byte = nothing, last_byte = parameters,
                      no_type = nothing;
    first_byte.reserved0[1] = 1;
    second_byte.reserved1[0] = 1;
    last_byte.reserved2 = 1;
    no_type.type = static_cast<CUgraphNodeType>(4711);
    for (CUgraphNodeParams *bad : {&first_byte, &second_byte, &last_byte, &no_type}) {
        CHECK(add(&failed, graph, nullptr, 0, bad) == invalid);
    }
    CHECK(add(&failed, graph, nullptr, 0, nullptr) == invalid);

    const Executable exec(graph);
    run(exec);
    CHECK(memory.at(3) == 9);
    memset_parameters.memset.value = 10;
    CHECK(d.cuGraphExecNodeSetParams(exec, set, &memset_parameters) == good);
    CHECK(d.cuGraphExecNodeSetParams(exec, host, &memset_parameters) == invalid);
    run(exec);
    CHECK(memory.at(3) == 10);
    memset_parameters.memset.value = 11;
    CHECK(d.cuGraphNodeSetParams(set, &memset_parameters) == good);
    CHECK(d.cuGraphNodeSetParams(host, &memset_parameters) == invalid);
    CHECK(got<CUDA_MEMSET_NODE_PARAMS>(&Driver::cuGraphMemsetNodeGetParams, set, out).value == 11);
}
#endif
