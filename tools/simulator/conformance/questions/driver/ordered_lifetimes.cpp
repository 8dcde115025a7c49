// Stream-ordered memory that is freed while its stream or another one is captured, and memory
// across a reset of the primary context. Each question has its own process.
#include "../../record.hpp"
#include "../other_process.hpp"

#include <string>
#include <thread>

namespace record::QUESTIONS {

namespace {

constexpr std::size_t size = 1 << 16;

std::string title;

void ask_here(const char *what, CUresult status) {
    ask(title + ": " + what, status);
}

void apart(const std::string &name, void (*body)(const Other &)) {
    title = name;
    const Other other = fork_off(body);
    int status = 0;
    waitpid(other.process, &status, 0);
    note(name + ": the process's end", status);
}

// --- captured streams

CUdeviceptr ordered(CUstream stream) {
    CUdeviceptr p = MAKE(cuMemAllocAsync, size, stream);
    d.cuStreamSynchronize(stream);
    return p;
}

void end_of(CUstream captured) {
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    ask_here("cuStreamIsCapturing", d.cuStreamIsCapturing(captured, &status));
    note(title + ": the capture's status", status);
    CUgraph graph = nullptr;
    ask_here("cuStreamEndCapture", d.cuStreamEndCapture(captured, &graph));
}

CUresult free_relaxed(CUdeviceptr p, CUstream stream) {
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    d.cuThreadExchangeStreamCaptureMode(&mode);
    const CUresult status = d.cuMemFreeAsync(p, stream);
    d.cuThreadExchangeStreamCaptureMode(&mode);
    return status;
}

// The memory belongs to the captured stream.
template <CUstreamCaptureMode mode>
void in_captured(const Other &) {
    start();
    CUstream s = MAKE(cuStreamCreate, CU_STREAM_NON_BLOCKING);
    const CUdeviceptr p = ordered(s);
    d.cuStreamBeginCapture(s, mode);
    ask_here("cuMemFreeAsync", free_relaxed(p, s));
    end_of(s);
    ask_here("cuMemFreeAsync afterwards", d.cuMemFreeAsync(p, s));
    ask_here("cuStreamSynchronize", d.cuStreamSynchronize(s));
}

template <CUstreamCaptureMode mode>
void in_captured_by_another_thread(const Other &) {
    start();
    CUstream s = MAKE(cuStreamCreate, CU_STREAM_NON_BLOCKING);
    const CUdeviceptr p = ordered(s);
    d.cuStreamBeginCapture(s, mode);
    CUresult freed = CUDA_SUCCESS;
    std::thread([&] {
        d.cuCtxSetCurrent(context());
        freed = free_relaxed(p, s);
    }).join();
    ask_here("cuMemFreeAsync", freed);
    end_of(s);
    ask_here("cuMemFreeAsync afterwards", d.cuMemFreeAsync(p, s));
    ask_here("cuStreamSynchronize", d.cuStreamSynchronize(s));
}

// Freed with cuMemFree instead, which waits for users of the memory.
void by_plain_free(const Other &) {
    start();
    CUstream s = MAKE(cuStreamCreate, CU_STREAM_NON_BLOCKING);
    const CUdeviceptr p = ordered(s);
    d.cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    d.cuThreadExchangeStreamCaptureMode(&mode);
    ask_here("cuMemFree", d.cuMemFree(p));
    end_of(s);
}

// --- resets

CUmemoryPool own_pool() {
    CUmemPoolProps properties{.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                              .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE}};
    CUmemoryPool pool = MAKE(cuMemPoolCreate, &properties);
    return pool;
}

void used_of(CUmemoryPool pool, const char *when) {
    cuuint64_t used = 0;
    ask_here(when, d.cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &used));
    note(title + ": bytes in use", used);
}

enum class Made { in_primary, in_created };

