// Names for older programs: ABIs that were replaced, and the variants with a per-thread default
// stream.
#include "../../record.hpp"
#include "../../trace.hpp"
#include "../ptx_file.hpp"

#include <cstdlib>
#include <cstring>

namespace record::QUESTIONS {

void older_contexts() {
    d.cuInit(0);
    CUcontext a = nullptr, popped = nullptr, attached = nullptr;
    CUuuid uuid{};
    ask("cuDeviceGetUuid_v1", d.cuDeviceGetUuid_v1(&uuid, 0));
    ask("cuDevicePrimaryCtxSetFlags_v1", d.cuDevicePrimaryCtxSetFlags_v1(0, 0));
    ask("cuDevicePrimaryCtxSetFlags_v1 dev 99", d.cuDevicePrimaryCtxSetFlags_v1(99, 0));
    ask("cuDevicePrimaryCtxRetain", d.cuDevicePrimaryCtxRetain(&a, 0));
    ask("cuDevicePrimaryCtxRelease_v1", d.cuDevicePrimaryCtxRelease_v1(0));
    ask("cuDevicePrimaryCtxRelease_v1 dev 99", d.cuDevicePrimaryCtxRelease_v1(99));
    ask("cuDevicePrimaryCtxRetain", d.cuDevicePrimaryCtxRetain(&a, 0));
    ask("cuDevicePrimaryCtxReset_v1", d.cuDevicePrimaryCtxReset_v1(0));
    ask("cuDevicePrimaryCtxReset_v1 dev 99", d.cuDevicePrimaryCtxReset_v1(99));
    ask("cuDevicePrimaryCtxReset dev 99", d.cuDevicePrimaryCtxReset(99));
    ask("cuCtxPopCurrent_v1, none", d.cuCtxPopCurrent_v1(&popped));
    ask("cuCtxCreate_v1", d.cuCtxCreate_v1(&a, 0, 0));
    ask("cuCtxPopCurrent_v1", d.cuCtxPopCurrent_v1(&popped));
    note("it was popped", popped == a);
    ask("cuCtxPushCurrent_v1", d.cuCtxPushCurrent_v1(a));
    ask("cuCtxAttach", d.cuCtxAttach(&attached, 0));
    note("the same context", attached == a);
    ask("cuCtxDetach", d.cuCtxDetach(attached));
    ask("cuCtxDestroy_v1", d.cuCtxDestroy_v1(a));
    ask("cuCtxCreate_v1", d.cuCtxCreate_v1(&a, 0, 0));
    ask("cuCtxDetach of the last reference", d.cuCtxDetach(a));
    ask("cuCtxGetCurrent", d.cuCtxGetCurrent(&popped));
    note("none is current", popped == nullptr);
}

void older_objects() {
    if (!start()) {
        return;
    }
    CUevent a = nullptr, b = nullptr;
    CUstream s = nullptr;
    float ms = 0;
    d.cuEventCreate(&a, 0);
    d.cuEventCreate(&b, 0);
    d.cuStreamCreate(&s, 0);
    ask("cuEventElapsedTime_v1, never recorded", d.cuEventElapsedTime_v1(&ms, a, b));
    d.cuEventRecord(a, s);
    d.cuEventRecord(b, s);
    d.cuStreamSynchronize(s);
    ask("cuEventElapsedTime_v1", d.cuEventElapsedTime_v1(&ms, a, b));
    ask("cuEventDestroy_v1", d.cuEventDestroy_v1(a));
    d.cuEventDestroy(b);
    ask("cuStreamDestroy_v1", d.cuStreamDestroy_v1(s));
    char *pages = static_cast<char *>(std::aligned_alloc(4096, 4096));
    ask("cuMemHostRegister_v1", d.cuMemHostRegister_v1(pages, 4096, 0));
    ask("cuMemHostRegister_v1 again", d.cuMemHostRegister_v1(pages, 4096, 0));
    ask("cuMemHostUnregister", d.cuMemHostUnregister(pages));
    std::free(pages);
    void *function = nullptr;
    ask("cuGetProcAddress_v1", d.cuGetProcAddress_v1("cuMemAlloc", &function, 12000, 0));
    ask("cuGetProcAddress_v1 of none", d.cuGetProcAddress_v1("cuNothing", &function, 12000, 0));
    CUlinkState link = nullptr;
    ask("cuLinkCreate_v1", d.cuLinkCreate_v1(0, nullptr, nullptr, &link));
    ask("cuLinkAddData_v1", d.cuLinkAddData_v1(link, CU_JIT_INPUT_PTX, const_cast<char *>(ptx),
                                               std::strlen(ptx) + 1, "x", 0, nullptr, nullptr));
    ask("cuLinkAddFile_v1 of none",
        d.cuLinkAddFile_v1(link, CU_JIT_INPUT_PTX, "/nonexistent/file.ptx", 0, nullptr, nullptr));
    ask("cuLinkDestroy", d.cuLinkDestroy(link));
    const PtxFile file;
    ask("cuLinkCreate_v1", d.cuLinkCreate_v1(0, nullptr, nullptr, &link));
    ask("cuLinkAddFile_v1",
        d.cuLinkAddFile_v1(link, CU_JIT_INPUT_PTX, file.path(), 0, nullptr, nullptr));
    ask("cuLinkDestroy", d.cuLinkDestroy(link));
}

void older_managed() {
    if (!start()) {
        return;
    }
    constexpr std::size_t size = 2 << 20;
    CUdeviceptr p = 0;
    CUstream s = nullptr;
    d.cuStreamCreate(&s, 0);
    d.cuMemAllocManaged(&p, size, CU_MEM_ATTACH_GLOBAL);
    ask("cuMemAdvise_v1", d.cuMemAdvise_v1(p, size, CU_MEM_ADVISE_SET_READ_MOSTLY, 0));
    ask("cuMemAdvise_v1 preferred location, device 99",
        d.cuMemAdvise_v1(p, size, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, 99));
    ask("cuMemPrefetchAsync_v1", d.cuMemPrefetchAsync_v1(p, size, 0, s));
    ask("cuMemPrefetchAsync_v1 to the host", d.cuMemPrefetchAsync_v1(p, size, CU_DEVICE_CPU, s));
    ask("cuMemPrefetchAsync_v1 device 99", d.cuMemPrefetchAsync_v1(p, size, 99, s));
    ask("cuMemPrefetchAsync_ptsz", d.cuMemPrefetchAsync_ptsz(p, size, 0, s));
    ask("cuMemPrefetchAsync_ptsz device 99", d.cuMemPrefetchAsync_ptsz(p, size, 99, s));
    ask("cuStreamSynchronize", d.cuStreamSynchronize(s));
    d.cuMemFree(p);
    d.cuStreamDestroy(s);
}

void older_batches() {
    if (!start()) {
        return;
    }
    CUdeviceptr p = 0;
    CUstream s = nullptr;
    d.cuMemAlloc(&p, 4096);
    d.cuStreamCreate(&s, 0);
    CUdeviceptr to[] = {p}, from[] = {p + 1024};
    std::size_t sizes[] = {64}, first[] = {0}, failed = 77;
    CUmemcpyAttributes how{};
    how.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
    ask("cuMemcpyBatchAsync_v1",
        d.cuMemcpyBatchAsync_v1(to, from, sizes, 1, &how, first, 1, &failed, s));
    ask("cuMemcpyBatchAsync_v1 of 0 copies",
        d.cuMemcpyBatchAsync_v1(to, from, sizes, 0, &how, first, 1, &failed, s));
    ask("cuMemcpyBatchAsync_ptsz",
        d.cuMemcpyBatchAsync_ptsz(to, from, sizes, 1, &how, first, 1, &failed, s));
    CUDA_MEMCPY3D_BATCH_OP op{};
    op.src.type = op.dst.type = CU_MEMCPY_OPERAND_TYPE_POINTER;
    op.src.op.ptr.ptr = p + 1024;
    op.dst.op.ptr.ptr = p;
    op.extent.width = 64;
    op.extent.height = op.extent.depth = 1;
    op.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
    ask("cuMemcpy3DBatchAsync_v1", d.cuMemcpy3DBatchAsync_v1(1, &op, &failed, 0, s));
    ask("cuMemcpy3DBatchAsync_v1 flags 1", d.cuMemcpy3DBatchAsync_v1(1, &op, &failed, 1, s));
    ask("cuMemcpy3DBatchAsync_ptsz", d.cuMemcpy3DBatchAsync_ptsz(1, &op, &failed, 0, s));
    d.cuMemsetD8(p, 0, 64);
    ask("cuStreamWriteValue32_v1", d.cuStreamWriteValue32_v1(s, p, 5, 0));
    ask("cuStreamWriteValue64_v1", d.cuStreamWriteValue64_v1(s, p, 5, 0));
    ask("cuStreamWriteValue32_ptsz", d.cuStreamWriteValue32_ptsz(s, p, 5, 0));
    ask("cuStreamWriteValue64_ptsz", d.cuStreamWriteValue64_ptsz(s, p, 5, 0));
    ask("cuStreamSynchronize", d.cuStreamSynchronize(s));
    const unsigned int five[] = {5, 0}; // the failed calls above wrote nothing
    d.cuMemcpyHtoD(p, five, sizeof five);
    ask("cuStreamWaitValue32_v1", d.cuStreamWaitValue32_v1(s, p, 5, CU_STREAM_WAIT_VALUE_EQ));
    ask("cuStreamWaitValue64_v1", d.cuStreamWaitValue64_v1(s, p, 5, CU_STREAM_WAIT_VALUE_EQ));
    ask("cuStreamWaitValue32_ptsz", d.cuStreamWaitValue32_ptsz(s, p, 5, CU_STREAM_WAIT_VALUE_EQ));
    ask("cuStreamWaitValue64_ptsz", d.cuStreamWaitValue64_ptsz(s, p, 5, CU_STREAM_WAIT_VALUE_EQ));
    CUstreamBatchMemOpParams write{};
    write.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
    write.writeValue.address = p;
    ask("cuStreamBatchMemOp_v1", d.cuStreamBatchMemOp_v1(s, 1, &write, 0));
    ask("cuStreamBatchMemOp_v1 flags 1", d.cuStreamBatchMemOp_v1(s, 1, &write, 1));
    ask("cuStreamBatchMemOp_ptsz", d.cuStreamBatchMemOp_ptsz(s, 1, &write, 0));
    ask("cuStreamBatchMemOp_ptsz flags 1", d.cuStreamBatchMemOp_ptsz(s, 1, &write, 1));
    ask("cuStreamSynchronize", d.cuStreamSynchronize(s));
    d.cuStreamDestroy(s);
    d.cuMemFree(p);
}

void older_captures() {
    if (!start()) {
        return;
    }
    CUstream s = nullptr;
    CUgraph graph = nullptr, told = nullptr;
    CUgraphNode extra = nullptr;
    CUstreamCaptureStatus status{};
    cuuint64_t id = 0;
    const CUgraphNode *nodes = nullptr;
    std::size_t count = 77;
    d.cuStreamCreate(&s, 0);
    const auto ask_a_capture = [&](const char *what, CUresult begun) {
        ask(what, begun);
        ask("cuStreamGetCaptureInfo_v1", d.cuStreamGetCaptureInfo_v1(s, &status, &id));
        note("status", status);
        ask("cuStreamGetCaptureInfo_ptsz", d.cuStreamGetCaptureInfo_ptsz(s, &status, &id));
        ask("cuStreamGetCaptureInfo_v2", trace::call<cushim::entry::cuStreamGetCaptureInfo_v2>(
                                             s, &status, &id, &told, &nodes, &count));
        ask("cuStreamGetCaptureInfo_v2_ptsz",
            d.cuStreamGetCaptureInfo_v2_ptsz(s, &status, &id, &told, &nodes, &count));
        note("dependencies", static_cast<long long>(count));
        d.cuGraphAddEmptyNode(&extra, told, nullptr, 0);
        ask("cuStreamUpdateCaptureDependencies_v1",
            d.cuStreamUpdateCaptureDependencies_v1(s, &extra, 1,
                                                   CU_STREAM_SET_CAPTURE_DEPENDENCIES));
        ask("cuStreamUpdateCaptureDependencies_v1 flags 7",
            d.cuStreamUpdateCaptureDependencies_v1(s, &extra, 1, 7));
        ask("cuStreamUpdateCaptureDependencies_ptsz",
            d.cuStreamUpdateCaptureDependencies_ptsz(s, &extra, 1,
                                                     CU_STREAM_ADD_CAPTURE_DEPENDENCIES));
        ask("cuStreamEndCapture", d.cuStreamEndCapture(s, &graph));
        d.cuGraphDestroy(graph);
    };
    ask_a_capture("cuStreamBeginCapture_v1", d.cuStreamBeginCapture_v1(s));
    ask_a_capture("cuStreamBeginCapture_ptsz", d.cuStreamBeginCapture_ptsz(s));
    ask("cuStreamBeginCapture_ptsz", d.cuStreamBeginCapture_ptsz(s));
    ask("cuStreamBeginCapture_ptsz again", d.cuStreamBeginCapture_ptsz(s));
    ask("cuStreamBeginCapture_v1 again", d.cuStreamBeginCapture_v1(s));
    d.cuStreamEndCapture(s, &graph);
    d.cuStreamDestroy(s);
}

void older_graphs() {
    if (!start()) {
        return;
    }
    CUmodule module = nullptr;
    CUfunction empty = nullptr;
    CUgraph graph = nullptr;
    CUgraphNode a = nullptr, b = nullptr, e = nullptr, found[4] = {};
    CUgraphExec exec = nullptr;
    std::size_t count = 4;
    d.cuModuleLoadData(&module, ptx);
    d.cuModuleGetFunction(&empty, module, "empty");
    d.cuGraphCreate(&graph, 0);
    CUDA_KERNEL_NODE_PARAMS_v1 launch{}, back{};
    launch.func = empty;
    launch.gridDimX = launch.gridDimY = launch.gridDimZ = 1;
    launch.blockDimX = launch.blockDimY = launch.blockDimZ = 1;
    ask("cuGraphAddKernelNode_v1", d.cuGraphAddKernelNode_v1(&a, graph, nullptr, 0, &launch));
    ask("cuGraphKernelNodeGetParams_v1", d.cuGraphKernelNodeGetParams_v1(a, &back));
    launch.gridDimX = 2;
    ask("cuGraphKernelNodeSetParams_v1", d.cuGraphKernelNodeSetParams_v1(a, &launch));
    CUgraphNodeParams nothing{};
    nothing.type = CU_GRAPH_NODE_TYPE_EMPTY;
    ask("cuGraphAddNode_v1", d.cuGraphAddNode_v1(&b, graph, &a, 1, &nothing));
    ask("cuGraphNodeGetDependencies_v1", d.cuGraphNodeGetDependencies_v1(b, found, &count));
    note("dependencies", static_cast<long long>(count));
    count = 4;
    ask("cuGraphNodeGetDependentNodes_v1", d.cuGraphNodeGetDependentNodes_v1(a, found, &count));
    note("dependent nodes", static_cast<long long>(count));
    ask("cuGraphInstantiate_v1",
        trace::call<cushim::entry::cuGraphInstantiate_v1>(&exec, graph, &e, nullptr, 0));
    ask("cuGraphExecKernelNodeSetParams_v1", d.cuGraphExecKernelNodeSetParams_v1(exec, a, &launch));
    CUgraphExecUpdateResult result{};
    ask("cuGraphExecUpdate_v1", d.cuGraphExecUpdate_v1(exec, graph, &e, &result));
    note("result", result);
    ask("cuGraphExecDestroy", d.cuGraphExecDestroy(exec));
    ask("cuGraphInstantiate_v2",
        trace::call<cushim::entry::cuGraphInstantiate_v2>(&exec, graph, &e, nullptr, 0));
    ask("cuGraphExecDestroy", d.cuGraphExecDestroy(exec));
    d.cuGraphDestroy(graph);
    d.cuModuleUnload(module);
}

} // namespace record::QUESTIONS
