// The runtime's external memory and semaphores, and IPC, over real descriptors.
#include "handles.hpp"

#include <cstring>

#ifndef _WIN32
#include <unistd.h>

using namespace sim_test;

namespace {

bool is_open(int fd) {
    const int copy = dup(fd);
    if (copy >= 0) {
        close(copy);
    }
    return copy >= 0;
}

} // namespace

TEST_CASE("external memory: the descriptor is the driver's after the import") {
    start();
    const int fd = sim_control().make_memory_fd(65536);
    REQUIRE(fd >= 0);
    cudaExternalMemoryHandleDesc handle{};
    handle.type = cudaExternalMemoryHandleTypeOpaqueFd;
    handle.handle.fd = fd;
    handle.size = 65536;
    cudaExternalMemory_t memory = nullptr;
    REQUIRE(r.cudaImportExternalMemory(&memory, &handle) == cudaSuccess);
    CHECK_FALSE(is_open(fd));
    cudaExternalMemoryBufferDesc buffer{.offset = 4096, .size = 8192};
    void *mapped = nullptr;
    CHECK(r.cudaExternalMemoryGetMappedBuffer(&mapped, memory, &buffer) == cudaSuccess);
    CHECK(r.cudaMemset(mapped, 6, 8192) == cudaSuccess);
    CHECK(r.cudaDeviceSynchronize() == cudaSuccess);
    CHECK(r.cudaFree(mapped) == cudaSuccess);
    CHECK(r.cudaExternalMemoryGetMappedBuffer(&mapped, memory, nullptr) == cudaErrorInvalidValue);
    buffer.size = 1 << 20;
    CHECK(r.cudaExternalMemoryGetMappedBuffer(&mapped, memory, &buffer) == cudaErrorInvalidValue);
    CHECK(r.cudaDestroyExternalMemory(memory) == cudaSuccess);
    CHECK(r.cudaImportExternalMemory(&memory, nullptr) == cudaErrorInvalidValue);
}

TEST_CASE("external semaphores: signal and wait") {
    start("mode=adversarial;seed=2");
    const int fd = sim_control().make_semaphore_fd(0);
    REQUIRE(fd >= 0);
    cudaExternalSemaphoreHandleDesc handle{};
    handle.type = cudaExternalSemaphoreHandleTypeTimelineSemaphoreFd;
    handle.handle.fd = fd;
    cudaExternalSemaphore_t semaphore = nullptr;
    REQUIRE(r.cudaImportExternalSemaphore(&semaphore, &handle) == cudaSuccess);
    cudaStream_t first = nullptr, second = nullptr;
    REQUIRE(r.cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking) == cudaSuccess);
    REQUIRE(r.cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking) == cudaSuccess);
    const RuntimeMemory memory(64);
    cudaExternalSemaphoreWaitParams wait{};
    wait.params.fence.value = 3;
    CHECK(r.cudaWaitExternalSemaphoresAsync(&semaphore, &wait, 1, second) == cudaSuccess);
    CHECK(r.cudaMemsetAsync(memory, 2, 64, second) == cudaSuccess);
    CHECK(r.cudaStreamQuery(second) == cudaErrorNotReady);
    CHECK(r.cudaMemsetAsync(memory, 1, 64, first) == cudaSuccess);
    cudaExternalSemaphoreSignalParams signal{};
    signal.params.fence.value = 3;
    CHECK(r.cudaSignalExternalSemaphoresAsync(&semaphore, &signal, 1, first) == cudaSuccess);
    CHECK(r.cudaStreamSynchronize(first) == cudaSuccess);
    CHECK(r.cudaStreamSynchronize(second) == cudaSuccess);
    CHECK(got<unsigned char>(&Runtime::cudaMemcpy, out, memory, 1, cudaMemcpyDefault) == 2);
    CHECK(r.cudaSignalExternalSemaphoresAsync(&semaphore, nullptr, 1, first) ==
          cudaErrorInvalidValue);
    CHECK(r.cudaStreamDestroy(first) == cudaSuccess);
    CHECK(r.cudaStreamDestroy(second) == cudaSuccess);
    CHECK(r.cudaDestroyExternalSemaphore(semaphore) == cudaSuccess);
}

