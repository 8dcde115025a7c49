// Graphs of the runtime: node parameters correspond to those of the driver.
#include "images.hpp"

using namespace sim_test;

namespace {

void run(cudaGraph_t graph, cudaStream_t stream = nullptr) {
    const RuntimeExecutable executable(graph);
    CHECK(r.cudaGraphUpload(executable, stream) == cudaSuccess);
    CHECK(r.cudaGraphLaunch(executable, stream) == cudaSuccess);
    CHECK(r.cudaStreamSynchronize(stream) == cudaSuccess);
}

void CUDART_CB count(void *user) {
    ++*static_cast<std::atomic<int> *>(user);
}

// Memory that enqueued work may use until the end of the scope.
struct Memory : RuntimeMemory {
    Memory() : RuntimeMemory(64) {}
    ~Memory() { CHECK(r.cudaDeviceSynchronize() == cudaSuccess); }
    unsigned char first() const {
        return got<unsigned char>(&Runtime::cudaMemcpy, out, get(), 1, cudaMemcpyDeviceToHost);
    }
};

cudaMemsetParams fill_with(void *memory, unsigned int value) {
    return {.dst = memory, .value = value, .elementSize = 1, .width = 64, .height = 1};
}

CUdeviceptr address(const void *pointer) {
    return reinterpret_cast<CUdeviceptr>(pointer);
}

size_t edges_of(cudaGraph_t graph) {
    size_t count = 0;
#if CUDART_VERSION >= 13000
    CHECK(r.cudaGraphGetEdges(graph, nullptr, nullptr, nullptr, &count) == cudaSuccess);
#else
    CHECK(r.cudaGraphGetEdges(graph, nullptr, nullptr, &count) == cudaSuccess);
#endif
    return count;
}

cudaError_t link(cudaGraph_t graph, cudaGraphNode_t from, cudaGraphNode_t to) {
#if CUDART_VERSION >= 13000
    return r.cudaGraphAddDependencies(graph, &from, &to, nullptr, 1);
#else
    return r.cudaGraphAddDependencies(graph, &from, &to, 1);
#endif
}

} // namespace

TEST_CASE("memset, copy and host nodes run in order") {
    start(GENERATE_COPY(from_range(all_modes())));
    const Memory memory;
    std::vector<unsigned char> back(64);
    std::atomic<int> calls{0};
    const RuntimeGraph graph;
    const cudaMemsetParams fill = fill_with(memory, 0x5a);
    cudaGraphNode_t set = nullptr, copy = nullptr, host = nullptr, empty = nullptr;
    CHECK(r.cudaGraphAddMemsetNode(&set, graph, nullptr, 0, &fill) == cudaSuccess);
    CHECK(r.cudaGraphAddMemcpyNode1D(&copy, graph, &set, 1, back.data(), memory, 64,
                                     cudaMemcpyDeviceToHost) == cudaSuccess);
    cudaHostNodeParams function{count, &calls};
    CHECK(r.cudaGraphAddHostNode(&host, graph, &copy, 1, &function) == cudaSuccess);
    CHECK(r.cudaGraphAddEmptyNode(&empty, graph, nullptr, 0) == cudaSuccess);
    CHECK(link(graph, host, empty) == cudaSuccess);
    CHECK(edges_of(graph) == 3);
    CHECK(got<size_t>(&Runtime::cudaGraphGetNodes, graph, nullptr, out) == 4);
    CHECK(got<size_t>(&Runtime::cudaGraphGetRootNodes, graph, nullptr, out) == 1);
    CHECK(got<cudaGraphNodeType>(&Runtime::cudaGraphNodeGetType, copy, out) ==
          cudaGraphNodeTypeMemcpy);
    run(graph);
    CHECK(back == std::vector<unsigned char>(64, 0x5a));
    CHECK(calls == 1);
}

