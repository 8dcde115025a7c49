// Further stream questions: values in memory, attributes, capture information.
#include "../../record.hpp"

namespace record::QUESTIONS {

namespace {

constexpr CUdeviceptr garbage = 0x1234560;

void attributes_of(CUstream s, CUstream other) {
    CUstreamAttrValue value{};
    constexpr auto policy = CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY;
    value.syncPolicy = CU_SYNC_POLICY_YIELD;
    ask("cuStreamSetAttribute policy", d.cuStreamSetAttribute(s, policy, &value));
    value.syncPolicy = CU_SYNC_POLICY_AUTO;
    ask("cuStreamGetAttribute policy", d.cuStreamGetAttribute(s, policy, &value));
    note("policy", value.syncPolicy);
    ask("cuStreamCopyAttributes", d.cuStreamCopyAttributes(other, s));
    d.cuStreamGetAttribute(other, policy, &value);
    note("policy of the other", value.syncPolicy);
    value.syncPolicy = static_cast<CUsynchronizationPolicy>(77);
    ask("cuStreamSetAttribute policy 77", d.cuStreamSetAttribute(s, policy, &value));
    ask("cuStreamSetAttribute 77",
        d.cuStreamSetAttribute(s, static_cast<CUstreamAttrID>(77), &value));
}

} // namespace

void stream_values() {
    if (!start()) {
        return;
    }
    CUdeviceptr word = 0;
    CUstream s = nullptr;
    d.cuMemAlloc(&word, 64);
    d.cuMemsetD8(word, 0, 64);
    d.cuStreamCreate(&s, 0);
    ask("cuStreamWriteValue64", d.cuStreamWriteValue64(s, word, 5, 0));
    // At an address that no wait reads, in case the call writes nevertheless.
    ask("cuStreamWriteValue64 unaligned", d.cuStreamWriteValue64(s, word + 36, 5, 0));
    ask("cuStreamWriteValue64 of garbage", d.cuStreamWriteValue64(s, garbage, 5, 0));
    ask("cuStreamWaitValue64 satisfied",
        d.cuStreamWaitValue64(s, word, 5, CU_STREAM_WAIT_VALUE_EQ));
    ask("cuStreamWaitValue64 greater or equal",
        d.cuStreamWaitValue64(s, word, 4, CU_STREAM_WAIT_VALUE_GEQ));
    ask("cuStreamWaitValue64 unaligned", d.cuStreamWaitValue64(s, word + 4, 0, 0));
    ask("cuStreamWaitValue64 flags 0x10", d.cuStreamWaitValue64(s, word, 5, 0x10));
    CUstreamBatchMemOpParams ops[2] = {};
    ops[0].operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
    ops[0].writeValue.address = word + 16;
    ops[0].writeValue.value = 3;
    ops[1].operation = CU_STREAM_MEM_OP_WAIT_VALUE_32;
    ops[1].waitValue.address = word + 16;
    ops[1].waitValue.value = 3;
    ops[1].waitValue.flags = CU_STREAM_WAIT_VALUE_EQ;
    ask("cuStreamBatchMemOp", d.cuStreamBatchMemOp(s, 2, ops, 0));
    ask("cuStreamBatchMemOp flags 1", d.cuStreamBatchMemOp(s, 2, ops, 1));
    ask("cuStreamSynchronize", d.cuStreamSynchronize(s));
    unsigned int value = 0;
    d.cuMemcpyDtoH(&value, word + 16, sizeof value);
    note("value", value);
    d.cuStreamDestroy(s);
    d.cuMemFree(word);
}

void stream_details() {
    if (!start()) {
        return;
    }
    CUstream s = nullptr, other = nullptr, refused = nullptr;
    CUdevice device = 99;
    CUevent event = nullptr;
    int priority = 0;
    d.cuStreamCreate(&s, 0);
    d.cuStreamCreate(&other, 0);
    d.cuEventCreate(&event, 0);
    ask("cuStreamGetDevice", d.cuStreamGetDevice(s, &device));
    note("device", device);
    ask("cuStreamGetDevice(null)", d.cuStreamGetDevice(s, nullptr));
    ask("cuStreamGetPriority(null)", d.cuStreamGetPriority(s, nullptr));
    ask("cuStreamGetPriority", d.cuStreamGetPriority(s, &priority));
    ask("cuStreamCreateWithPriority flags 0x80", d.cuStreamCreateWithPriority(&refused, 0x80, 0));
    ask("cuEventRecordWithFlags", d.cuEventRecordWithFlags(event, s, 0));
    ask("cuEventRecordWithFlags 0x80", d.cuEventRecordWithFlags(event, s, 0x80));
    static int called;
    called = 0;
    ask("cuStreamAddCallback",
        d.cuStreamAddCallback(s, [](CUstream, CUresult, void *) { ++called; }, nullptr, 0));
    ask("cuStreamSynchronize", d.cuStreamSynchronize(s));
    note("the callback was called", called);
    attributes_of(s, other);
    d.cuEventDestroy(event);
    d.cuStreamDestroy(other);
    d.cuStreamDestroy(s);
}

void capture_details() {
    if (!start()) {
        return;
    }
    CUstream s = nullptr;
    CUdeviceptr p = 0;
    CUgraph graph = nullptr, same = nullptr;
    CUgraphNode extra = nullptr;
    CUstreamCaptureStatus status{};
    cuuint64_t id = 0;
    const CUgraphNode *nodes = nullptr;
    const CUgraphEdgeData *edges = nullptr;
    std::size_t count = 77;
    d.cuStreamCreate(&s, 0);
    d.cuMemAlloc(&p, 4096);
    ask("cuStreamGetCaptureInfo, none",
        d.cuStreamGetCaptureInfo(s, &status, &id, &graph, &nodes, &edges, &count));
    note("status", status);
    ask("cuStreamUpdateCaptureDependencies, none",
        d.cuStreamUpdateCaptureDependencies(s, nullptr, nullptr, 0, 0));
    ask("cuStreamBeginCapture", d.cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_RELAXED));
    d.cuMemsetD8Async(p, 0, 16, s);
    ask("cuStreamGetCaptureInfo",
        d.cuStreamGetCaptureInfo(s, &status, &id, &graph, &nodes, &edges, &count));
    note("status", status);
    note("dependencies", static_cast<long long>(count));
    ask("cuGraphAddEmptyNode", d.cuGraphAddEmptyNode(&extra, graph, nullptr, 0));
    ask("cuStreamUpdateCaptureDependencies, add",
        d.cuStreamUpdateCaptureDependencies(s, &extra, nullptr, 1,
                                            CU_STREAM_ADD_CAPTURE_DEPENDENCIES));
    d.cuStreamGetCaptureInfo(s, &status, &id, &graph, &nodes, &edges, &count);
    note("dependencies", static_cast<long long>(count));
    ask("cuStreamUpdateCaptureDependencies, set",
        d.cuStreamUpdateCaptureDependencies(s, &extra, nullptr, 1,
                                            CU_STREAM_SET_CAPTURE_DEPENDENCIES));
    d.cuStreamGetCaptureInfo(s, &status, &id, &graph, &nodes, &edges, &count);
    note("dependencies", static_cast<long long>(count));
    ask("cuStreamUpdateCaptureDependencies flags 7",
        d.cuStreamUpdateCaptureDependencies(s, &extra, nullptr, 1, 7));
    ask("cuStreamEndCapture", d.cuStreamEndCapture(s, &same));
    d.cuGraphDestroy(same);
    d.cuGraphCreate(&graph, 0);
    ask("cuStreamBeginCaptureToGraph mode 7",
        d.cuStreamBeginCaptureToGraph(s, graph, nullptr, nullptr, 0,
                                      static_cast<CUstreamCaptureMode>(7)));
    d.cuGraphDestroy(graph);
    auto mode = static_cast<CUstreamCaptureMode>(7);
    ask("cuThreadExchangeStreamCaptureMode 7", d.cuThreadExchangeStreamCaptureMode(&mode));
    d.cuMemFree(p);
    d.cuStreamDestroy(s);
}

} // namespace record::QUESTIONS
