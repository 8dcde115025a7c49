// External semaphores: timeline and binary semaphores over real descriptors.
#ifndef _WIN32
#include "external_tools.hpp"
#include "plan_fault.hpp"
#include "vmm_ranges.hpp"

#include <fcntl.h>
#include <limits>

using namespace sim_test;

namespace {

int semaphore_fd(std::uint64_t value = 0) {
    return sim_control().make_semaphore_fd(value);
}

CUresult import_status(const CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC &description) {
    CUexternalSemaphore semaphore = nullptr;
    return driver().cuImportExternalSemaphore(&semaphore, &description);
}

void finish(CUstream stream) {
    ok(driver().cuStreamSynchronize(stream));
}

// Checks for a while that the stream is not ready.
void check_not_done(CUstream stream) {
    for (int i = 0; i < 10; ++i) {
        CHECK(driver().cuStreamQuery(stream) == CUDA_ERROR_NOT_READY);
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
}

} // namespace

TEST_CASE("a descriptor that is not a semaphore fails to import") {
    const auto type = GENERATE(binary, timeline);
    const int memory = sim_control().make_memory_fd(4096), less = sim_control().make_memory_fd(64),
              more = sim_control().make_memory_fd(100000);
    for (const int fd : {memory, less, more}) {
        CHECK(import_status(semaphore_of(fd, type)) == CUDA_ERROR_UNKNOWN);
        CHECK(is_open(fd)); // unlike with a failed import of memory
        close(fd);
    }
    CHECK(import_status(semaphore_of(-1, type)) ==
          (type == timeline ? invalid : CUDA_ERROR_UNKNOWN));
}

TEST_CASE("importing a descriptor of physical memory as a semaphore is a misuse and works") {
    const PhysicalMemory memory(G, exportable());
    const int fd = export_fd(memory);
    const Semaphore semaphore(fd, GENERATE(binary, timeline));
    expect_misuse("a memory descriptor is imported as a semaphore");
    CHECK_FALSE(is_open(fd));
    ok(signal(semaphore, 1, nullptr));
    ok(wait(semaphore, 1, nullptr));
    ok(driver().cuCtxSynchronize());
}

TEST_CASE("importing a semaphore with invalid arguments leaves the descriptor open") {
    const int fd = semaphore_fd();
    const auto valid = semaphore_of(fd, timeline);
    using Type = CUexternalSemaphoreHandleType;
    check_changes(valid, import_status,
                  {{"flags", [](auto &bad) { bad.flags = 1; }},
                   {"reserved words", [](auto &bad) { bad.reserved[7] = 1; }},
                   {"a type that takes no descriptor",
                    [](auto &bad) { bad.type = CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_NVSCISYNC; },
                    CUDA_ERROR_NOT_SUPPORTED}});
    CUexternalSemaphore semaphore = nullptr;
    check_all(invalid, {driver().cuImportExternalSemaphore(&semaphore, nullptr),
                        driver().cuImportExternalSemaphore(nullptr, &valid)});
    for (const int other : {0, 3, 7, 11}) { // 0 and types of other systems
        CHECK(import_status(semaphore_of(fd, static_cast<Type>(other))) == invalid);
    }
    CHECK(is_open(fd));
    close(fd);
}

TEST_CASE("without attribute 114 importing a timeline fails with NOT_SUPPORTED") {
    start("attribute.114=0");
    const int fd = semaphore_fd();
    CHECK(import_status(semaphore_of(fd, timeline)) == CUDA_ERROR_NOT_SUPPORTED);
    CHECK(is_open(fd));
    const Semaphore serves(fd, binary);
}

TEST_CASE("a wait for a timeline blocks its stream until the value is reached") {
    start(GENERATE_COPY(from_range(all_modes())));
    Gate theirs(3);
    const Semaphore semaphore(theirs);
    const Stream waiting(non_blocking);
    const DeviceMemory memory(4);
    require_ok(driver().cuMemsetD32(memory, 1, 1));
    require_ok(driver().cuCtxSynchronize());

    SECTION("a value that is already reached") {
        ok(wait(semaphore, 3, waiting));
        ok(wait(semaphore, 1, waiting));
        ok(wait(semaphore, 0, waiting));
        finish(waiting);
        CHECK(theirs.value() == 3); // waiting does not change the value
    }
    SECTION("a value set by the other API") {
        ok(wait(semaphore, 5, waiting));
        ok(driver().cuMemsetD32Async(memory, 2, 1, waiting));
        check_not_done(waiting);
        theirs.set(4);
        check_not_done(waiting);
        theirs.set(100);
        finish(waiting);
    }
    SECTION("a value set by another thread during the wait") {
        ok(wait(semaphore, 6, waiting));
        std::thread other([&] {
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
            theirs.set(6);
        });
        finish(waiting);
        other.join();
    }
}

TEST_CASE("a semaphore is signaled after the earlier work of the stream") {
    start(GENERATE_COPY(from_range(all_modes())));
    Gate theirs(0);
    const Semaphore semaphore(theirs);
    const Stream one(non_blocking), two(non_blocking);
    const DeviceMemory memory(4);
    unsigned int read = 0;
    for (unsigned int i = 1; i <= 20; ++i) {
        ok(driver().cuMemsetD32Async(memory, i, 1, one));
        ok(signal(semaphore, 2 * i - 1, one));
        ok(wait(semaphore, 2 * i - 1, two));
        ok(driver().cuMemcpyDtoHAsync(&read, memory, 4, two));
        ok(signal(semaphore, 2 * i, two));
        ok(wait(semaphore, 2 * i, one));
        finish(two);
        CHECK(read == i);
    }
    finish(one);
    CHECK(theirs.value() == 40);
}

TEST_CASE("a binary semaphore lets one wait through per signal") {
    start(GENERATE_COPY(from_range(all_modes())));
    Gate theirs(0);
    const Semaphore semaphore(theirs, binary);
    const Stream one(non_blocking), two(non_blocking), three(non_blocking);
    ok(signal(semaphore, 77, one)); // the value is ignored
    finish(one);
    CHECK(theirs.value() == 1);
    ok(wait(semaphore, 99, two));
    finish(two);
    CHECK(theirs.value() == 0);
    ok(wait(semaphore, 0, three));
    check_not_done(three);
    theirs.set(1);
    finish(three);
    CHECK(theirs.value() == 0);
}

TEST_CASE("a signal of a binary semaphore ends one of two waits") {
    start(GENERATE_COPY(from_range(all_modes())));
    Gate theirs(0);
    const Semaphore semaphore(theirs, binary);
    const Stream one(non_blocking), two(non_blocking);
    ok(wait(semaphore, 0, one));
    ok(wait(semaphore, 0, two));
    theirs.set(1);
    int done = 0;
    for (int i = 0; i < 2000 && done == 0; ++i) {
        done = (driver().cuStreamQuery(one) == CUDA_SUCCESS) +
               (driver().cuStreamQuery(two) == CUDA_SUCCESS);
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    CHECK(done == 1);
    CHECK(theirs.value() == 0);
    theirs.set(1);
    finish(one);
    finish(two);
}

TEST_CASE("signaling a signaled binary semaphore or decreasing a timeline is a misuse") {
    Gate lit(1), ahead(5);
    check_misuse(signal(Semaphore(lit, binary), 0, nullptr), CUDA_SUCCESS, "already signaled");
    ok(signal(Semaphore(ahead), 4, nullptr));
    CHECK(ahead.value() == 4);
    expect_misuse("decreases a timeline from 5 to 4");
}

TEST_CASE("a batch signals or waits for all its semaphores") {
    start(GENERATE_COPY(from_range(all_modes())));
    Gate first(0), second(0), third(0);
    const Semaphore one(first), two(second, binary), three(third);
    const CUexternalSemaphore semaphores[] = {one, two, three};
    CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS signals[3] = {};
    CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS waits[3] = {};
    for (unsigned int i = 0; i < 3; ++i) {
        signals[i].params.fence.value = waits[i].params.fence.value = 10 + i;
    }
    const Stream waiting(non_blocking), signalling(non_blocking);
    ok(driver().cuWaitExternalSemaphoresAsync(semaphores, waits, 3, waiting));
    waits[0].params.fence.value = 1000; // the call copied the parameters
    check_not_done(waiting);
    third.set(12);
    check_not_done(waiting);
    first.set(10);
    check_not_done(waiting);
    second.set(1);
    finish(waiting);
    CHECK(second.value() == 0);

    third.set(0);
    ok(driver().cuSignalExternalSemaphoresAsync(semaphores, signals, 3, signalling));
    finish(signalling);
    CHECK(first.value() == 10);
    CHECK(second.value() == 1);
    CHECK(third.value() == 12);
}

TEST_CASE("a batch may wait twice for the same binary semaphore") {
    start(GENERATE_COPY(from_range(all_modes())));
    Gate theirs(1);
    const Semaphore semaphore(theirs, binary);
    const CUexternalSemaphore semaphores[] = {semaphore, semaphore};
    const CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS waits[2] = {};
    const Stream stream(non_blocking);
    ok(driver().cuWaitExternalSemaphoresAsync(semaphores, waits, 2, stream));
    // A busy machine may take longer than one check.
    for (int i = 0; i < 2000 && theirs.value() != 0; ++i) {
        check_not_done(stream);
    }
    check_not_done(stream);
    CHECK(theirs.value() == 0);
    theirs.set(1);
    finish(stream);
}

TEST_CASE("arguments of semaphore signals and waits are checked") {
    const Semaphore semaphore(semaphore_fd(7));
    const CUexternalSemaphore list[] = {semaphore};
    using Signal = CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS;
    using Wait = CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS;
    Signal signals{};
    Wait waits{};
    signals.params.fence.value = waits.params.fence.value = 7;
    const auto signal_with = [&](const Signal &with) {
        return driver().cuSignalExternalSemaphoresAsync(list, &with, 1, nullptr);
    };
    const auto wait_with = [&](const Wait &with) {
        return driver().cuWaitExternalSemaphoresAsync(list, &with, 1, nullptr);
    };
    check_all(CUDA_SUCCESS, {signal_with(signals), wait_with(waits)});
    check_all(invalid, {driver().cuWaitExternalSemaphoresAsync(nullptr, &waits, 1, nullptr),
                        driver().cuWaitExternalSemaphoresAsync(list, nullptr, 1, nullptr)});
    constexpr auto skip_signal = CUDA_EXTERNAL_SEMAPHORE_SIGNAL_SKIP_NVSCIBUF_MEMSYNC;
    constexpr auto skip_wait = CUDA_EXTERNAL_SEMAPHORE_WAIT_SKIP_NVSCIBUF_MEMSYNC;
    check_changes(signals, signal_with,
                  {{"a flag of NvSci", [](auto &bad) { bad.flags = skip_signal; }},
                   {"an unknown flag", [](auto &bad) { bad.flags = 0x80000000U; }},
                   {"reserved words", [](auto &bad) { bad.reserved[0] = 1; }},
                   {"its parameters' reserved", [](auto &bad) { bad.params.reserved[0] = 1; }}});
    check_changes(waits, wait_with,
                  {{"a flag of NvSci", [](auto &bad) { bad.flags = skip_wait; }}});
}

TEST_CASE("invalid semaphore handles fail and are reported") {
    check_misuse(signal(nullptr, 1, nullptr), invalid, "null semaphore");
    const auto gone = import_semaphore(semaphore_fd());
    end(gone);
    for (const CUresult status : {driver().cuDestroyExternalSemaphore(gone),
                                  signal(gone, 1, nullptr), wait(gone, 1, nullptr)}) {
        check_misuse(status, CUDA_ERROR_INVALID_HANDLE, "external semaphore");
    }
}

TEST_CASE("signaling a semaphore in a stream of another context fails") {
    const Semaphore semaphore(semaphore_fd());
    const CUcontext primary = current();
    const CUcontext other = make_context();
    const CUstream foreign = make_stream(non_blocking);
    check_all(CUDA_ERROR_INVALID_HANDLE,
              {signal(semaphore, 1, foreign), wait(semaphore, 0, foreign)});
    destroy(foreign);
    destroy(other);
    require_ok(driver().cuCtxSetCurrent(primary));
    ok(signal(semaphore, 1, nullptr));
    ok(driver().cuCtxSynchronize());
}

TEST_CASE("signaling and waiting in a stream need no current context") {
    Gate theirs(0);
    const Stream stream(non_blocking);
    const auto semaphore = import_semaphore(dup(theirs.fd));
    const WithoutContext none;
    ok(signal(semaphore, 1, stream));
    ok(wait(semaphore, 1, stream));
    finish(stream);
    CHECK(theirs.value() == 1);
    end(semaphore); // also without a current context
}

TEST_CASE("destroying a semaphore that enqueued work needs is a misuse") {
    start(GENERATE_COPY(from_range(all_modes())));
    Gate theirs(0);
    const auto semaphore = import_semaphore(dup(theirs.fd));
    const auto stream = make_stream(non_blocking);
    ok(wait(semaphore, 1, stream));
    end(semaphore);
    expect_misuse("enqueued work still needs");
    check_misuse(driver().cuStreamSynchronize(stream), CUDA_ERROR_ILLEGAL_ADDRESS,
                 "external semaphore");
    driver().cuStreamDestroy(stream);
    ok(driver().cuDevicePrimaryCtxReset(0));
}

TEST_CASE("a semaphore is a leak until its context is reset") {
    const auto before = open_descriptors();
    const auto semaphore = import_semaphore(semaphore_fd());
    CHECK(leaks().size() == 1);
    require_ok(driver().cuDevicePrimaryCtxReset(0));
    CHECK(leaks().empty());
    CHECK(open_descriptors() == before);
    CHECK(driver().cuDestroyExternalSemaphore(semaphore) == CUDA_ERROR_CONTEXT_IS_DESTROYED);
}

TEST_CASE("cuMemFree waits for work that waits for a semaphore") {
    start(GENERATE("mode=immediate", "mode=threaded"));
    Gate theirs(0);
    const Semaphore semaphore(theirs);
    const Stream stream(non_blocking);
    const CUdeviceptr memory = allocate(4);
    ok(wait(semaphore, 1, stream));
    ok(driver().cuMemsetD32Async(memory, 1, 1, stream));
    std::thread other([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        theirs.set(1);
    });
    ok(driver().cuMemFree(memory));
    CHECK(theirs.value() == 1);
    other.join();
    ok(driver().cuStreamQuery(stream));
}

TEST_CASE("a wait for a semaphore ends if its context fails") {
    start("mode=threaded");
    const auto semaphore = import_semaphore(semaphore_fd());
    const auto waiting = make_stream(non_blocking);
    ok(wait(semaphore, 1, waiting));
    const CUdeviceptr memory = allocate(4);
    fail_work("cuMemsetD8Async", CUDA_ERROR_ILLEGAL_ADDRESS);
    const auto failing = make_stream(non_blocking);
    ok(driver().cuMemsetD8Async(memory, 1, 1, failing));
    CHECK(driver().cuStreamSynchronize(failing) == CUDA_ERROR_ILLEGAL_ADDRESS);
    CHECK(driver().cuStreamSynchronize(waiting) == CUDA_ERROR_ILLEGAL_ADDRESS);
    ok(driver().cuDevicePrimaryCtxReset(0));
}
#endif