TEST_CASE("memset node parameters correspond to those of the driver") {
    const RuntimeMemory memory(4096);
    {
        const RuntimeGraph graph;
        cudaMemsetParams fill = {memory, 512, 0x01020304, 4, 16, 8};
        cudaGraphNode_t node = nullptr;
        REQUIRE(r.cudaGraphAddMemsetNode(&node, graph, nullptr, 0, &fill) == cudaSuccess);
        CUDA_MEMSET_NODE_PARAMS drivers{};
        CHECK(got(d.cuGraphMemsetNodeGetParams(node, &drivers), drivers).dst ==
              address(memory.get()));
        CHECK(drivers.pitch == 512);
        CHECK(drivers.value == 0x01020304);
        CHECK(drivers.elementSize == 4);
        CHECK(drivers.width == 16);
        CHECK(drivers.height == 8);
        cudaMemsetParams back{};
        CHECK(r.cudaGraphMemsetNodeGetParams(node, &back) == cudaSuccess);
        CHECK(std::memcmp(&back, &fill, sizeof back) == 0);
        fill.value = 9;
        CHECK(r.cudaGraphMemsetNodeSetParams(node, &fill) == cudaSuccess);
        CHECK(got(r.cudaGraphMemsetNodeGetParams(node, &back), back).value == 9);
        CHECK(r.cudaGraphAddMemsetNode(&node, graph, nullptr, 0, nullptr) == cudaErrorInvalidValue);
    }
}

TEST_CASE("copy node parameters are converted between bytes and elements") {
    const cudaChannelFormatDesc format{32, 32, 0, 0, cudaChannelFormatKindFloat}; // 8 bytes
    cudaArray_t array = nullptr;
    REQUIRE(r.cudaMalloc3DArray(&array, &format, {16, 8, 4}, 0) == cudaSuccess);
    const RuntimeMemory memory(4096);
    {
        const RuntimeGraph graph;
        cudaMemcpy3DParms copy{.srcPos = {8, 1, 0},
                               .srcPtr = {memory, 128, 16, 8},
                               .dstArray = array,
                               .dstPos = {3, 2, 1},
                               .extent = {5, 2, 1},
                               .kind = cudaMemcpyDeviceToDevice};
        cudaGraphNode_t node = nullptr;
        REQUIRE(r.cudaGraphAddMemcpyNode(&node, graph, nullptr, 0, &copy) == cudaSuccess);
        CUDA_MEMCPY3D drivers{};
        CHECK(d.cuGraphMemcpyNodeGetParams(node, &drivers) == good);
        CHECK(drivers.srcMemoryType == CU_MEMORYTYPE_DEVICE);
        CHECK(drivers.srcDevice == address(memory.get()));
        CHECK(drivers.srcPitch == 128);
        CHECK(drivers.srcHeight == 8);
        CHECK(drivers.srcXInBytes == 8);
        CHECK(drivers.srcY == 1);
        CHECK(drivers.srcZ == 0);
        CHECK(drivers.dstMemoryType == CU_MEMORYTYPE_ARRAY);
        CHECK(drivers.dstArray == reinterpret_cast<CUarray>(array));
        CHECK(drivers.dstXInBytes == 24);
        CHECK(drivers.dstY == 2);
        CHECK(drivers.dstZ == 1);
        CHECK(drivers.WidthInBytes == 40);
        CHECK(drivers.Height == 2);
        CHECK(drivers.Depth == 1);
        cudaMemcpy3DParms back{};
        CHECK(got(r.cudaGraphMemcpyNodeGetParams(node, &back), back).srcArray == nullptr);
        CHECK(back.srcPtr.ptr == memory.get());
        CHECK(back.srcPtr.pitch == 128);
        CHECK(back.srcPtr.ysize == 8);
        CHECK(back.srcPos.x == 8);
        CHECK(back.dstArray == array);
        CHECK(back.dstPos.x == 3);
        CHECK(back.dstPos.z == 1);
        CHECK(back.extent.width == 5);
        CHECK(back.extent.height == 2);
        CHECK(back.kind == cudaMemcpyDeviceToDevice);
        copy.kind = static_cast<cudaMemcpyKind>(9);
        CHECK(r.cudaGraphMemcpyNodeSetParams(node, &copy) == cudaErrorInvalidMemcpyDirection);
    }
    CHECK(r.cudaFreeArray(array) == cudaSuccess);
}

