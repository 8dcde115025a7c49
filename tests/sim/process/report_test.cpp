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

TEST_CASE("child allocates once", "[.]") {
    require_ok(driver().cuInit(0));
    require_ok(driver().cuCtxSetCurrent(retain_primary(0)));
    CUdeviceptr memory = 0;
    if (driver().cuMemAllocManaged(&memory, 64, CU_MEM_ATTACH_GLOBAL) == CUDA_SUCCESS) {
        release(memory);
    }
    ok(driver().cuDevicePrimaryCtxRelease(0));
}

TEST_CASE("a fault that never fires is an error with report=fail unless it is optional") {
    const auto settings = "report=fail;fault=cuMemAlloc:1:2";
    const Outcome unfired = run_alone("child allocates once", settings);
    CHECK(unfired.status == 1);
    CHECK(contains(unfired.errors,
                   "error: the planned fault of cuMemAlloc never fired; it saw 0 calls; "
                   "similar: cuMemAllocManaged was called 1 time ["));
    for (const std::string passing : {"optional", "optional:sticky"}) {
        const Outcome optional = run_alone("child allocates once", settings + (":" + passing));
        CHECK(optional.status == 0);
        CHECK(contains(optional.errors, "note: the planned fault of cuMemAlloc never fired"));
    }
    CHECK(run_alone("child allocates once", "report=fail;fault=cuMemAllocManaged:1:2").status == 0);
    // A probability leaves it to chance, but the entry point must be called.
    CHECK(run_alone("child allocates once", "report=fail;fault=cuInit:p=0.000000001:2").status ==
          0);
    CHECK(run_alone("child allocates once", "report=fail;fault=cuMemAlloc:p=0.5:2").status == 1);
}

TEST_CASE("faults beyond the limit of shared ones are noted") {
    std::string settings = "report=1";
    for (int i = 0; i < 64; ++i) {
        settings += ";fault=cuMemAlloc:1:2:optional";
    }
    CHECK_FALSE(contains(run_alone("child allocates once", settings).errors, "not shared"));
    settings += ";fault=cuMemAlloc:1:2:optional;fault=cuMemFree:1:2:optional";
    CHECK(contains(run_alone("child allocates once", settings).errors,
                   "note: planned faults that are not shared with child processes: 2; each process "
                   "counts only its own calls for a fault beyond the first 64"));
}

TEST_CASE("child is given its own plan", "[.]") {
    require_ok(driver().cuInit(0));
    const cushim_sim_fault fault{
        .entry = "cuMemAlloc", .code = 2, .optional = std::getenv("OPTIONAL") != nullptr};
    REQUIRE(sim_control().plan_fault(&fault) != 0);
    const auto idle = lines_of(&cushim_sim::idle_faults);
    CHECK(idle.size() == (fault.optional != 0 ? 0 : 1));
}

TEST_CASE("a planned fault of the program may be optional, too") {
    CHECK(run_alone("child is given its own plan", "report=fail").status == 1);
    setenv("OPTIONAL", "1", 1);
    CHECK(run_alone("child is given its own plan", "report=fail").status == 0);
    unsetenv("OPTIONAL");
}

TEST_CASE("child resets after its fault has fired", "[.]") {
    require_ok(driver().cuInit(0));
    require_ok(driver().cuCtxSetCurrent(retain_primary(0)));
    CUdeviceptr memory = 0;
    CHECK(driver().cuMemAlloc(&memory, 64) == CUDA_ERROR_OUT_OF_MEMORY);
    sim_control().reset();
}

TEST_CASE("a fault that fired before a reset has fired") {
    const Outcome outcome =
        run_alone("child resets after its fault has fired", "report=fail;fault=cuMemAlloc:1:2");
    CHECK(outcome.status == 0);
    CHECK(!contains(outcome.errors, "never fired"));
}

TEST_CASE("lines of a report name their process") {
    const Outcome leaking = run_alone("child leaks memory", "report=1");
    CHECK(contains(leaking.errors, " [sim_tests"));
}

#ifdef __linux__
namespace {

std::string of_this_process(const char *variable) {
    const char *value = std::getenv(variable);
    return value != nullptr ? value : "";
}

} // namespace

