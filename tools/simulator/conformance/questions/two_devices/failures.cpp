// Effects of one device's context on the other's: failures, resets, destruction. Each question has
// its own process.
#include "two_devices.hpp"

namespace record::QUESTIONS::two_devices {

namespace {

// Recorded: the driver accepts a copy into an array without memory, which then fails the context.
void fail(const Side &side) {
    CUDA_ARRAY3D_DESCRIPTOR shape{};
    const char source[16] = "";
    shape.Width = shape.Height = 64;
    shape.Format = CU_AD_FORMAT_UNSIGNED_INT8;
    shape.NumChannels = 1;
    shape.Flags = CUDA_ARRAY3D_DEFERRED_MAPPING;
    side.enter();
    CUarray empty = MAKE(cuArray3DCreate, &shape);
    d.cuMemcpyHtoA(empty, 0, source, sizeof source);
    ASK(cuCtxSynchronize, " of 1, failed");
}

void use_zero(const Sides &of) {
    CUdeviceptr p = 0;
    of.zero.enter();
    ASK(cuCtxSynchronize, " of 0");
    ASK(cuMemAlloc, " of 0", &p, 4096);
    ASK(cuMemsetD8, " of 0's", of.zero.memory, 3, 16);
    ASK(cuStreamQuery, " of 0's", of.zero.stream).note("0's memory was set", of.zero.holds(3));
}

void use_one_from_zero(const Sides &of) {
    of.zero.enter();
    ASK(cuEventQuery, " of 1's", of.one.event);
    ASK(cuStreamWaitEvent, " for 1's", of.zero.stream, of.one.event, 0);
    ASK(cuStreamSynchronize, " of 0's", of.zero.stream);
    ASK(cuMemcpyPeer, " from 1 to 0", of.zero.memory, of.zero.context, of.one.memory,
        of.one.context, 16);
    ASK(cuMemcpyDtoD, " from 0 to 1", of.one.memory, of.zero.memory, 16);
    ASK(cuCtxEnablePeerAccess, " of 1", of.one.context, 0);
    ASK(cuMemFree, " of 1's", of.one.memory);
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
    ASK(cuCtxDisablePeerAccess, " of 1", of.one.context);
    use_zero(of);
}

void other_reset(const Sides &of) {
    ASK(cuDevicePrimaryCtxReset, " of 1", 1);
    use_zero(of);
    ASK(cuMemcpyDtoD, " from 0 to 1", of.one.memory, of.zero.memory, 16);
    ASK(cuMemFree, " of 1's", of.one.memory);
    ASK(cuEventQuery, " of 1's", of.one.event);
    use_zero(of);
}

void peer_reset(const Sides &of) {
    of.enable();
    ASK(cuDevicePrimaryCtxReset, " of 1", 1);
    use_zero(of);
    CUcontext again = nullptr;
    ASK(cuDevicePrimaryCtxRetain, " of 1", &again, 1);
    note("the same handle", again == of.one.context);
    of.zero.enter();
    ASK(cuCtxDisablePeerAccess, " of 1", again);
    ASK(cuCtxEnablePeerAccess, " of 1", again, 0);
}

void peer_destroyed(const Sides &of) {
    CUcontext made = nullptr;
    ask("cuCtxCreate on 1", d.cuCtxCreate_v2(&made, 0, 1));
    of.zero.enter();
    ASK(cuCtxEnablePeerAccess, " of it", made, 0);
    ASK(cuCtxDestroy, "", made);
    use_zero(of);
    ASK(cuCtxDisablePeerAccess, " of it", made);
}

void destroyed_enabled(const Sides &of) {
    CUcontext made = MAKE(cuCtxCreate_v2, 0, 1);
    of.zero.enter();
    ASK(cuCtxDestroy, "", made);
    ASK(cuCtxEnablePeerAccess, " of it", made, 0);
}

void released(const Sides &of) {
    of.enable();
    of.zero.enter();
    ASK(cuDevicePrimaryCtxRelease, " of 1", 1);
    use_zero(of);
    ASK(cuMemFree, " of 1's", of.one.memory);
    ASK(cuDevicePrimaryCtxRelease, " of 1 again", 1);
}

} // namespace

SECTION("failures") {
    apart("the other one failed", other_failed);
    apart("the peer failed", peer_failed);
    apart("the other one was reset", other_reset);
    apart("the peer was reset", peer_reset);
    apart("the other one was released", released);
    apart("the peer was destroyed", peer_destroyed);
    apart("a destroyed one enabled", destroyed_enabled);
}

} // namespace record::QUESTIONS::two_devices