TEST_CASE("event nodes, child graphs, clones and user objects work through the runtime") {
    const RuntimeEvent event;
    const RuntimeEvent other;
    std::atomic<int> destroyed{0};
    {
        const RuntimeGraph graph, child;
        cudaGraphNode_t record = nullptr, wait = nullptr, nested = nullptr, found = nullptr;
        CHECK(r.cudaGraphAddEmptyNode(&found, child, nullptr, 0) == cudaSuccess);
        CHECK(r.cudaGraphAddEventRecordNode(&record, graph, nullptr, 0, event) == cudaSuccess);
        CHECK(r.cudaGraphAddEventWaitNode(&wait, graph, &record, 1, other) == cudaSuccess);
        CHECK(r.cudaGraphAddChildGraphNode(&nested, graph, &wait, 1, child) == cudaSuccess);
        CHECK(got<cudaEvent_t>(&Runtime::cudaGraphEventRecordNodeGetEvent, record, out) == event);
        CHECK(r.cudaGraphEventWaitNodeSetEvent(wait, event) == cudaSuccess);
        CHECK(got<cudaEvent_t>(&Runtime::cudaGraphEventWaitNodeGetEvent, wait, out) == event);
        cudaGraph_t clone = nullptr;
        CHECK(got<cudaGraph_t>(&Runtime::cudaGraphChildGraphNodeGetGraph, nested, out) != nullptr);
        CHECK(r.cudaGraphClone(&clone, graph) == cudaSuccess);
        CHECK(got(r.cudaGraphNodeFindInClone(&found, nested, clone), found) != nested);
        CHECK(r.cudaGraphDestroy(clone) == cudaSuccess);
        CHECK(r.cudaGraphRetainUserObject(graph,
                                          got<cudaUserObject_t>(&Runtime::cudaUserObjectCreate, out,
                                                                &destroyed, count, 1,
                                                                cudaUserObjectNoDestructorSync),
                                          1, cudaGraphUserObjectMove) == cudaSuccess);
        run(graph);
    }
    CHECK(r.cudaDeviceSynchronize() == cudaSuccess);
    CHECK(destroyed == 1);
}

TEST_CASE("an executable graph can be changed and updated through the runtime") {
    const Memory memory;
    {
        const RuntimeGraph graph;
        cudaMemsetParams fill = fill_with(memory, 1);
        cudaGraphNode_t node = nullptr;
        REQUIRE(r.cudaGraphAddMemsetNode(&node, graph, nullptr, 0, &fill) == cudaSuccess);
        const RuntimeExecutable executable(graph);
        const auto launched = [&] {
            CHECK(r.cudaGraphLaunch(executable, nullptr) == cudaSuccess);
            return memory.first();
        };
        CHECK(launched() == 1);
        fill.value = 2;
        CHECK(r.cudaGraphExecMemsetNodeSetParams(executable, node, &fill) == cudaSuccess);
        CHECK(launched() == 2);
        fill.value = 3;
        CHECK(r.cudaGraphMemsetNodeSetParams(node, &fill) == cudaSuccess);
#if CUDART_VERSION >= 12000
        cudaGraphExecUpdateResultInfo info{};
        CHECK(r.cudaGraphExecUpdate(executable, graph, &info) == cudaSuccess);
        CHECK(info.result == cudaGraphExecUpdateSuccess);
#else
        cudaGraphExecUpdateResult result = cudaGraphExecUpdateError;
        cudaGraphNode_t wrong = node;
        CHECK(r.cudaGraphExecUpdate(executable, graph, &wrong, &result) == cudaSuccess);
        CHECK(result == cudaGraphExecUpdateSuccess);
        CHECK(wrong == nullptr);
#endif
        CHECK(launched() == 3);
        CHECK(r.cudaMemset(memory, 0, 64) == cudaSuccess);
        CHECK(r.cudaGraphNodeSetEnabled(executable, node, 0) == cudaSuccess);
        CHECK(got<unsigned int>(&Runtime::cudaGraphNodeGetEnabled, executable, node, out) == 0);
        CHECK(launched() == 0);
#if CUDART_VERSION >= 12000
        cudaGraphNode_t more = nullptr;
        CHECK(r.cudaGraphAddEmptyNode(&more, graph, nullptr, 0) == cudaSuccess);
        CHECK(r.cudaGraphExecUpdate(executable, graph, &info) == cudaErrorGraphExecUpdateFailure);
        CHECK(info.result == cudaGraphExecUpdateErrorTopologyChanged);
#endif
    }
}

#if CUDART_VERSION >= 12080
namespace {

int write_7(const cushim_sim_launch *launch, void *) {
    auto *target =
        static_cast<unsigned char *>(sim_control().view(argument<std::uint64_t>(*launch, 0), 1));
    *target = 7;
    return 0;
}

} // namespace

