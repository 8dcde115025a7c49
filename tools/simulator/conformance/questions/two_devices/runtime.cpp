// Two devices of the runtime: access, first use, streams and events of one while the other is
// chosen.
#include "two_devices.hpp"

namespace record::QUESTIONS::two_devices {

namespace {

bool is_active(int device) {
    unsigned int flags = 0;
    int active = 0;
    d.cuDevicePrimaryCtxGetState(device, &flags, &active);
    return active != 0;
}

bool are_two() {
    int count = 0;
    const bool two = r.cudaGetDeviceCount(&count) == cudaSuccess && count > 1;
    if (!two) {
        note("two devices", "not asked here");
    }
    return two;
}

void ask_about_pair(int from, int to) {
    const std::string pair = "(" + std::to_string(from) + ", " + std::to_string(to) + ")";
    int value = 77;
    const std::string can = "cudaDeviceCanAccessPeer" + pair;
    tell(can, r.cudaDeviceCanAccessPeer(&value, from, to), value);
    for (const int which : {0, 1, 2, 3, 4, 5, 6, 77}) {
        tell("P2P attribute " + std::to_string(which) + " of " + pair,
             r.cudaDeviceGetP2PAttribute(&value, static_cast<cudaDeviceP2PAttr>(which), from, to),
             value);
    }
}

void ask_about_atomics() {
#if CUDART_VERSION >= 13000
    unsigned int capabilities = 0;
    const cudaAtomicOperation add = cudaAtomicOperationIntegerAdd;
    ASK(cudaDeviceGetP2PAtomicCapabilities, "(0, 1)", &capabilities, &add, 1, 0, 1);
    ASK(cudaDeviceGetP2PAtomicCapabilities, " of none", &capabilities, &add, 0, 0, 1);
#endif
}

} // namespace

SECTION("runtime peers") {
    if (!are_two()) {
        return;
    }
    ask_about_pair(0, 1);
    ask_about_pair(1, 0);
    ask_about_pair(1, 1);
    ASK(cudaDeviceGetP2PAttribute, "(null, 0, 1)", nullptr, cudaDevP2PAttrAccessSupported, 0, 1);
    ASK(cudaDeviceCanAccessPeer, "(null, 0, 1)", nullptr, 0, 1);
    ask_about_atomics();
    ASK(cudaGetLastError, "").note("0 is in use", is_active(0)).note("1 is in use", is_active(1));
    ASK(cudaDeviceDisablePeerAccess, "(1), not enabled", 1).note("0 is in use", is_active(0));
    note("1 is in use", is_active(1));
    ASK(cudaDeviceEnablePeerAccess, "(1, flags 1)", 1, 1);
    ASK(cudaDeviceEnablePeerAccess, "(1)", 1, 0).note("0 is in use", is_active(0));
    note("1 is in use", is_active(1));
    ASK(cudaDeviceEnablePeerAccess, "(1) again", 1, 0);
    ASK(cudaGetLastError, "");
    ASK(cudaSetDevice, "(1)", 1);
    ASK(cudaDeviceDisablePeerAccess, "(0), not enabled", 0);
    ASK(cudaDeviceEnablePeerAccess, "(0)", 0, 0);
    ASK(cudaDeviceDisablePeerAccess, "(0)", 0);
    ASK(cudaSetDevice, "(0)", 0);
    ASK(cudaDeviceDisablePeerAccess, "(1)", 1);
    ASK(cudaDeviceDisablePeerAccess, "(1) again", 1);
    ASK(cudaGetLastError, "");
}

// Which calls initialize the second device's context.
SECTION("runtime first_use") {
    if (!are_two()) {
        return;
    }
    const auto used = [] {
        note("0 is in use", is_active(0));
        note("1 is in use", is_active(1));
    };
    void *zeros = nullptr, *ones = nullptr;
    int device = 77, both[] = {1, 0};
    used();
    ASK(cudaSetValidDevices, "({1, 0})", both, 2);
    tell("cudaGetDevice", r.cudaGetDevice(&device), device);
    ASK(cudaFree, "(null)", nullptr);
    used();
    tell("cudaGetDevice", r.cudaGetDevice(&device), device);
    ASK(cudaSetDevice, "(0)", 0);
    used();
    ASK(cudaMalloc, " on 0", &zeros, 256);
    ASK(cudaMemcpyPeer, "(0, 1) within 0", zeros, 0, zeros, 1, 16);
    used();
    ASK(cudaSetDevice, "(1)", 1);
    used();
    ASK(cudaMalloc, " on 1", &ones, 256);
    used();
    ASK(cudaGetLastError, "");
}

// --- streams and events

namespace {

void use_ones_stream(const Sides &of) {
    const cudaStream_t stream = of.one.stream;
    void *const memory = reinterpret_cast<void *>(of.one.memory);
    void *p = nullptr;
    int device = 77;
    unsigned int flags = 77;
    r.cudaSetDevice(0);
    ASK(cudaStreamQuery, "", stream);
    ASK(cudaStreamSynchronize, "", stream);
    ASK(cudaStreamGetFlags, "", stream, &flags);
#if CUDART_VERSION >= 12080
    tell("cudaStreamGetDevice", r.cudaStreamGetDevice(stream, &device), device);
#endif
    ASK(cudaLaunchHostFunc, "", stream, [](void *) {}, nullptr);
    ASK(cudaMemsetAsync, "", memory, 7, 16, stream);
    ASK(cudaStreamSynchronize, "", stream).note("it was set", of.one.holds(7));
    ASK(cudaMallocAsync, "", &p, 4096, stream);
    cudaPointerAttributes told{};
    tell("cudaPointerGetAttributes", r.cudaPointerGetAttributes(&told, p), told.device);
    ASK(cudaFreeAsync, "", p, stream);
    ASK(cudaStreamSynchronize, "", stream);
    void *const kernel = runtime::kernel("empty");
    ASK(cudaLaunchKernel, "", kernel, {1, 1, 1}, {1, 1, 1}, nullptr, 0, stream);
    ASK(cudaStreamSynchronize, "", stream);
    ASK(cudaStreamDestroy, "", stream);
    tell("cudaGetDevice", r.cudaGetDevice(&device), device);
    ASK(cudaGetLastError, "");
}

void use_ones_event(const Sides &of) {
    const cudaEvent_t zeros = of.zero.event, ones = of.one.event;
    float time = 0;
    r.cudaSetDevice(1);
    cudaEvent_t ones_timed = MAKE(cudaEventCreate);
    r.cudaSetDevice(0);
    cudaEvent_t timed = MAKE(cudaEventCreate);
    ASK(cudaEventRecord, " of 1's, stream of 1", ones, of.one.stream);
    ASK(cudaEventRecord, " of 1's, stream of 0", ones, of.zero.stream);
    ASK(cudaEventRecord, " of 1's, null stream", ones, nullptr);
    ASK(cudaEventRecord, " of 0's, stream of 1", zeros, of.one.stream);
    ASK(cudaStreamWaitEvent, " for 1's, stream of 0", of.zero.stream, ones, 0);
    ASK(cudaStreamWaitEvent, " for 1's, null stream", nullptr, ones, 0);
    ASK(cudaStreamWaitEvent, " for 0's, stream of 1", of.one.stream, zeros, 0);
    ASK(cudaEventSynchronize, " of 1's", ones);
    ASK(cudaEventQuery, " of 1's", ones);
    ASK(cudaEventRecord, ", timed", timed, of.zero.stream);
    ASK(cudaEventRecord, " of 1's, timed", ones_timed, of.one.stream);
    of.synchronize();
    ASK(cudaEventElapsedTime, "", &time, timed, ones_timed);
    ASK(cudaEventDestroy, " of 1's", ones_timed);
    ASK(cudaGetLastError, "");
}

// The null stream and new objects belong to the chosen device.
void use_chosen(const Sides &of) {
    void *const ones = reinterpret_cast<void *>(of.one.memory);
    void *const zeros = reinterpret_cast<void *>(of.zero.memory);
    cudaStream_t stream = nullptr;
    r.cudaSetDevice(1);
    ASK(cudaMemset, " of 1's where 1 is chosen", ones, 7, 16);
    ASK(cudaStreamCreate, "", &stream);
    ASK(cudaMemcpyAsync, " from 0's", ones, zeros, 16, cudaMemcpyDefault, stream);
    ASK(cudaStreamSynchronize, "", stream);
    ASK(cudaFree, " of 0's where 1 is chosen", zeros);
    r.cudaSetDevice(0);
    ASK(cudaStreamDestroy, " where 0 is chosen", stream);
    ASK(cudaFree, " of 1's where 0 is chosen", ones);
    ASK(cudaGetLastError, "");
}

void set_without_access(const Sides &of) {
    r.cudaSetDevice(0);
    ASK(cudaMemset, " of 1's", reinterpret_cast<void *>(of.one.memory), 7, 16);
    ASK(cudaDeviceSynchronize, "");
    ASK(cudaGetLastError, "");
    r.cudaSetDevice(1);
    ASK(cudaDeviceSynchronize, " of 1").note("it arrived", of.one.holds(7));
}

void set_with_access(const Sides &of) {
    r.cudaSetDevice(0);
    ASK(cudaDeviceEnablePeerAccess, "", 1, 0);
    ASK(cuCtxEnablePeerAccess, ", too", of.one.context, 0);
    set_without_access(of);
    r.cudaSetDevice(0);
    ASK(cuCtxDisablePeerAccess, "", of.one.context);
    ASK(cudaDeviceDisablePeerAccess, ", too", 1);
}

// --- resets

void reset_one(const Sides &of) {
    void *p = nullptr;
    r.cudaSetDevice(0);
    ASK(cudaDeviceEnablePeerAccess, "", 1, 0);
    r.cudaSetDevice(1);
    ASK(cudaDeviceReset, " of 1");
    ASK(cudaMalloc, " on 1", &p, 256);
    r.cudaSetDevice(0);
    ASK(cudaDeviceSynchronize, " of 0");
    ASK(cudaMemset, " of 0's", reinterpret_cast<void *>(of.zero.memory), 7, 16);
    note("0 was set", of.zero.holds(7));
    ASK(cudaFree, " of what was 1's", reinterpret_cast<void *>(of.one.memory));
    ASK(cudaDeviceDisablePeerAccess, "", 1);
    ASK(cudaDeviceEnablePeerAccess, "", 1, 0);
    ASK(cudaMemcpyPeer, " to 1's", p, 1, reinterpret_cast<void *>(of.zero.memory), 0, 16);
    ASK(cudaGetLastError, "");
}

} // namespace

SECTION("runtime streams") {
    apart("a stream", use_ones_stream);
    apart("events", use_ones_event);
    apart("the chosen device", use_chosen);
    apart("set without access", set_without_access);
    apart("set with access", set_with_access);
}

SECTION("runtime resets") {
    apart("1 was reset", reset_one);
}

} // namespace record::QUESTIONS::two_devices
