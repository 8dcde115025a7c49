// Effects of one device's context on the other's: failures, resets, destruction. Each question has
// its own process.
#include "two_devices.hpp"

namespace record::QUESTIONS::two_devices {

namespace {

// Recorded: the driver accepts a copy into an array without memory, which then fails the context.
void fail(const Side &side) {
    CUarray empty = nullptr;
    CUDA_ARRAY3D_DESCRIPTOR shape{};
    const char source[16] = "";
    shape.Width = shape.Height = 64;
    shape.Format = CU_AD_FORMAT_UNSIGNED_INT8;
    shape.NumChannels = 1;
    shape.Flags = CUDA_ARRAY3D_DEFERRED_MAPPING;
    side.enter();
    d.cuArray3DCreate(&empty, &shape);
    d.cuMemcpyHtoA(empty, 0, source, sizeof source);
    ask("cuCtxSynchronize of 1, failed", d.cuCtxSynchronize());
}

void use_zero(const Sides &of) {
    CUdeviceptr p = 0;
    of.zero.enter();
    ask("cuCtxSynchronize of 0", d.cuCtxSynchronize());
    ask("cuMemAlloc of 0", d.cuMemAlloc(&p, 4096));
    ask("cuMemsetD8 of 0's", d.cuMemsetD8(of.zero.memory, 3, 16));
    ask("cuStreamQuery of 0's", d.cuStreamQuery(of.zero.stream));
    note("0's memory was set", of.zero.holds(3));
}

void use_one_from_zero(const Sides &of) {
    of.zero.enter();
    ask("cuEventQuery of 1's", d.cuEventQuery(of.one.event));
    ask("cuStreamWaitEvent for 1's", d.cuStreamWaitEvent(of.zero.stream, of.one.event, 0));
    ask("cuStreamSynchronize of 0's", d.cuStreamSynchronize(of.zero.stream));
    ask("cuMemcpyPeer from 1 to 0",
        d.cuMemcpyPeer(of.zero.memory, of.zero.context, of.one.memory, of.one.context, 16));
    ask("cuMemcpyDtoD from 0 to 1", d.cuMemcpyDtoD(of.one.memory, of.zero.memory, 16));
    ask("cuCtxEnablePeerAccess of 1", d.cuCtxEnablePeerAccess(of.one.context, 0));
    ask("cuMemFree of 1's", d.cuMemFree(of.one.memory));
}

void other_failed(const Sides &of) {
    fail(of.one);
    use_zero(of);
    use_one_from_zero(of);
    use_zero(of);
}

void peer_failed(const Sides &of) {
    of.enable();
    fail(of.one);
    use_zero(of);
    ask("cuCtxDisablePeerAccess of 1", d.cuCtxDisablePeerAccess(of.one.context));
    use_zero(of);
}

void other_reset(const Sides &of) {
    ask("cuDevicePrimaryCtxReset of 1", d.cuDevicePrimaryCtxReset(1));
    use_zero(of);
    ask("cuMemcpyDtoD from 0 to 1", d.cuMemcpyDtoD(of.one.memory, of.zero.memory, 16));
    ask("cuMemFree of 1's", d.cuMemFree(of.one.memory));
    ask("cuEventQuery of 1's", d.cuEventQuery(of.one.event));
    use_zero(of);
}

void peer_reset(const Sides &of) {
    of.enable();
    ask("cuDevicePrimaryCtxReset of 1", d.cuDevicePrimaryCtxReset(1));
    use_zero(of);
    CUcontext again = nullptr;
    ask("cuDevicePrimaryCtxRetain of 1", d.cuDevicePrimaryCtxRetain(&again, 1));
    note("the same handle", again == of.one.context);
    of.zero.enter();
    ask("cuCtxDisablePeerAccess of 1", d.cuCtxDisablePeerAccess(again));
    ask("cuCtxEnablePeerAccess of 1", d.cuCtxEnablePeerAccess(again, 0));
}

void peer_destroyed(const Sides &of) {
    CUcontext made = nullptr;
    ask("cuCtxCreate on 1", d.cuCtxCreate_v2(&made, 0, 1));
    of.zero.enter();
    ask("cuCtxEnablePeerAccess of it", d.cuCtxEnablePeerAccess(made, 0));
    ask("cuCtxDestroy", d.cuCtxDestroy(made));
    use_zero(of);
    ask("cuCtxDisablePeerAccess of it", d.cuCtxDisablePeerAccess(made));
}

void destroyed_enabled(const Sides &of) {
    CUcontext made = nullptr;
    d.cuCtxCreate_v2(&made, 0, 1);
    of.zero.enter();
    ask("cuCtxDestroy", d.cuCtxDestroy(made));
    ask("cuCtxEnablePeerAccess of it", d.cuCtxEnablePeerAccess(made, 0));
}

void released(const Sides &of) {
    of.enable();
    of.zero.enter();
    ask("cuDevicePrimaryCtxRelease of 1", d.cuDevicePrimaryCtxRelease(1));
    use_zero(of);
    ask("cuMemFree of 1's", d.cuMemFree(of.one.memory));
    ask("cuDevicePrimaryCtxRelease of 1 again", d.cuDevicePrimaryCtxRelease(1));
}

} // namespace

void failures() {
    apart("the other one failed", other_failed);
    apart("the peer failed", peer_failed);
    apart("the other one was reset", other_reset);
    apart("the peer was reset", peer_reset);
    apart("the other one was released", released);
    apart("the peer was destroyed", peer_destroyed);
    apart("a destroyed one enabled", destroyed_enabled);
}

} // namespace record::QUESTIONS::two_devices