TEST_CASE("kernel node parameters correspond to those of the driver") {
    sim_control().register_kernel("add", write_7, nullptr);
    cudaLibrary_t library = nullptr;
    cudaKernel_t kernel = nullptr;
    REQUIRE(r.cudaLibraryLoadData(&library, vector_image, nullptr, nullptr, 0, nullptr, nullptr,
                                  0) == cudaSuccess);
    REQUIRE(r.cudaLibraryGetKernel(&kernel, library, "add") == cudaSuccess);
    const Memory memory;
    {
        const RuntimeGraph graph;
        void *nothing = nullptr;
        int number = 5;
        void *address_of_memory = memory;
        void *arguments[] = {&address_of_memory, &nothing, &nothing, &number};
        cudaKernelNodeParams launch{.func = kernel,
                                    .gridDim = {1, 2, 3},
                                    .blockDim = {4, 5, 6},
                                    .sharedMemBytes = 128,
                                    .kernelParams = arguments};
        cudaGraphNode_t node = nullptr, second = nullptr;
        REQUIRE(r.cudaGraphAddKernelNode(&node, graph, nullptr, 0, &launch) == cudaSuccess);
        CUDA_KERNEL_NODE_PARAMS_v2 drivers{};
        CHECK(got(d.cuGraphKernelNodeGetParams(node, &drivers), drivers).gridDimX == 1);
        CHECK(drivers.gridDimY == 2);
        CHECK(drivers.gridDimZ == 3);
        CHECK(drivers.blockDimX == 4);
        CHECK(drivers.blockDimZ == 6);
        CHECK(drivers.sharedMemBytes == 128);
        CHECK(*static_cast<int *>(drivers.kernelParams[3]) == 5);
        cudaKernelNodeParams back{};
        // As measured with driver 580: only kernels with a host function are reported.
        CHECK(r.cudaGraphKernelNodeGetParams(node, &back) == cudaErrorInvalidDeviceFunction);
        launch.gridDim = {1, 1, 1};
        CHECK(r.cudaGraphKernelNodeSetParams(node, &launch) == cudaSuccess);
        CHECK(r.cudaGraphAddKernelNode(&second, graph, &node, 1, &launch) == cudaSuccess);
        cudaKernelNodeAttrValue value{};
        value.priority = -2;
        CHECK(r.cudaGraphKernelNodeSetAttribute(node, cudaLaunchAttributePriority, &value) ==
              cudaSuccess);
        CHECK(r.cudaGraphKernelNodeCopyAttributes(second, node) == cudaSuccess);
        CHECK(got<cudaKernelNodeAttrValue>(&Runtime::cudaGraphKernelNodeGetAttribute, second,
                                           cudaLaunchAttributePriority, out)
                  .priority == -2);
        run(graph);
        launch.func = &number;
        CHECK(r.cudaGraphAddKernelNode(&node, graph, nullptr, 0, &launch) ==
              cudaErrorInvalidDeviceFunction);
        expect_misuse("is not a kernel handle");
    }
    CHECK(memory.first() == 7);
    CHECK(r.cudaLibraryUnload(library) == cudaSuccess);
}
#endif

TEST_CASE("memory nodes of the runtime allocate and free") {
    {
        const RuntimeGraph graph;
        cudaMemAllocNodeParams wanted{};
        wanted.poolProps.allocType = cudaMemAllocationTypePinned;
        wanted.poolProps.location = {cudaMemLocationTypeDevice, 0};
        wanted.bytesize = 4096;
        cudaGraphNode_t alloc = nullptr, release_node = nullptr;
        REQUIRE(r.cudaGraphAddMemAllocNode(&alloc, graph, nullptr, 0, &wanted) == cudaSuccess);
        CHECK(wanted.dptr != nullptr);
        CHECK(r.cudaGraphAddMemFreeNode(&release_node, graph, &alloc, 1, wanted.dptr) ==
              cudaSuccess);
        cudaMemAllocNodeParams back{};
        CHECK(got(r.cudaGraphMemAllocNodeGetParams(alloc, &back), back).dptr == wanted.dptr);
        CHECK(back.bytesize == 4096);
        CHECK(back.poolProps.location.type == cudaMemLocationTypeDevice);
        CHECK(got<void *>(&Runtime::cudaGraphMemFreeNodeGetParams, release_node, out) ==
              wanted.dptr);
        run(graph);
    }
    CHECK(got<std::uint64_t>(&Runtime::cudaDeviceGetGraphMemAttribute, 0,
                             cudaGraphMemAttrUsedMemCurrent, out) == 0);
    CHECK(r.cudaDeviceGraphMemTrim(0) == cudaSuccess);
    CHECK(r.cudaDeviceGraphMemTrim(3) == cudaErrorInvalidDevice);
}

