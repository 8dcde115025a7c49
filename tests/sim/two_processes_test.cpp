// Two real processes: IPC memory and events, external memory and semaphores, in both directions,
// with processes that die in between. The hidden test cases are the second process of the others.
#include "child_process.hpp"
#include "sim.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators_range.hpp>

#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>
#include <vector>

#ifndef _WIN32
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace sim_test;

namespace {

constexpr unsigned int lazy = CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS;
constexpr unsigned int interprocess = CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING;

CUdeviceptr allocated(std::size_t size, int value) {
    CUdeviceptr address = 0;
    REQUIRE(cushim::driver().cuMemAlloc(&address, size) == CUDA_SUCCESS);
    REQUIRE(cushim::driver().cuMemsetD8(address, static_cast<unsigned char>(value), size) ==
            CUDA_SUCCESS);
    REQUIRE(cushim::driver().cuCtxSynchronize() == CUDA_SUCCESS);
    return address;
}

void free_memory(CUdeviceptr address) {
    CHECK(cushim::driver().cuMemFree(address) == CUDA_SUCCESS);
}

CUipcMemHandle handle_of(CUdeviceptr address) {
    CUipcMemHandle handle;
    REQUIRE(cushim::driver().cuIpcGetMemHandle(&handle, address) == CUDA_SUCCESS);
    return handle;
}

CUresult open(CUdeviceptr &address, const CUipcMemHandle &handle) {
    return cushim::driver().cuIpcOpenMemHandle(&address, handle, lazy);
}

CUdeviceptr opened(const CUipcMemHandle &handle) {
    CUdeviceptr address = 0;
    REQUIRE(open(address, handle) == CUDA_SUCCESS);
    return address;
}

void close_memory(CUdeviceptr address) {
    CHECK(cushim::driver().cuIpcCloseMemHandle(address) == CUDA_SUCCESS);
}

int byte_at(CUdeviceptr address) {
    unsigned char value = 0;
    REQUIRE(cushim::driver().cuMemcpyDtoH(&value, address, 1) == CUDA_SUCCESS);
    return value;
}

void set_byte(CUdeviceptr address, int value) {
    const auto byte = static_cast<unsigned char>(value);
    REQUIRE(cushim::driver().cuMemcpyHtoD(address, &byte, 1) == CUDA_SUCCESS);
    REQUIRE(cushim::driver().cuCtxSynchronize() == CUDA_SUCCESS); // before others look at it
}

CUstream new_stream() {
    CUstream stream = nullptr;
    REQUIRE(cushim::driver().cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS);
    return stream;
}

void end(CUstream stream) {
    CHECK(cushim::driver().cuStreamSynchronize(stream) == CUDA_SUCCESS);
    CHECK(cushim::driver().cuStreamDestroy(stream) == CUDA_SUCCESS);
}

// Where both sides meet: an orderly end of the child's part.
void ended(Child &child) {
    CHECK(child.passed());
}

} // namespace

// --- IPC memory

TEST_CASE("child exports memory", "[.]") {
    start();
    auto parent = Channel::of_parent();
    const auto memory = allocated(parent.receive<std::size_t>(), 1);
    parent.send(handle_of(memory));
    parent.await();
    CHECK(byte_at(memory) == 2);
    free_memory(memory);
}

TEST_CASE("child opens memory", "[.]") {
    start();
    auto parent = Channel::of_parent();
    const auto handle = parent.receive<CUipcMemHandle>();
    const auto memory = opened(handle);
    CHECK(byte_at(memory) == 1);
    set_byte(memory, 2);
    close_memory(memory);
    parent.signal();
}

