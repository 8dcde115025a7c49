// External memory, external semaphores and IPC of the runtime, over real descriptors.

#ifndef _WIN32
#include "external_tools.hpp"

using namespace sim_test;

namespace {

void destroy_semaphore(cudaExternalSemaphore_t semaphore) {
    CHECK(r.cudaDestroyExternalSemaphore(semaphore) == cudaSuccess);
}
cudaExternalSemaphore_t new_timeline() {
    cudaExternalSemaphoreHandleDesc handle{};
    handle.type = cudaExternalSemaphoreHandleTypeTimelineSemaphoreFd;
    handle.handle.fd = sim_control().make_semaphore_fd(0);
    REQUIRE(handle.handle.fd >= 0);
    cudaExternalSemaphore_t semaphore = nullptr;
    REQUIRE(r.cudaImportExternalSemaphore(&semaphore, &handle) == cudaSuccess);
    return semaphore;
}
struct Timeline : Owned<cudaExternalSemaphore_t, destroy_semaphore> {
    Timeline() : Owned(new_timeline()) {}
};

} // namespace

TEST_CASE("importing external memory through the runtime takes ownership of the descriptor") {
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

TEST_CASE("a stream waits for an external semaphore that another stream signals") {
    start("mode=adversarial;seed=2");
    const Timeline timeline;
    const cudaExternalSemaphore_t list[] = {timeline};
    const RuntimeStream first(cudaStreamNonBlocking), second(cudaStreamNonBlocking);
    const RuntimeMemory memory(64);
    cudaExternalSemaphoreWaitParams wait{};
    wait.params.fence.value = 3;
    CHECK(r.cudaWaitExternalSemaphoresAsync(list, &wait, 1, second) == cudaSuccess);
    CHECK(r.cudaMemsetAsync(memory, 2, 64, second) == cudaSuccess);
    CHECK(r.cudaStreamQuery(second) == cudaErrorNotReady);
    CHECK(r.cudaMemsetAsync(memory, 1, 64, first) == cudaSuccess);
    cudaExternalSemaphoreSignalParams signal{};
    signal.params.fence.value = 3;
    CHECK(r.cudaSignalExternalSemaphoresAsync(list, &signal, 1, first) == cudaSuccess);
    CHECK(r.cudaStreamSynchronize(first) == cudaSuccess);
    CHECK(r.cudaStreamSynchronize(second) == cudaSuccess);
    CHECK(got<unsigned char>(&Runtime::cudaMemcpy, out, memory, 1, cudaMemcpyDefault) == 2);
    CHECK(r.cudaSignalExternalSemaphoresAsync(list, nullptr, 1, first) == cudaErrorInvalidValue);
}

TEST_CASE("graph nodes of the runtime signal and wait for external semaphores") {
    const Timeline timeline;
    cudaExternalSemaphore_t semaphore = timeline;
    const RuntimeGraph graph;
    cudaExternalSemaphoreSignalParams signal{};
    cudaExternalSemaphoreWaitParams wait{};
    signal.params.fence.value = wait.params.fence.value = 5;
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
    const RuntimeExecutable executable(graph);
    CHECK(r.cudaGraphLaunch(executable, nullptr) == cudaSuccess);
    CHECK(r.cudaDeviceSynchronize() == cudaSuccess);
}

TEST_CASE("runtime IPC handles are driver handles and do not open in their own process") {
    void *opened = nullptr;
    const RuntimeMemory memory(4096);
    cudaIpcMemHandle_t handle;
    CHECK(r.cudaIpcGetMemHandle(&handle, memory) == cudaSuccess);
    const CUipcMemHandle drivers = handle_of(as_device(memory));
    CHECK(std::memcmp(&handle, &drivers, sizeof handle) == 0);
    CHECK(r.cudaIpcOpenMemHandle(&opened, handle, cudaIpcMemLazyEnablePeerAccess) ==
          cudaErrorDeviceUninitialized);
    CHECK(r.cudaIpcGetMemHandle(&handle, &handle) == cudaErrorInvalidValue);
    const RuntimeEvent event(cudaEventInterprocess | cudaEventDisableTiming);
    cudaIpcEventHandle_t event_handle;
    CHECK(r.cudaIpcGetEventHandle(&event_handle, event) == cudaSuccess);
}

#endif
