// Processes: fork and exit. POSIX only.
#include "registered.hpp"

#ifndef _WIN32
#include <filesystem>
#include <iterator>
#include <sys/wait.h>
#include <unistd.h>

using namespace sim_test;

namespace {

// The exit status of a child that runs `body`.
template <class Body>
int in_child(Body body) {
    const pid_t child = fork();
    if (child == 0) {
        body();
    }
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

CUresult seen_after_init = CUDA_ERROR_UNKNOWN, allocated_after_init = CUDA_ERROR_UNKNOWN;

// Like start(), but a failure ends the process.
void initialise_or_end() {
    CUcontext context = nullptr;
    if (driver().cuInit(0) != CUDA_SUCCESS ||
        driver().cuDevicePrimaryCtxRetain(&context, 0) != CUDA_SUCCESS ||
        driver().cuCtxSetCurrent(context) != CUDA_SUCCESS) {
        _exit(3);
    }
}

// A static object whose destructor makes calls.
struct Static {
    CUevent event = nullptr;
    ~Static() {
        int count = 0;
        CUdeviceptr memory = 0;
        const bool right = driver().cuDeviceGetCount(&count) == CUDA_ERROR_DEINITIALIZED &&
                           driver().cuMemAlloc(&memory, 16) == CUDA_ERROR_DEINITIALIZED &&
                           driver().cuEventDestroy(event) == CUDA_ERROR_DEINITIALIZED;
        _exit(right ? 0 : 1);
    }
};

} // namespace

// These two run first: the exit handler counts from the first cuInit of the process.
TEST_CASE("exit handlers registered before cuInit find the driver shut down", "[fresh]") {
    const int status = in_child([] {
        sim_control().reset();
        std::atexit([] { // runs last
            int count = 0;
            const CUresult now = driver().cuDeviceGetCount(&count);
            const bool later =
                seen_after_init == CUDA_SUCCESS && allocated_after_init == CUDA_SUCCESS;
            _exit(now == CUDA_ERROR_DEINITIALIZED && later ? 0 : 1);
        });
        initialise_or_end();
        std::atexit([] {
            int count = 0;
            CUdeviceptr memory = 0;
            seen_after_init = driver().cuDeviceGetCount(&count);
            allocated_after_init = driver().cuMemAlloc(&memory, 16);
        });
        std::exit(2);
    });
    CHECK(status == 0);
}

TEST_CASE("destructors of static objects from before cuInit run after the driver's shutdown",
          "[fresh]") {
    CHECK(in_child([] {
              sim_control().reset();
              static Static object;
              initialise_or_end();
              if (driver().cuEventCreate(&object.event, 0) != CUDA_SUCCESS) {
                  _exit(3);
              }
              std::exit(2);
          }) == 0);
}

namespace {

// Ends the child with 0 if a call returns 3, whatever the parent's threads were doing.
[[noreturn]] void ask_in_child() {
    alarm(20); // a child that hangs must end
    int count = 0;
    _exit(driver().cuDeviceGetCount(&count) == CUDA_ERROR_NOT_INITIALIZED ? 0 : 1);
}

// Threads that repeat their calls until the end of the scope.
class Busy : Unique {
  public:
    template <class... Calls>
    explicit Busy(Calls... calls) {
        (threads_.emplace_back([this, calls] {
            while (!stop_) {
                calls();
            }
        }),
         ...);
    }
    ~Busy() {
        stop_ = true;
        for (std::thread &thread : threads_) {
            thread.join();
        }
    }
    // The first exit status of 30 children that is not 0, or 0.
    template <class Body>
    int in_children(Body body) const {
        int failed = 0;
        for (int i = 0; i < 30 && failed == 0; ++i) {
            failed = in_child(body);
        }
        return failed;
    }

