// Two real processes and IPC events, with processes that die in between. The hidden test cases are
// the second process of the others.
#ifndef _WIN32
#include "process_tools.hpp"

#include <chrono>
#include <thread>

using namespace sim_test;

TEST_CASE("child records its own event", "[.]") {
    start();
    auto parent = Channel::of_parent();
    const Event event(interprocess);
    CUipcEventHandle handle;
    REQUIRE(d.cuIpcGetEventHandle(&handle, event) == good);
    const Filled memory(4, 1);
    parent.send(handle_of(memory));
    parent.send(handle);
    const auto gate = parent.receive_fd();
    CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC description{};
    description.type = CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_TIMELINE_SEMAPHORE_FD;
    description.handle.fd = gate;
    CUexternalSemaphore semaphore = nullptr;
    REQUIRE(d.cuImportExternalSemaphore(&semaphore, &description) == good);
    CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS wait{};
    wait.params.fence.value = 1;
    const auto stream = make_stream(non_blocking);
    REQUIRE(d.cuWaitExternalSemaphoresAsync(&semaphore, &wait, 1, stream) == good);
    REQUIRE(d.cuMemsetD8Async(memory, 2, 4, stream) == good);
    REQUIRE(d.cuEventRecord(event, stream) == good);
    parent.signal();
    end(stream);
    parent.await();
    CHECK(d.cuDestroyExternalSemaphore(semaphore) == good);
}

TEST_CASE("a stream waits for an event that another process records") {
    const auto mode = GENERATE_COPY(from_range(all_modes()));
    start(mode);
    Gate gate(0);
    Child child("child records its own event", mode);
    auto &c = child.channel();
    const auto memory = opened(c.receive<CUipcMemHandle>());
    const auto event = opened_event(c.receive<CUipcEventHandle>());
    CHECK(d.cuEventQuery(event) == good); // not recorded yet
    c.send_fd(gate.fd);
    c.await();
    CHECK(d.cuEventQuery(event) == CUDA_ERROR_NOT_READY);
    const auto stream = make_stream(non_blocking);
    CHECK(d.cuStreamWaitEvent(stream, event, 0) == good);
    unsigned char read = 0;
    void *pinned = allocate_pinned(1);
    CHECK(d.cuMemcpyDtoHAsync(pinned, memory, 1, stream) == good);
    for (int i = 0; i < 10; ++i) {
        CHECK(d.cuStreamQuery(stream) == CUDA_ERROR_NOT_READY);
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    std::thread opener([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
        gate.set(1);
    });
    CHECK(d.cuEventSynchronize(event) == good);
    opener.join();
    CHECK(d.cuEventQuery(event) == good);
    end(stream);
    std::memcpy(&read, pinned, 1);
    CHECK(read == 2);
    CHECK(d.cuMemFreeHost(pinned) == good);
    float time = 0;
    CHECK(d.cuEventElapsedTime(&time, event, event) == CUDA_ERROR_INVALID_HANDLE);
    CHECK(d.cuEventDestroy(event) == good);
    close_memory(memory);
    c.signal();
    ended(child);
}

TEST_CASE("child records the parent's event", "[.]") {
    start();
    auto parent = Channel::of_parent();
    const auto event = opened_event(parent.receive<CUipcEventHandle>());
    const Stream stream(non_blocking);
    for (char request = parent.receive<char>(); request != 'q'; request = parent.receive<char>()) {
        CHECK(d.cuEventRecord(event, stream) == good);
        CHECK(d.cuStreamSynchronize(stream) == good);
        parent.signal();
    }
    CHECK(d.cuEventDestroy(event) == good);
    CHECK(d.cuStreamSynchronize(stream) == good);
}

TEST_CASE("both processes record one event") {
    const auto mode = GENERATE_COPY(from_range(all_modes()));
    start(mode);
    const Event event(interprocess);
    CUipcEventHandle handle;
    REQUIRE(d.cuIpcGetEventHandle(&handle, event) == good);
    Child child("child records the parent's event", mode);
    child.channel().send(handle);
    const Stream stream(non_blocking);
    for (int i = 0; i < 20; ++i) {
        child.channel().send('r');
        child.channel().await();
        CHECK(d.cuEventQuery(event) == good);
        CHECK(d.cuEventRecord(event, stream) == good);
        CHECK(d.cuEventSynchronize(event) == good);
    }
    child.channel().send('q');
    ended(child);
    CHECK(d.cuStreamSynchronize(stream) == good);
}

TEST_CASE("an event that its exporter destroyed must not be used") {
    start();
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
    CHECK(d.cuEventQuery(event) == good);
    expect_misuse("exporter");
    CHECK(d.cuStreamWaitEvent(nullptr, event, 0) == good);
    expect_misuse("exporter");
    CUevent again = nullptr;
    CHECK(d.cuIpcOpenEventHandle(&again, handle) == CUDA_ERROR_MAP_FAILED);
    CUdeviceptr address = 0;
    CHECK(open(address, memory) == invalid);
    CHECK(d.cuEventDestroy(event) == good);
}

TEST_CASE("another process's event is waited for in the context that opened it") {
    start();
    Gate gate(1);
    Child child("child records its own event");
    auto &c = child.channel();
    c.receive<CUipcMemHandle>();
    const auto handle = c.receive<CUipcEventHandle>();
    const auto event = opened_event(handle);
    c.send_fd(gate.fd);
    c.await();
    CUcontext other = nullptr;
    REQUIRE(d.cuCtxCreate_v2(&other, 0, 0) == good);
    const auto stream = make_stream(non_blocking);
    CHECK(d.cuStreamWaitEvent(stream, event, 0) == CUDA_ERROR_INVALID_HANDLE);
    expect_misuse("wait for an interprocess event");
    const auto again = opened_event(handle);
    CHECK(d.cuStreamWaitEvent(stream, again, 0) == good);
    CHECK(d.cuEventDestroy(again) == good);
    end(stream);
    CHECK(d.cuCtxDestroy(other) == good);
    CHECK(d.cuEventDestroy(event) == good);
    c.signal();
    ended(child);
}

TEST_CASE("nobody waits for a process that died") {
    const auto mode = GENERATE_COPY(from_range(all_modes()));
    start(mode);
    Gate gate(0); // never opens
    Child child("child records its own event", mode);
    auto &c = child.channel();
    c.receive<CUipcMemHandle>();
    const auto event = opened_event(c.receive<CUipcEventHandle>());
    c.send_fd(gate.fd);
    c.await();
    CHECK(d.cuEventQuery(event) == CUDA_ERROR_NOT_READY);
    child.kill();
    CHECK(d.cuEventSynchronize(event) == good);
    CHECK(d.cuEventQuery(event) == good);
    CHECK(d.cuEventDestroy(event) == good);
}

#endif
