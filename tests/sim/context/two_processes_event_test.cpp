// Two real processes and IPC events, with processes that die in between. The hidden test cases are the second
// process of the others.
#ifndef _WIN32
#include "process_tools.hpp"
#include "sim.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators_range.hpp>

#include <chrono>
#include <thread>
#include <vector>

using namespace sim_test;

TEST_CASE("child records its own event", "[.]") {
    start();
    const auto &d = cushim::driver();
    auto parent = Channel::of_parent();
    CUevent event = nullptr;
    REQUIRE(d.cuEventCreate(&event, interprocess) == CUDA_SUCCESS);
    CUipcEventHandle handle;
    REQUIRE(d.cuIpcGetEventHandle(&handle, event) == CUDA_SUCCESS);
    const auto memory = allocated(4, 1);
    parent.send(handle_of(memory));
    parent.send(handle);
    const auto gate = parent.receive_fd();
    CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC description{};
    description.type = CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_TIMELINE_SEMAPHORE_FD;
    description.handle.fd = gate;
    CUexternalSemaphore semaphore = nullptr;
    REQUIRE(d.cuImportExternalSemaphore(&semaphore, &description) == CUDA_SUCCESS);
    CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS wait{};
    wait.params.fence.value = 1;
    const auto stream = new_stream();
    REQUIRE(d.cuWaitExternalSemaphoresAsync(&semaphore, &wait, 1, stream) == CUDA_SUCCESS);
    REQUIRE(d.cuMemsetD8Async(memory, 2, 4, stream) == CUDA_SUCCESS);
    REQUIRE(d.cuEventRecord(event, stream) == CUDA_SUCCESS);
    parent.signal();
    end(stream);
    parent.await();
    CHECK(d.cuDestroyExternalSemaphore(semaphore) == CUDA_SUCCESS);
    CHECK(d.cuEventDestroy(event) == CUDA_SUCCESS);
    free_memory(memory);
}