TEST_CASE("a process reads and writes the memory of another", "[processes]") {
    const auto mode = GENERATE_COPY(from_range(all_modes()));
    const std::size_t size = GENERATE(1, 100, 5000, 3 << 20, 40 << 20);
    start(mode);
    SECTION("the child's") {
        Child child("child exports memory", mode);
        child.channel().send(size);
        const auto memory = opened(child.channel().receive<CUipcMemHandle>());
        CHECK(byte_at(memory) == 1);
        CHECK(byte_at(memory + size - 1) == 1);
        CUdeviceptr base = 0;
        std::size_t bytes = 0;
        CHECK(cushim::driver().cuMemGetAddressRange(&base, &bytes, memory) == CUDA_SUCCESS);
        CHECK(base == memory);
        CHECK(bytes == size);
        unsigned char value = 0;
        CHECK(cushim::driver().cuMemcpyDtoH(&value, memory + size, 1) == CUDA_ERROR_INVALID_VALUE);
        set_byte(memory, 2);
        close_memory(memory);
        child.channel().signal();
        ended(child);
    }
    SECTION("the parent's") {
        const auto memory = allocated(size, 1);
        Child child("child opens memory", mode);
        child.channel().send(handle_of(memory));
        child.channel().await();
        CHECK(byte_at(memory) == 2);
        ended(child);
        free_memory(memory);
    }
}

TEST_CASE("the handle of an interior pointer opens at the allocation's base", "[processes]") {
    start();
    const auto memory = allocated(1000, 1);
    set_byte(memory + 999, 1);
    Child child("child opens memory");
    child.channel().send(handle_of(memory + 500));
    child.channel().await();
    CHECK(byte_at(memory) == 2);
    CHECK(byte_at(memory + 500) == 1);
    ended(child);
    free_memory(memory);
}

TEST_CASE("child exports on request", "[.]") {
    start();
    const auto &d = cushim::driver();
    auto parent = Channel::of_parent();
    std::vector<CUdeviceptr> all;
    for (char request = parent.receive<char>(); request != 'q'; request = parent.receive<char>()) {
        if (request == 'a') {
            all.push_back(allocated(4096, static_cast<int>(all.size()) + 1));
            parent.send(handle_of(all.back()));
        } else if (request == 'f') {
            free_memory(all.back());
            all.pop_back();
            parent.signal();
        } else if (request == 'F') {
            const auto memory = all.back();
            all.pop_back();
            free_memory(memory);
            expect_misuse("has it open by its IPC handle");
            parent.signal();
        } else if (request == 'r') { // its device starts anew
            all.clear();
            REQUIRE(d.cuDevicePrimaryCtxReset(0) == CUDA_SUCCESS);
            parent.signal();
        }
    }
    for (const CUdeviceptr memory : all) {
        free_memory(memory);
    }
}

TEST_CASE("opening again gives the same memory, and each opening is closed once", "[processes]") {
    const auto mode = GENERATE_COPY(from_range(all_modes()));
    start(mode);
    const auto &d = cushim::driver();
    Child child("child exports on request", mode);
    child.channel().send('a');
    const auto handle = child.channel().receive<CUipcMemHandle>();
    const auto memory = opened(handle);
    CHECK(opened(handle) == memory);
    CHECK(opened(handle) == memory);
    close_memory(memory);
    CHECK(byte_at(memory) == 1);
    close_memory(memory);
    CHECK(byte_at(memory) == 1);
    close_memory(memory);
    CHECK(d.cuIpcCloseMemHandle(memory) == CUDA_ERROR_INVALID_VALUE);
    expect_misuse("cuIpcCloseMemHandle");
    unsigned char value = 0;
    CHECK(d.cuMemcpyDtoH(&value, memory, 1) == CUDA_ERROR_INVALID_VALUE);
    expect_misuse("memory of another process");

    const auto again = opened(handle);
    CHECK(again != memory); // addresses are not used again
    CHECK(byte_at(again) == 1);
    CHECK(d.cuIpcCloseMemHandle(again + 1) == CUDA_ERROR_INVALID_VALUE);
    expect_misuse("did not return");
    close_memory(again);
    child.channel().send('q');
    ended(child);
}

TEST_CASE("memory of another process is freed by its own process only", "[processes]") {
    start();
    const auto &d = cushim::driver();
    Child child("child exports on request");
    child.channel().send('a');
    const auto memory = opened(child.channel().receive<CUipcMemHandle>());
    CHECK(leaks().size() == 1);
    CHECK(d.cuMemFree(memory) == CUDA_ERROR_INVALID_VALUE);
    CHECK(misuses().size() == 1);
    expect_misuse("memory of another process");
    CUipcMemHandle onward;
    CHECK(d.cuIpcGetMemHandle(&onward, memory) == CUDA_ERROR_INVALID_VALUE);
    int capable = -1;
    CHECK(d.cuPointerGetAttribute(&capable, CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE,
                                  memory) == CUDA_SUCCESS);
    CHECK(capable == 0);
    close_memory(memory);
    child.channel().send('q');
    ended(child);
}

