// Streams and events of one device while the other's context or no context is current, and their
// interaction.
#include "two_devices.hpp"

namespace record::QUESTIONS::two_devices {

namespace {

// Queries and uses of device 1's stream.
void use_stream(const Sides &of) {
    const CUstream stream = of.one.stream;
    CUcontext context = nullptr;
    CUdevice device = 77;
    unsigned int flags = 77;
    int priority = 77;
    unsigned long long id = 0;
    CUstreamCaptureStatus capture{};
    CUstreamAttrValue value{};
    ASK(cuStreamQuery, "", stream);
    ASK(cuStreamSynchronize, "", stream);
    ASK(cuStreamGetCtx, "", stream, &context).note("it is 1's", context == of.one.context);
    tell("cuStreamGetDevice", d.cuStreamGetDevice(stream, &device), device);
    tell("cuStreamGetFlags", d.cuStreamGetFlags(stream, &flags), flags);
    ASK(cuStreamGetPriority, "", stream, &priority);
    ASK(cuStreamGetId, "", stream, &id);
    ASK(cuStreamIsCapturing, "", stream, &capture);
    tell("cuStreamGetAttribute",
         d.cuStreamGetAttribute(stream, CU_STREAM_ATTRIBUTE_SYNCHRONIZATION_POLICY, &value),
         value.syncPolicy);
    value.syncPolicy = CU_SYNC_POLICY_YIELD;
    ASK(cuStreamSetAttribute, "", stream, CU_STREAM_ATTRIBUTE_SYNCHRONIZATION_POLICY, &value);
    ASK(cuStreamCopyAttributes, " from 0's", stream, of.zero.stream);
    ASK(cuLaunchHostFunc, "", stream, [](void *) {}, nullptr);
    ASK(cuStreamAddCallback, "", stream, [](CUstream, CUresult, void *) {}, nullptr, 0);
    ASK(cuMemsetD8Async, " of 1's memory", of.one.memory, 7, 16, stream);
    ASK(cuStreamWriteValue32, " of 1's memory", stream, of.one.memory, 0x07070707, 0);
    ASK(cuStreamWaitValue32, " of 1's memory", stream, of.one.memory, 0, CU_STREAM_WAIT_VALUE_GEQ);
    ASK(cuStreamSynchronize, "", stream).note("it was set", of.one.holds(7));
    of.one.fill(1);
}

void allocate_in_stream(const Sides &of) {
    CUdeviceptr p = 0;
    int ordinal = 77;
    ASK(cuMemAllocAsync, "", &p, 4096, of.one.stream);
    tell("DEVICE_ORDINAL",
         d.cuPointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, p), ordinal);
    ASK(cuStreamSynchronize, "", of.one.stream);
    ASK(cuMemFreeAsync, " in 0's stream", p, of.zero.stream);
    ASK(cuStreamSynchronize, " of it", of.zero.stream);
    p = 0;
    d.cuMemAllocAsync(&p, 4096, of.one.stream);
    ASK(cuMemFreeAsync, "", p, of.one.stream);
    ASK(cuStreamSynchronize, "", of.one.stream);
}

void capture_stream(const Sides &of) {
    CUgraph graph = nullptr;
    CUgraphExec exec = nullptr;
    ASK(cuStreamBeginCapture, "", of.one.stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
    ASK(cuMemsetD8Async, " into it", of.one.memory, 9, 16, of.one.stream);
    ASK(cuStreamEndCapture, "", of.one.stream, &graph);
    ASK(cuGraphInstantiateWithFlags, "", &exec, graph, 0);
    ASK(cuGraphLaunch, "", exec, of.one.stream);
    ASK(cuStreamSynchronize, "", of.one.stream).note("it was set", of.one.holds(9));
    ASK(cuGraphExecDestroy, "", exec);
    ASK(cuGraphDestroy, "", graph);
}

void stream_elsewhere(const Sides &of) {
    use_stream(of);
    allocate_in_stream(of);
    capture_stream(of);
    ASK(cuStreamDestroy, "", of.one.stream);
}

void stream_nowhere(const Sides &of) {
    d.cuCtxSetCurrent(nullptr);
    stream_elsewhere(of);
}

// --- events

void mark_and_wait(const Sides &of) {
    ASK(cuEventRecord, " of 1's, stream of 1", of.one.event, of.one.stream);
    ASK(cuEventRecord, " of 1's, stream of 0", of.one.event, of.zero.stream);
    ASK(cuEventRecord, " of 1's, null stream", of.one.event, nullptr);
    ASK(cuEventRecord, " of 0's, stream of 1", of.zero.event, of.one.stream);
    ASK(cuEventRecordWithFlags, " of 0's, stream of 1", of.zero.event, of.one.stream, 0);
    ASK(cuEventRecord, " of 0's, stream of 0", of.zero.event, of.zero.stream);
    ASK(cuStreamWaitEvent, " for 1's, stream of 0", of.zero.stream, of.one.event, 0);
    ASK(cuStreamWaitEvent, " for 1's, null stream", nullptr, of.one.event, 0);
    ASK(cuStreamWaitEvent, " for 0's, stream of 1", of.one.stream, of.zero.event, 0);
    ASK(cuStreamWaitEvent, " for 1's, stream of 1", of.one.stream, of.one.event, 0);
    ASK(cuEventSynchronize, " of 1's", of.one.event);
    ASK(cuEventQuery, " of 1's", of.one.event);
    ASK(cuEventSynchronize, " of 0's", of.zero.event);
    ASK(cuCtxRecordEvent, " of 1's in 1's", of.one.context, of.one.event);
    ASK(cuCtxRecordEvent, " of 0's in 1's", of.one.context, of.zero.event);
    ASK(cuCtxWaitEvent, " for 0's in 1's", of.one.context, of.zero.event);
    ASK(cuCtxWaitEvent, " for 1's in 0's", of.zero.context, of.one.event);
    of.synchronize();
}

void tell_times(const Sides &of) {
    float time = 0;
    of.one.enter();
    CUevent ones = MAKE(cuEventCreate, 0);
    CUevent ones_later = MAKE(cuEventCreate, 0);
    d.cuEventRecord(ones, of.one.stream);
    d.cuEventRecord(ones_later, of.one.stream);
    of.zero.enter();
    CUevent zeros = MAKE(cuEventCreate, 0);
    d.cuEventRecord(zeros, of.zero.stream);
    of.synchronize();
    ASK(cuEventElapsedTime, " from 0's to 1's", &time, zeros, ones);
    ASK(cuEventElapsedTime, " from 1's to 0's", &time, ones, zeros);
    ASK(cuEventElapsedTime, " of 1's", &time, ones, ones_later);
    ASK(cuEventDestroy, " of 1's", ones);
    d.cuCtxSetCurrent(nullptr);
    ASK(cuEventElapsedTime, " of 1's, destroyed in part", &time, ones_later, ones_later);
    ASK(cuEventDestroy, " without a context", ones_later);
    of.zero.enter();
}

void event_elsewhere(const Sides &of) {
    mark_and_wait(of);
    ASK(cuEventDestroy, " of 1's", of.one.event);
}

void event_nowhere(const Sides &of) {
    d.cuCtxSetCurrent(nullptr);
    event_elsewhere(of);
}

// One device waits for the other and copies the memory that it has set.
void hand_over(const Sides &of) {
    for (int round = 0; round < 20; ++round) {
        const auto value = static_cast<unsigned char>(round + 1);
        d.cuMemsetD8Async(of.zero.memory, value, Side::size, of.zero.stream);
        d.cuEventRecord(of.zero.event, of.zero.stream);
        d.cuStreamWaitEvent(of.one.stream, of.zero.event, 0);
        d.cuMemcpyPeerAsync(of.one.memory, of.one.context, of.zero.memory, of.zero.context,
                            Side::size, of.one.stream);
        d.cuEventRecord(of.one.event, of.one.stream);
        d.cuStreamWaitEvent(of.zero.stream, of.one.event, 0);
    }
    ASK(cuStreamSynchronize, " of 0's", of.zero.stream);
    note("the last one arrived", of.one.holds(20));
}

} // namespace

SECTION("streams") {
    apart("0 current", stream_elsewhere);
    apart("none current", stream_nowhere);
}

SECTION("events") {
    apart("0 current", event_elsewhere);
    apart("none current", event_nowhere);
    apart("times", tell_times);
    apart("handed over", hand_over);
}

} // namespace record::QUESTIONS::two_devices