TEST_CASE("a stream waits for an event that another process records", "[processes]") {
    const auto mode = GENERATE_COPY(from_range(all_modes()));
    start(mode);
    const auto &d = cushim::driver();
    Gate gate(0);
    Child child("child records its own event", mode);
    auto &c = child.channel();
    const auto memory = opened(c.receive<CUipcMemHandle>());
    const auto event = opened_event(c.receive<CUipcEventHandle>());
    CHECK(d.cuEventQuery(event) == CUDA_SUCCESS); // not recorded yet
    c.send_fd(gate.fd);
    c.await();
    CHECK(d.cuEventQuery(event) == CUDA_ERROR_NOT_READY);
    const auto stream = new_stream();
    CHECK(d.cuStreamWaitEvent(stream, event, 0) == CUDA_SUCCESS);
    unsigned char read = 0;
    void *pinned = nullptr;
    REQUIRE(d.cuMemAllocHost(&pinned, 1) == CUDA_SUCCESS);
    CHECK(d.cuMemcpyDtoHAsync(pinned, memory, 1, stream) == CUDA_SUCCESS);
    for (int i = 0; i < 10; ++i) {
        CHECK(d.cuStreamQuery(stream) == CUDA_ERROR_NOT_READY);
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    std::thread opener([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
        gate.set(1);
    });
    CHECK(d.cuEventSynchronize(event) == CUDA_SUCCESS);
    opener.join();
    CHECK(d.cuEventQuery(event) == CUDA_SUCCESS);
    end(stream);
    std::memcpy(&read, pinned, 1);
    CHECK(read == 2);
    CHECK(d.cuMemFreeHost(pinned) == CUDA_SUCCESS);
    float time = 0;
    CHECK(d.cuEventElapsedTime(&time, event, event) == CUDA_ERROR_INVALID_HANDLE);
    CHECK(d.cuEventDestroy(event) == CUDA_SUCCESS);
    close_memory(memory);
    c.signal();
    ended(child);
}

TEST_CASE("child records the parent's event", "[.]") {
    start();
    const auto &d = cushim::driver();
    auto parent = Channel::of_parent();
    const auto event = opened_event(parent.receive<CUipcEventHandle>());
    const auto stream = new_stream();
    for (char request = parent.receive<char>(); request != 'q'; request = parent.receive<char>()) {
        CHECK(d.cuEventRecord(event, stream) == CUDA_SUCCESS);
        CHECK(d.cuStreamSynchronize(stream) == CUDA_SUCCESS);
        parent.signal();
    }
    CHECK(d.cuEventDestroy(event) == CUDA_SUCCESS);
    end(stream);
}

TEST_CASE("both processes record one event", "[processes]") {
    const auto mode = GENERATE_COPY(from_range(all_modes()));
    start(mode);
    const auto &d = cushim::driver();
    CUevent event = nullptr;
    REQUIRE(d.cuEventCreate(&event, interprocess) == CUDA_SUCCESS);
    CUipcEventHandle handle;
    REQUIRE(d.cuIpcGetEventHandle(&handle, event) == CUDA_SUCCESS);
    Child child("child records the parent's event", mode);
    child.channel().send(handle);
    const auto stream = new_stream();
    for (int i = 0; i < 20; ++i) {
        child.channel().send('r');
        child.channel().await();
        CHECK(d.cuEventQuery(event) == CUDA_SUCCESS);
        CHECK(d.cuEventRecord(event, stream) == CUDA_SUCCESS);
        CHECK(d.cuEventSynchronize(event) == CUDA_SUCCESS);
    }
    child.channel().send('q');
    ended(child);
    end(stream);
    CHECK(d.cuEventDestroy(event) == CUDA_SUCCESS);
}

TEST_CASE("an event that its exporter destroyed must not be used", "[processes]") {
    start();
    const auto &d = cushim::driver();
    Gate gate(1);
    Child child("child records its own event");
    auto &c = child.channel();
    const auto memory = c.receive<CUipcMemHandle>();
    const auto handle = c.receive<CUipcEventHandle>();
    const auto event = opened_event(handle);
    c.send_fd(gate.fd);
    c.await();
    c.signal();
    ended(child); // which destroyed it before it ended
    CHECK(d.cuEventQuery(event) == CUDA_SUCCESS);
    expect_misuse("exporter");
    CHECK(d.cuStreamWaitEvent(nullptr, event, 0) == CUDA_SUCCESS);
    expect_misuse("exporter");
    CUevent again = nullptr;
    CHECK(d.cuIpcOpenEventHandle(&again, handle) == CUDA_ERROR_MAP_FAILED);
    CUdeviceptr address = 0;
    CHECK(open(address, memory) == CUDA_ERROR_INVALID_VALUE);
    CHECK(d.cuEventDestroy(event) == CUDA_SUCCESS);
}

TEST_CASE("another process's event is waited for in the context that opened it", "[processes]") {
    start();
    const auto &d = cushim::driver();
    Gate gate(1);
    Child child("child records its own event");
    auto &c = child.channel();
    c.receive<CUipcMemHandle>();
    const auto handle = c.receive<CUipcEventHandle>();
    const auto event = opened_event(handle);
    c.send_fd(gate.fd);
    c.await();
    CUcontext other = nullptr;
    REQUIRE(d.cuCtxCreate_v2(&other, 0, 0) == CUDA_SUCCESS);
    const auto stream = new_stream();
    CHECK(d.cuStreamWaitEvent(stream, event, 0) == CUDA_ERROR_INVALID_HANDLE);
    expect_misuse("wait for an event for several processes");
    const auto again = opened_event(handle);
    CHECK(d.cuStreamWaitEvent(stream, again, 0) == CUDA_SUCCESS);
    CHECK(d.cuEventDestroy(again) == CUDA_SUCCESS);
    end(stream);
    CHECK(d.cuCtxDestroy(other) == CUDA_SUCCESS);
    CHECK(d.cuEventDestroy(event) == CUDA_SUCCESS);
    c.signal();
    ended(child);
}

TEST_CASE("nobody waits for a process that died", "[processes]") {
    const auto mode = GENERATE_COPY(from_range(all_modes()));
    start(mode);
    const auto &d = cushim::driver();
    Gate gate(0); // never opens
    Child child("child records its own event", mode);
    auto &c = child.channel();
    c.receive<CUipcMemHandle>();
    const auto event = opened_event(c.receive<CUipcEventHandle>());
    c.send_fd(gate.fd);
    c.await();
    CHECK(d.cuEventQuery(event) == CUDA_ERROR_NOT_READY);
    child.kill();
    CHECK(d.cuEventSynchronize(event) == CUDA_SUCCESS);
    CHECK(d.cuEventQuery(event) == CUDA_SUCCESS);
    CHECK(d.cuEventDestroy(event) == CUDA_SUCCESS);
}

#endif
