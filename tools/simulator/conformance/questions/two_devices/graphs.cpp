// Captures that span two devices, and graphs with nodes of both.
#include "two_devices.hpp"

namespace record::QUESTIONS::two_devices {

namespace {

void begin_capture(const Sides &of) {
    ask("cuStreamBeginCapture",
        d.cuStreamBeginCapture(of.zero.stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
}

// Launches the graph in a stream of each device.
void run(CUgraph graph, const Sides &of) {
    CUgraphExec exec = nullptr;
    std::size_t nodes = 0;
    tell("cuGraphGetNodes", d.cuGraphGetNodes(graph, nullptr, &nodes), nodes);
    ask("cuGraphInstantiateWithFlags", d.cuGraphInstantiateWithFlags(&exec, graph, 0));
    ask("cuGraphLaunch, stream of 0", d.cuGraphLaunch(exec, of.zero.stream));
    ask("cuStreamSynchronize", d.cuStreamSynchronize(of.zero.stream));
    note("1 holds it", of.one.holds(7));
    of.one.fill(1);
    ask("cuGraphLaunch, stream of 1", d.cuGraphLaunch(exec, of.one.stream));
    ask("cuStreamSynchronize", d.cuStreamSynchronize(of.one.stream));
    note("1 holds it", of.one.holds(7));
    ask("cuGraphExecDestroy", d.cuGraphExecDestroy(exec));
}

// Begins in device 0's stream, forks to device 1's by an event, and joins by an event of device 1.
void fork_and_join(const Sides &of) {
    CUgraph graph = nullptr;
    begin_capture(of);
    ask("cuEventRecord", d.cuEventRecord(of.zero.event, of.zero.stream));
    ask("cuStreamWaitEvent in 1's", d.cuStreamWaitEvent(of.one.stream, of.zero.event, 0));
    ask("cuMemsetD8Async in 1's", d.cuMemsetD8Async(of.one.memory, 7, 16, of.one.stream));
    ask("cuEventRecord in 1's", d.cuEventRecord(of.one.event, of.one.stream));
    ask("cuStreamWaitEvent in 0's", d.cuStreamWaitEvent(of.zero.stream, of.one.event, 0));
    ask("cuStreamEndCapture", d.cuStreamEndCapture(of.zero.stream, &graph));
    run(graph, of);
}

void wrong_event(const Sides &of) {
    CUgraph graph = nullptr;
    begin_capture(of);
    ask("cuEventRecord of 1's", d.cuEventRecord(of.one.event, of.zero.stream));
    ask("cuStreamEndCapture", d.cuStreamEndCapture(of.zero.stream, &graph));
    note("there is a graph", graph != nullptr);
}

void capture_copies(const Sides &of) {
    CUgraph graph = nullptr;
    of.zero.fill(7);
    begin_capture(of);
    ask("cuMemcpyPeerAsync", d.cuMemcpyPeerAsync(of.one.memory, of.one.context, of.zero.memory,
                                                 of.zero.context, 64, of.zero.stream));
    ask("cuMemcpyDtoDAsync",
        d.cuMemcpyDtoDAsync(of.one.memory + 64, of.zero.memory, 64, of.zero.stream));
    ask("cuStreamEndCapture", d.cuStreamEndCapture(of.zero.stream, &graph));
    run(graph, of);
}

void capture_block(const Sides &of) {
    CUgraph graph = nullptr;
    CUDA_MEMCPY3D_PEER block{};
    block.srcMemoryType = block.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    block.srcDevice = of.zero.memory;
    block.dstDevice = of.one.memory;
    block.srcContext = of.zero.context;
    block.dstContext = of.one.context;
    block.WidthInBytes = 64;
    block.Height = block.Depth = 1;
    of.zero.fill(7);
    begin_capture(of);
    ask("cuMemcpy3DPeerAsync", d.cuMemcpy3DPeerAsync(&block, of.zero.stream));
    ask("cuStreamEndCapture", d.cuStreamEndCapture(of.zero.stream, &graph));
    run(graph, of);
}

void capture_set_of_other(const Sides &of) {
    CUgraph graph = nullptr;
    begin_capture(of);
    ask("cuMemsetD8Async of 1's", d.cuMemsetD8Async(of.one.memory, 7, 16, of.zero.stream));
    ask("cuStreamEndCapture", d.cuStreamEndCapture(of.zero.stream, &graph));
    note("there is a graph", graph != nullptr);
}

// --- added nodes

CUDA_MEMSET_NODE_PARAMS set_of(CUdeviceptr memory) {
    CUDA_MEMSET_NODE_PARAMS set{};
    set.dst = memory;
    set.value = 7;
    set.elementSize = 1;
    set.width = 16;
    set.height = 1;
    return set;
}

CUDA_MEMCPY3D copy_of(const Side &to, const Side &from) {
    CUDA_MEMCPY3D copy{};
    copy.srcMemoryType = copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    copy.srcDevice = from.memory;
    copy.dstDevice = to.memory;
    copy.WidthInBytes = 64;
    copy.Height = copy.Depth = 1;
    return copy;
}

void set_nodes(const Sides &of) {
    CUgraph graph = nullptr;
    CUgraphNode node = nullptr;
    CUgraphExec exec = nullptr;
    const auto ones = set_of(of.one.memory), zeros = set_of(of.zero.memory);
    d.cuGraphCreate(&graph, 0);
    ask("cuGraphAddMemsetNode in 1's context",
        d.cuGraphAddMemsetNode(&node, graph, nullptr, 0, &ones, of.one.context));
    run(graph, of);
    ask("cuGraphInstantiateWithFlags", d.cuGraphInstantiateWithFlags(&exec, graph, 0));
    ask("cuGraphExecMemsetNodeSetParams of 1's in 1's context",
        d.cuGraphExecMemsetNodeSetParams(exec, node, &ones, of.one.context));
    ask("cuGraphExecMemsetNodeSetParams of 0's in 0's context",
        d.cuGraphExecMemsetNodeSetParams(exec, node, &zeros, of.zero.context));
    ask("cuGraphExecMemsetNodeSetParams of 0's in 1's context",
        d.cuGraphExecMemsetNodeSetParams(exec, node, &zeros, of.one.context));
    ask("cuGraphExecDestroy", d.cuGraphExecDestroy(exec));
}

void set_node_in_wrong_context(const Sides &of) {
    CUgraph graph = nullptr;
    CUgraphNode node = nullptr;
    CUgraphExec exec = nullptr;
    const auto ones = set_of(of.one.memory);
    d.cuGraphCreate(&graph, 0);
    ask("cuGraphAddMemsetNode of 1's in 0's context",
        d.cuGraphAddMemsetNode(&node, graph, nullptr, 0, &ones, of.zero.context));
    ask("cuGraphInstantiateWithFlags", d.cuGraphInstantiateWithFlags(&exec, graph, 0));
}

void copy_nodes(const Sides &of) {
    CUgraph graph = nullptr;
    CUgraphNode node = nullptr;
    CUgraphExec exec = nullptr;
    const auto up = copy_of(of.one, of.zero), down = copy_of(of.zero, of.one);
    of.zero.fill(7);
    d.cuGraphCreate(&graph, 0);
    ask("cuGraphAddMemcpyNode in 0's context",
        d.cuGraphAddMemcpyNode(&node, graph, nullptr, 0, &up, of.zero.context));
    run(graph, of);
    ask("cuGraphInstantiateWithFlags", d.cuGraphInstantiateWithFlags(&exec, graph, 0));
    ask("cuGraphExecMemcpyNodeSetParams the other way round",
        d.cuGraphExecMemcpyNodeSetParams(exec, node, &down, of.zero.context));
    ask("cuGraphExecMemcpyNodeSetParams in 1's context",
        d.cuGraphExecMemcpyNodeSetParams(exec, node, &up, of.one.context));
    ask("cuGraphExecDestroy", d.cuGraphExecDestroy(exec));
}

void event_nodes(const Sides &of) {
    CUgraph graph = nullptr;
    CUgraphNode recording = nullptr, waiting = nullptr, set = nullptr;
    const auto ones = set_of(of.one.memory);
    d.cuGraphCreate(&graph, 0);
    ask("cuGraphAddEventRecordNode of 1's",
        d.cuGraphAddEventRecordNode(&recording, graph, nullptr, 0, of.one.event));
    ask("cuGraphAddEventWaitNode for 1's",
        d.cuGraphAddEventWaitNode(&waiting, graph, &recording, 1, of.one.event));
    d.cuGraphAddMemsetNode(&set, graph, &waiting, 1, &ones, of.one.context);
    run(graph, of);
}

void kernel_nodes(const Sides &of) {
    CUlibrary library = nullptr;
    CUkernel kernel = nullptr;
    CUgraph graph = nullptr;
    CUgraphNode node = nullptr, set = nullptr;
    CUgraphExec exec = nullptr;
    CUDA_KERNEL_NODE_PARAMS launch{};
    const auto ones = set_of(of.one.memory);
    d.cuLibraryLoadData(&library, ptx, nullptr, nullptr, 0, nullptr, nullptr, 0);
    d.cuLibraryGetKernel(&kernel, library, "empty");
    launch.gridDimX = launch.gridDimY = launch.gridDimZ = 1;
    launch.blockDimX = launch.blockDimY = launch.blockDimZ = 1;
    launch.kern = kernel;
    launch.ctx = of.one.context;
    d.cuGraphCreate(&graph, 0);
    ask("cuGraphAddKernelNode in 1's context",
        d.cuGraphAddKernelNode(&node, graph, nullptr, 0, &launch));
    d.cuGraphAddMemsetNode(&set, graph, &node, 1, &ones, of.one.context);
    run(graph, of);
    ask("cuGraphInstantiateWithFlags", d.cuGraphInstantiateWithFlags(&exec, graph, 0));
    launch.ctx = of.zero.context;
    ask("cuGraphExecKernelNodeSetParams in 0's context",
        d.cuGraphExecKernelNodeSetParams(exec, node, &launch));
    ask("cuGraphExecDestroy", d.cuGraphExecDestroy(exec));
}

void memory_nodes(const Sides &of) {
    CUDA_MEM_ALLOC_NODE_PARAMS allocation{};
    CUmemAccessDesc access{};
    CUgraph graph = nullptr;
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
    d.cuGraphCreate(&graph, 0);
    ask("cuGraphAddMemAllocNode with access of 1",
        d.cuGraphAddMemAllocNode(&node, graph, nullptr, 0, &allocation));
    const auto in_one = set_of(allocation.dptr);
    ask("cuGraphAddMemsetNode of it in 1's context",
        d.cuGraphAddMemsetNode(&set, graph, &node, 1, &in_one, of.one.context));
    ask("cuGraphAddMemFreeNode", d.cuGraphAddMemFreeNode(&end, graph, &set, 1, allocation.dptr));
    ask("cuGraphInstantiateWithFlags", d.cuGraphInstantiateWithFlags(&exec, graph, 0));
    ask("cuGraphLaunch, stream of 1", d.cuGraphLaunch(exec, of.one.stream));
    ask("cuStreamSynchronize", d.cuStreamSynchronize(of.one.stream));
    ask("cuGraphLaunch, stream of 0", d.cuGraphLaunch(exec, of.zero.stream));
    ask("cuStreamSynchronize", d.cuStreamSynchronize(of.zero.stream));
    ask("cuGraphExecDestroy", d.cuGraphExecDestroy(exec));
}

} // namespace

void captures() {
    apart("forked and joined", fork_and_join);
    apart("an event of the other device", wrong_event);
    apart("copies", capture_copies);
    apart("a block", capture_block);
    apart("the other device's memory", capture_set_of_other);
}

void graphs() {
    apart("memset nodes", set_nodes);
    apart("a memset node in the wrong context", set_node_in_wrong_context);
    apart("copy nodes", copy_nodes);
    apart("event nodes", event_nodes);
    apart("kernel nodes", kernel_nodes);
    apart("memory nodes", memory_nodes);
}

} // namespace record::QUESTIONS::two_devices
