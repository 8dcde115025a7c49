// External semaphores: timelines and binary ones, over real descriptors.
#include "../support/child_process.hpp"
#include "plan_fault.hpp"
#include "vmm_tools.hpp"

#include <atomic>
#include <chrono>
#include <limits>
#include <thread>

#ifndef _WIN32
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

using namespace sim_test;

namespace {

constexpr auto timeline = CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_TIMELINE_SEMAPHORE_FD;
constexpr auto binary = CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD;

// What the other API holds: its descriptor, and the counter behind it.
class Theirs : Unique {
  public:
    explicit Theirs(std::uint64_t initial) : fd_(sim_control().make_semaphore_fd(initial)) {
        REQUIRE(fd_ >= 0);
        void *pages =
            mmap(nullptr, sizeof(cushim_sim_semaphore), PROT_READ | PROT_WRITE, MAP_SHARED, fd_, 0);
        REQUIRE(pages != MAP_FAILED);
        state_ = static_cast<cushim_sim_semaphore *>(pages);
        REQUIRE(state_->magic == CUSHIM_SIM_SEMAPHORE_MAGIC);
    }
    ~Theirs() {
        munmap(state_, sizeof *state_);
        close(fd_);
    }

    int exported() const { return dup(fd_); }
    std::uint64_t value() const { return std::atomic_ref(state_->value).load(); }
    void set(std::uint64_t value) { std::atomic_ref(state_->value).store(value); }

