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
    ask("cuStreamQuery", d.cuStreamQuery(stream));
    ask("cuStreamSynchronize", d.cuStreamSynchronize(stream));
    ask("cuStreamGetCtx", d.cuStreamGetCtx(stream, &context));
    note("it is 1's", context == of.one.context);
    tell("cuStreamGetDevice", d.cuStreamGetDevice(stream, &device), device);
    tell("cuStreamGetFlags", d.cuStreamGetFlags(stream, &flags), flags);
    ask("cuStreamGetPriority", d.cuStreamGetPriority(stream, &priority));
    ask("cuStreamGetId", d.cuStreamGetId(stream, &id));
    ask("cuStreamIsCapturing", d.cuStreamIsCapturing(stream, &capture));
    tell("cuStreamGetAttribute",
         d.cuStreamGetAttribute(stream, CU_STREAM_ATTRIBUTE_SYNCHRONIZATION_POLICY, &value),
         value.syncPolicy);
    value.syncPolicy = CU_SYNC_POLICY_YIELD;
    ask("cuStreamSetAttribute",
        d.cuStreamSetAttribute(stream, CU_STREAM_ATTRIBUTE_SYNCHRONIZATION_POLICY, &value));
    ask("cuStreamCopyAttributes from 0's", d.cuStreamCopyAttributes(stream, of.zero.stream));
    ask("cuLaunchHostFunc", d.cuLaunchHostFunc(stream, [](void *) {}, nullptr));
    ask("cuStreamAddCallback",
        d.cuStreamAddCallback(stream, [](CUstream, CUresult, void *) {}, nullptr, 0));
    ask("cuMemsetD8Async of 1's memory", d.cuMemsetD8Async(of.one.memory, 7, 16, stream));
    ask("cuStreamWriteValue32 of 1's memory",
        d.cuStreamWriteValue32(stream, of.one.memory, 0x07070707, 0));
    ask("cuStreamWaitValue32 of 1's memory",
        d.cuStreamWaitValue32(stream, of.one.memory, 0, CU_STREAM_WAIT_VALUE_GEQ));
    ask("cuStreamSynchronize", d.cuStreamSynchronize(stream));
    note("it was set", of.one.holds(7));
    of.one.fill(1);
}

void allocate_in_stream(const Sides &of) {
    CUdeviceptr p = 0;
    int ordinal = 77;
    ask("cuMemAllocAsync", d.cuMemAllocAsync(&p, 4096, of.one.stream));
    tell("DEVICE_ORDINAL",
         d.cuPointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, p), ordinal);
    ask("cuStreamSynchronize", d.cuStreamSynchronize(of.one.stream));
    ask("cuMemFreeAsync in 0's stream", d.cuMemFreeAsync(p, of.zero.stream));
    ask("cuStreamSynchronize of it", d.cuStreamSynchronize(of.zero.stream));
    p = 0;
    d.cuMemAllocAsync(&p, 4096, of.one.stream);
    ask("cuMemFreeAsync", d.cuMemFreeAsync(p, of.one.stream));
    ask("cuStreamSynchronize", d.cuStreamSynchronize(of.one.stream));
}