TEST_CASE("the handle of freed memory is refused", "[processes]") {
    start();
    Child child("child exports on request");
    auto &c = child.channel();
    c.send('a');
    const auto kept = c.receive<CUipcMemHandle>();
    c.send('a');
    const auto first = c.receive<CUipcMemHandle>();
    close_memory(opened(first));
    c.send('f');
    c.await();
    c.send('a'); // where the other one was
    const auto second = c.receive<CUipcMemHandle>();
    CHECK(std::memcmp(&first, &second, sizeof first) != 0);
    CUdeviceptr memory = 0;
    CHECK(open(memory, first) == CUDA_ERROR_INVALID_VALUE);
    close_memory(opened(second));
    close_memory(opened(kept));
    c.send('r');
    c.await();
    CHECK(open(memory, kept) == CUDA_ERROR_INVALID_VALUE);
    CHECK(open(memory, second) == CUDA_ERROR_INVALID_VALUE);
    c.send('q');
    ended(child);
}

TEST_CASE("spoilt handles of a living process are refused", "[processes]") {
    start();
    Child child("child exports on request");
    child.channel().send('a');
    const auto good = child.channel().receive<CUipcMemHandle>();
    CUdeviceptr memory = 0;
    for (std::size_t i = 0; i < sizeof good; ++i) {
        auto spoilt = good;
        spoilt.reserved[i] = static_cast<char>(spoilt.reserved[i] + 1);
        INFO("byte " << i);
        CHECK(open(memory, spoilt) == CUDA_ERROR_INVALID_VALUE);
    }
    close_memory(opened(good));
    child.channel().send('q');
    ended(child);
}

TEST_CASE("an exporter that frees what is open elsewhere is told", "[processes]") {
    start();
    Child child("child exports on request");
    auto &c = child.channel();
    c.send('a');
    const auto memory = opened(c.receive<CUipcMemHandle>());
    c.send('F');
    c.await();
    close_memory(memory);
    c.send('q');
    ended(child);
}

TEST_CASE("child opens memory and waits", "[.]") {
    start();
    auto parent = Channel::of_parent();
    const auto memory = opened(parent.receive<CUipcMemHandle>());
    parent.signal();
    parent.await();
    close_memory(memory);
}

TEST_CASE("an importer that died has nothing open", "[processes]") {
    start();
    const auto memory = allocated(4096, 1);
    Child child("child opens memory and waits");
    child.channel().send(handle_of(memory));
    child.channel().await();
    SECTION("and was waited for") {
        child.kill();
    }
    SECTION("and is a zombie") {
        child.kill_unnoticed();
    }
    free_memory(memory); // no misuse
}

TEST_CASE("an importer that lives has its memory open", "[processes]") {
    start();
    const auto memory = allocated(4096, 1);
    Child child("child opens memory and waits");
    child.channel().send(handle_of(memory));
    child.channel().await();
    free_memory(memory);
    expect_misuse("has it open by its IPC handle");
    child.channel().signal();
    ended(child);
}

TEST_CASE("memory outlives its exporter where it is open", "[processes]") {
    start();
    Child child("child exports on request");
    child.channel().send('a');
    const auto handle = child.channel().receive<CUipcMemHandle>();
    const auto memory = opened(handle);
    SECTION("which died") {
        child.kill();
    }
    SECTION("which is a zombie") {
        child.kill_unnoticed();
    }
    CHECK(byte_at(memory) == 1);
    set_byte(memory, 9);
    CHECK(byte_at(memory) == 9);
    close_memory(memory);
    CUdeviceptr again = 0;
    CHECK(open(again, handle) == CUDA_ERROR_INVALID_VALUE); // but cannot be opened any more
}

