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
        record::note("two devices", "not asked here");
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
    ask("cudaDeviceGetP2PAtomicCapabilities(0, 1)",
        r.cudaDeviceGetP2PAtomicCapabilities(&capabilities, &add, 1, 0, 1));
    ask("cudaDeviceGetP2PAtomicCapabilities of none",
        r.cudaDeviceGetP2PAtomicCapabilities(&capabilities, &add, 0, 0, 1));
#endif
}

} // namespace

void runtime_peers() {
    if (!are_two()) {
        return;
    }
    ask_about_pair(0, 1);
    ask_about_pair(1, 0);
    ask_about_pair(1, 1);
    ask("cudaDeviceGetP2PAttribute(null, 0, 1)",
        r.cudaDeviceGetP2PAttribute(nullptr, cudaDevP2PAttrAccessSupported, 0, 1));
    ask("cudaDeviceCanAccessPeer(null, 0, 1)", r.cudaDeviceCanAccessPeer(nullptr, 0, 1));
    ask_about_atomics();
    ask("cudaGetLastError", r.cudaGetLastError());
    note("0 is in use", is_active(0));
    note("1 is in use", is_active(1));
    ask("cudaDeviceDisablePeerAccess(1), not enabled", r.cudaDeviceDisablePeerAccess(1));
    note("0 is in use", is_active(0));
    note("1 is in use", is_active(1));
    ask("cudaDeviceEnablePeerAccess(1, flags 1)", r.cudaDeviceEnablePeerAccess(1, 1));
    ask("cudaDeviceEnablePeerAccess(1)", r.cudaDeviceEnablePeerAccess(1, 0));
    note("0 is in use", is_active(0));
    note("1 is in use", is_active(1));
    ask("cudaDeviceEnablePeerAccess(1) again", r.cudaDeviceEnablePeerAccess(1, 0));
    ask("cudaGetLastError", r.cudaGetLastError());
    ask("cudaSetDevice(1)", r.cudaSetDevice(1));
    ask("cudaDeviceDisablePeerAccess(0), not enabled", r.cudaDeviceDisablePeerAccess(0));
    ask("cudaDeviceEnablePeerAccess(0)", r.cudaDeviceEnablePeerAccess(0, 0));
    ask("cudaDeviceDisablePeerAccess(0)", r.cudaDeviceDisablePeerAccess(0));
    ask("cudaSetDevice(0)", r.cudaSetDevice(0));
    ask("cudaDeviceDisablePeerAccess(1)", r.cudaDeviceDisablePeerAccess(1));
    ask("cudaDeviceDisablePeerAccess(1) again", r.cudaDeviceDisablePeerAccess(1));
    ask("cudaGetLastError", r.cudaGetLastError());
}

// Which calls initialize the second device's context.
void runtime_first_use() {
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
    ask("cudaSetValidDevices({1, 0})", r.cudaSetValidDevices(both, 2));
    tell("cudaGetDevice", r.cudaGetDevice(&device), device);
    ask("cudaFree(null)", r.cudaFree(nullptr));
    used();
    tell("cudaGetDevice", r.cudaGetDevice(&device), device);
    ask("cudaSetDevice(0)", r.cudaSetDevice(0));
    used();
    ask("cudaMalloc on 0", r.cudaMalloc(&zeros, 256));
    ask("cudaMemcpyPeer(0, 1) within 0", r.cudaMemcpyPeer(zeros, 0, zeros, 1, 16));
    used();
    ask("cudaSetDevice(1)", r.cudaSetDevice(1));
    used();
    ask("cudaMalloc on 1", r.cudaMalloc(&ones, 256));
    used();
    ask("cudaGetLastError", r.cudaGetLastError());
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
    ask("cudaStreamQuery", r.cudaStreamQuery(stream));
    ask("cudaStreamSynchronize", r.cudaStreamSynchronize(stream));
    ask("cudaStreamGetFlags", r.cudaStreamGetFlags(stream, &flags));
#if CUDART_VERSION >= 12080
    tell("cudaStreamGetDevice", r.cudaStreamGetDevice(stream, &device), device);
#endif
    ask("cudaLaunchHostFunc", r.cudaLaunchHostFunc(stream, [](void *) {}, nullptr));
    ask("cudaMemsetAsync", r.cudaMemsetAsync(memory, 7, 16, stream));
    ask("cudaStreamSynchronize", r.cudaStreamSynchronize(stream));
    note("it was set", of.one.holds(7));
    ask("cudaMallocAsync", r.cudaMallocAsync(&p, 4096, stream));
    cudaPointerAttributes told{};
    tell("cudaPointerGetAttributes", r.cudaPointerGetAttributes(&told, p), told.device);
    ask("cudaFreeAsync", r.cudaFreeAsync(p, stream));
    ask("cudaStreamSynchronize", r.cudaStreamSynchronize(stream));
    void *const kernel = runtime::kernel("empty");
    ask("cudaLaunchKernel", r.cudaLaunchKernel(kernel, {1, 1, 1}, {1, 1, 1}, nullptr, 0, stream));
    ask("cudaStreamSynchronize", r.cudaStreamSynchronize(stream));
    ask("cudaStreamDestroy", r.cudaStreamDestroy(stream));
    tell("cudaGetDevice", r.cudaGetDevice(&device), device);
    ask("cudaGetLastError", r.cudaGetLastError());
}

