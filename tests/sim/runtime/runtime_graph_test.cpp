// Graphs of the runtime: node parameters correspond to those of the driver.
#include "images.hpp"

using namespace sim_test;

namespace {

void run(cudaGraph_t graph, cudaStream_t stream = nullptr) {
    const RuntimeExecutable executable(graph);
    ok(runtime().cudaGraphUpload(executable, stream));
    ok(runtime().cudaGraphLaunch(executable, stream));
    ok(runtime().cudaStreamSynchronize(stream));
}

// Memory that enqueued work may use until the end of the scope.
struct Memory : RuntimeMemory {
    Memory() : RuntimeMemory(64) {}
    ~Memory() { ok(runtime().cudaDeviceSynchronize()); }
    unsigned char first() const {
        return got<unsigned char>(&Runtime::cudaMemcpy, out, get(), 1, cudaMemcpyDeviceToHost);
    }
};

CUdeviceptr address(const void *pointer) {
    return reinterpret_cast<CUdeviceptr>(pointer);
}

} // namespace

TEST_CASE("copy node parameters are converted between bytes and elements") {
    const cudaChannelFormatDesc format{32, 32, 0, 0, cudaChannelFormatKindFloat}; // 8 bytes
    const RuntimeArray array(format, {16, 8, 4});
    const RuntimeMemory memory(4096);
    const RuntimeGraph graph;
    cudaMemcpy3DParms copy{.srcPos = {8, 1, 0},
                           .srcPtr = {memory, 128, 16, 8},
                           .dstArray = array,
                           .dstPos = {3, 2, 1},
                           .extent = {5, 2, 1},
                           .kind = cudaMemcpyDeviceToDevice};
    const auto node =
        got<cudaGraphNode_t>(&Runtime::cudaGraphAddMemcpyNode, out, graph, nullptr, 0, &copy);
    const auto drivers = got<CUDA_MEMCPY3D>(&Driver::cuGraphMemcpyNodeGetParams, node, out);
    CHECK(drivers.srcMemoryType == CU_MEMORYTYPE_DEVICE);
    CHECK(drivers.srcDevice == address(memory.get()));
    CHECK(numbers(drivers.srcPitch, drivers.srcHeight) == numbers(128, 8));
    CHECK(numbers(drivers.srcXInBytes, drivers.srcY, drivers.srcZ) == numbers(8, 1, 0));
    CHECK(drivers.dstMemoryType == CU_MEMORYTYPE_ARRAY);
    CHECK(drivers.dstArray == reinterpret_cast<CUarray>(array.get()));
    CHECK(numbers(drivers.dstXInBytes, drivers.dstY, drivers.dstZ) == numbers(24, 2, 1));
    CHECK(numbers(drivers.WidthInBytes, drivers.Height, drivers.Depth) == numbers(40, 2, 1));
    cudaMemcpy3DParms back{};
    CHECK(got(runtime().cudaGraphMemcpyNodeGetParams(node, &back), back).srcArray == nullptr);
    CHECK((back.srcPtr.ptr == memory.get() && back.dstArray == array.get()));
    CHECK(numbers(back.srcPtr.pitch, back.srcPtr.ysize, back.srcPos.x) == numbers(128, 8, 8));
    CHECK(numbers(back.dstPos.x, back.dstPos.z) == numbers(3, 1));
    CHECK(numbers(back.extent.width, back.extent.height) == numbers(5, 2));
    CHECK(back.kind == cudaMemcpyDeviceToDevice);
}

#if CUDART_VERSION >= 13000
TEST_CASE("cudaGraphAddNode adds nodes of every type") {
    const Memory memory;
    const RuntimeGraph graph;
    cudaGraphNodeParams params{};
    params.type = cudaGraphNodeTypeMemset;
    params.memset = {.dst = memory, .value = 4, .elementSize = 1, .width = 64, .height = 1};
    cudaGraphNode_t set = nullptr, copy = nullptr, body = nullptr;
    require_ok(runtime().cudaGraphAddNode(&set, graph, nullptr, nullptr, 0, &params));
    unsigned char byte = 0;
    cudaGraphNodeParams copying{};
    copying.type = cudaGraphNodeTypeMemcpy;
    copying.memcpy.copyParams = {.srcPtr = {memory, 1, 1, 1},
                                 .dstPtr = {&byte, 1, 1, 1},
                                 .extent = {1, 1, 1},
                                 .kind = cudaMemcpyDeviceToHost};
    require_ok(runtime().cudaGraphAddNode(&copy, graph, &set, nullptr, 1, &copying));
    run(graph);
    CHECK(byte == 4);
    params.memset.value = 6;
    ok(runtime().cudaGraphNodeSetParams(set, &params));
    run(graph);
    CHECK(byte == 6);

    auto handle = got<cudaGraphConditionalHandle>(&Runtime::cudaGraphConditionalHandleCreate, out,
                                                  graph, 1, cudaGraphCondAssignDefault);
    cudaGraphNodeParams conditional{};
    conditional.type = cudaGraphNodeTypeConditional;
    conditional.conditional = {.handle = handle, .type = cudaGraphCondTypeIf, .size = 1};
    require_ok(runtime().cudaGraphAddNode(&body, graph, &copy, nullptr, 1, &conditional));
    REQUIRE(conditional.conditional.phGraph_out != nullptr);
    params.memset.value = 8;
    ok(runtime().cudaGraphAddNode(&set, conditional.conditional.phGraph_out[0], nullptr, nullptr, 0,
                                  &params));
    run(graph);
    CHECK(memory.first() == 8);
}
#endif