  private:
    int fd_;
    cushim_sim_semaphore *state_ = nullptr;
};

CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC described(int fd, CUexternalSemaphoreHandleType type) {
    CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC description{};
    description.type = type;
    description.handle.fd = fd;
    return description;
}

CUexternalSemaphore imported(int fd, CUexternalSemaphoreHandleType type) {
    const auto description = described(fd, type);
    CUexternalSemaphore semaphore = nullptr;
    REQUIRE(d.cuImportExternalSemaphore(&semaphore, &description) == good);
    return semaphore;
}

CUresult signal(CUexternalSemaphore semaphore, std::uint64_t value, CUstream stream) {
    CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS parameters{};
    parameters.params.fence.value = value;
    return d.cuSignalExternalSemaphoresAsync(&semaphore, &parameters, 1, stream);
}

CUresult wait(CUexternalSemaphore semaphore, std::uint64_t value, CUstream stream) {
    CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS parameters{};
    parameters.params.fence.value = value;
    return d.cuWaitExternalSemaphoresAsync(&semaphore, &parameters, 1, stream);
}

void end(CUexternalSemaphore semaphore) {
    CHECK(d.cuDestroyExternalSemaphore(semaphore) == good);
}
struct Imported : Owned<CUexternalSemaphore, end> {
    Imported(int fd, CUexternalSemaphoreHandleType type) : Owned(imported(fd, type)) {}
};
void finish(CUstream stream) {
    CHECK(d.cuStreamSynchronize(stream) == good);
}

// Stays so for a while, in whichever mode.
void check_not_done(CUstream stream) {
    for (int i = 0; i < 10; ++i) {
        CHECK(d.cuStreamQuery(stream) == CUDA_ERROR_NOT_READY);
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
}

} // namespace

TEST_CASE("a semaphore's import takes the descriptor over") {
    start();
    const auto before = open_descriptors();
    const int fd = sim_control().make_semaphore_fd(0);
    const auto semaphore = imported(fd, timeline);
    CHECK_FALSE(is_open(fd));
    end(semaphore);
    CHECK(open_descriptors() == before);
}

TEST_CASE("what is no semaphore cannot be imported as one") {
    start();
    CUexternalSemaphore semaphore = nullptr;
    const auto type = GENERATE(binary, timeline);
    SECTION("a device") {
        const int fd = open("/dev/null", O_RDWR);
        const auto description = described(fd, type);
        CHECK(d.cuImportExternalSemaphore(&semaphore, &description) == CUDA_ERROR_UNKNOWN);
        CHECK(is_open(fd)); // other than memory's
        close(fd);
    }
    SECTION("memory") {
        const int fd = sim_control().make_memory_fd(GENERATE(64, 4096, 100000));
        const auto description = described(fd, type);
        CHECK(d.cuImportExternalSemaphore(&semaphore, &description) == CUDA_ERROR_UNKNOWN);
        CHECK(is_open(fd));
        close(fd);
    }
    SECTION("nothing") {
        const auto description = described(-1, type);
        CHECK(d.cuImportExternalSemaphore(&semaphore, &description) ==
              (type == timeline ? invalid : CUDA_ERROR_UNKNOWN));
    }
}

TEST_CASE("a descriptor of physical memory serves as a semaphore") {
    start();
    constexpr auto as_fd = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    const PhysicalMemory memory(default_granularity, on_device(0, as_fd));
    int fd = -1;
    REQUIRE(d.cuMemExportToShareableHandle(&fd, memory, as_fd, 0) == good);
    const auto description = described(fd, GENERATE(binary, timeline));
    CUexternalSemaphore semaphore = nullptr;
    REQUIRE(d.cuImportExternalSemaphore(&semaphore, &description) == good);
    expect_misuse("a memory descriptor is imported as a semaphore");
    CHECK_FALSE(is_open(fd));
    CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS signal{};
    CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS wait{};
    signal.params.fence.value = wait.params.fence.value = 1;
    CHECK(d.cuSignalExternalSemaphoresAsync(&semaphore, &signal, 1, nullptr) == good);
    CHECK(d.cuWaitExternalSemaphoresAsync(&semaphore, &wait, 1, nullptr) == good);
    CHECK(d.cuCtxSynchronize() == good);
    end(semaphore);
}

TEST_CASE("a semaphore's import checks its arguments before it takes anything") {
    start();
    const int fd = sim_control().make_semaphore_fd(0);
    auto description = described(fd, timeline);
    CUexternalSemaphore semaphore = nullptr;
    CUresult expected = invalid;
    SECTION("flags") {
        description.flags = 1;
    }
    SECTION("reserved words") {
        description.reserved[7] = 1;
    }
    SECTION("no type") {
        description.type = static_cast<CUexternalSemaphoreHandleType>(0);
    }
    SECTION("an unknown type") {
        description.type = static_cast<CUexternalSemaphoreHandleType>(11);
    }
    SECTION("types of another system") {
        const int type = GENERATE(2, 3, 4, 5, 7, 8, 10);
        description.type = static_cast<CUexternalSemaphoreHandleType>(type);
    }
    SECTION("a type that takes no descriptor") {
        description.type = CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_NVSCISYNC;
        expected = CUDA_ERROR_NOT_SUPPORTED;
    }
    SECTION("no context") {
        REQUIRE(d.cuCtxSetCurrent(nullptr) == good);
        expected = CUDA_ERROR_INVALID_CONTEXT;
    }
    CHECK(d.cuImportExternalSemaphore(&semaphore, &description) == expected);
    CHECK(is_open(fd));
    CHECK(d.cuImportExternalSemaphore(nullptr, &description) != good);
    CHECK(d.cuImportExternalSemaphore(&semaphore, nullptr) != good);
    close(fd);
}

TEST_CASE("a driver without timelines refuses them") {
    start("attribute.114=0");
    const int fd = sim_control().make_semaphore_fd(0);
    const auto description = described(fd, timeline);
    CUexternalSemaphore semaphore = nullptr;
    CHECK(d.cuImportExternalSemaphore(&semaphore, &description) == CUDA_ERROR_NOT_SUPPORTED);
    CHECK(is_open(fd));
    end(imported(fd, binary));
}

TEST_CASE("a timeline holds a stream back until its value is reached") {
    start(GENERATE_COPY(from_range(all_modes())));
    Theirs theirs(3);
    const Imported semaphore(theirs.exported(), timeline);
    const Stream waiting(non_blocking);
    const DeviceMemory memory(4);
    REQUIRE(d.cuMemsetD32(memory, 1, 1) == good);
    REQUIRE(d.cuCtxSynchronize() == good);

    SECTION("one that it has, or had") {
        CHECK(wait(semaphore, 3, waiting) == good);
        CHECK(wait(semaphore, 1, waiting) == good);
        CHECK(wait(semaphore, 0, waiting) == good);
        finish(waiting);
        CHECK(theirs.value() == 3); // a wait takes nothing
    }
    SECTION("set by the other API") {
        CHECK(wait(semaphore, 5, waiting) == good);
        CHECK(d.cuMemsetD32Async(memory, 2, 1, waiting) == good);
        check_not_done(waiting);
        theirs.set(4);
        check_not_done(waiting);
        theirs.set(100);
        finish(waiting);
    }
    SECTION("set by another stream") {
        const Stream signalling(non_blocking);
        CHECK(wait(semaphore, 5, waiting) == good);
        CHECK(d.cuMemsetD32Async(memory, 2, 1, waiting) == good);
        CHECK(signal(semaphore, 5, signalling) == good);
        finish(waiting);
        CHECK(theirs.value() == 5);
        finish(signalling);
    }
    SECTION("set by another thread while it waits") {
        CHECK(wait(semaphore, 6, waiting) == good);
        std::thread other([&] {
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
            theirs.set(6);
        });
        finish(waiting);
        other.join();
    }
}

TEST_CASE("a signal comes after the work before it") {
    start(GENERATE_COPY(from_range(all_modes())));
    Theirs theirs(0);
    const Imported semaphore(theirs.exported(), timeline);
    const Stream one(non_blocking), two(non_blocking);
    const DeviceMemory memory(4);
    unsigned int read = 0;
    for (unsigned int i = 1; i <= 20; ++i) {
        CHECK(d.cuMemsetD32Async(memory, i, 1, one) == good);
        CHECK(signal(semaphore, 2 * i - 1, one) == good);
        CHECK(wait(semaphore, 2 * i - 1, two) == good);
        CHECK(d.cuMemcpyDtoHAsync(&read, memory, 4, two) == good);
        CHECK(signal(semaphore, 2 * i, two) == good);
        CHECK(wait(semaphore, 2 * i, one) == good);
        finish(two);
        CHECK(read == i);
    }
    finish(one);
    CHECK(theirs.value() == 40);
}

TEST_CASE("a binary semaphore lets one wait through per signal") {
    start(GENERATE_COPY(from_range(all_modes())));
    Theirs theirs(0);
    const Imported semaphore(theirs.exported(), binary);
    const Stream one(non_blocking), two(non_blocking), three(non_blocking);
    CHECK(signal(semaphore, 77, one) == good); // the value means nothing here
    finish(one);
    CHECK(theirs.value() == 1);
    CHECK(wait(semaphore, 99, two) == good);
    finish(two);
    CHECK(theirs.value() == 0);
    CHECK(wait(semaphore, 0, three) == good);
    check_not_done(three);
    theirs.set(1);
    finish(three);
    CHECK(theirs.value() == 0);
}

TEST_CASE("one of two waits for a binary semaphore goes on") {
    start(GENERATE_COPY(from_range(all_modes())));
    Theirs theirs(0);
    const Imported semaphore(theirs.exported(), binary);
    const Stream one(non_blocking), two(non_blocking);
    CHECK(wait(semaphore, 0, one) == good);
    CHECK(wait(semaphore, 0, two) == good);
    theirs.set(1);
    int done = 0;
    for (int i = 0; i < 2000 && done == 0; ++i) {
        done = (d.cuStreamQuery(one) == good) + (d.cuStreamQuery(two) == good);
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    CHECK(done == 1);
    CHECK(theirs.value() == 0);
    theirs.set(1);
    finish(one);
    finish(two);
}

TEST_CASE("a signal that is lost, or sets a timeline back, is a misuse") {
    start();
    Theirs theirs(5);
    SECTION("binary") {
        const Imported semaphore(theirs.exported(), binary);
        theirs.set(1);
        CHECK(signal(semaphore, 0, nullptr) == good);
        expect_misuse("already signaled");
    }
    SECTION("timeline") {
        const Imported semaphore(theirs.exported(), timeline);
        CHECK(signal(semaphore, 4, nullptr) == good);
        CHECK(theirs.value() == 4);
        expect_misuse("decreases a timeline from 5 to 4");
    }
}

TEST_CASE("a batch signals and waits for all of it") {
    start(GENERATE_COPY(from_range(all_modes())));
    Theirs first(0), second(0), third(0);
    const CUexternalSemaphore semaphores[] = {imported(first.exported(), timeline),
                                              imported(second.exported(), binary),
                                              imported(third.exported(), timeline)};
    CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS signals[3] = {};
    CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS waits[3] = {};
    for (unsigned int i = 0; i < 3; ++i) {
        signals[i].params.fence.value = waits[i].params.fence.value = 10 + i;
    }
    const auto waiting = make_stream(non_blocking), signalling = make_stream(non_blocking);
    CHECK(d.cuWaitExternalSemaphoresAsync(semaphores, waits, 3, waiting) == good);
    waits[0].params.fence.value = 1000; // the call has its own copy
    check_not_done(waiting);
    third.set(12);
    check_not_done(waiting);
    first.set(10);
    check_not_done(waiting);
    second.set(1);
    finish(waiting);
    CHECK(second.value() == 0);

    third.set(0);
    CHECK(d.cuSignalExternalSemaphoresAsync(semaphores, signals, 3, signalling) == good);
    finish(signalling);
    CHECK(first.value() == 10);
    CHECK(second.value() == 1);
    CHECK(third.value() == 12);
    destroy(waiting);
    destroy(signalling);
    for (const CUexternalSemaphore semaphore : semaphores) {
        end(semaphore);
    }
}

TEST_CASE("a batch may wait for one binary semaphore twice") {
    start(GENERATE_COPY(from_range(all_modes())));
    Theirs theirs(1);
    const Imported semaphore(theirs.exported(), binary);
    const CUexternalSemaphore semaphores[] = {semaphore, semaphore};
    const CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS waits[2] = {};
    const Stream stream(non_blocking);
    CHECK(d.cuWaitExternalSemaphoresAsync(semaphores, waits, 2, stream) == good);
    // A machine that is busy may take longer than the look at it.
    for (int i = 0; i < 2000 && theirs.value() != 0; ++i) {
        check_not_done(stream);
    }
    check_not_done(stream);
    CHECK(theirs.value() == 0);
    theirs.set(1);
    finish(stream);
}

TEST_CASE("arguments of signals and waits are checked") {
    start();
    const auto semaphore = imported(sim_control().make_semaphore_fd(7), timeline);
    CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS signals{};
    CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS waits{};
    const auto both = [&](const CUexternalSemaphore *semaphores, unsigned int count,
                          CUresult expected) {
        CHECK(d.cuSignalExternalSemaphoresAsync(semaphores, &signals, count, nullptr) == expected);
        CHECK(d.cuWaitExternalSemaphoresAsync(semaphores, &waits, count, nullptr) == expected);
    };
    signals.params.fence.value = waits.params.fence.value = 7;
    both(&semaphore, 1, good);
    both(nullptr, 1, invalid);
    both(&semaphore, 0, invalid);
    CHECK(d.cuSignalExternalSemaphoresAsync(&semaphore, nullptr, 1, nullptr) == invalid);
    CHECK(d.cuWaitExternalSemaphoresAsync(&semaphore, nullptr, 1, nullptr) == invalid);
    SECTION("the flags of NvSci semaphores") {
        signals.flags = CUDA_EXTERNAL_SEMAPHORE_SIGNAL_SKIP_NVSCIBUF_MEMSYNC;
        waits.flags = CUDA_EXTERNAL_SEMAPHORE_WAIT_SKIP_NVSCIBUF_MEMSYNC;
        both(&semaphore, 1, invalid);
    }
    SECTION("unknown flags") {
        signals.flags = waits.flags = 0x80000000U;
        both(&semaphore, 1, invalid);
    }
    SECTION("reserved words") {
        signals.reserved[0] = waits.reserved[0] = 1;
        both(&semaphore, 1, invalid);
    }
    SECTION("reserved words of the parameters") {
        signals.params.reserved[0] = waits.params.reserved[0] = 1;
        both(&semaphore, 1, invalid);
    }
    end(semaphore);
}

TEST_CASE("handles of semaphores that are none are refused") {
    start();
    CHECK(d.cuDestroyExternalSemaphore(nullptr) == invalid);
    CHECK(signal(nullptr, 1, nullptr) == invalid);
    expect_misuse("null semaphore");
    CHECK(wait(nullptr, 1, nullptr) == invalid);
    const auto semaphore = imported(sim_control().make_semaphore_fd(0), timeline);
    end(semaphore);
    CHECK(d.cuDestroyExternalSemaphore(semaphore) == CUDA_ERROR_INVALID_HANDLE);
    expect_misuse("external semaphore");
    CHECK(signal(semaphore, 1, nullptr) == CUDA_ERROR_INVALID_HANDLE);
    expect_misuse("external semaphore");
    CHECK(wait(semaphore, 1, nullptr) == CUDA_ERROR_INVALID_HANDLE);
    expect_misuse("external semaphore");
}

TEST_CASE("a semaphore belongs to one context") {
    start();
    const Imported semaphore(sim_control().make_semaphore_fd(0), timeline);
    CUcontext other = nullptr;
    const CUcontext primary = current();
#if CUDA_VERSION >= 13000
    REQUIRE(d.cuCtxCreate(&other, nullptr, 0, 0) == good);
#else
    REQUIRE(d.cuCtxCreate(&other, 0, 0) == good);
#endif
    const CUstream foreign = make_stream(non_blocking);
    CHECK(signal(semaphore, 1, foreign) == CUDA_ERROR_INVALID_HANDLE);
    CHECK(wait(semaphore, 0, foreign) == CUDA_ERROR_INVALID_HANDLE);
    destroy(foreign);
    REQUIRE(d.cuCtxDestroy(other) == good);
    REQUIRE(d.cuCtxSetCurrent(primary) == good);
    CHECK(signal(semaphore, 1, nullptr) == good);
    CHECK(d.cuCtxSynchronize() == good);
}

TEST_CASE("a stream needs no current context to signal") {
    start();
    Theirs theirs(0);
    const auto semaphore = imported(theirs.exported(), timeline);
    const Stream stream(non_blocking);
    const CUcontext context = current();
    REQUIRE(d.cuCtxSetCurrent(nullptr) == good);
    CHECK(signal(semaphore, 1, stream) == good);
    CHECK(wait(semaphore, 1, stream) == good);
    finish(stream);
    CHECK(theirs.value() == 1);
    end(semaphore); // nor to end it
    REQUIRE(d.cuCtxSetCurrent(context) == good);
}

TEST_CASE("a semaphore that queued work needs must not be destroyed") {
    start(GENERATE_COPY(from_range(all_modes())));
    Theirs theirs(0);
    const auto semaphore = imported(theirs.exported(), timeline);
    const auto stream = make_stream(non_blocking);
    CHECK(wait(semaphore, 1, stream) == good);
    end(semaphore);
    expect_misuse("enqueued work still needs");
    CHECK(d.cuStreamSynchronize(stream) == CUDA_ERROR_ILLEGAL_ADDRESS);
    expect_misuse("external semaphore");
    d.cuStreamDestroy(stream);
    CHECK(d.cuDevicePrimaryCtxReset(0) == good);
}

TEST_CASE("one semaphore imported twice is the same one") {
    start(GENERATE_COPY(from_range(all_modes())));
    Theirs theirs(0);
    const Imported one(theirs.exported(), timeline);
    const Imported two(theirs.exported(), timeline);
    const Stream waiting(non_blocking), signalling(non_blocking);
    CHECK(wait(one, std::numeric_limits<std::uint64_t>::max(), waiting) == good);
    check_not_done(waiting);
    CHECK(signal(two, std::numeric_limits<std::uint64_t>::max(), signalling) == good);
    finish(waiting);
    finish(signalling);
}

TEST_CASE("a semaphore ends with its context, and is a leak before") {
    start();
    const auto before = open_descriptors();
    const auto semaphore = imported(sim_control().make_semaphore_fd(0), timeline);
    CHECK(leaks().size() == 1);
    REQUIRE(d.cuDevicePrimaryCtxReset(0) == good);
    CHECK(leaks().empty());
    CHECK(open_descriptors() == before);
    CHECK(d.cuDestroyExternalSemaphore(semaphore) == CUDA_ERROR_CONTEXT_IS_DESTROYED);
}

TEST_CASE("memory is freed when the work that waits for a semaphore is done") {
    start(GENERATE("mode=immediate", "mode=threaded"));
    Theirs theirs(0);
    const Imported semaphore(theirs.exported(), timeline);
    const Stream stream(non_blocking);
    const CUdeviceptr memory = allocate(4);
    CHECK(wait(semaphore, 1, stream) == good);
    CHECK(d.cuMemsetD32Async(memory, 1, 1, stream) == good);
    std::thread other([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        theirs.set(1);
    });
    CHECK(d.cuMemFree(memory) == good);
    CHECK(theirs.value() == 1);
    other.join();
    CHECK(d.cuStreamQuery(stream) == good);
}

TEST_CASE("a wait that fails with its stream waits no longer") {
    start("mode=threaded");
    const auto semaphore = imported(sim_control().make_semaphore_fd(0), timeline);
    const auto waiting = make_stream(non_blocking);
    CHECK(wait(semaphore, 1, waiting) == good);
    const CUdeviceptr memory = allocate(4);
    fail_work("cuMemsetD8Async", CUDA_ERROR_ILLEGAL_ADDRESS);
    const auto failing = make_stream(non_blocking);
    CHECK(d.cuMemsetD8Async(memory, 1, 1, failing) == good);
    CHECK(d.cuStreamSynchronize(failing) == CUDA_ERROR_ILLEGAL_ADDRESS);
    CHECK(d.cuStreamSynchronize(waiting) == CUDA_ERROR_ILLEGAL_ADDRESS);
    CHECK(d.cuDevicePrimaryCtxReset(0) == good);
}
#endif