TEST_CASE("opened memory ends with the context that opened it", "[processes]") {
    start();
    const auto &d = cushim::driver();
    const auto before = open_descriptors();
    Child child("child exports on request");
    child.channel().send('a');
    const auto handle = child.channel().receive<CUipcMemHandle>();
    const auto memory = opened(handle);
    REQUIRE(d.cuDevicePrimaryCtxReset(0) == CUDA_SUCCESS);
    CHECK(leaks().empty());
    CUcontext context = nullptr;
    REQUIRE(d.cuDevicePrimaryCtxRetain(&context, 0) == CUDA_SUCCESS);
    REQUIRE(d.cuCtxSetCurrent(context) == CUDA_SUCCESS);
    CHECK(d.cuIpcCloseMemHandle(memory) == CUDA_ERROR_INVALID_VALUE);
    expect_misuse("cuIpcCloseMemHandle");
    close_memory(opened(handle));
    CHECK(open_descriptors() == before + 1); // the channel
    child.channel().send('f');               // nobody has it open
    child.channel().await();
    child.channel().send('q');
    ended(child);
    REQUIRE(d.cuDevicePrimaryCtxRelease(0) == CUDA_SUCCESS);
}

TEST_CASE("one context per device opens what a process exports", "[processes]") {
    start();
    const auto &d = cushim::driver();
    Child child("child exports on request");
    child.channel().send('a');
    const auto handle = child.channel().receive<CUipcMemHandle>();
    const auto memory = opened(handle);
    CUcontext first = nullptr, other = nullptr;
    REQUIRE(d.cuCtxGetCurrent(&first) == CUDA_SUCCESS);
#if CUDA_VERSION >= 13000
    REQUIRE(d.cuCtxCreate(&other, nullptr, 0, 0) == CUDA_SUCCESS);
#else
    REQUIRE(d.cuCtxCreate(&other, 0, 0) == CUDA_SUCCESS);
#endif
    CUdeviceptr elsewhere = 0;
    CHECK(open(elsewhere, handle) == CUDA_ERROR_INVALID_CONTEXT);
    REQUIRE(d.cuCtxSetCurrent(first) == CUDA_SUCCESS);
    close_memory(memory);
    REQUIRE(d.cuCtxSetCurrent(other) == CUDA_SUCCESS);
    close_memory(opened(handle));
    REQUIRE(d.cuCtxDestroy(other) == CUDA_SUCCESS);
    REQUIRE(d.cuCtxSetCurrent(first) == CUDA_SUCCESS);
    child.channel().send('q');
    ended(child);
}

TEST_CASE("a device that cannot reach the memory's does not open it", "[processes]") {
    start("devices=2;peers=none");
    const auto &d = cushim::driver();
    Child child("child exports on request", "devices=2;peers=none");
    child.channel().send('a');
    const auto handle = child.channel().receive<CUipcMemHandle>();
    CUcontext first = nullptr, second = nullptr;
    REQUIRE(d.cuCtxGetCurrent(&first) == CUDA_SUCCESS);
    REQUIRE(d.cuDevicePrimaryCtxRetain(&second, 1) == CUDA_SUCCESS);
    REQUIRE(d.cuCtxSetCurrent(second) == CUDA_SUCCESS);
    CUdeviceptr memory = 0;
    CHECK(open(memory, handle) == CUDA_ERROR_PEER_ACCESS_UNSUPPORTED);
    REQUIRE(d.cuCtxSetCurrent(first) == CUDA_SUCCESS);
    close_memory(opened(handle));
    REQUIRE(d.cuDevicePrimaryCtxRelease(1) == CUDA_SUCCESS);
    child.channel().send('q');
    ended(child);
}

TEST_CASE("closing memory waits for the work that uses it, or says that it does not",
          "[processes]") {
    const auto mode = GENERATE_COPY(from_range(all_modes()));
    start(mode);
    const auto &d = cushim::driver();
    Child child("child exports on request", mode);
    child.channel().send('a');
    const auto memory = opened(child.channel().receive<CUipcMemHandle>());
    const auto stream = new_stream();
    CHECK(d.cuMemsetD8Async(memory, 5, 4096, stream) == CUDA_SUCCESS);
    close_memory(memory);
    if (mode.find("adversarial") != std::string::npos) {
        expect_misuse("queued operations need it");
        CHECK(d.cuStreamSynchronize(stream) == CUDA_ERROR_ILLEGAL_ADDRESS);
        sim_control().clear_misuses();
        CHECK(d.cuDevicePrimaryCtxReset(0) == CUDA_SUCCESS);
    } else {
        end(stream);
    }
    child.channel().send('q');
    ended(child);
}