// Pool memory in a stream of the primary context, or of another context that is current at the
// reset.
template <Made made, bool own>
void reset_under(const Other &) {
    start();
    const CUcontext primary = context();
    CUcontext other = MAKE(cuCtxCreate_v2, 0, 0);
    d.cuCtxSetCurrent(made == Made::in_primary ? primary : other);
    CUstream s = MAKE(cuStreamCreate, CU_STREAM_NON_BLOCKING);
    CUmemoryPool pool = nullptr;
    if (own) {
        pool = own_pool();
    } else {
        d.cuDeviceGetDefaultMemPool(&pool, 0);
    }
    CUdeviceptr p = 0;
    ask_here("cuMemAllocFromPoolAsync", d.cuMemAllocFromPoolAsync(&p, size, pool, s));
    d.cuStreamSynchronize(s);
    used_of(pool, "cuMemPoolGetAttribute before the reset");
    d.cuCtxSetCurrent(other);
    ask_here("cuDevicePrimaryCtxReset", d.cuDevicePrimaryCtxReset(0));
    used_of(pool, "cuMemPoolGetAttribute after the reset");
    unsigned int type = 0;
    ask_here("cuPointerGetAttribute of the memory's type",
             d.cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, p));
    char byte = 0;
    ask_here("cuMemcpyDtoH", d.cuMemcpyDtoH(&byte, p, 1));
    CUstream late = MAKE(cuStreamCreate, CU_STREAM_NON_BLOCKING);
    ask_here("cuMemFreeAsync in a stream of the created context", d.cuMemFreeAsync(p, late));
    ask_here("cuStreamSynchronize", d.cuStreamSynchronize(late));
    used_of(pool, "cuMemPoolGetAttribute after the free");
    if (own) {
        ask_here("cuMemPoolDestroy", d.cuMemPoolDestroy(pool));
    }
    ask_here("cuCtxSynchronize", d.cuCtxSynchronize());
}

// --- IPC memory, opened twice in a process

void export_memory(const Other &parent) {
    start();
    CUipcMemHandle handle{};
    CUdeviceptr p = MAKE(cuMemAlloc, size);
    d.cuIpcGetMemHandle(&handle, p);
    parent.send(handle);
    parent.receive<char>();
}

void open_twice(const Other &parent) {
    const auto handle = parent.receive<CUipcMemHandle>();
    start();
    const CUcontext primary = context();
    CUdeviceptr p = 0, q = 0;
    constexpr unsigned int flags = CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS;
    ASK(cuIpcOpenMemHandle, "", &p, handle, flags);
    CUcontext other = MAKE(cuCtxCreate_v2, 0, 0);
    ASK(cuIpcOpenMemHandle, " in another context of the device", &q, handle, flags);
    note("the same address", p == q);
    char byte = 0;
    ASK(cuMemcpyDtoH, " in that context, of the first address", &byte, p, 1);
    ASK(cuIpcCloseMemHandle, " in that context, of the first address", p);
    d.cuCtxSetCurrent(primary);
    ASK(cuIpcCloseMemHandle, "", p);
    d.cuCtxSetCurrent(other);
    ASK(cuIpcOpenMemHandle, " in the other context, when the first is closed", &q, handle, flags);
    ASK(cuIpcCloseMemHandle, " in it", q);
}

} // namespace

SECTION("ordered_memory_and_captures") {
    apart("in its stream, thread-local", in_captured<CU_STREAM_CAPTURE_MODE_THREAD_LOCAL>);
    apart("in its stream, global", in_captured<CU_STREAM_CAPTURE_MODE_GLOBAL>);
    apart("in its stream, relaxed", in_captured<CU_STREAM_CAPTURE_MODE_RELAXED>);
    apart("by another thread, thread-local",
          in_captured_by_another_thread<CU_STREAM_CAPTURE_MODE_THREAD_LOCAL>);
    apart("by another thread, global",
          in_captured_by_another_thread<CU_STREAM_CAPTURE_MODE_GLOBAL>);
    apart("freed at once", by_plain_free);
}

SECTION("ordered_memory_and_resets") {
    apart("the default pool's, of the primary context", reset_under<Made::in_primary, false>);
    apart("the default pool's, of a created context", reset_under<Made::in_created, false>);
    apart("an own pool's, of the primary context", reset_under<Made::in_primary, true>);
    apart("an own pool's, of a created context", reset_under<Made::in_created, true>);
}

SECTION("ipc_memory_in_two_contexts") {
    const Other user = fork_off(open_twice), maker = fork_off(export_memory);
    user.send(maker.receive<CUipcMemHandle>());
    int status = 0;
    waitpid(user.process, &status, 0);
    note("the process's end", status);
    maker.send('!');
    waitpid(maker.process, nullptr, 0);
}

} // namespace record::QUESTIONS
