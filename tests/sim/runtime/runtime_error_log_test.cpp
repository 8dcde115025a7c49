// Runtime calls in the driver's error log, and calls made by log callbacks.
#include "memory_tools.hpp"
#include "plan_fault.hpp"
#include "registered.hpp"

#if CUDA_VERSION >= 12090

using namespace sim_test;

namespace {

void *not_allocated() {
    return reinterpret_cast<void *>(12345);
}

// Stores the log lines of a scope. `calls` is called for each line.
class Listener : Unique {
  public:
    explicit Listener(void (*calls)(Listener &) = nullptr) : calls_(calls) {
        require_ok(driver().cuLogsRegisterCallback(tell, this, &handle_));
    }
    ~Listener() { ok(driver().cuLogsUnregisterCallback(handle_)); }

    std::vector<std::string> take() { return std::exchange(texts_, {}); }
    int status = -1; // of the call made by the callback

  private:
    static void CUDA_CB tell(void *self, CUlogLevel, char *message, std::size_t length) {
        auto &listener = *static_cast<Listener *>(self);
        listener.texts_.emplace_back(message, length);
        if (listener.calls_ != nullptr) {
            listener.calls_(listener);
        }
    }

    void (*calls_)(Listener &);
    CUlogsCallbackHandle handle_ = nullptr;
    std::vector<std::string> texts_;
};

using Lines = std::vector<std::string>;
const Lines free_failed = {"Returning 1 (cudaErrorInvalidValue) from cudaFree"};

} // namespace

TEST_CASE("a failed runtime call adds one line to the error log") {
    const Registered program;
    char missing = 0;
    program.variable(&missing, "no such variable", 4);
    Listener listener;
    CHECK(runtime().cudaFree(not_allocated()) == cudaErrorInvalidValue);
    CHECK(listener.take() == free_failed);
    void *address = nullptr;
    CHECK(runtime().cudaGetSymbolAddress(&address, &missing) == cudaErrorSymbolNotFound);
    CHECK(listener.take() ==
          Lines{"Returning 500 (cudaErrorSymbolNotFound) from cudaGetSymbolAddress"});
    // The status of the driver differs from that of the runtime.
    cudaFuncAttributes attributes{};
    CHECK(runtime().cudaFuncGetAttributes(&attributes, &missing) == cudaErrorInvalidDeviceFunction);
    expect_misuse("is not a kernel handle");
    CHECK(listener.take() ==
          Lines{"Returning 98 (cudaErrorInvalidDeviceFunction) from cudaFuncGetAttributes"});
}

TEST_CASE("a failure that the runtime detects is in the driver's log if it has a reason") {
    require_ok(runtime().cudaFree(nullptr));
    Listener listener;
    CHECK(runtime().cudaMalloc(nullptr, 16) == cudaErrorInvalidValue);
    CHECK(listener.take() ==
          Lines{"devPtr cannot be NULL", "Returning 1 (cudaErrorInvalidValue) from cudaMalloc"});
    CHECK(runtime().cudaSetDevice(7) == cudaErrorInvalidDevice);
    CHECK(listener.take() ==
          Lines{"Invalid device number 7 provided, must be in the range of 0 to 0",
                "Returning 101 (cudaErrorInvalidDevice) from cudaSetDevice"});
    CHECK(runtime().cudaMallocManaged(nullptr, 16) == cudaErrorInvalidValue);
    CHECK(runtime().cudaPeekAtLastError() == cudaErrorInvalidValue);
    CHECK(runtime().cudaGetLastError() == cudaErrorInvalidValue);
    CHECK(listener.take().empty());
}

TEST_CASE("a failed driver call within a successful runtime call is not logged") {
    const Registered program;
    unsigned char *gone = nullptr;
    program.managed(&gone, "no such variable", 16);
    require_ok(runtime().cudaFree(nullptr));
    Listener listener;
    cudaFuncAttributes attributes{};
    ok(runtime().cudaFuncGetAttributes(&attributes, &program.mixed)); // loads the image
    CHECK(gone == nullptr);
    CHECK(listener.take().empty());
    CHECK(runtime().cudaFree(not_allocated()) ==
          cudaErrorInvalidValue); // earlier failures are not logged
    CHECK(listener.take().size() == 1);
}

TEST_CASE("a log callback may call the runtime") {
    static const Registered *program = nullptr;
    const Registered one;
    program = &one;
    char missing = 0;
    one.variable(&missing, "no such variable", 4);
    require_ok(runtime().cudaFree(nullptr));
    // Both calls need the lock of registered programs.
    Listener listener([](Listener &self) {
        void *address = nullptr;
        self.status = runtime().cudaGetSymbolAddress(&address, &program->counter);
    });
    void *address = nullptr;
    CHECK(runtime().cudaGetSymbolAddress(&address, &missing) == cudaErrorSymbolNotFound);
    CHECK(listener.status == cudaSuccess);
    CHECK(listener.take().size() == 1);
}

TEST_CASE("a log callback may call the runtime while a program is unregistered") {
    Listener listener([](Listener &self) {
        void *address = nullptr;
        self.status = runtime().cudaGetSymbolAddress(&address, &self);
    });
    {
        const Registered program;
        REQUIRE(program.initialized());
        fail_after("cuLibraryUnload", CUDA_ERROR_UNKNOWN);
    }
    CHECK(listener.status == cudaErrorInvalidSymbol);
    CHECK(listener.take() == Lines{"Returning 999 (CUDA_ERROR_UNKNOWN) from cuLibraryUnload"});
}

TEST_CASE("calls made by a log callback are calls of the client") {
    require_ok(runtime().cudaFree(nullptr));
    Listener listener([](Listener &self) { self.status = driver().cuMemFree(54321); });
    fail_instead("cuMemFree", CUDA_ERROR_UNKNOWN);
    CUlogIterator iterator = 0;
    require_ok(driver().cuLogsCurrent(&iterator, 0));
    sim_control().log_calls(1);
    CHECK(runtime().cudaFree(not_allocated()) == cudaErrorInvalidValue);
    sim_control().log_calls(0);
    CHECK(listener.status == CUDA_ERROR_UNKNOWN);
    CHECK(listener.take() == free_failed);
    REQUIRE(sim_control().call_count() == 2);
    cushim_sim_call call{};
    REQUIRE(sim_control().call_at(1, &call) == 1);
    CHECK(std::string(call.name) == "cuMemFree_v2");
    char buffer[4096];
    std::size_t size = sizeof buffer;
    require_ok(driver().cuLogsDumpToMemory(&iterator, buffer, &size, 0));
    CHECK(std::string(buffer).find("Returning 999 (CUDA_ERROR_UNKNOWN) from cuMemFree_v2\n") !=
          std::string::npos);
}

// The callback stands for a thread that resets the device before the failed call returns.
TEST_CASE("an error is recorded although the device is reset before its call returns") {
    void *memory = allocate_by_runtime(64);
    fail_work("cudaMemsetAsync", cudaErrorIllegalAddress);
    Listener listener([](Listener &self) {
        std::thread([&self] { self.status = runtime().cudaDeviceReset(); }).join();
    });
    require_ok(runtime().cudaMemsetAsync(memory, 0, 64, nullptr));
    CHECK(runtime().cudaDeviceSynchronize() == cudaErrorIllegalAddress);
    CHECK(listener.status == cudaSuccess);
    CHECK(runtime().cudaGetLastError() == cudaErrorIllegalAddress);
    ok(runtime().cudaGetLastError());
}

#endif