TEST_CASE("nodes of external semaphores") {
    start();
    const int fd = sim_control().make_semaphore_fd(0);
    REQUIRE(fd >= 0);
    cudaExternalSemaphoreHandleDesc handle{};
    handle.type = cudaExternalSemaphoreHandleTypeTimelineSemaphoreFd;
    handle.handle.fd = fd;
    cudaExternalSemaphore_t semaphore = nullptr;
    REQUIRE(r.cudaImportExternalSemaphore(&semaphore, &handle) == cudaSuccess);
    cudaGraph_t graph = nullptr;
    REQUIRE(r.cudaGraphCreate(&graph, 0) == cudaSuccess);
    cudaExternalSemaphoreSignalParams signal{};
    signal.params.fence.value = 5;
    cudaExternalSemaphoreWaitParams wait{};
    wait.params.fence.value = 5;
    cudaExternalSemaphoreSignalNodeParams signals{&semaphore, &signal, 1}, seen{};
    cudaExternalSemaphoreWaitNodeParams waits{&semaphore, &wait, 1};
    cudaGraphNode_t first = nullptr, second = nullptr;
    CHECK(r.cudaGraphAddExternalSemaphoresSignalNode(&first, graph, nullptr, 0, &signals) ==
          cudaSuccess);
    CHECK(r.cudaGraphAddExternalSemaphoresWaitNode(&second, graph, &first, 1, &waits) ==
          cudaSuccess);
    CHECK(r.cudaGraphExternalSemaphoresSignalNodeGetParams(first, &seen) == cudaSuccess);
    CHECK(seen.numExtSems == 1);
    CHECK(seen.extSemArray[0] == semaphore);
    CHECK(seen.paramsArray[0].params.fence.value == 5);
    CHECK(r.cudaGraphAddExternalSemaphoresSignalNode(&first, graph, nullptr, 0, nullptr) ==
          cudaErrorInvalidValue);
    cudaGraphExec_t executable = nullptr;
    REQUIRE(r.cudaGraphInstantiateWithFlags(&executable, graph, 0) == cudaSuccess);
    CHECK(r.cudaGraphLaunch(executable, nullptr) == cudaSuccess);
    CHECK(r.cudaDeviceSynchronize() == cudaSuccess);
    CHECK(r.cudaGraphExecDestroy(executable) == cudaSuccess);
    CHECK(r.cudaGraphDestroy(graph) == cudaSuccess);
    CHECK(r.cudaDestroyExternalSemaphore(semaphore) == cudaSuccess);
}

TEST_CASE("IPC handles are not for their own process") {
    start();
    void *opened = nullptr;
    void *memory = allocate_by_runtime(4096);
    cudaIpcMemHandle_t handle;
    CHECK(r.cudaIpcGetMemHandle(&handle, memory) == cudaSuccess);
    CUipcMemHandle drivers;
    CHECK(d.cuIpcGetMemHandle(&drivers, reinterpret_cast<CUdeviceptr>(memory)) == good);
    CHECK(std::memcmp(&handle, &drivers, sizeof handle) == 0);
    CHECK(r.cudaIpcOpenMemHandle(&opened, handle, cudaIpcMemLazyEnablePeerAccess) ==
          cudaErrorDeviceUninitialized);
    CHECK(r.cudaIpcGetMemHandle(&handle, &handle) == cudaErrorInvalidValue);
    CHECK(r.cudaFree(memory) == cudaSuccess);
    cudaEvent_t event = nullptr;
    REQUIRE(r.cudaEventCreateWithFlags(&event, cudaEventInterprocess | cudaEventDisableTiming) ==
            cudaSuccess);
    cudaIpcEventHandle_t event_handle;
    CHECK(r.cudaIpcGetEventHandle(&event_handle, event) == cudaSuccess);
    CHECK(r.cudaEventDestroy(event) == cudaSuccess);
}
#endif
