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
    ASK(cuCtxDisablePeerAccess, ", not enabled", of.one.context);
    ASK(cuCtxEnablePeerAccess, "(flags 1)", of.one.context, 1);
    ASK(cuCtxEnablePeerAccess, "(null, flags 1)", nullptr, 1);
    ASK(cuCtxEnablePeerAccess, "(null)", nullptr, 0);
    ASK(cuCtxDisablePeerAccess, "(null)", nullptr);
    ASK(cuCtxEnablePeerAccess, "", of.one.context, 0);
    ASK(cuCtxEnablePeerAccess, " again", of.one.context, 0);
    ASK(cuCtxEnablePeerAccess, " again(flags 1)", of.one.context, 1);
    of.one.enter();
    ASK(cuCtxDisablePeerAccess, " the other way round", of.zero.context);
    of.zero.enter();
    ASK(cuCtxDisablePeerAccess, "", of.one.context);
    ASK(cuCtxDisablePeerAccess, " again", of.one.context);
    of.enable();
    of.disable();
    d.cuCtxSetCurrent(nullptr);
    ASK(cuCtxEnablePeerAccess, " without a context", of.one.context, 0);
    ASK(cuCtxEnablePeerAccess, "(null) without a context", nullptr, 0);
    ASK(cuCtxEnablePeerAccess, "(flags 1) without a context", of.one.context, 1);
    ASK(cuCtxDisablePeerAccess, " without a context", of.one.context);
    of.zero.enter();
}

// A context gets access to another context; access to a context of its own device fails.
void enable_for_contexts(const Sides &of) {
    CUcontext here = nullptr, there = nullptr;
    ask("cuCtxCreate on 0", d.cuCtxCreate_v2(&here, 0, 0));
    ask("cuCtxCreate on 1", d.cuCtxCreate_v2(&there, 0, 1));
    of.zero.enter();
    ASK(cuCtxEnablePeerAccess, " of one of the own device", here, 0);
    ASK(cuCtxDisablePeerAccess, " of one of the own device", here);
    ASK(cuCtxEnablePeerAccess, " of the made one", there, 0);
    ASK(cuCtxDisablePeerAccess, " of the primary one", of.one.context);
    ASK(cuCtxEnablePeerAccess, " of the primary one, too", of.one.context, 0);
    d.cuCtxSetCurrent(here);
    ASK(cuCtxDisablePeerAccess, " in another context", of.one.context);
    ASK(cuCtxEnablePeerAccess, " in another context", of.one.context, 0);
    ASK(cuCtxDestroy, " of it", here);
    of.zero.enter();
    ASK(cuCtxDisablePeerAccess, " of the made one", there);
    ASK(cuCtxDisablePeerAccess, " of the primary one", of.one.context);
    ASK(cuCtxDestroy, " on 1", there);
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
    ASK(cuMemsetD8, "", of.one.memory, 7, 16);
    synchronize_here(of);
}

void set_in_stream(const Sides &of) {
    ASK(cuMemsetD8Async, "", of.one.memory, 7, 16, of.zero.stream);
    synchronize_here(of);
}

void set_rows(const Sides &of) {
    ASK(cuMemsetD2D8, "", of.one.memory, 64, 7, 32, 4);
    synchronize_here(of);
}

void write_value(const Sides &of) {
    ASK(cuStreamWriteValue32, "", of.zero.stream, of.one.memory, 0x07070707, 0);
    synchronize_here(of);
}

void wait_for_value(const Sides &of) {
    ASK(cuStreamWaitValue32, "", of.zero.stream, of.one.memory, 0, CU_STREAM_WAIT_VALUE_GEQ);
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

SECTION("peers") {
    Sides of;
    if (!begin(of)) {
        return;
    }
    ask_about_pair(0, 1);
    ask_about_pair(1, 0);
    ask_about_pair(1, 1);
    ask_about_pair(1, 99);
    int value = 77;
    ASK(cuDeviceCanAccessPeer, "(null, 0, 1)", nullptr, 0, 1);
    ASK(cuDeviceCanAccessPeer, "(-1, 1)", &value, -1, 1);
    ASK(cuDeviceGetP2PAttribute, "(null, 0, 1)", nullptr, CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED,
        0, 1);
    enable_and_disable(of);
    enable_for_contexts(of);
}

SECTION("reach") {
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
