// The runtime's graphs: nodes with the runtime's parameters, which are the driver's nodes with the
// driver's.
#include "images.hpp"

#include <atomic>
#include <cstring>

using namespace sim_test;

namespace {

class RuntimeGraph : Unique {
  public:
    RuntimeGraph() { REQUIRE(r.cudaGraphCreate(&graph_, 0) == cudaSuccess); }
    ~RuntimeGraph() { CHECK(r.cudaGraphDestroy(graph_) == cudaSuccess); }
    cudaGraph_t get() const { return graph_; }

    void run(cudaStream_t stream = nullptr) const {
        cudaGraphExec_t executable = nullptr;
        REQUIRE(r.cudaGraphInstantiateWithFlags(&executable, graph_, 0) == cudaSuccess);
        CHECK(r.cudaGraphUpload(executable, stream) == cudaSuccess);
        CHECK(r.cudaGraphLaunch(executable, stream) == cudaSuccess);
        CHECK(r.cudaStreamSynchronize(stream) == cudaSuccess);
        CHECK(r.cudaGraphExecDestroy(executable) == cudaSuccess);
    }

  private:
    cudaGraph_t graph_ = nullptr;
};

void CUDART_CB count(void *user) {
    ++*static_cast<std::atomic<int> *>(user);
}

void *allocated(std::size_t size) {
    void *memory = allocate_by_runtime(size);
    return memory;
}

void free_memory(void *memory) {
    CHECK(r.cudaDeviceSynchronize() == cudaSuccess);
    CHECK(r.cudaFree(memory) == cudaSuccess);
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

TEST_CASE("memset, copy and host nodes run in their order") {
    start(GENERATE_COPY(from_range(all_modes())));
    void *memory = allocated(64);
    std::vector<unsigned char> back(64);
    std::atomic<int> calls{0};
    {
        const RuntimeGraph graph;
        cudaMemsetParams fill{
            .dst = memory, .value = 0x5a, .elementSize = 1, .width = 64, .height = 1};
        cudaGraphNode_t set = nullptr, copy = nullptr, host = nullptr, empty = nullptr;
        CHECK(r.cudaGraphAddMemsetNode(&set, graph.get(), nullptr, 0, &fill) == cudaSuccess);
        CHECK(r.cudaGraphAddMemcpyNode1D(&copy, graph.get(), &set, 1, back.data(), memory, 64,
                                         cudaMemcpyDeviceToHost) == cudaSuccess);
        cudaHostNodeParams function{count, &calls};
        CHECK(r.cudaGraphAddHostNode(&host, graph.get(), &copy, 1, &function) == cudaSuccess);
        CHECK(r.cudaGraphAddEmptyNode(&empty, graph.get(), nullptr, 0) == cudaSuccess);
        CHECK(link(graph.get(), host, empty) == cudaSuccess);
        CHECK(edges_of(graph.get()) == 3);
        size_t nodes = 0, roots = 0;
        CHECK(r.cudaGraphGetNodes(graph.get(), nullptr, &nodes) == cudaSuccess);
        CHECK(r.cudaGraphGetRootNodes(graph.get(), nullptr, &roots) == cudaSuccess);
        CHECK(nodes == 4);
        CHECK(roots == 1);
        CHECK(got<cudaGraphNodeType>(&Runtime::cudaGraphNodeGetType, copy, out) ==
              cudaGraphNodeTypeMemcpy);
        graph.run();
    }
    CHECK(back == std::vector<unsigned char>(64, 0x5a));
    CHECK(calls == 1);
    free_memory(memory);
}

TEST_CASE("a memset node's parameters are the driver's") {
    start();
    void *memory = allocated(4096);
    {
        const RuntimeGraph graph;
        cudaMemsetParams fill{.dst = memory,
                              .pitch = 512,
                              .value = 0x01020304,
                              .elementSize = 4,
                              .width = 16,
                              .height = 8};
        cudaGraphNode_t node = nullptr;
        REQUIRE(r.cudaGraphAddMemsetNode(&node, graph.get(), nullptr, 0, &fill) == cudaSuccess);
        CUDA_MEMSET_NODE_PARAMS drivers{};
        CHECK(got(d.cuGraphMemsetNodeGetParams(node, &drivers), drivers).dst == address(memory));
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
        CHECK(r.cudaGraphAddMemsetNode(&node, graph.get(), nullptr, 0, nullptr) ==
              cudaErrorInvalidValue);
    }
    free_memory(memory);
}

TEST_CASE("a copy node's parameters, in bytes and in elements") {
    start();
    const cudaChannelFormatDesc format{32, 32, 0, 0, cudaChannelFormatKindFloat}; // 8 bytes
    cudaArray_t array = nullptr;
    REQUIRE(r.cudaMalloc3DArray(&array, &format, {16, 8, 4}, 0) == cudaSuccess);
    void *memory = allocated(4096);
    {
        const RuntimeGraph graph;
        cudaMemcpy3DParms copy{.srcPos = {8, 1, 0},
                               .srcPtr = {memory, 128, 16, 8},
                               .dstArray = array,
                               .dstPos = {3, 2, 1},
                               .extent = {5, 2, 1},
                               .kind = cudaMemcpyDeviceToDevice};
        cudaGraphNode_t node = nullptr;
        REQUIRE(r.cudaGraphAddMemcpyNode(&node, graph.get(), nullptr, 0, &copy) == cudaSuccess);
        CUDA_MEMCPY3D drivers{};
        CHECK(d.cuGraphMemcpyNodeGetParams(node, &drivers) == good);
        CHECK(drivers.srcMemoryType == CU_MEMORYTYPE_DEVICE);
        CHECK(drivers.srcDevice == address(memory));
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
        CHECK(back.srcPtr.ptr == memory);
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
    free_memory(memory);
    CHECK(r.cudaFreeArray(array) == cudaSuccess);
}

TEST_CASE("events, children, user objects, clones") {
    start();
    const RuntimeEvent event;
    const RuntimeEvent other;
    std::atomic<int> destroyed{0};
    {
        const RuntimeGraph graph, child;
        cudaGraphNode_t record = nullptr, wait = nullptr, nested = nullptr, found = nullptr;
        CHECK(r.cudaGraphAddEmptyNode(&found, child.get(), nullptr, 0) == cudaSuccess);
        CHECK(r.cudaGraphAddEventRecordNode(&record, graph.get(), nullptr, 0, event) ==
              cudaSuccess);
        CHECK(r.cudaGraphAddEventWaitNode(&wait, graph.get(), &record, 1, other) == cudaSuccess);
        CHECK(r.cudaGraphAddChildGraphNode(&nested, graph.get(), &wait, 1, child.get()) ==
              cudaSuccess);
        CHECK(got<cudaEvent_t>(&Runtime::cudaGraphEventRecordNodeGetEvent, record, out) == event);
        CHECK(r.cudaGraphEventWaitNodeSetEvent(wait, event) == cudaSuccess);
        CHECK(got<cudaEvent_t>(&Runtime::cudaGraphEventWaitNodeGetEvent, wait, out) == event);
        cudaGraph_t clone = nullptr;
        CHECK(got<cudaGraph_t>(&Runtime::cudaGraphChildGraphNodeGetGraph, nested, out) != nullptr);
        CHECK(r.cudaGraphClone(&clone, graph.get()) == cudaSuccess);
        CHECK(got(r.cudaGraphNodeFindInClone(&found, nested, clone), found) != nested);
        CHECK(r.cudaGraphDestroy(clone) == cudaSuccess);
        CHECK(r.cudaGraphRetainUserObject(graph.get(),
                                          got<cudaUserObject_t>(&Runtime::cudaUserObjectCreate, out,
                                                                &destroyed, count, 1,
                                                                cudaUserObjectNoDestructorSync),
                                          1, cudaGraphUserObjectMove) == cudaSuccess);
        graph.run();
    }
    CHECK(r.cudaDeviceSynchronize() == cudaSuccess);
    CHECK(destroyed == 1);
}

TEST_CASE("an executable graph is changed and updated") {
    start();
    void *memory = allocated(64);
    {
        const RuntimeGraph graph;
        cudaMemsetParams fill{
            .dst = memory, .value = 1, .elementSize = 1, .width = 64, .height = 1};
        cudaGraphNode_t node = nullptr;
        REQUIRE(r.cudaGraphAddMemsetNode(&node, graph.get(), nullptr, 0, &fill) == cudaSuccess);
        cudaGraphExec_t executable = nullptr;
        REQUIRE(r.cudaGraphInstantiateWithFlags(&executable, graph.get(), 0) == cudaSuccess);
        unsigned char byte = 0;
        const auto launched = [&] {
            CHECK(r.cudaGraphLaunch(executable, nullptr) == cudaSuccess);
            CHECK(r.cudaMemcpy(&byte, memory, 1, cudaMemcpyDeviceToHost) == cudaSuccess);
            return int(byte);
        };
        CHECK(launched() == 1);
        fill.value = 2;
        CHECK(r.cudaGraphExecMemsetNodeSetParams(executable, node, &fill) == cudaSuccess);
        CHECK(launched() == 2);
        fill.value = 3;
        CHECK(r.cudaGraphMemsetNodeSetParams(node, &fill) == cudaSuccess);
#if CUDART_VERSION >= 12000
        cudaGraphExecUpdateResultInfo info{};
        CHECK(r.cudaGraphExecUpdate(executable, graph.get(), &info) == cudaSuccess);
        CHECK(info.result == cudaGraphExecUpdateSuccess);
#else
        cudaGraphExecUpdateResult result = cudaGraphExecUpdateError;
        cudaGraphNode_t wrong = node;
        CHECK(r.cudaGraphExecUpdate(executable, graph.get(), &wrong, &result) == cudaSuccess);
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
        CHECK(r.cudaGraphAddEmptyNode(&more, graph.get(), nullptr, 0) == cudaSuccess);
        CHECK(r.cudaGraphExecUpdate(executable, graph.get(), &info) ==
              cudaErrorGraphExecUpdateFailure);
        CHECK(info.result == cudaGraphExecUpdateErrorTopologyChanged);
#endif
        CHECK(r.cudaGraphExecDestroy(executable) == cudaSuccess);
    }
    free_memory(memory);
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

TEST_CASE("a kernel node's parameters are the driver's") {
    start();
    sim_control().register_kernel("add", write_7, nullptr);
    cudaLibrary_t library = nullptr;
    cudaKernel_t kernel = nullptr;
    REQUIRE(r.cudaLibraryLoadData(&library, vector_image, nullptr, nullptr, 0, nullptr, nullptr,
                                  0) == cudaSuccess);
    REQUIRE(r.cudaLibraryGetKernel(&kernel, library, "add") == cudaSuccess);
    void *memory = allocated(64);
    {
        const RuntimeGraph graph;
        void *nothing = nullptr;
        int number = 5;
        void *arguments[] = {&memory, &nothing, &nothing, &number};
        cudaKernelNodeParams launch{.func = kernel,
                                    .gridDim = {1, 2, 3},
                                    .blockDim = {4, 5, 6},
                                    .sharedMemBytes = 128,
                                    .kernelParams = arguments};
        cudaGraphNode_t node = nullptr, second = nullptr;
        REQUIRE(r.cudaGraphAddKernelNode(&node, graph.get(), nullptr, 0, &launch) == cudaSuccess);
        CUDA_KERNEL_NODE_PARAMS_v2 drivers{};
        CHECK(got(d.cuGraphKernelNodeGetParams(node, &drivers), drivers).gridDimX == 1);
        CHECK(drivers.gridDimY == 2);
        CHECK(drivers.gridDimZ == 3);
        CHECK(drivers.blockDimX == 4);
        CHECK(drivers.blockDimZ == 6);
        CHECK(drivers.sharedMemBytes == 128);
        CHECK(*static_cast<int *>(drivers.kernelParams[3]) == 5);
        cudaKernelNodeParams back{};
        // The runtime tells of kernels that have a host function, not of a library's (driver 580).
        CHECK(r.cudaGraphKernelNodeGetParams(node, &back) == cudaErrorInvalidDeviceFunction);
        launch.gridDim = {1, 1, 1};
        CHECK(r.cudaGraphKernelNodeSetParams(node, &launch) == cudaSuccess);
        CHECK(r.cudaGraphAddKernelNode(&second, graph.get(), &node, 1, &launch) == cudaSuccess);
        cudaKernelNodeAttrValue value{};
        value.priority = -2;
        CHECK(r.cudaGraphKernelNodeSetAttribute(node, cudaLaunchAttributePriority, &value) ==
              cudaSuccess);
        CHECK(r.cudaGraphKernelNodeCopyAttributes(second, node) == cudaSuccess);
        CHECK(got<cudaKernelNodeAttrValue>(&Runtime::cudaGraphKernelNodeGetAttribute, second,
                                           cudaLaunchAttributePriority, out)
                  .priority == -2);
        graph.run();
        launch.func = &number;
        CHECK(r.cudaGraphAddKernelNode(&node, graph.get(), nullptr, 0, &launch) ==
              cudaErrorInvalidDeviceFunction);
        expect_misuse("is not a kernel handle");
    }
    CHECK(got<unsigned char>(&Runtime::cudaMemcpy, out, memory, 1, cudaMemcpyDeviceToHost) == 7);
    free_memory(memory);
    CHECK(r.cudaLibraryUnload(library) == cudaSuccess);
}
#endif

TEST_CASE("memory nodes") {
    start();
    cudaGraphExec_t executable = nullptr;
    {
        const RuntimeGraph graph;
        cudaMemAllocNodeParams wanted{};
        wanted.poolProps.allocType = cudaMemAllocationTypePinned;
        wanted.poolProps.location = {cudaMemLocationTypeDevice, 0};
        wanted.bytesize = 4096;
        cudaGraphNode_t alloc = nullptr, release_node = nullptr;
        REQUIRE(r.cudaGraphAddMemAllocNode(&alloc, graph.get(), nullptr, 0, &wanted) ==
                cudaSuccess);
        CHECK(wanted.dptr != nullptr);
        CHECK(r.cudaGraphAddMemFreeNode(&release_node, graph.get(), &alloc, 1, wanted.dptr) ==
              cudaSuccess);
        cudaMemAllocNodeParams back{};
        CHECK(got(r.cudaGraphMemAllocNodeGetParams(alloc, &back), back).dptr == wanted.dptr);
        CHECK(back.bytesize == 4096);
        CHECK(back.poolProps.location.type == cudaMemLocationTypeDevice);
        CHECK(got<void *>(&Runtime::cudaGraphMemFreeNodeGetParams, release_node, out) ==
              wanted.dptr);
        REQUIRE(r.cudaGraphInstantiateWithFlags(&executable, graph.get(), 0) == cudaSuccess);
        CHECK(r.cudaGraphLaunch(executable, nullptr) == cudaSuccess);
        CHECK(r.cudaDeviceSynchronize() == cudaSuccess);
        CHECK(r.cudaGraphExecDestroy(executable) == cudaSuccess);
    }
    CHECK(got<std::uint64_t>(&Runtime::cudaDeviceGetGraphMemAttribute, 0,
                             cudaGraphMemAttrUsedMemCurrent, out) == 0);
    CHECK(r.cudaDeviceGraphMemTrim(0) == cudaSuccess);
    CHECK(r.cudaDeviceGraphMemTrim(3) == cudaErrorInvalidDevice);
}

#if CUDART_VERSION >= 13000
TEST_CASE("nodes of any kind by one function") {
    start();
    void *memory = allocated(64);
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
        REQUIRE(r.cudaGraphAddNode(&set, graph.get(), nullptr, nullptr, 0, &params) == cudaSuccess);
        unsigned char byte = 0;
        cudaGraphNodeParams copying{};
        copying.type = cudaGraphNodeTypeMemcpy;
        copying.memcpy.copyParams.srcPtr = {memory, 1, 1, 1};
        copying.memcpy.copyParams.dstPtr = {&byte, 1, 1, 1};
        copying.memcpy.copyParams.extent = {1, 1, 1};
        copying.memcpy.copyParams.kind = cudaMemcpyDeviceToHost;
        REQUIRE(r.cudaGraphAddNode(&copy, graph.get(), &set, nullptr, 1, &copying) == cudaSuccess);
        graph.run();
        CHECK(byte == 4);
        params.memset.value = 6;
        CHECK(r.cudaGraphNodeSetParams(set, &params) == cudaSuccess);
        graph.run();
        CHECK(byte == 6);

        cudaGraphConditionalHandle handle = 0;
        CHECK(r.cudaGraphConditionalHandleCreate(&handle, graph.get(), 1,
                                                 cudaGraphCondAssignDefault) == cudaSuccess);
        cudaGraphNodeParams conditional{};
        conditional.type = cudaGraphNodeTypeConditional;
        conditional.conditional.handle = handle;
        conditional.conditional.type = cudaGraphCondTypeIf;
        conditional.conditional.size = 1;
        REQUIRE(r.cudaGraphAddNode(&body, graph.get(), &copy, nullptr, 1, &conditional) ==
                cudaSuccess);
        REQUIRE(conditional.conditional.phGraph_out != nullptr);
        params.memset.value = 8;
        CHECK(r.cudaGraphAddNode(&set, conditional.conditional.phGraph_out[0], nullptr, nullptr, 0,
                                 &params) == cudaSuccess);
        graph.run();
        CHECK(got(r.cudaMemcpy(&byte, memory, 1, cudaMemcpyDeviceToHost), byte) == 8);
        params.type = static_cast<cudaGraphNodeType>(0x40);
        CHECK(r.cudaGraphAddNode(&set, graph.get(), nullptr, nullptr, 0, &params) ==
              cudaErrorInvalidValue);
        CHECK(r.cudaGraphAddNode(&set, graph.get(), nullptr, nullptr, 0, nullptr) ==
              cudaErrorInvalidValue);
    }
    free_memory(memory);
}
#endif

#if CUDART_VERSION >= 12000
TEST_CASE("instantiation says what is wrong") {
    start();
    const RuntimeGraph graph;
    cudaGraphNode_t a = nullptr, b = nullptr;
    REQUIRE(r.cudaGraphAddEmptyNode(&a, graph.get(), nullptr, 0) == cudaSuccess);
    REQUIRE(r.cudaGraphAddEmptyNode(&b, graph.get(), &a, 1) == cudaSuccess);
    CHECK(link(graph.get(), b, a) == cudaSuccess);
    CHECK(link(graph.get(), a, b) == cudaErrorInvalidValue);
    cudaGraphExec_t executable = nullptr;
    CHECK(r.cudaGraphInstantiate(&executable, graph.get(), 0) == cudaErrorInvalidValue);
    cudaGraphInstantiateParams params{};
    CHECK(r.cudaGraphInstantiateWithParams(&executable, graph.get(), &params) != cudaSuccess);
    CHECK(params.result_out != cudaGraphInstantiateSuccess);
    CHECK(r.cudaGraphInstantiateWithParams(&executable, graph.get(), nullptr) ==
          cudaErrorInvalidValue);
}
#endif
