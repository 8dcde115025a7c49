// IPC events of two real processes, which may die. The hidden test cases run in the second process.
#ifndef _WIN32
#include "external_tools.hpp"

using namespace sim_test;

namespace {

// A second process that has recorded its event in a stream that waits for the gate.
struct Recorder {
    Recorder(const Gate &gate, const std::string &mode = "")
        : child("child records its own event", mode),
          memory(child.channel().receive<CUipcMemHandle>()),
          handle(child.channel().receive<CUipcEventHandle>()), event(opened_event(handle)) {
        ok(driver().cuEventQuery(event)); // not recorded yet
        child.channel().send_fd(gate.fd);
        child.channel().await();
    }
    // Lets the process end.
    void finish() {
        child.channel().signal();
        ended(child);
    }

    Child child;
    CUipcMemHandle memory;
    CUipcEventHandle handle;
    CUevent event;
};

} // namespace

TEST_CASE("child records its own event", "[.]") {
    start();
    auto parent = Channel::of_parent();
    const Event event(interprocess);
    const Filled memory(4, 1);
    parent.send(handle_of(memory));
    parent.send(handle_of(event));
    const Semaphore semaphore(parent.receive_fd());
    const auto stream = make_stream(non_blocking);
    require_ok(wait(semaphore, 1, stream));
    require_ok(driver().cuMemsetD8Async(memory, 2, 4, stream));
    require_ok(driver().cuEventRecord(event, stream));
    parent.signal();
    end(stream);
    parent.await();
}

TEST_CASE("a stream waits for an event that another process records") {
    const auto mode = GENERATE_COPY(from_range(all_modes()));
    start(mode);
    Gate gate(0);
    Recorder other(gate, mode);
    {
        const Opened memory(other.memory);
        CHECK(driver().cuEventQuery(other.event) == CUDA_ERROR_NOT_READY);
        const auto stream = make_stream(non_blocking);
        ok(driver().cuStreamWaitEvent(stream, other.event, 0));
        const PinnedMemory pinned(1);
        ok(driver().cuMemcpyDtoHAsync(pinned, memory, 1, stream));
        for (int i = 0; i < 10; ++i) {
            CHECK(driver().cuStreamQuery(stream) == CUDA_ERROR_NOT_READY);
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
        std::thread opener([&] {
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
            gate.set(1);
        });
        ok(driver().cuEventSynchronize(other.event));
        opener.join();
        ok(driver().cuEventQuery(other.event));
        end(stream);
        CHECK(*static_cast<unsigned char *>(pinned.get()) == 2);
        float time = 0;
        CHECK(driver().cuEventElapsedTime(&time, other.event, other.event) ==
              CUDA_ERROR_INVALID_HANDLE);
        destroy(other.event);
    }
    other.finish();
}

TEST_CASE("child records the parent's event", "[.]") {
    start();
    auto parent = Channel::of_parent();
    const auto event = opened_event(parent.receive<CUipcEventHandle>());
    const Stream stream(non_blocking);
    for (char request = parent.receive<char>(); request != 'q'; request = parent.receive<char>()) {
        ok(driver().cuEventRecord(event, stream));
        ok(driver().cuStreamSynchronize(stream));
        parent.signal();
    }
    ok(driver().cuEventDestroy(event));
    ok(driver().cuStreamSynchronize(stream));
}

TEST_CASE("two processes record the same event in turn") {
    const auto mode = GENERATE_COPY(from_range(all_modes()));
    start(mode);
    const Event event(interprocess);
    Child child("child records the parent's event", mode);
    child.channel().send(handle_of(event));
    const Stream stream(non_blocking);
    for (int i = 0; i < 20; ++i) {
        child.channel().send('r');
        child.channel().await();
        ok(driver().cuEventQuery(event));
        ok(driver().cuEventRecord(event, stream));
        ok(driver().cuEventSynchronize(event));
    }
    child.channel().send('q');
    ended(child);
    ok(driver().cuStreamSynchronize(stream));
}

TEST_CASE("using an event after its exporter destroyed it is a misuse") {
    Gate gate(1);
    Recorder other(gate);
    other.finish(); // destroys the event
    check_misuse(driver().cuEventQuery(other.event), CUDA_SUCCESS, "exporter");
    check_misuse(driver().cuStreamWaitEvent(nullptr, other.event, 0), CUDA_SUCCESS, "exporter");
    CUevent again = nullptr;
    CHECK(driver().cuIpcOpenEventHandle(&again, other.handle) == CUDA_ERROR_MAP_FAILED);
    CUdeviceptr address = 0;
    CHECK(open(address, other.memory) == invalid);
    destroy(other.event);
}

TEST_CASE("waits for an event return after its recording process died") {
    const auto mode = GENERATE_COPY(from_range(all_modes()));
    start(mode);
    Gate gate(0); // never opens
    Recorder other(gate, mode);
    CHECK(driver().cuEventQuery(other.event) == CUDA_ERROR_NOT_READY);
    other.child.kill();
    ok(driver().cuEventSynchronize(other.event));
    ok(driver().cuEventQuery(other.event));
    destroy(other.event);
}

#endif
