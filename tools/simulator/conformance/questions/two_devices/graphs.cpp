// Captures that span two devices, and graphs with nodes of both.
#include "../parameters.hpp"
#include "two_devices.hpp"

namespace record::QUESTIONS::two_devices {

namespace {

void begin_capture(const Sides &of) {
    ASK(cuStreamBeginCapture, "", of.zero.stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
}

// Launches the graph in a stream of each device.
void run(CUgraph graph, const Sides &of) {
    CUgraphExec exec = nullptr;
    std::size_t nodes = 0;
    tell("cuGraphGetNodes", d.cuGraphGetNodes(graph, nullptr, &nodes), nodes);
    ASK(cuGraphInstantiateWithFlags, "", &exec, graph, 0);
    ASK(cuGraphLaunch, ", stream of 0", exec, of.zero.stream);
    ASK(cuStreamSynchronize, "", of.zero.stream).note("1 holds it", of.one.holds(7));
    of.one.fill(1);
    ASK(cuGraphLaunch, ", stream of 1", exec, of.one.stream);
    ASK(cuStreamSynchronize, "", of.one.stream).note("1 holds it", of.one.holds(7));
    ASK(cuGraphExecDestroy, "", exec);
}

// Begins in device 0's stream, forks to device 1's by an event, and joins by an event of device 1.
void fork_and_join(const Sides &of) {
    CUgraph graph = nullptr;
    begin_capture(of);
    ASK(cuEventRecord, "", of.zero.event, of.zero.stream);
    ASK(cuStreamWaitEvent, " in 1's", of.one.stream, of.zero.event, 0);
    ASK(cuMemsetD8Async, " in 1's", of.one.memory, 7, 16, of.one.stream);
    ASK(cuEventRecord, " in 1's", of.one.event, of.one.stream);
    ASK(cuStreamWaitEvent, " in 0's", of.zero.stream, of.one.event, 0);
    ASK(cuStreamEndCapture, "", of.zero.stream, &graph);
    run(graph, of);
}

void wrong_event(const Sides &of) {
    CUgraph graph = nullptr;
    begin_capture(of);
    ASK(cuEventRecord, " of 1's", of.one.event, of.zero.stream);
    ASK(cuStreamEndCapture, "", of.zero.stream, &graph).note("there is a graph", graph != nullptr);
}

void capture_copies(const Sides &of) {
    CUgraph graph = nullptr;
    of.zero.fill(7);
    begin_capture(of);
    ASK(cuMemcpyPeerAsync, "", of.one.memory, of.one.context, of.zero.memory, of.zero.context, 64,
        of.zero.stream);
    ASK(cuMemcpyDtoDAsync, "", of.one.memory + 64, of.zero.memory, 64, of.zero.stream);
    ASK(cuStreamEndCapture, "", of.zero.stream, &graph);
    run(graph, of);
}

void capture_block(const Sides &of) {
    CUgraph graph = nullptr;
    auto block = copy_of<CUDA_MEMCPY3D_PEER>(of.one.memory, of.zero.memory, 64);
    block.srcContext = of.zero.context;
    block.dstContext = of.one.context;
    of.zero.fill(7);
    begin_capture(of);
    ASK(cuMemcpy3DPeerAsync, "", &block, of.zero.stream);
    ASK(cuStreamEndCapture, "", of.zero.stream, &graph);
    run(graph, of);
}

void capture_set_of_other(const Sides &of) {
    CUgraph graph = nullptr;
    begin_capture(of);
    ASK(cuMemsetD8Async, " of 1's", of.one.memory, 7, 16, of.zero.stream);
    ASK(cuStreamEndCapture, "", of.zero.stream, &graph).note("there is a graph", graph != nullptr);
}

// --- added nodes

CUDA_MEMSET_NODE_PARAMS set_of(CUdeviceptr memory) {
    return fill_of(memory, 7, 1, 16);
}

void set_nodes(const Sides &of) {
    CUgraphNode node = nullptr;
    CUgraphExec exec = nullptr;
    const auto ones = set_of(of.one.memory), zeros = set_of(of.zero.memory);
    CUgraph graph = MAKE(cuGraphCreate, 0);
    ASK(cuGraphAddMemsetNode, " in 1's context", &node, graph, nullptr, 0, &ones, of.one.context);
    run(graph, of);
    ASK(cuGraphInstantiateWithFlags, "", &exec, graph, 0);
    ASK(cuGraphExecMemsetNodeSetParams, " of 1's in 1's context", exec, node, &ones,
        of.one.context);
    ASK(cuGraphExecMemsetNodeSetParams, " of 0's in 0's context", exec, node, &zeros,
        of.zero.context);
    ASK(cuGraphExecMemsetNodeSetParams, " of 0's in 1's context", exec, node, &zeros,
        of.one.context);
    ASK(cuGraphExecDestroy, "", exec);
}

void set_node_in_wrong_context(const Sides &of) {
    CUgraphNode node = nullptr;
    CUgraphExec exec = nullptr;
    const auto ones = set_of(of.one.memory);
    CUgraph graph = MAKE(cuGraphCreate, 0);
    ASK(cuGraphAddMemsetNode, " of 1's in 0's context", &node, graph, nullptr, 0, &ones,
        of.zero.context);
    ASK(cuGraphInstantiateWithFlags, "", &exec, graph, 0);
}

void copy_nodes(const Sides &of) {
    CUgraphNode node = nullptr;
    CUgraphExec exec = nullptr;
    const auto up = copy_of<CUDA_MEMCPY3D>(of.one.memory, of.zero.memory, 64);
    const auto down = copy_of<CUDA_MEMCPY3D>(of.zero.memory, of.one.memory, 64);
    of.zero.fill(7);
    CUgraph graph = MAKE(cuGraphCreate, 0);
    ASK(cuGraphAddMemcpyNode, " in 0's context", &node, graph, nullptr, 0, &up, of.zero.context);
    run(graph, of);
    ASK(cuGraphInstantiateWithFlags, "", &exec, graph, 0);
    ASK(cuGraphExecMemcpyNodeSetParams, " the other way round", exec, node, &down, of.zero.context);
    ASK(cuGraphExecMemcpyNodeSetParams, " in 1's context", exec, node, &up, of.one.context);
    ASK(cuGraphExecDestroy, "", exec);
}

void event_nodes(const Sides &of) {
    CUgraphNode recording = nullptr, waiting = nullptr;
    const auto ones = set_of(of.one.memory);
    CUgraph graph = MAKE(cuGraphCreate, 0);
    ASK(cuGraphAddEventRecordNode, " of 1's", &recording, graph, nullptr, 0, of.one.event);
    ASK(cuGraphAddEventWaitNode, " for 1's", &waiting, graph, &recording, 1, of.one.event);
    MAKE(cuGraphAddMemsetNode, graph, &waiting, 1, &ones, of.one.context);
    run(graph, of);
}

void kernel_nodes(const Sides &of) {
    CUgraphNode node = nullptr;
    CUgraphExec exec = nullptr;
    const auto ones = set_of(of.one.memory);
    CUlibrary library = MAKE(cuLibraryLoadData, ptx, nullptr, nullptr, 0, nullptr, nullptr, 0);
    CUkernel kernel = MAKE(cuLibraryGetKernel, library, "empty");
    auto launch = launch_of(kernel, of.one.context);
    CUgraph graph = MAKE(cuGraphCreate, 0);
    ASK(cuGraphAddKernelNode, " in 1's context", &node, graph, nullptr, 0, &launch);
    MAKE(cuGraphAddMemsetNode, graph, &node, 1, &ones, of.one.context);
    run(graph, of);
    ASK(cuGraphInstantiateWithFlags, "", &exec, graph, 0);
    launch.ctx = of.zero.context;
    ASK(cuGraphExecKernelNodeSetParams, " in 0's context", exec, node, &launch);
    ASK(cuGraphExecDestroy, "", exec);
}

void memory_nodes(const Sides &of) {
    CUDA_MEM_ALLOC_NODE_PARAMS allocation{};
    CUmemAccessDesc access{};
    CUgraphNode node = nullptr, set = nullptr, end = nullptr;
    CUgraphExec exec = nullptr;
    access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    access.location.id = 1;
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    allocation.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    allocation.poolProps.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    allocation.accessDescs = &access;
    allocation.accessDescCount = 1;
    allocation.bytesize = 4096;
    CUgraph graph = MAKE(cuGraphCreate, 0);
    ASK(cuGraphAddMemAllocNode, " with access of 1", &node, graph, nullptr, 0, &allocation);
    const auto in_one = set_of(allocation.dptr);
    ASK(cuGraphAddMemsetNode, " of it in 1's context", &set, graph, &node, 1, &in_one,
        of.one.context);
    ASK(cuGraphAddMemFreeNode, "", &end, graph, &set, 1, allocation.dptr);
    ASK(cuGraphInstantiateWithFlags, "", &exec, graph, 0);
    ASK(cuGraphLaunch, ", stream of 1", exec, of.one.stream);
    ASK(cuStreamSynchronize, "", of.one.stream);
    ASK(cuGraphLaunch, ", stream of 0", exec, of.zero.stream);
    ASK(cuStreamSynchronize, "", of.zero.stream);
    ASK(cuGraphExecDestroy, "", exec);
}

} // namespace

SECTION("captures") {
    apart("forked and joined", fork_and_join);
    apart("an event of the other device", wrong_event);
    apart("copies", capture_copies);
    apart("a block", capture_block);
    apart("the other device's memory", capture_set_of_other);
}

SECTION("graphs") {
    apart("memset nodes", set_nodes);
    apart("a memset node in the wrong context", set_node_in_wrong_context);
    apart("copy nodes", copy_nodes);
    apart("event nodes", event_nodes);
    apart("kernel nodes", kernel_nodes);
    apart("memory nodes", memory_nodes);
}

} // namespace record::QUESTIONS::two_devices