TEST_CASE("a forked child that never used the driver opens the parent's memory", "[processes]") {
    // As a server does that forks before it initialises. Its own test program cannot go on in the
    // child.
    int ends[2];
    REQUIRE(pipe(ends) == 0);
    const pid_t process = fork();
    REQUIRE(process >= 0);
    if (process == 0) {
        CUipcMemHandle handle;
        bool good = read(ends[0], &handle, sizeof handle) == sizeof handle;
        const auto &d = cushim::driver();
        CUcontext context = nullptr;
        CUdeviceptr memory = 0;
        unsigned char value = 0;
        good = good && d.cuInit(0) == CUDA_SUCCESS &&
               d.cuDevicePrimaryCtxRetain(&context, 0) == CUDA_SUCCESS &&
               d.cuCtxSetCurrent(context) == CUDA_SUCCESS &&
               d.cuIpcOpenMemHandle(&memory, handle, lazy) == CUDA_SUCCESS &&
               d.cuMemcpyDtoH(&value, memory, 1) == CUDA_SUCCESS && value == 0x77 &&
               d.cuIpcCloseMemHandle(memory) == CUDA_SUCCESS;
        _exit(good ? 0 : 1);
    }
    start();
    const auto memory = allocated(4096, 0x77);
    const auto handle = handle_of(memory);
    REQUIRE(write(ends[1], &handle, sizeof handle) == sizeof handle);
    int status = -1;
    REQUIRE(waitpid(process, &status, 0) == process);
    CHECK(status == 0);
    close(ends[0]);
    close(ends[1]);
    free_memory(memory);
}

TEST_CASE("a forked child that ends orderly does not end what its parent exports", "[processes]") {
    start();
    const auto memory = allocated(4096, 1);
    const auto handle = handle_of(memory);
    const pid_t process = fork();
    REQUIRE(process >= 0);
    if (process == 0) {
        std::exit(0); // with static destructors
    }
    int status = -1;
    REQUIRE(waitpid(process, &status, 0) == process);
    CHECK(status == 0);
    Child child("child opens memory");
    child.channel().send(handle);
    child.channel().await();
    CHECK(byte_at(memory) == 2);
    ended(child);
    free_memory(memory);
}

// --- IPC events

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

namespace {

// The other API's side of a timeline.
class Gate {
  public:
    explicit Gate(std::uint64_t initial) : fd(sim_control().make_semaphore_fd(initial)) {
        REQUIRE(fd >= 0);
        state = static_cast<cushim_sim_semaphore *>(
            mmap(nullptr, sizeof *state, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));
        REQUIRE(state != MAP_FAILED);
    }
    ~Gate() {
        munmap(state, sizeof *state);
        close(fd);
    }
    Gate(const Gate &) = delete;
    Gate &operator=(const Gate &) = delete;
    std::uint64_t value() const { return std::atomic_ref(state->value).load(); }
    void set(std::uint64_t value) { std::atomic_ref(state->value).store(value); }

    int fd;
    cushim_sim_semaphore *state = nullptr;
};

CUevent opened_event(const CUipcEventHandle &handle) {
    CUevent event = nullptr;
    REQUIRE(cushim::driver().cuIpcOpenEventHandle(&event, handle) == CUDA_SUCCESS);
    return event;
}

} // namespace

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

// --- external memory and semaphores

