// Runtime sharing: IPC memory and events, external memory and semaphores.
#include "../../runtime_questions.hpp"
#include "../../trace.hpp"

#include <cstdio>
#include <fcntl.h>
#include <unistd.h>

#include <sys/wait.h>

namespace record::QUESTIONS::runtime {
namespace {

struct Handles {
    cudaIpcMemHandle_t memory;
    cudaIpcEventHandle_t event;
};

// The other process: waits for handles, opens them, and reports that it is done.
void open_handles(int from, int to) {
    Handles given{};
    if (read(from, &given, sizeof given) != static_cast<ssize_t>(sizeof given) || !begin()) {
        return;
    }
    void *p = nullptr;
    cudaEvent_t event = nullptr;
    ask("other process: cudaIpcOpenMemHandle(flags 0)",
        r.cudaIpcOpenMemHandle(&p, given.memory, 0));
    ask("other process: cudaIpcOpenMemHandle",
        r.cudaIpcOpenMemHandle(&p, given.memory, cudaIpcMemLazyEnablePeerAccess));
    int value = 0;
    ask("other process: cudaMemcpy of it",
        r.cudaMemcpy(&value, p, sizeof value, cudaMemcpyDeviceToHost));
    note("other process: what was written", value);
    ask("other process: cudaIpcOpenEventHandle", r.cudaIpcOpenEventHandle(&event, given.event));
    ask("other process: cudaEventSynchronize", r.cudaEventSynchronize(event));
    ask("other process: cudaEventDestroy", r.cudaEventDestroy(event));
    ask("other process: cudaIpcCloseMemHandle", r.cudaIpcCloseMemHandle(p));
    ask("other process: cudaIpcCloseMemHandle again", r.cudaIpcCloseMemHandle(p));
    (void)!write(to, "", 1);
}

void own_handles(Handles &handles, void *p, cudaEvent_t event) {
    void *opened = nullptr;
    cudaEvent_t other = nullptr;
    Handles zeros{};
    ASK(cudaIpcGetMemHandle, "", &handles.memory, p);
    ASK(cudaIpcGetMemHandle, " of null", &zeros.memory, nullptr);
    void *pinned = MAKE(cudaMallocHost, 4096);
    ASK(cudaIpcGetMemHandle, " of pinned memory", &zeros.memory, pinned);
    r.cudaFreeHost(pinned);
    zeros = {};
    ASK(cudaIpcOpenMemHandle, " in the same process", &opened, handles.memory,
        cudaIpcMemLazyEnablePeerAccess);
    ASK(cudaIpcOpenMemHandle, " of zeros", &opened, zeros.memory, cudaIpcMemLazyEnablePeerAccess);
    ASK(cudaIpcCloseMemHandle, " of own memory", p);
    ASK(cudaIpcGetEventHandle, "", &handles.event, event);
    cudaEvent_t plain = MAKE(cudaEventCreateWithFlags, cudaEventDisableTiming);
    ASK(cudaIpcGetEventHandle, " of a plain event", &zeros.event, plain);
    r.cudaEventDestroy(plain);
    zeros = {};
    ASK(cudaIpcOpenEventHandle, " in the same process", &other, handles.event);
    ASK(cudaIpcOpenEventHandle, " of zeros", &other, zeros.event);
}

} // namespace

// The other process is a child forked before the first call, so both can use the device.
SECTION_ONCE("ipc") {
    int to_child[2], to_parent[2];
    if (pipe(to_child) != 0 || pipe(to_parent) != 0) {
        return;
    }
    std::fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        close(to_child[1]);
        alarm(60);
        open_handles(to_child[0], to_parent[1]);
        trace::print();
        _exit(0);
    }
    close(to_child[0]);
    close(to_parent[1]);
    void *p = nullptr;
    cudaEvent_t event = nullptr;
    if (begin()) {
        const int value = 4711;
        r.cudaMalloc(&p, 1 << 20);
        r.cudaMemcpy(p, &value, sizeof value, cudaMemcpyHostToDevice);
        r.cudaEventCreateWithFlags(&event, cudaEventInterprocess | cudaEventDisableTiming);
        r.cudaEventRecord(event, nullptr);
        r.cudaDeviceSynchronize();
        Handles handles{};
        own_handles(handles, p, event);
        (void)!write(to_child[1], &handles, sizeof handles);
    }
    close(to_child[1]);
    char done = 0;
    (void)!read(to_parent[0], &done, 1);
    close(to_parent[0]);
    int status = 0;
    waitpid(child, &status, 0);
    note("the other process's end", status);
    ASK(cudaEventDestroy, "", event);
    ASK(cudaFree, "", p);
}