void capture_stream(const Sides &of) {
    CUgraph graph = nullptr;
    CUgraphExec exec = nullptr;
    ask("cuStreamBeginCapture",
        d.cuStreamBeginCapture(of.one.stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    ask("cuMemsetD8Async into it", d.cuMemsetD8Async(of.one.memory, 9, 16, of.one.stream));
    ask("cuStreamEndCapture", d.cuStreamEndCapture(of.one.stream, &graph));
    ask("cuGraphInstantiateWithFlags", d.cuGraphInstantiateWithFlags(&exec, graph, 0));
    ask("cuGraphLaunch", d.cuGraphLaunch(exec, of.one.stream));
    ask("cuStreamSynchronize", d.cuStreamSynchronize(of.one.stream));
    note("it was set", of.one.holds(9));
    ask("cuGraphExecDestroy", d.cuGraphExecDestroy(exec));
    ask("cuGraphDestroy", d.cuGraphDestroy(graph));
}

void stream_elsewhere(const Sides &of) {
    use_stream(of);
    allocate_in_stream(of);
    capture_stream(of);
    ask("cuStreamDestroy", d.cuStreamDestroy(of.one.stream));
}

void stream_nowhere(const Sides &of) {
    d.cuCtxSetCurrent(nullptr);
    stream_elsewhere(of);
}

// --- events

void mark_and_wait(const Sides &of) {
    ask("cuEventRecord of 1's, stream of 1", d.cuEventRecord(of.one.event, of.one.stream));
    ask("cuEventRecord of 1's, stream of 0", d.cuEventRecord(of.one.event, of.zero.stream));
    ask("cuEventRecord of 1's, null stream", d.cuEventRecord(of.one.event, nullptr));
    ask("cuEventRecord of 0's, stream of 1", d.cuEventRecord(of.zero.event, of.one.stream));
    ask("cuEventRecordWithFlags of 0's, stream of 1",
        d.cuEventRecordWithFlags(of.zero.event, of.one.stream, 0));
    ask("cuEventRecord of 0's, stream of 0", d.cuEventRecord(of.zero.event, of.zero.stream));
    ask("cuStreamWaitEvent for 1's, stream of 0",
        d.cuStreamWaitEvent(of.zero.stream, of.one.event, 0));
    ask("cuStreamWaitEvent for 1's, null stream", d.cuStreamWaitEvent(nullptr, of.one.event, 0));
    ask("cuStreamWaitEvent for 0's, stream of 1",
        d.cuStreamWaitEvent(of.one.stream, of.zero.event, 0));
    ask("cuStreamWaitEvent for 1's, stream of 1",
        d.cuStreamWaitEvent(of.one.stream, of.one.event, 0));
    ask("cuEventSynchronize of 1's", d.cuEventSynchronize(of.one.event));
    ask("cuEventQuery of 1's", d.cuEventQuery(of.one.event));
    ask("cuEventSynchronize of 0's", d.cuEventSynchronize(of.zero.event));
    ask("cuCtxRecordEvent of 1's in 1's", d.cuCtxRecordEvent(of.one.context, of.one.event));
    ask("cuCtxRecordEvent of 0's in 1's", d.cuCtxRecordEvent(of.one.context, of.zero.event));
    ask("cuCtxWaitEvent for 0's in 1's", d.cuCtxWaitEvent(of.one.context, of.zero.event));
    ask("cuCtxWaitEvent for 1's in 0's", d.cuCtxWaitEvent(of.zero.context, of.one.event));
    of.synchronize();
}

void tell_times(const Sides &of) {
    CUevent zeros = nullptr, ones = nullptr, ones_later = nullptr;
    float time = 0;
    of.one.enter();
    d.cuEventCreate(&ones, 0);
    d.cuEventCreate(&ones_later, 0);
    d.cuEventRecord(ones, of.one.stream);
    d.cuEventRecord(ones_later, of.one.stream);
    of.zero.enter();
    d.cuEventCreate(&zeros, 0);
    d.cuEventRecord(zeros, of.zero.stream);
    of.synchronize();
    ask("cuEventElapsedTime from 0's to 1's", d.cuEventElapsedTime(&time, zeros, ones));
    ask("cuEventElapsedTime from 1's to 0's", d.cuEventElapsedTime(&time, ones, zeros));
    ask("cuEventElapsedTime of 1's", d.cuEventElapsedTime(&time, ones, ones_later));
    ask("cuEventDestroy of 1's", d.cuEventDestroy(ones));
    d.cuCtxSetCurrent(nullptr);
    ask("cuEventElapsedTime of 1's, destroyed in part",
        d.cuEventElapsedTime(&time, ones_later, ones_later));
    ask("cuEventDestroy without a context", d.cuEventDestroy(ones_later));
    of.zero.enter();
}

void event_elsewhere(const Sides &of) {
    mark_and_wait(of);
    ask("cuEventDestroy of 1's", d.cuEventDestroy(of.one.event));
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
    ask("cuStreamSynchronize of 0's", d.cuStreamSynchronize(of.zero.stream));
    note("the last one arrived", of.one.holds(20));
}

} // namespace

void streams() {
    apart("0 current", stream_elsewhere);
    apart("none current", stream_nowhere);
}

void events() {
    apart("0 current", event_elsewhere);
    apart("none current", event_nowhere);
    apart("times", tell_times);
    apart("handed over", hand_over);
}

} // namespace record::QUESTIONS::two_devices
