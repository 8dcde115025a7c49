// Further stream questions: values in memory, attributes, capture information.
#include "../../record.hpp"

namespace record::QUESTIONS {

namespace {

constexpr CUdeviceptr garbage = 0x1234560;

void attributes_of(CUstream s, CUstream other) {
    CUstreamAttrValue value{};
    constexpr auto policy = CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY;
    value.syncPolicy = CU_SYNC_POLICY_YIELD;
    ASK(cuStreamSetAttribute, " policy", s, policy, &value);
    value.syncPolicy = CU_SYNC_POLICY_AUTO;
    ASK(cuStreamGetAttribute, " policy", s, policy, &value).note("policy", value.syncPolicy);
    ASK(cuStreamCopyAttributes, "", other, s);
    d.cuStreamGetAttribute(other, policy, &value);
    note("policy of the other", value.syncPolicy);
    value.syncPolicy = static_cast<CUsynchronizationPolicy>(77);
    ASK(cuStreamSetAttribute, " policy 77", s, policy, &value);
    ASK(cuStreamSetAttribute, " 77", s, static_cast<CUstreamAttrID>(77), &value);
}

} // namespace

SECTION("stream_values", start) {
    CUdeviceptr word = MAKE(cuMemAlloc, 64);
    d.cuMemsetD8(word, 0, 64);
    CUstream s = MAKE(cuStreamCreate, 0);
    ASK(cuStreamWriteValue64, "", s, word, 5, 0);
    // At an address that no wait reads, in case the call writes nevertheless.
    ASK(cuStreamWriteValue64, " unaligned", s, word + 36, 5, 0);
    ASK(cuStreamWriteValue64, " of garbage", s, garbage, 5, 0);
    ASK(cuStreamWaitValue64, " satisfied", s, word, 5, CU_STREAM_WAIT_VALUE_EQ);
    ASK(cuStreamWaitValue64, " greater or equal", s, word, 4, CU_STREAM_WAIT_VALUE_GEQ);
    ASK(cuStreamWaitValue64, " unaligned", s, word + 4, 0, 0);
    ASK(cuStreamWaitValue64, " flags 0x10", s, word, 5, 0x10);
    CUstreamBatchMemOpParams ops[2] = {};
    ops[0].operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
    ops[0].writeValue.address = word + 16;
    ops[0].writeValue.value = 3;
    ops[1].operation = CU_STREAM_MEM_OP_WAIT_VALUE_32;
    ops[1].waitValue.address = word + 16;
    ops[1].waitValue.value = 3;
    ops[1].waitValue.flags = CU_STREAM_WAIT_VALUE_EQ;
    ASK(cuStreamBatchMemOp, "", s, 2, ops, 0);
    ASK(cuStreamBatchMemOp, " flags 1", s, 2, ops, 1);
    ASK(cuStreamSynchronize, "", s);
    unsigned int value = 0;
    d.cuMemcpyDtoH(&value, word + 16, sizeof value);
    note("value", value);
    d.cuStreamDestroy(s);
    d.cuMemFree(word);
}

SECTION("stream_details", start) {
    CUstream refused = nullptr;
    CUdevice device = 99;
    int priority = 0;
    CUstream s = MAKE(cuStreamCreate, 0);
    CUstream other = MAKE(cuStreamCreate, 0);
    CUevent event = MAKE(cuEventCreate, 0);
    ASK(cuStreamGetDevice, "", s, &device).note("device", device);
    ASK(cuStreamGetDevice, "(null)", s, nullptr);
    ASK(cuStreamGetPriority, "(null)", s, nullptr);
    ASK(cuStreamGetPriority, "", s, &priority);
    ASK(cuStreamCreateWithPriority, " flags 0x80", &refused, 0x80, 0);
    ASK(cuEventRecordWithFlags, "", event, s, 0);
    ASK(cuEventRecordWithFlags, " 0x80", event, s, 0x80);
    static int called;
    called = 0;
    ASK(cuStreamAddCallback, "", s, [](CUstream, CUresult, void *) { ++called; }, nullptr, 0);
    ASK(cuStreamSynchronize, "", s).note("the callback was called", called);
    attributes_of(s, other);
    d.cuEventDestroy(event);
    d.cuStreamDestroy(other);
    d.cuStreamDestroy(s);
}

SECTION("capture_details", start) {
    CUgraph graph = nullptr, same = nullptr;
    CUgraphNode extra = nullptr;
    CUstreamCaptureStatus status{};
    cuuint64_t id = 0;
    const CUgraphNode *nodes = nullptr;
    const CUgraphEdgeData *edges = nullptr;
    std::size_t count = 77;
    CUstream s = MAKE(cuStreamCreate, 0);
    CUdeviceptr p = MAKE(cuMemAlloc, 4096);
    ASK(cuStreamGetCaptureInfo, ", none", s, &status, &id, &graph, &nodes, &edges, &count);
    note("status", status);
    ASK(cuStreamUpdateCaptureDependencies, ", none", s, nullptr, nullptr, 0, 0);
    ASK(cuStreamBeginCapture, "", s, CU_STREAM_CAPTURE_MODE_RELAXED);
    d.cuMemsetD8Async(p, 0, 16, s);
    ASK(cuStreamGetCaptureInfo, "", s, &status, &id, &graph, &nodes, &edges, &count);
    note("status", status);
    note("dependencies", count);
    ASK(cuGraphAddEmptyNode, "", &extra, graph, nullptr, 0);
    ASK(cuStreamUpdateCaptureDependencies, ", add", s, &extra, nullptr, 1,
        CU_STREAM_ADD_CAPTURE_DEPENDENCIES);
    d.cuStreamGetCaptureInfo(s, &status, &id, &graph, &nodes, &edges, &count);
    note("dependencies", count);
    ASK(cuStreamUpdateCaptureDependencies, ", set", s, &extra, nullptr, 1,
        CU_STREAM_SET_CAPTURE_DEPENDENCIES);
    d.cuStreamGetCaptureInfo(s, &status, &id, &graph, &nodes, &edges, &count);
    note("dependencies", count);
    ASK(cuStreamUpdateCaptureDependencies, " flags 7", s, &extra, nullptr, 1, 7);
    ASK(cuStreamEndCapture, "", s, &same);
    d.cuGraphDestroy(same);
    d.cuGraphCreate(&graph, 0);
    ASK(cuStreamBeginCaptureToGraph, " mode 7", s, graph, nullptr, nullptr, 0,
        static_cast<CUstreamCaptureMode>(7));
    d.cuGraphDestroy(graph);
    auto mode = static_cast<CUstreamCaptureMode>(7);
    ASK(cuThreadExchangeStreamCaptureMode, " 7", &mode);
    d.cuMemFree(p);
    d.cuStreamDestroy(s);
}

SECTION("stream_contexts", start) {
    CUstream stream = MAKE(cuStreamCreate, CU_STREAM_NON_BLOCKING);
    for (const CUstream each :
         {CUstream(nullptr), CU_STREAM_LEGACY, CU_STREAM_PER_THREAD, stream}) {
        CUcontext its = nullptr;
        CUgreenCtx green = nullptr;
        ASK(cuStreamGetCtx_v2, "", each, &its, &green);
        note("the primary one", its == context());
        note("no green context", green == nullptr);
    }
    ASK(cuStreamGetCtx_v2, " without outputs", stream, nullptr, nullptr);
}

} // namespace record::QUESTIONS
