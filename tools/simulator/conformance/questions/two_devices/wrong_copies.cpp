// Copies between two devices whose contexts, sizes or streams do not match the memory. Each
// question has its own process.
#include "../parameters.hpp"
#include "two_devices.hpp"

namespace record::QUESTIONS::two_devices {

namespace {

void told(const Sides &of, const char *question, CUresult status) {
    ask(question, status);
    ask("0 synchronized", d.cuCtxSynchronize());
    of.one.enter();
    ask("1 synchronized", d.cuCtxSynchronize()).note("it arrived", of.one.holds(5));
}

void fill(const Sides &of) {
    of.zero.fill(5);
    of.one.fill(1);
}

// From device 0 to device 1, with contexts other than those of the memory.
void with_contexts(const Sides &of, CUcontext to, CUcontext from) {
    fill(of);
    told(of, "cuMemcpyPeer", d.cuMemcpyPeer(of.one.memory, to, of.zero.memory, from, 64));
    of.zero.enter();
    fill(of);
    told(of, "cuMemcpyPeerAsync",
         d.cuMemcpyPeerAsync(of.one.memory, to, of.zero.memory, from, 64, of.zero.stream));
    of.zero.enter();
    fill(of);
    auto block = copy_of<CUDA_MEMCPY3D_PEER>(of.one.memory, of.zero.memory, 64);
    block.srcContext = from;
    block.dstContext = to;
    told(of, "cuMemcpy3DPeer", d.cuMemcpy3DPeer(&block));
}

void swapped(const Sides &of) {
    with_contexts(of, of.zero.context, of.one.context);
}

void all_of_zero(const Sides &of) {
    with_contexts(of, of.zero.context, of.zero.context);
}

void all_of_one(const Sides &of) {
    with_contexts(of, of.one.context, of.one.context);
}

void no_destination_context(const Sides &of) {
    with_contexts(of, nullptr, of.zero.context);
}

void no_contexts(const Sides &of) {
    with_contexts(of, nullptr, nullptr);
}

void made_context(const Sides &of) {
    CUcontext made = nullptr;
    ask("cuCtxCreate on 1", d.cuCtxCreate_v2(&made, 0, 1));
    of.zero.enter();
    with_contexts(of, made, of.zero.context);
}

void nothing_current(const Sides &of) {
    fill(of);
    d.cuCtxSetCurrent(nullptr);
    ASK(cuMemcpyPeer, "", of.one.memory, of.one.context, of.zero.memory, of.zero.context, 64);
    note("it arrived", of.one.holds(5));
    fill(of);
    ASK(cuMemcpyPeerAsync, ", stream of 0", of.one.memory, of.one.context, of.zero.memory,
        of.zero.context, 64, of.zero.stream);
    ASK(cuMemcpyPeerAsync, ", null stream", of.one.memory, of.one.context, of.zero.memory,
        of.zero.context, 64, nullptr);
    ASK(cuMemcpyDtoD, "", of.one.memory, of.zero.memory, 64);
    ASK(cuMemcpyDtoDAsync, ", stream of 0", of.one.memory, of.zero.memory, 64, of.zero.stream);
}

void no_bytes(const Sides &of) {
    const auto copy = [&](const char *question, CUcontext to, CUcontext from) {
        ask(question, d.cuMemcpyPeer(of.one.memory, to, of.zero.memory, from, 0));
    };
    copy("cuMemcpyPeer of 0 bytes", of.one.context, of.zero.context);
    copy("cuMemcpyPeer of 0 bytes, contexts swapped", of.zero.context, of.one.context);
    copy("cuMemcpyPeer of 0 bytes, no contexts", nullptr, nullptr);
    ASK(cuMemcpyPeer, " of 0 bytes from null to null", 0, of.one.context, 0, of.zero.context, 0);
}

void too_many_bytes(const Sides &of) {
    told(of, "cuMemcpyPeer",
         d.cuMemcpyPeer(of.one.memory + Side::size - 32, of.one.context, of.zero.memory,
                        of.zero.context, 8 << 20));
}

void from_the_host(const Sides &of) {
    char pageable[64] = "";
    void *pinned = MAKE(cuMemHostAlloc, 64, 0);
    const auto address = [](void *p) { return reinterpret_cast<CUdeviceptr>(p); };
    ASK(cuMemcpyPeer, " of pinned memory", of.one.memory, of.one.context, address(pinned),
        of.zero.context, 64);
    ASK(cuMemcpyPeer, " of pinned memory, another context's", of.one.memory, of.one.context,
        address(pinned), of.one.context, 64);
    ASK(cuMemcpyPeer, " of pageable memory", of.one.memory, of.one.context, address(pageable),
        of.zero.context, 64);
    ask("0 synchronized", d.cuCtxSynchronize());
}

void from_freed(const Sides &of) {
    d.cuMemFree(of.zero.memory);
    ASK(cuMemcpyPeer, "", of.one.memory, of.one.context, of.zero.memory, of.zero.context, 64);
    ask("0 synchronized", d.cuCtxSynchronize());
}

} // namespace

SECTION("wrong_copies") {
    apart("contexts swapped", swapped);
    apart("0's context for both", all_of_zero);
    apart("1's context for both", all_of_one);
    apart("no context to", no_destination_context);
    apart("no contexts", no_contexts);
    apart("another context of 1", made_context);
    apart("nothing current", nothing_current);
    apart("no bytes", no_bytes);
    apart("too many bytes", too_many_bytes);
    apart("from the host", from_the_host);
    apart("from freed memory", from_freed);
}

} // namespace record::QUESTIONS::two_devices