  private:
    std::atomic<bool> stop_{false};
    std::vector<std::thread> threads_;
};

} // namespace

TEST_CASE("calls return in a child that is forked while threads make driver calls") {
    const auto allocate_in = [context = current()] {
        driver().cuCtxSetCurrent(context);
        CUdeviceptr memory = 0;
        driver().cuMemAlloc(&memory, std::size_t(1) << 20);
        driver().cuMemFree(memory);
    };
    const Busy busy(allocate_in, allocate_in);
    CHECK(busy.in_children(ask_in_child) == 0);
}

namespace {

struct Program : Registered {
    Program() { function(&nothing, "nothing"); }
    cudaError_t launch() const {
        return runtime().cudaLaunchKernel(&nothing, {1, 1, 1}, {1, 1, 1}, nullptr, 0, nullptr);
    }
    char nothing = 0;
};

cudaError_t ask_runtime() {
    int device = 0;
    return runtime().cudaGetDevice(&device);
}

[[noreturn]] void ask_runtime_in_child() {
    alarm(20);
    const bool refused = ask_runtime() == cudaErrorInitializationError;
    const Program program;
    _exit(refused && program.launch() == cudaErrorInitializationError ? 0 : 1);
}

} // namespace

TEST_CASE("calls return in a child that is forked while threads make runtime calls") {
    const Program program;
    require_ok(program.launch());
    require_ok(ask_runtime());
    const Busy busy([] { ask_runtime(); }, [&program] { program.launch(); },
                    [] {
                        const Program other;
                        other.launch();
                    });
    CHECK(busy.in_children(ask_runtime_in_child) == 0);
}

TEST_CASE("calls return in a child that is forked while work runs") {
    start("mode=threaded");
    constexpr std::size_t size = std::size_t(16) << 20;
    const Stream stream;
    const DeviceMemory memory(size);
    int failed = 0;
    for (int i = 0; i < 20 && failed == 0; ++i) {
        for (int j = 0; j < 4; ++j) {
            require_ok(driver().cuMemsetD8Async(memory, 1, size, stream));
        }
        failed = in_child(ask_in_child);
        require_ok(driver().cuStreamSynchronize(stream));
    }
    CHECK(failed == 0);
}

namespace {

// What was written into a pipe that has no writer any more.
std::string all_of(int pipe) {
    std::string all;
    char part[256];
    for (ssize_t size; (size = read(pipe, part, sizeof part)) > 0;) {
        all.append(part, std::size_t(size));
    }
    close(pipe);
    return all;
}

} // namespace

TEST_CASE("a child reports no leaks of its parent at exit") {
    start("report=fail");
    const CUdeviceptr memory = allocate(64);
    int ends[2];
    REQUIRE(pipe(ends) == 0);
    CHECK(in_child([&] {
              dup2(ends[1], STDERR_FILENO);
              std::exit(0);
          }) == 0);
    close(ends[1]);
    const std::string written = all_of(ends[0]); // LeakSanitizer may write a line, too
    INFO(written);
    CHECK(written.find("cushim") == std::string::npos);
    ok(driver().cuMemFree(memory));
    configure("report=0");
}

namespace {

// Waits until the simulator's threads have ended. ThreadSanitizer, which has a thread itself, lets
// a child start threads only if its parent had no other.
void await_end_of_threads() {
#ifdef __linux__
    const auto count = [] {
        const std::filesystem::directory_iterator all("/proc/self/task");
        return std::distance(begin(all), end(all));
    };
    for (int i = 0; i < 2000 && count() > 2; ++i) { // emulators have additional threads
        usleep(1000);
    }
#endif
}

} // namespace

TEST_CASE("a child can start worker threads if its parent's have ended") {
    start("mode=threaded");
    const auto use_worker = [] {
        CUstream stream = nullptr;
        const auto nothing = [](void *) {};
        return driver().cuStreamCreate(&stream, 0) == CUDA_SUCCESS &&
               driver().cuLaunchHostFunc(stream, nothing, nullptr) == CUDA_SUCCESS &&
               driver().cuStreamSynchronize(stream) == CUDA_SUCCESS &&
               driver().cuStreamDestroy(stream) == CUDA_SUCCESS;
    };
    CHECK(use_worker());
    sim_control().reset();
    await_end_of_threads();
    CHECK(in_child([&] {
              alarm(20);
              start("mode=threaded;patience=5000");
              _exit(use_worker() ? 0 : 1);
          }) == 0);
}

TEST_CASE("a child can call cuInit if its parent never did", "[fresh]") {
    sim_control().reset();
    CHECK(in_child([] { _exit(driver().cuInit(0) == CUDA_SUCCESS ? 0 : 1); }) == 0);
}

#endif
