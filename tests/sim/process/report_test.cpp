// The report of a process at exit, and its exit status: leaks, misuses, notes. POSIX only.
#include "../support/child_process.hpp"
#include "../support/contains.hpp"
#include "fatbins.hpp"
#include "handles.hpp"

#ifndef _WIN32
#include <csignal>
#include <cstdio>
#include <pthread.h>
#include <unistd.h>

using namespace sim_test;
using support::contains;

namespace {

void leak() {
    require_ok(driver().cuInit(0));
    const CUcontext context = retain_primary(0);
    require_ok(driver().cuCtxSetCurrent(context));
    allocate(64);
    allow_leaks();
}

} // namespace

TEST_CASE("child loads a compressed image", "[.]") {
    start();
    // PTX for 5.2, with an unknown compression, is the only entry.
    const std::string image = fatbin(fatbin_entry(1, 52, std::string(8, '\0'), {0x11, 8, 0}));
    for (int time = 0; time < 2; ++time) {
        CUmodule module = nullptr;
        CHECK(driver().cuModuleLoadData(&module, image.data()) == CUDA_ERROR_NO_BINARY_FOR_GPU);
    }
}

TEST_CASE("child leaves no leaks", "[.]") {
    require_ok(driver().cuInit(0));
}

TEST_CASE("child leaks memory", "[.]") {
    leak();
}

TEST_CASE("child misuses a handle", "[.]") {
    // Sanitizers do not permit what Catch2's signal handler does.
    std::signal(SIGABRT, SIG_DFL);
    require_ok(driver().cuInit(0));
    CHECK(driver().cuEventDestroy(reinterpret_cast<CUevent>(0x1230)) == CUDA_ERROR_INVALID_HANDLE);
    expect_misuse("is not an event handle");
}

TEST_CASE("child cannot be initialised", "[.]") {
    CHECK(driver().cuInit(0) == CUDA_ERROR_UNKNOWN);
    configure(""); // the invalid CUSHIM_SIM still counts
    CHECK(driver().cuInit(0) == CUDA_ERROR_UNKNOWN);
}

TEST_CASE("a process with an invalid CUSHIM_SIM fails cuInit and prints the reason") {
    for (const std::string wrong : {"mode=adverserial", "device=2", "fault=cudaMallocc:1:2"}) {
        const Outcome outcome = run_alone("child cannot be initialised", wrong);
        CHECK(outcome.status == 0);
        CHECK(contains(outcome.errors,
                       "cushim-sim: cuInit fails: CUSHIM_SIM: not understood: '" + wrong + "'"));
    }
}

TEST_CASE("a report lists faults that never fired") {
    const Outcome outcome =
        run_alone("child leaves no leaks", "report=1;fault=cuMemAlloc:1:2;fault=cuInit:2:999");
    CHECK(contains(outcome.errors,
                   "note: the planned fault of cuMemAlloc never fired; it saw 0 calls"));
    CHECK(contains(outcome.errors, "note: the planned fault of cuInit never fired; it saw 1 call"));
}

TEST_CASE("a report mentions compressed images once") {
    const Outcome outcome = run_alone("child loads a compressed image", "report=1");
    const std::string note = "note: the images for this device in the fatbin are compressed";
    CHECK(outcome.status == 0);
    REQUIRE(contains(outcome.errors, note));
    CHECK(outcome.errors.find(note) == outcome.errors.rfind(note));
}