void use_ones_event(const Sides &of) {
    const cudaEvent_t zeros = of.zero.event, ones = of.one.event;
    cudaEvent_t timed = nullptr, ones_timed = nullptr;
    float time = 0;
    r.cudaSetDevice(1);
    r.cudaEventCreate(&ones_timed);
    r.cudaSetDevice(0);
    r.cudaEventCreate(&timed);
    ask("cudaEventRecord of 1's, stream of 1", r.cudaEventRecord(ones, of.one.stream));
    ask("cudaEventRecord of 1's, stream of 0", r.cudaEventRecord(ones, of.zero.stream));
    ask("cudaEventRecord of 1's, null stream", r.cudaEventRecord(ones, nullptr));
    ask("cudaEventRecord of 0's, stream of 1", r.cudaEventRecord(zeros, of.one.stream));
    ask("cudaStreamWaitEvent for 1's, stream of 0", r.cudaStreamWaitEvent(of.zero.stream, ones, 0));
    ask("cudaStreamWaitEvent for 1's, null stream", r.cudaStreamWaitEvent(nullptr, ones, 0));
    ask("cudaStreamWaitEvent for 0's, stream of 1", r.cudaStreamWaitEvent(of.one.stream, zeros, 0));
    ask("cudaEventSynchronize of 1's", r.cudaEventSynchronize(ones));
    ask("cudaEventQuery of 1's", r.cudaEventQuery(ones));
    ask("cudaEventRecord, timed", r.cudaEventRecord(timed, of.zero.stream));
    ask("cudaEventRecord of 1's, timed", r.cudaEventRecord(ones_timed, of.one.stream));
    of.synchronize();
    ask("cudaEventElapsedTime", r.cudaEventElapsedTime(&time, timed, ones_timed));
    ask("cudaEventDestroy of 1's", r.cudaEventDestroy(ones_timed));
    ask("cudaGetLastError", r.cudaGetLastError());
}

// The null stream and new objects belong to the chosen device.
void use_chosen(const Sides &of) {
    void *const ones = reinterpret_cast<void *>(of.one.memory);
    void *const zeros = reinterpret_cast<void *>(of.zero.memory);
    cudaStream_t stream = nullptr;
    r.cudaSetDevice(1);
    ask("cudaMemset of 1's where 1 is chosen", r.cudaMemset(ones, 7, 16));
    ask("cudaStreamCreate", r.cudaStreamCreate(&stream));
    ask("cudaMemcpyAsync from 0's", r.cudaMemcpyAsync(ones, zeros, 16, cudaMemcpyDefault, stream));
    ask("cudaStreamSynchronize", r.cudaStreamSynchronize(stream));
    ask("cudaFree of 0's where 1 is chosen", r.cudaFree(zeros));
    r.cudaSetDevice(0);
    ask("cudaStreamDestroy where 0 is chosen", r.cudaStreamDestroy(stream));
    ask("cudaFree of 1's where 0 is chosen", r.cudaFree(ones));
    ask("cudaGetLastError", r.cudaGetLastError());
}

void set_without_access(const Sides &of) {
    r.cudaSetDevice(0);
    ask("cudaMemset of 1's", r.cudaMemset(reinterpret_cast<void *>(of.one.memory), 7, 16));
    ask("cudaDeviceSynchronize", r.cudaDeviceSynchronize());
    ask("cudaGetLastError", r.cudaGetLastError());
    r.cudaSetDevice(1);
    ask("cudaDeviceSynchronize of 1", r.cudaDeviceSynchronize());
    note("it arrived", of.one.holds(7));
}

void set_with_access(const Sides &of) {
    r.cudaSetDevice(0);
    ask("cudaDeviceEnablePeerAccess", r.cudaDeviceEnablePeerAccess(1, 0));
    ask("cuCtxEnablePeerAccess, too", d.cuCtxEnablePeerAccess(of.one.context, 0));
    set_without_access(of);
    r.cudaSetDevice(0);
    ask("cuCtxDisablePeerAccess", d.cuCtxDisablePeerAccess(of.one.context));
    ask("cudaDeviceDisablePeerAccess, too", r.cudaDeviceDisablePeerAccess(1));
}

// --- resets

void reset_one(const Sides &of) {
    void *p = nullptr;
    r.cudaSetDevice(0);
    ask("cudaDeviceEnablePeerAccess", r.cudaDeviceEnablePeerAccess(1, 0));
    r.cudaSetDevice(1);
    ask("cudaDeviceReset of 1", r.cudaDeviceReset());
    ask("cudaMalloc on 1", r.cudaMalloc(&p, 256));
    r.cudaSetDevice(0);
    ask("cudaDeviceSynchronize of 0", r.cudaDeviceSynchronize());
    ask("cudaMemset of 0's", r.cudaMemset(reinterpret_cast<void *>(of.zero.memory), 7, 16));
    note("0 was set", of.zero.holds(7));
    ask("cudaFree of what was 1's", r.cudaFree(reinterpret_cast<void *>(of.one.memory)));
    ask("cudaDeviceDisablePeerAccess", r.cudaDeviceDisablePeerAccess(1));
    ask("cudaDeviceEnablePeerAccess", r.cudaDeviceEnablePeerAccess(1, 0));
    ask("cudaMemcpyPeer to 1's",
        r.cudaMemcpyPeer(p, 1, reinterpret_cast<void *>(of.zero.memory), 0, 16));
    ask("cudaGetLastError", r.cudaGetLastError());
}

} // namespace

void runtime_streams() {
    apart("a stream", use_ones_stream);
    apart("events", use_ones_event);
    apart("the chosen device", use_chosen);
    apart("set without access", set_without_access);
    apart("set with access", set_with_access);
}

void runtime_resets() {
    apart("1 was reset", reset_one);
}

} // namespace record::QUESTIONS::two_devices
