// Names for older programs: ABIs that were replaced, and the variants with a per-thread default
// stream.
#include "../../trace.hpp"
#include "../parameters.hpp"
#include "../ptx_file.hpp"

#include <cstdlib>
#include <cstring>

namespace record::QUESTIONS {

SECTION("older_contexts") {
    d.cuInit(0);
    CUcontext a = nullptr, popped = nullptr, attached = nullptr;
    CUuuid uuid{};
    ASK(cuDeviceGetUuid_v1, "", &uuid, 0);
    ASK(cuDevicePrimaryCtxSetFlags_v1, "", 0, 0);
    ASK(cuDevicePrimaryCtxSetFlags_v1, " dev 99", 99, 0);
    ASK(cuDevicePrimaryCtxRetain, "", &a, 0);
    ASK(cuDevicePrimaryCtxRelease_v1, "", 0);
    ASK(cuDevicePrimaryCtxRelease_v1, " dev 99", 99);
    ASK(cuDevicePrimaryCtxRetain, "", &a, 0);
    ASK(cuDevicePrimaryCtxReset_v1, "", 0);
    ASK(cuDevicePrimaryCtxReset_v1, " dev 99", 99);
    ASK(cuDevicePrimaryCtxReset, " dev 99", 99);
    ASK(cuCtxPopCurrent_v1, ", none", &popped);
    ASK(cuCtxCreate_v1, "", &a, 0, 0);
    ASK(cuCtxPopCurrent_v1, "", &popped).note("it was popped", popped == a);
    ASK(cuCtxPushCurrent_v1, "", a);
    ASK(cuCtxAttach, "", &attached, 0).note("the same context", attached == a);
    ASK(cuCtxDetach, "", attached);
    ASK(cuCtxDestroy_v1, "", a);
    ASK(cuCtxCreate_v1, "", &a, 0, 0);
    ASK(cuCtxDetach, " of the last reference", a);
    ASK(cuCtxGetCurrent, "", &popped).note("none is current", popped == nullptr);
}

SECTION("older_objects", start) {
    float ms = 0;
    CUevent a = MAKE(cuEventCreate, 0);
    CUevent b = MAKE(cuEventCreate, 0);
    CUstream s = MAKE(cuStreamCreate, 0);
    ASK(cuEventElapsedTime_v1, ", never recorded", &ms, a, b);
    d.cuEventRecord(a, s);
    d.cuEventRecord(b, s);
    d.cuStreamSynchronize(s);
    ASK(cuEventElapsedTime_v1, "", &ms, a, b);
    ASK(cuEventDestroy_v1, "", a);
    d.cuEventDestroy(b);
    ASK(cuStreamDestroy_v1, "", s);
    char *pages = static_cast<char *>(std::aligned_alloc(4096, 4096));
    ASK(cuMemHostRegister_v1, "", pages, 4096, 0);
    ASK(cuMemHostRegister_v1, " again", pages, 4096, 0);
    ASK(cuMemHostUnregister, "", pages);
    std::free(pages);
    void *function = nullptr;
    ASK(cuGetProcAddress_v1, "", "cuMemAlloc", &function, 12000, 0);
    ASK(cuGetProcAddress_v1, " of none", "cuNothing", &function, 12000, 0);
    CUlinkState link = nullptr;
    ASK(cuLinkCreate_v1, "", 0, nullptr, nullptr, &link);
    ASK(cuLinkAddData_v1, "", link, CU_JIT_INPUT_PTX, const_cast<char *>(ptx), std::strlen(ptx) + 1,
        "x", 0, nullptr, nullptr);
    ASK(cuLinkAddFile_v1, " of none", link, CU_JIT_INPUT_PTX, "/nonexistent/file.ptx", 0, nullptr,
        nullptr);
    ASK(cuLinkDestroy, "", link);
    const PtxFile file;
    ASK(cuLinkCreate_v1, "", 0, nullptr, nullptr, &link);
    ASK(cuLinkAddFile_v1, "", link, CU_JIT_INPUT_PTX, file.path(), 0, nullptr, nullptr);
    ASK(cuLinkDestroy, "", link);
}

SECTION("older_managed", start) {
    constexpr std::size_t size = 2 << 20;
    CUstream s = MAKE(cuStreamCreate, 0);
    CUdeviceptr p = MAKE(cuMemAllocManaged, size, CU_MEM_ATTACH_GLOBAL);
    ASK(cuMemAdvise_v1, "", p, size, CU_MEM_ADVISE_SET_READ_MOSTLY, 0);
    ASK(cuMemAdvise_v1, " preferred location, device 99", p, size,
        CU_MEM_ADVISE_SET_PREFERRED_LOCATION, 99);
    ASK(cuMemPrefetchAsync_v1, "", p, size, 0, s);
    ASK(cuMemPrefetchAsync_v1, " to the host", p, size, CU_DEVICE_CPU, s);
    ASK(cuMemPrefetchAsync_v1, " device 99", p, size, 99, s);
    ASK(cuMemPrefetchAsync_ptsz, "", p, size, 0, s);
    ASK(cuMemPrefetchAsync_ptsz, " device 99", p, size, 99, s);
    ASK(cuStreamSynchronize, "", s);
    d.cuMemFree(p);
    d.cuStreamDestroy(s);
}

SECTION("older_batches", start) {
    CUdeviceptr p = MAKE(cuMemAlloc, 4096);
    CUstream s = MAKE(cuStreamCreate, 0);
    CUdeviceptr to[] = {p}, from[] = {p + 1024};
    std::size_t sizes[] = {64}, first[] = {0}, failed = 77;
    CUmemcpyAttributes how{.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM};
    ASK(cuMemcpyBatchAsync_v1, "", to, from, sizes, 1, &how, first, 1, &failed, s);
    ASK(cuMemcpyBatchAsync_v1, " of 0 copies", to, from, sizes, 0, &how, first, 1, &failed, s);
    ASK(cuMemcpyBatchAsync_ptsz, "", to, from, sizes, 1, &how, first, 1, &failed, s);
    CUDA_MEMCPY3D_BATCH_OP op{};
    op.src.type = op.dst.type = CU_MEMCPY_OPERAND_TYPE_POINTER;
    op.src.op.ptr.ptr = p + 1024;
    op.dst.op.ptr.ptr = p;
    op.extent.width = 64;
    op.extent.height = op.extent.depth = 1;
    op.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
    ASK(cuMemcpy3DBatchAsync_v1, "", 1, &op, &failed, 0, s);
    ASK(cuMemcpy3DBatchAsync_v1, " flags 1", 1, &op, &failed, 1, s);
    ASK(cuMemcpy3DBatchAsync_ptsz, "", 1, &op, &failed, 0, s);
    d.cuMemsetD8(p, 0, 64);
    ASK(cuStreamWriteValue32_v1, "", s, p, 5, 0);
    ASK(cuStreamWriteValue64_v1, "", s, p, 5, 0);
    ASK(cuStreamWriteValue32_ptsz, "", s, p, 5, 0);
    ASK(cuStreamWriteValue64_ptsz, "", s, p, 5, 0);
    ASK(cuStreamSynchronize, "", s);
    const unsigned int five[] = {5, 0}; // the failed calls above wrote nothing
    d.cuMemcpyHtoD(p, five, sizeof five);
    ASK(cuStreamWaitValue32_v1, "", s, p, 5, CU_STREAM_WAIT_VALUE_EQ);
    ASK(cuStreamWaitValue64_v1, "", s, p, 5, CU_STREAM_WAIT_VALUE_EQ);
    ASK(cuStreamWaitValue32_ptsz, "", s, p, 5, CU_STREAM_WAIT_VALUE_EQ);
    ASK(cuStreamWaitValue64_ptsz, "", s, p, 5, CU_STREAM_WAIT_VALUE_EQ);
    CUstreamBatchMemOpParams write{};
    write.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
    write.writeValue.address = p;
    ASK(cuStreamBatchMemOp_v1, "", s, 1, &write, 0);
    ASK(cuStreamBatchMemOp_v1, " flags 1", s, 1, &write, 1);
    ASK(cuStreamBatchMemOp_ptsz, "", s, 1, &write, 0);
    ASK(cuStreamBatchMemOp_ptsz, " flags 1", s, 1, &write, 1);
    ASK(cuStreamSynchronize, "", s);
    d.cuStreamDestroy(s);
    d.cuMemFree(p);
}

SECTION("older_captures", start) {
    CUgraph graph = nullptr, told = nullptr;
    CUgraphNode extra = nullptr;
    CUstreamCaptureStatus status{};
    cuuint64_t id = 0;
    const CUgraphNode *nodes = nullptr;
    std::size_t count = 77;
    CUstream s = MAKE(cuStreamCreate, 0);
    const auto ask_a_capture = [&](const char *what, CUresult begun) {
        ask(what, begun);
        ASK(cuStreamGetCaptureInfo_v1, "", s, &status, &id).note("status", status);
        ASK(cuStreamGetCaptureInfo_ptsz, "", s, &status, &id);
        ask("cuStreamGetCaptureInfo_v2", trace::call<cushim::entry::cuStreamGetCaptureInfo_v2>(
                                             s, &status, &id, &told, &nodes, &count));
        ASK(cuStreamGetCaptureInfo_v2_ptsz, "", s, &status, &id, &told, &nodes, &count);
        note("dependencies", count);
        d.cuGraphAddEmptyNode(&extra, told, nullptr, 0);
        ASK(cuStreamUpdateCaptureDependencies_v1, "", s, &extra, 1,
            CU_STREAM_SET_CAPTURE_DEPENDENCIES);
        ASK(cuStreamUpdateCaptureDependencies_v1, " flags 7", s, &extra, 1, 7);
        ASK(cuStreamUpdateCaptureDependencies_ptsz, "", s, &extra, 1,
            CU_STREAM_ADD_CAPTURE_DEPENDENCIES);
        ASK(cuStreamEndCapture, "", s, &graph);
        d.cuGraphDestroy(graph);
    };
    ask_a_capture("cuStreamBeginCapture_v1", d.cuStreamBeginCapture_v1(s));
    ask_a_capture("cuStreamBeginCapture_ptsz", d.cuStreamBeginCapture_ptsz(s));
    ASK(cuStreamBeginCapture_ptsz, "", s);
    ASK(cuStreamBeginCapture_ptsz, " again", s);
    ASK(cuStreamBeginCapture_v1, " again", s);
    d.cuStreamEndCapture(s, &graph);
    d.cuStreamDestroy(s);
}

SECTION("older_graphs", start) {
    CUgraphNode a = nullptr, b = nullptr, e = nullptr, found[4] = {};
    CUgraphExec exec = nullptr;
    std::size_t count = 4;
    CUmodule module = MAKE(cuModuleLoadData, ptx);
    CUfunction empty = MAKE(cuModuleGetFunction, module, "empty");
    CUgraph graph = MAKE(cuGraphCreate, 0);
    auto launch = launch_of<CUDA_KERNEL_NODE_PARAMS_v1>(1), back = launch;
    launch.func = empty;
    ASK(cuGraphAddKernelNode_v1, "", &a, graph, nullptr, 0, &launch);
    ASK(cuGraphKernelNodeGetParams_v1, "", a, &back);
    launch.gridDimX = 2;
    ASK(cuGraphKernelNodeSetParams_v1, "", a, &launch);
    CUgraphNodeParams nothing{};
    nothing.type = CU_GRAPH_NODE_TYPE_EMPTY;
    ASK(cuGraphAddNode_v1, "", &b, graph, &a, 1, &nothing);
    ASK(cuGraphNodeGetDependencies_v1, "", b, found, &count).note("dependencies", count);
    count = 4;
    ASK(cuGraphNodeGetDependentNodes_v1, "", a, found, &count).note("dependent nodes", count);
    ask("cuGraphInstantiate_v1",
        trace::call<cushim::entry::cuGraphInstantiate_v1>(&exec, graph, &e, nullptr, 0));
    ASK(cuGraphExecKernelNodeSetParams_v1, "", exec, a, &launch);
    CUgraphExecUpdateResult result{};
    ASK(cuGraphExecUpdate_v1, "", exec, graph, &e, &result).note("result", result);
    ASK(cuGraphExecDestroy, "", exec);
    ask("cuGraphInstantiate_v2",
        trace::call<cushim::entry::cuGraphInstantiate_v2>(&exec, graph, &e, nullptr, 0));
    ASK(cuGraphExecDestroy, "", exec);
    d.cuGraphDestroy(graph);
    d.cuModuleUnload(module);
}

} // namespace record::QUESTIONS