TEST_CASE("report=1 prints leaks and misuses at exit, report=fail also sets the exit status") {
    for (const auto &[child, line] :
         {std::pair("child leaks memory", "leak: device memory"),
          std::pair("child misuses a handle", "misuse: 0x1230 is not")}) {
        INFO(child);
        const Outcome silent = run_alone(child, ""), outcome = run_alone(child, "report=1"),
                      failed = run_alone(child, "report=fail");
        CHECK(silent.status == 0);
        CHECK_FALSE(contains(silent.errors, "cushim-sim"));
        CHECK(outcome.status == 0);
        CHECK(contains(outcome.errors, std::string("cushim-sim: ") + line));
        CHECK(failed.status == 1);
        CHECK(contains(failed.errors, std::string("cushim-sim: ") + line));
    }
    const Outcome valid = run_alone("child leaves no leaks", "report=fail");
    CHECK(valid.status == 0);
    CHECK_FALSE(contains(valid.errors, "cushim-sim"));
}

// Only glibc runs the remaining exit handlers.
#ifdef __GLIBC__
TEST_CASE("child has handlers from before cuInit", "[.]") {
    std::atexit([] { std::fputs("still called\n", stderr); });
    leak();
}

TEST_CASE("a process that fails by its report runs its exit handlers") {
    const Outcome failed = run_alone("child has handlers from before cuInit", "report=fail");
    CHECK(failed.status == 1);
    CHECK(contains(failed.errors, "still called"));
}
#endif

TEST_CASE("the first misuse aborts the process with abort=1") {
    const Outcome aborted = run_alone("child misuses a handle", "abort=1");
    CHECK(aborted.status == 128 + SIGABRT);
    CHECK(contains(aborted.errors, "cushim-sim: misuse: 0x1230 is not an event handle"));
    CHECK(run_alone("child leaks memory", "abort=1").status == 0);
}

TEST_CASE("child exits while its threads make calls", "[.]") {
    leak();
    const CUcontext context = current();
    for (int i = 0; i < 2; ++i) {
        std::thread([context] {
            driver().cuCtxSetCurrent(context);
            for (;;) {
                CUdeviceptr memory = 0;
                driver().cuMemAlloc(&memory, 64);
                driver().cuMemFree(memory);
            }
        }).detach();
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    std::exit(0);
}

TEST_CASE("a report at exit is complete while threads make calls") {
    const Outcome outcome = run_alone("child exits while its threads make calls", "report=1");
    CHECK(outcome.status == 0);
    CHECK(contains(outcome.errors, "cushim-sim: leak: device memory"));
}

namespace {

// Prepare handlers of fork run in reverse order of registration. This one is registered before the
// simulator's, which takes its lock: so it runs while the lock is held.
std::atomic<bool> keep_lock{false}, lock_is_taken{false};
[[maybe_unused]] const int registered = pthread_atfork(
    [] {
        if (keep_lock) {
            lock_is_taken = true;
            std::this_thread::sleep_for(std::chrono::milliseconds(2500));
        }
    },
    nullptr, nullptr);

} // namespace

TEST_CASE("child exits while its lock is taken for long", "[.]") {
    leak();
    keep_lock = true;
    std::thread([] {
        if (fork() == 0) {
            _exit(0);
        }
    }).detach();
    while (!lock_is_taken) {
        std::this_thread::yield();
    }
    std::exit(0);
}

TEST_CASE("a report at exit waits for a thread that holds the lock") {
    const Outcome outcome = run_alone("child exits while its lock is taken for long", "report=1");
    CHECK(outcome.status == 0);
    CHECK(contains(outcome.errors, "cushim-sim: leak: device memory"));
}

TEST_CASE("the visitor of report lines may make calls", "[fresh]") {
    leak();
    CHECK(driver().cuEventDestroy(reinterpret_cast<CUevent>(0x1230)) == CUDA_ERROR_INVALID_HANDLE);
    expect_misuse("is not an event handle");
    const auto call = [](const char *, void *made) {
        int count = 0;
        ok(driver().cuDeviceGetCount(&count));
        CHECK(sim_control().configure("") == 0);
        ++*static_cast<int *>(made);
    };
    int made = 0;
    CHECK(sim_control().leaks(call, &made) == 2); // the memory and the retained context
    CHECK(sim_control().misuses(call, &made) == 1);
    CHECK(made == 3);
}

#endif
