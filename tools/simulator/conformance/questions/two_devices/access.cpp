// Access between devices: device attributes, enabling and disabling access, and accesses to the
// other device's memory with and without it.
#include "two_devices.hpp"

namespace record::QUESTIONS::two_devices {

namespace {

std::string pair(int from, int to) {
    return "(" + std::to_string(from) + ", " + std::to_string(to) + ")";
}

void ask_about_pair(int from, int to) {
    int value = 77;
    const std::string can = "cuDeviceCanAccessPeer" + pair(from, to);
    tell(can, d.cuDeviceCanAccessPeer(&value, from, to), value);
    for (const int which : {0, 1, 2, 3, 4, 5, 6, 77}) {
        const std::string name = "P2P attribute " + std::to_string(which) + " of " + pair(from, to);
        value = 77;
        tell(name,
             d.cuDeviceGetP2PAttribute(&value, static_cast<CUdevice_P2PAttribute>(which), from, to),
             value);
    }
}

void enable_and_disable(const Sides &of) {
    ask("cuCtxDisablePeerAccess, not enabled", d.cuCtxDisablePeerAccess(of.one.context));
    ask("cuCtxEnablePeerAccess(flags 1)", d.cuCtxEnablePeerAccess(of.one.context, 1));
    ask("cuCtxEnablePeerAccess(null, flags 1)", d.cuCtxEnablePeerAccess(nullptr, 1));
    ask("cuCtxEnablePeerAccess(null)", d.cuCtxEnablePeerAccess(nullptr, 0));
    ask("cuCtxDisablePeerAccess(null)", d.cuCtxDisablePeerAccess(nullptr));
    ask("cuCtxEnablePeerAccess", d.cuCtxEnablePeerAccess(of.one.context, 0));
    ask("cuCtxEnablePeerAccess again", d.cuCtxEnablePeerAccess(of.one.context, 0));
    ask("cuCtxEnablePeerAccess again(flags 1)", d.cuCtxEnablePeerAccess(of.one.context, 1));
    of.one.enter();
    ask("cuCtxDisablePeerAccess the other way round", d.cuCtxDisablePeerAccess(of.zero.context));
    of.zero.enter();
    ask("cuCtxDisablePeerAccess", d.cuCtxDisablePeerAccess(of.one.context));
    ask("cuCtxDisablePeerAccess again", d.cuCtxDisablePeerAccess(of.one.context));
    of.enable();
    of.disable();
    d.cuCtxSetCurrent(nullptr);
    ask("cuCtxEnablePeerAccess without a context", d.cuCtxEnablePeerAccess(of.one.context, 0));
    ask("cuCtxEnablePeerAccess(null) without a context", d.cuCtxEnablePeerAccess(nullptr, 0));
    ask("cuCtxEnablePeerAccess(flags 1) without a context",
        d.cuCtxEnablePeerAccess(of.one.context, 1));
    ask("cuCtxDisablePeerAccess without a context", d.cuCtxDisablePeerAccess(of.one.context));
    of.zero.enter();
}

// A context gets access to another context; access to a context of its own device fails.
void enable_for_contexts(const Sides &of) {
    CUcontext here = nullptr, there = nullptr;
    ask("cuCtxCreate on 0", d.cuCtxCreate_v2(&here, 0, 0));
    ask("cuCtxCreate on 1", d.cuCtxCreate_v2(&there, 0, 1));
    of.zero.enter();
    ask("cuCtxEnablePeerAccess of one of the own device", d.cuCtxEnablePeerAccess(here, 0));
    ask("cuCtxDisablePeerAccess of one of the own device", d.cuCtxDisablePeerAccess(here));
    ask("cuCtxEnablePeerAccess of the made one", d.cuCtxEnablePeerAccess(there, 0));
    ask("cuCtxDisablePeerAccess of the primary one", d.cuCtxDisablePeerAccess(of.one.context));
    ask("cuCtxEnablePeerAccess of the primary one, too",
        d.cuCtxEnablePeerAccess(of.one.context, 0));
    d.cuCtxSetCurrent(here);
    ask("cuCtxDisablePeerAccess in another context", d.cuCtxDisablePeerAccess(of.one.context));
    ask("cuCtxEnablePeerAccess in another context", d.cuCtxEnablePeerAccess(of.one.context, 0));
    ask("cuCtxDestroy of it", d.cuCtxDestroy(here));
    of.zero.enter();
    ask("cuCtxDisablePeerAccess of the made one", d.cuCtxDisablePeerAccess(there));
    ask("cuCtxDisablePeerAccess of the primary one", d.cuCtxDisablePeerAccess(of.one.context));
    ask("cuCtxDestroy on 1", d.cuCtxDestroy(there));
}

// --- accesses to the other device's memory

void synchronize_here(const Sides &of) {
    ask("synchronized", d.cuCtxSynchronize());
    ask("the other context synchronized", [&] {
        of.one.enter();
        return d.cuCtxSynchronize();
    }());
    note("it arrived", of.one.holds(7));
}

void set_at_once(const Sides &of) {
    ask("cuMemsetD8", d.cuMemsetD8(of.one.memory, 7, 16));
    synchronize_here(of);
}

void set_in_stream(const Sides &of) {
    ask("cuMemsetD8Async", d.cuMemsetD8Async(of.one.memory, 7, 16, of.zero.stream));
    synchronize_here(of);
}

void set_rows(const Sides &of) {
    ask("cuMemsetD2D8", d.cuMemsetD2D8(of.one.memory, 64, 7, 32, 4));
    synchronize_here(of);
}

void write_value(const Sides &of) {
    ask("cuStreamWriteValue32",
        d.cuStreamWriteValue32(of.zero.stream, of.one.memory, 0x07070707, 0));
    synchronize_here(of);
}

void wait_for_value(const Sides &of) {
    ask("cuStreamWaitValue32",
        d.cuStreamWaitValue32(of.zero.stream, of.one.memory, 0, CU_STREAM_WAIT_VALUE_GEQ));
    synchronize_here(of);
}

constexpr struct {
    const char *name;
    void (*go)(const Sides &);
} ways[] = {
    {"set", set_at_once},
    {"set in a stream", set_in_stream},
    {"set by rows", set_rows},
    {"written by a stream", write_value},
    {"waited for by a stream", wait_for_value},
};

} // namespace

void peers() {
    Sides of;
    if (!begin(of)) {
        return;
    }
    ask_about_pair(0, 1);
    ask_about_pair(1, 0);
    ask_about_pair(1, 1);
    ask_about_pair(1, 99);
    int value = 77;
    ask("cuDeviceCanAccessPeer(null, 0, 1)", d.cuDeviceCanAccessPeer(nullptr, 0, 1));
    ask("cuDeviceCanAccessPeer(-1, 1)", d.cuDeviceCanAccessPeer(&value, -1, 1));
    ask("cuDeviceGetP2PAttribute(null, 0, 1)",
        d.cuDeviceGetP2PAttribute(nullptr, CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED, 0, 1));
    enable_and_disable(of);
    enable_for_contexts(of);
}

void reach() {
    for (const auto &way : ways) {
        const std::string name = way.name;
        apart(name, way.go);
        apart(name + " with access", [&](const Sides &of) {
            of.enable();
            way.go(of);
        });
    }
    apart("set with access that was disabled", [](const Sides &of) {
        of.enable();
        of.disable();
        set_in_stream(of);
    });
}

} // namespace record::QUESTIONS::two_devices