namespace {

void external_buffers(cudaExternalMemory_t memory, std::size_t size) {
    cudaExternalMemoryBufferDesc buffer{};
    void *p = nullptr, *none = nullptr;
    buffer.size = size;
    ASK(cudaExternalMemoryGetMappedBuffer, "", &p, memory, &buffer);
    buffer.offset = size / 2;
    ASK(cudaExternalMemoryGetMappedBuffer, " past the end", &none, memory, &buffer);
    buffer.offset = 0;
    buffer.flags = 1;
    ASK(cudaExternalMemoryGetMappedBuffer, "(flags 1)", &none, memory, &buffer);
    ASK(cudaMemset, " of the buffer", p, 1, size);
    ASK(cudaDeviceSynchronize, "");
    ASK(cudaFree, " of the buffer", p);
}

} // namespace

// The driver's own memory, which imports like that of another API.
SECTION_ONCE("external", begin) {
    std::size_t size = 0;
    cudaExternalMemoryHandleDesc handle{};
    cudaExternalMemory_t memory = nullptr, none = nullptr;
    handle.type = cudaExternalMemoryHandleTypeOpaqueFd;
    handle.handle.fd = open("/dev/null", O_RDWR);
    handle.size = 1 << 16;
    ASK(cudaImportExternalMemory, " of /dev/null", &none, &handle);
    handle.handle.fd = shared_descriptor(size);
    handle.size = size;
    handle.type = static_cast<cudaExternalMemoryHandleType>(77);
    ASK(cudaImportExternalMemory, " of type 77", &none, &handle);
    handle.type = cudaExternalMemoryHandleTypeOpaqueFd;
    ASK(cudaImportExternalMemory, "", &memory, &handle);
    external_buffers(memory, size);
    ASK(cudaDestroyExternalMemory, "(null)", nullptr);
    ASK(cudaDestroyExternalMemory, "", memory);
    cudaExternalSemaphoreHandleDesc semaphore{};
    cudaExternalSemaphore_t imported = nullptr;
    semaphore.type = cudaExternalSemaphoreHandleTypeOpaqueFd;
    semaphore.handle.fd = open("/dev/null", O_RDWR);
    ASK(cudaImportExternalSemaphore, " of /dev/null", &imported, &semaphore);
    semaphore.handle.fd = shared_descriptor(size);
    ASK(cudaImportExternalSemaphore, " of memory", &imported, &semaphore);
    ASK(cudaDestroyExternalSemaphore, "(null)", nullptr);
    ASK(cudaDestroyExternalSemaphore, "", imported);
}

// Mapped from memory without an image layout, in the section's own process, which has not used the
// driver before.
SECTION_ONCE("external_arrays", begin) {
    std::size_t size = 0;
    cudaExternalMemoryHandleDesc handle{};
    cudaExternalMemory_t memory = nullptr;
    handle.type = cudaExternalMemoryHandleTypeOpaqueFd;
    handle.handle.fd = shared_descriptor(size);
    handle.size = size;
    ASK(cudaImportExternalMemory, "", &memory, &handle);
    cudaExternalMemoryMipmappedArrayDesc description{};
    description.formatDesc = {8, 8, 8, 8, cudaChannelFormatKindUnsigned};
    description.extent = {64, 64, 0};
    description.numLevels = 1;
    cudaMipmappedArray_t array = nullptr;
    description.flags = 0x1000;
    ASK(cudaExternalMemoryGetMappedMipmappedArray, "(flags 0x1000)", &array, memory, &description);
    description.flags = 0;
    const cudaError_t mapped =
        r.cudaExternalMemoryGetMappedMipmappedArray(&array, memory, &description);
    ask("cudaExternalMemoryGetMappedMipmappedArray", mapped);
    if (mapped == cudaSuccess) {
        ASK(cudaFreeMipmappedArray, "", array);
    }
    ASK(cudaDestroyExternalMemory, "", memory);
}

// Semaphores are not signaled or waited for, since only another API can create one for that.
SECTION("semaphores", begin) {
    cudaExternalSemaphore_t none = nullptr;
    cudaExternalSemaphoreSignalParams signal{};
    cudaExternalSemaphoreWaitParams wait{};
#if CUDART_VERSION >= 13000
    ASK(cudaSignalExternalSemaphoresAsync, " of none", &none, &signal, 0, nullptr);
    ASK(cudaWaitExternalSemaphoresAsync, " of none", &none, &wait, 0, nullptr);
#else
    ask("cudaSignalExternalSemaphoresAsync of none",
        r.cudaSignalExternalSemaphoresAsync_v2(&none, &signal, 0, nullptr));
    ask("cudaWaitExternalSemaphoresAsync of none",
        r.cudaWaitExternalSemaphoresAsync_v2(&none, &wait, 0, nullptr));
#endif
}

} // namespace record::QUESTIONS::runtime
