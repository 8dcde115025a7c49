// External memory, external semaphores and IPC of the runtime, over real descriptors.

#ifndef _WIN32
#include "external_tools.hpp"

using namespace sim_test;

namespace {

void destroy_semaphore(cudaExternalSemaphore_t semaphore) {
    ok(runtime().cudaDestroyExternalSemaphore(semaphore));
}
cudaExternalSemaphore_t new_timeline() {
    const cudaExternalSemaphoreHandleDesc handle{
        .type = cudaExternalSemaphoreHandleTypeTimelineSemaphoreFd,
        .handle = {.fd = sim_control().make_semaphore_fd(0)}};
    return got<cudaExternalSemaphore_t>(&Runtime::cudaImportExternalSemaphore, out, &handle);
}
struct Timeline : Owned<cudaExternalSemaphore_t, destroy_semaphore> {
    Timeline() : Owned(new_timeline()) {}
};

} // namespace

TEST_CASE("importing external memory through the runtime takes ownership of the descriptor") {
    const int fd = sim_control().make_memory_fd(65536);
    REQUIRE(fd >= 0);
    const cudaExternalMemoryHandleDesc handle{
        .type = cudaExternalMemoryHandleTypeOpaqueFd, .handle = {.fd = fd}, .size = 65536};
    const auto memory = got<cudaExternalMemory_t>(&Runtime::cudaImportExternalMemory, out, &handle);
    CHECK_FALSE(is_open(fd));
    const cudaExternalMemoryBufferDesc buffer{.offset = 4096, .size = 8192};
    void *mapped = nullptr;
    ok(runtime().cudaExternalMemoryGetMappedBuffer(&mapped, memory, &buffer));
    CHECK(sim_control().view(as_device(mapped), 8192) != nullptr);
    CHECK(sim_control().view(as_device(mapped), 8193) == nullptr);
    ok(runtime().cudaFree(mapped));
    ok(runtime().cudaDestroyExternalMemory(memory));
}

TEST_CASE("a stream waits for an external semaphore that another stream signals") {
    start("mode=adversarial;seed=2");
    const Timeline timeline;
    const cudaExternalSemaphore_t list[] = {timeline};
    const RuntimeStream first(cudaStreamNonBlocking), second(cudaStreamNonBlocking);
    const RuntimeMemory memory(64);
    const cudaExternalSemaphoreWaitParams wait{.params = {.fence = {.value = 3}}};
    ok(runtime().cudaWaitExternalSemaphoresAsync(list, &wait, 1, second));
    ok(runtime().cudaMemsetAsync(memory, 2, 64, second));
    CHECK(runtime().cudaStreamQuery(second) == cudaErrorNotReady);
    ok(runtime().cudaMemsetAsync(memory, 1, 64, first));
    const cudaExternalSemaphoreSignalParams signal{.params = {.fence = {.value = 3}}};
    ok(runtime().cudaSignalExternalSemaphoresAsync(list, &signal, 1, first));
    ok(runtime().cudaStreamSynchronize(first));
    ok(runtime().cudaStreamSynchronize(second));
    CHECK(got<unsigned char>(&Runtime::cudaMemcpy, out, memory, 1, cudaMemcpyDefault) == 2);
}

TEST_CASE("graph nodes of the runtime signal and wait for external semaphores") {
    const Timeline timeline;
    cudaExternalSemaphore_t semaphore = timeline;
    const RuntimeGraph graph;
    cudaExternalSemaphoreSignalParams signal{.params = {.fence = {.value = 5}}};
    cudaExternalSemaphoreWaitParams wait{.params = {.fence = {.value = 5}}};
    cudaExternalSemaphoreSignalNodeParams signals{&semaphore, &signal, 1}, seen{};
    cudaExternalSemaphoreWaitNodeParams waits{&semaphore, &wait, 1};
    cudaGraphNode_t first = nullptr, second = nullptr;
    ok(runtime().cudaGraphAddExternalSemaphoresSignalNode(&first, graph, nullptr, 0, &signals));
    ok(runtime().cudaGraphAddExternalSemaphoresWaitNode(&second, graph, &first, 1, &waits));
    ok(runtime().cudaGraphExternalSemaphoresSignalNodeGetParams(first, &seen));
    CHECK(seen.numExtSems == 1);
    CHECK(seen.extSemArray[0] == semaphore);
    CHECK(seen.paramsArray[0].params.fence.value == 5);
    const RuntimeExecutable executable(graph);
    ok(runtime().cudaGraphLaunch(executable, nullptr));
    ok(runtime().cudaDeviceSynchronize());
}

TEST_CASE("runtime IPC handles are driver handles") {
    const RuntimeMemory memory(4096);
    const auto handle = got<cudaIpcMemHandle_t>(&Runtime::cudaIpcGetMemHandle, out, memory.get());
    const CUipcMemHandle drivers = handle_of(as_device(memory));
    CHECK(std::memcmp(&handle, &drivers, sizeof handle) == 0);
}

#endif