#if CUDART_VERSION >= 13000
TEST_CASE("cudaGraphAddNode adds nodes of every type") {
    const Memory memory;
    {
        const RuntimeGraph graph;
        cudaGraphNodeParams params{};
        params.type = cudaGraphNodeTypeMemset;
        params.memset.dst = memory;
        params.memset.value = 4;
        params.memset.elementSize = 1;
        params.memset.width = 64;
        params.memset.height = 1;
        cudaGraphNode_t set = nullptr, copy = nullptr, body = nullptr;
        REQUIRE(r.cudaGraphAddNode(&set, graph, nullptr, nullptr, 0, &params) == cudaSuccess);
        unsigned char byte = 0;
        cudaGraphNodeParams copying{};
        copying.type = cudaGraphNodeTypeMemcpy;
        copying.memcpy.copyParams.srcPtr = {memory, 1, 1, 1};
        copying.memcpy.copyParams.dstPtr = {&byte, 1, 1, 1};
        copying.memcpy.copyParams.extent = {1, 1, 1};
        copying.memcpy.copyParams.kind = cudaMemcpyDeviceToHost;
        REQUIRE(r.cudaGraphAddNode(&copy, graph, &set, nullptr, 1, &copying) == cudaSuccess);
        run(graph);
        CHECK(byte == 4);
        params.memset.value = 6;
        CHECK(r.cudaGraphNodeSetParams(set, &params) == cudaSuccess);
        run(graph);
        CHECK(byte == 6);

        cudaGraphConditionalHandle handle = 0;
        CHECK(r.cudaGraphConditionalHandleCreate(&handle, graph, 1, cudaGraphCondAssignDefault) ==
              cudaSuccess);
        cudaGraphNodeParams conditional{};
        conditional.type = cudaGraphNodeTypeConditional;
        conditional.conditional.handle = handle;
        conditional.conditional.type = cudaGraphCondTypeIf;
        conditional.conditional.size = 1;
        REQUIRE(r.cudaGraphAddNode(&body, graph, &copy, nullptr, 1, &conditional) == cudaSuccess);
        REQUIRE(conditional.conditional.phGraph_out != nullptr);
        params.memset.value = 8;
        CHECK(r.cudaGraphAddNode(&set, conditional.conditional.phGraph_out[0], nullptr, nullptr, 0,
                                 &params) == cudaSuccess);
        run(graph);
        CHECK(memory.first() == 8);
        params.type = static_cast<cudaGraphNodeType>(0x40);
        CHECK(r.cudaGraphAddNode(&set, graph, nullptr, nullptr, 0, &params) ==
              cudaErrorInvalidValue);
        CHECK(r.cudaGraphAddNode(&set, graph, nullptr, nullptr, 0, nullptr) ==
              cudaErrorInvalidValue);
    }
}
#endif

#if CUDART_VERSION >= 12000
TEST_CASE("instantiating a graph with a cycle fails with a reason") {
    const RuntimeGraph graph;
    cudaGraphNode_t a = nullptr, b = nullptr;
    REQUIRE(r.cudaGraphAddEmptyNode(&a, graph, nullptr, 0) == cudaSuccess);
    REQUIRE(r.cudaGraphAddEmptyNode(&b, graph, &a, 1) == cudaSuccess);
    CHECK(link(graph, b, a) == cudaSuccess);
    CHECK(link(graph, a, b) == cudaErrorInvalidValue);
    cudaGraphExec_t executable = nullptr;
    CHECK(r.cudaGraphInstantiate(&executable, graph, 0) == cudaErrorInvalidValue);
    cudaGraphInstantiateParams params{};
    CHECK(r.cudaGraphInstantiateWithParams(&executable, graph, &params) != cudaSuccess);
    CHECK(params.result_out != cudaGraphInstantiateSuccess);
    CHECK(r.cudaGraphInstantiateWithParams(&executable, graph, nullptr) == cudaErrorInvalidValue);
}
#endif