TEST_CASE("child works on external memory", "[.]") {
    start();
    const auto &d = cushim::driver();
    auto parent = Channel::of_parent();
    const auto size = parent.receive<std::size_t>();
    CUDA_EXTERNAL_MEMORY_HANDLE_DESC memory_description{};
    memory_description.type = CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD;
    memory_description.handle.fd = parent.receive_fd();
    memory_description.size = size;
    CUexternalMemory memory = nullptr;
    REQUIRE(d.cuImportExternalMemory(&memory, &memory_description) == CUDA_SUCCESS);
    CUDA_EXTERNAL_MEMORY_BUFFER_DESC buffer_description{};
    buffer_description.size = size;
    CUdeviceptr buffer = 0;
    REQUIRE(d.cuExternalMemoryGetMappedBuffer(&buffer, memory, &buffer_description) ==
            CUDA_SUCCESS);
    CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC description{};
    description.type = CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_TIMELINE_SEMAPHORE_FD;
    description.handle.fd = parent.receive_fd();
    CUexternalSemaphore semaphore = nullptr;
    REQUIRE(d.cuImportExternalSemaphore(&semaphore, &description) == CUDA_SUCCESS);

    // Frame by frame: waits for 2n - 1, adds one to the value there, signals 2n.
    const auto frames = parent.receive<unsigned int>();
    const auto stream = new_stream();
    unsigned int *pinned = nullptr;
    REQUIRE(d.cuMemAllocHost(reinterpret_cast<void **>(&pinned), sizeof *pinned) == CUDA_SUCCESS);
    for (unsigned int frame = 1; frame <= frames; ++frame) {
        CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS wait{};
        wait.params.fence.value = 2 * frame - 1;
        REQUIRE(d.cuWaitExternalSemaphoresAsync(&semaphore, &wait, 1, stream) == CUDA_SUCCESS);
        REQUIRE(d.cuMemcpyDtoHAsync(pinned, buffer, sizeof *pinned, stream) == CUDA_SUCCESS);
        REQUIRE(d.cuStreamSynchronize(stream) == CUDA_SUCCESS);
        ++*pinned;
        REQUIRE(d.cuMemcpyHtoDAsync(buffer, pinned, sizeof *pinned, stream) == CUDA_SUCCESS);
        CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS signal{};
        signal.params.fence.value = 2 * frame;
        REQUIRE(d.cuSignalExternalSemaphoresAsync(&semaphore, &signal, 1, stream) == CUDA_SUCCESS);
        // In adversarial mode nothing runs before somebody asks for it.
        REQUIRE(d.cuStreamSynchronize(stream) == CUDA_SUCCESS);
    }
    end(stream);
    CHECK(d.cuMemFreeHost(pinned) == CUDA_SUCCESS);
    CHECK(d.cuMemFree(buffer) == CUDA_SUCCESS);
    CHECK(d.cuDestroyExternalMemory(memory) == CUDA_SUCCESS);
    CHECK(d.cuDestroyExternalSemaphore(semaphore) == CUDA_SUCCESS);
}

TEST_CASE("two processes take turns on external memory", "[processes]") {
    const auto mode = GENERATE_COPY(from_range(all_modes()));
    start(mode);
    Gate gate(0);
    const std::size_t size = 4096;
    const int fd = sim_control().make_memory_fd(size);
    auto *shared =
        static_cast<unsigned int *>(mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));
    REQUIRE(shared != MAP_FAILED);
    Child child("child works on external memory", mode);
    auto &c = child.channel();
    c.send(size);
    c.send_fd(fd);
    c.send_fd(gate.fd);
    const unsigned int frames = 25;
    c.send(frames);
    for (unsigned int frame = 1; frame <= frames; ++frame) {
        shared[0] = 100 * frame;
        gate.set(2 * frame - 1);
        for (int i = 0; i < 20000 && gate.value() < 2 * frame; ++i) {
            std::this_thread::sleep_for(std::chrono::microseconds(200));
        }
        REQUIRE(gate.value() == 2 * frame);
        CHECK(shared[0] == 100 * frame + 1);
    }
    ended(child);
    munmap(shared, size);
    close(fd);
}