// Its children inherit CUSHIM_SIM. FIRES names the processes that make the call.
TEST_CASE("child has two children", "[.]") {
    require_ok(driver().cuInit(0));
    const std::string fires = of_this_process("FIRES"), settings = of_this_process("CUSHIM_SIM");
    int failed = 0;
    for (const char *name : {"1", "2"}) {
        const bool does = contains(fires, name);
        const Outcome outcome =
            run_alone(does ? "child allocates once" : "child leaves no leaks", settings);
        failed += outcome.status;
        std::fputs(outcome.errors.c_str(), stderr);
    }
    CHECK(failed == 0);
    if (contains(fires, "parent")) {
        CUdeviceptr memory = 0;
        CHECK(driver().cuMemAllocManaged(&memory, 64, CU_MEM_ATTACH_GLOBAL) != CUDA_SUCCESS);
    }
}

TEST_CASE("a fault of several processes must fire in one of them") {
    for (const char *fires : {"1", "2", "1 2", "parent"}) {
        INFO(fires);
        setenv("FIRES", fires, 1);
        const Outcome outcome =
            run_alone("child has two children", "report=fail;fault=cuMemAllocManaged:1:2");
        INFO(outcome.errors);
        CHECK(outcome.status == 0);
        CHECK_FALSE(contains(outcome.errors, "error: "));
    }
    setenv("FIRES", "none", 1);
    const Outcome outcome =
        run_alone("child has two children", "report=fail;fault=cuMemAllocManaged:1:2");
    CHECK(outcome.status == 1);
    CHECK(contains(outcome.errors, "note: the planned fault of cuMemAllocManaged never fired"));
    CHECK(contains(outcome.errors, "error: the planned fault of cuMemAllocManaged never fired"));
    unsetenv("FIRES");
}
#endif

TEST_CASE("child ignores failures", "[.]") {
    require_ok(driver().cuInit(0));
    require_ok(driver().cuCtxSetCurrent(retain_primary(0)));
    const CUdeviceptr memory = allocate(64);
    unsigned char bytes[256] = {};
    const std::string looks = std::getenv("LOOKS") != nullptr ? std::getenv("LOOKS") : "";
    CHECK(driver().cuMemcpyHtoD(memory, bytes, sizeof bytes) == invalid);
    CHECK(driver().cuMemcpyHtoD(memory, bytes, sizeof bytes) == invalid);
    CHECK(driver().cuStreamQuery(nullptr) == CUDA_SUCCESS);
    int value = 0;
    CHECK(driver().cuDeviceGetAttribute(&value, static_cast<CUdevice_attribute>(0), 0) ==
          invalid); // a question
    CHECK(runtime().cudaMemset(reinterpret_cast<void *>(static_cast<std::uintptr_t>(memory)), 0,
                               256) == cudaErrorInvalidValue);
    if (looks == "name") {
        const char *name = nullptr;
        ok(driver().cuGetErrorName(invalid, &name));
    } else if (looks == "last error") {
        CHECK(runtime().cudaGetLastError() == cudaErrorInvalidValue);
    }
    release(memory);
    ok(driver().cuDevicePrimaryCtxRelease(0));
    if (looks == "exit") {
        std::exit(3);
    }
}

TEST_CASE("report=errors lists failed calls whose status the program did not look at") {
    const auto child = [](const char *looks, const std::string &report) {
        setenv("LOOKS", looks, 1);
        return run_alone("child ignores failures", "report=" + report);
    };
    CHECK_FALSE(contains(child("nowhere", "fail").errors, "did not look"));
    const Outcome ignored = child("nowhere", "errors");
    CHECK(ignored.status == 1);
    CHECK(contains(ignored.errors, "error: cuMemcpyHtoD_v2(0x"));
    CHECK(contains(ignored.errors, ", 256) returned 1, invalid argument in call "));
    CHECK(contains(ignored.errors, " and once more; the program did not look at the status ["));
    CHECK(contains(ignored.errors, "error: cudaMemset(0x"));
    CHECK_FALSE(contains(ignored.errors, "cuDeviceGetAttribute"));
    const Outcome last = child("last error", "errors");
    CHECK(contains(last.errors, "error: cuMemcpyHtoD_v2"));
    CHECK_FALSE(contains(last.errors, "error: cudaMemset"));
    CHECK_FALSE(contains(child("name", "errors").errors, "did not look"));
#ifdef __GLIBC__
    const Outcome ended = child("exit", "errors");
    CHECK(ended.status == 3);
    CHECK_FALSE(contains(ended.errors, "did not look"));
#endif
    unsetenv("LOOKS");
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