TEST_CASE("child exports physical memory", "[.]") {
    start();
    const auto &d = cushim::driver();
    auto parent = Channel::of_parent();
    CUmemAllocationProp properties{};
    properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    properties.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    std::size_t size = 0;
    REQUIRE(d.cuMemGetAllocationGranularity(&size, &properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM) ==
            CUDA_SUCCESS);
    CUmemGenericAllocationHandle physical = 0;
    REQUIRE(d.cuMemCreate(&physical, size, &properties, 0) == CUDA_SUCCESS);
    int fd = -1;
    REQUIRE(d.cuMemExportToShareableHandle(&fd, physical, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                                           0) == CUDA_SUCCESS);
    parent.send(size);
    parent.send_fd(fd);
    close(fd);
    parent.await(); // the other one wrote to it
    CUdeviceptr address = 0;
    REQUIRE(d.cuMemAddressReserve(&address, size, 0, 0, 0) == CUDA_SUCCESS);
    REQUIRE(d.cuMemMap(address, size, 0, physical, 0) == CUDA_SUCCESS);
    CUmemAccessDesc access{};
    access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    REQUIRE(d.cuMemSetAccess(address, size, &access, 1) == CUDA_SUCCESS);
    CHECK(byte_at(address + size - 1) == 0x3c);
    CHECK(d.cuMemUnmap(address, size) == CUDA_SUCCESS);
    CHECK(d.cuMemAddressFree(address, size) == CUDA_SUCCESS);
    CHECK(d.cuMemRelease(physical) == CUDA_SUCCESS);
}

TEST_CASE("physical memory of another process imports as external memory", "[processes]") {
    start();
    const auto &d = cushim::driver();
    Child child("child exports physical memory");
    auto &c = child.channel();
    const auto size = c.receive<std::size_t>();
    CUDA_EXTERNAL_MEMORY_HANDLE_DESC description{};
    description.type = CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD;
    description.handle.fd = c.receive_fd();
    description.size = size;
    CUexternalMemory memory = nullptr;
    REQUIRE(d.cuImportExternalMemory(&memory, &description) == CUDA_SUCCESS);
    CHECK_FALSE(is_open(description.handle.fd));
    CUDA_EXTERNAL_MEMORY_BUFFER_DESC part{};
    part.size = size;
    CUdeviceptr buffer = 0;
    REQUIRE(d.cuExternalMemoryGetMappedBuffer(&buffer, memory, &part) == CUDA_SUCCESS);
    REQUIRE(d.cuMemsetD8(buffer, 0x3c, size) == CUDA_SUCCESS);
    REQUIRE(d.cuCtxSynchronize() == CUDA_SUCCESS);
    c.signal();
    ended(child);
    CHECK(byte_at(buffer) == 0x3c); // the exporter is gone, the memory is not
    CHECK(d.cuMemFree(buffer) == CUDA_SUCCESS);
    CHECK(d.cuDestroyExternalMemory(memory) == CUDA_SUCCESS);
}

TEST_CASE("child takes signals of a binary semaphore", "[.]") {
    start();
    const auto &d = cushim::driver();
    auto parent = Channel::of_parent();
    CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC description{};
    description.type = CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD;
    description.handle.fd = parent.receive_fd();
    CUexternalSemaphore semaphore = nullptr;
    REQUIRE(d.cuImportExternalSemaphore(&semaphore, &description) == CUDA_SUCCESS);
    const auto stream = new_stream();
    const CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS wait{};
    for (int i = 0; i < 50; ++i) {
        REQUIRE(d.cuWaitExternalSemaphoresAsync(&semaphore, &wait, 1, stream) == CUDA_SUCCESS);
        REQUIRE(d.cuStreamSynchronize(stream) == CUDA_SUCCESS);
        parent.signal();
    }
    CHECK(d.cuDestroyExternalSemaphore(semaphore) == CUDA_SUCCESS);
    end(stream);
}

TEST_CASE("each signal of a binary semaphore lets one of two processes through", "[processes]") {
    const auto mode = GENERATE_COPY(from_range(all_modes()));
    start(mode);
    Gate gate(0);
    Child one("child takes signals of a binary semaphore", mode);
    Child two("child takes signals of a binary semaphore", mode);
    one.channel().send_fd(gate.fd);
    two.channel().send_fd(gate.fd);
    for (int i = 0; i < 100; ++i) {
        int waited = 0;
        for (; gate.value() != 0 && waited < 30000; ++waited) {
            std::this_thread::sleep_for(std::chrono::microseconds(100));
        }
        REQUIRE(waited < 30000);
        gate.set(1);
    }
    ended(one);
    ended(two);
    CHECK(gate.value() == 0); // a hundred signals, a hundred waits
}
#endif
