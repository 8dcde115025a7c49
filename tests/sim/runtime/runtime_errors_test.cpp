// Errors of the runtime: names, descriptions, and the last error of each thread.
#include "plan_fault.hpp"

using namespace sim_test;

namespace {

cudaError_t fail_with_invalid_value() {
    return r.cudaMalloc(nullptr, 16);
}

} // namespace

TEST_CASE("each runtime error has a name and a description") {
    const auto name = [](int code) {
        return std::string(r.cudaGetErrorName(static_cast<cudaError_t>(code)));
    };
    const auto text = [](int code) {
        return std::string(r.cudaGetErrorString(static_cast<cudaError_t>(code)));
    };
    CHECK(name(cudaSuccess) == "cudaSuccess");
    CHECK(text(cudaSuccess) == "no error");
    CHECK(name(cudaErrorInvalidValue) == "cudaErrorInvalidValue");
    CHECK(text(cudaErrorInvalidValue) == "invalid argument");
    CHECK(text(cudaErrorMemoryAllocation) == "out of memory");
    CHECK(text(cudaErrorInsufficientDriver) ==
          "CUDA driver version is insufficient for CUDA runtime version");
    CHECK(text(cudaErrorUnknown) == "unknown error");
    CHECK(name(cudaErrorApiFailureBase) == "cudaErrorApiFailureBase");
    CHECK(text(cudaErrorApiFailureBase) == "api failure base");
    for (const int unknown : {-1, 11, 14, 202, 998, 1000, 9999}) {
        CHECK(name(unknown) == "unrecognized error code");
        CHECK(text(unknown) == "unrecognized error code");
    }
    for (int code = 0; code <= 10000; ++code) {
        INFO(code << " " << name(code) << " " << text(code));
        CHECK((name(code) == "unrecognized error code") ==
              (text(code) == "unrecognized error code"));
    }
}

TEST_CASE("the last error stays until it is read or replaced by another error") {
    CHECK(r.cudaGetLastError() == cudaSuccess);
    CHECK(fail_with_invalid_value() == cudaErrorInvalidValue);
    CHECK(r.cudaSetDevice(99) == cudaErrorInvalidDevice);
    CHECK(r.cudaFree(nullptr) == cudaSuccess);
    CHECK(r.cudaPeekAtLastError() == cudaErrorInvalidDevice);
    CHECK(r.cudaPeekAtLastError() == cudaErrorInvalidDevice);
    CHECK(r.cudaGetLastError() == cudaErrorInvalidDevice);
    CHECK(r.cudaGetLastError() == cudaSuccess);
    CHECK(r.cudaPeekAtLastError() == cudaSuccess);
    // Calls that need no driver also set it.
    CHECK(r.cudaRuntimeGetVersion(nullptr) == cudaErrorInvalidValue);
    CHECK(r.cudaGetLastError() == cudaErrorInvalidValue);
    CHECK(r.cudaDriverGetVersion(nullptr) == cudaErrorInvalidValue);
    CHECK(r.cudaGetLastError() == cudaErrorInvalidValue);
    // Calls of the driver API do not.
    CHECK(d.cuMemFree(12345) == invalid);
    CHECK(r.cudaGetLastError() == cudaSuccess);
}

TEST_CASE("each thread has its own last error") {
    CHECK(fail_with_invalid_value() == cudaErrorInvalidValue);
    cudaError_t other = cudaErrorUnknown, after = cudaErrorUnknown;
    std::thread([&] {
        other = r.cudaPeekAtLastError();
        (void)r.cudaSetDevice(-1);
        after = r.cudaGetLastError();
    }).join();
    CHECK(other == cudaSuccess);
    CHECK(after == cudaErrorInvalidDevice);
    CHECK(r.cudaGetLastError() == cudaErrorInvalidValue);
}

TEST_CASE("a sticky error can be read and replaced as the last error") {
    size_t free = 0, total = 0;
    for (const bool hidden : {false, true}) {
        fail_instead("cudaMemGetInfo", cudaErrorIllegalAddress);
        CHECK(r.cudaMemGetInfo(&free, &total) == cudaErrorIllegalAddress);
        if (hidden) {
            CHECK(fail_with_invalid_value() == cudaErrorInvalidValue);
            CHECK(r.cudaPeekAtLastError() == cudaErrorInvalidValue);
        }
        CHECK(r.cudaGetLastError() == (hidden ? cudaErrorInvalidValue : cudaErrorIllegalAddress));
        CHECK(r.cudaGetLastError() == cudaSuccess);
    }
}

TEST_CASE("cudaDeviceReset keeps the last error") {
    CHECK(fail_with_invalid_value() == cudaErrorInvalidValue);
    CHECK(r.cudaDeviceReset() == cudaSuccess);
    CHECK(r.cudaPeekAtLastError() == cudaErrorInvalidValue);
    std::thread([] { CHECK(r.cudaDeviceReset() == cudaSuccess); }).join();
    CHECK(r.cudaGetLastError() == cudaErrorInvalidValue);
}

TEST_CASE("a failure of enqueued work fails all later calls, also after a reset") {
    void *memory = allocate_by_runtime(64);
    fail_work("cudaMemsetAsync", cudaErrorIllegalAddress);
    (void)r.cudaMemsetAsync(memory, 0, 64, nullptr);
    CHECK(r.cudaDeviceSynchronize() == cudaErrorIllegalAddress);
    void *more = nullptr;
    CHECK(r.cudaGetLastError() == cudaErrorIllegalAddress);
    CHECK(r.cudaGetLastError() == cudaSuccess);
    CHECK(r.cudaMalloc(&more, 64) == cudaErrorIllegalAddress);
    CHECK(r.cudaGetLastError() == cudaErrorIllegalAddress);
    CHECK(r.cudaDeviceReset() == cudaSuccess);
    CHECK(r.cudaMalloc(&more, 64) == cudaErrorDevicesUnavailable);
    CHECK(r.cudaGetLastError() == cudaErrorDevicesUnavailable);
}

TEST_CASE("cudaErrorNotReady does not become the last error") {
    start("mode=adversarial;seed=1");
    const RuntimeStream stream;
    const RuntimeMemory memory(64);
    REQUIRE(r.cudaMemsetAsync(memory, 0, 64, stream) == cudaSuccess);
    const cudaEvent_t event = make_runtime_event();
    CHECK(r.cudaStreamQuery(stream) == cudaErrorNotReady);
    REQUIRE(r.cudaEventRecord(event, stream) == cudaSuccess);
    CHECK(r.cudaEventQuery(event) == cudaErrorNotReady);
    CHECK(r.cudaPeekAtLastError() == cudaSuccess);
    // An earlier error stays.
    CHECK(r.cudaMalloc(nullptr, 16) == cudaErrorInvalidValue);
    REQUIRE(r.cudaMemsetAsync(memory, 0, 64, stream) == cudaSuccess);
    CHECK(r.cudaStreamQuery(stream) == cudaErrorNotReady);
    CHECK(r.cudaGetLastError() == cudaErrorInvalidValue);
    CHECK(r.cudaGetLastError() == cudaSuccess);
    CHECK(r.cudaEventDestroy(event) == cudaSuccess);
    CHECK(r.cudaStreamSynchronize(stream) == cudaSuccess);
    CHECK(r.cudaStreamQuery(stream) == cudaSuccess);
}

TEST_CASE("a reset of the simulator clears the last error") {
    CHECK(fail_with_invalid_value() == cudaErrorInvalidValue);
    start();
    CHECK(r.cudaGetLastError() == cudaSuccess);
}

TEST_CASE("planned faults of runtime calls can replace or follow the call") {
    const auto number = fail_instead("cudaMalloc", cudaErrorMemoryAllocation);
    void *memory = nullptr;
    CHECK(r.cudaMalloc(&memory, 64) == cudaErrorMemoryAllocation);
    CHECK(reinterpret_cast<std::uintptr_t>(memory) ==
          0xbdbdbdbdbdbdbdbd); // an address that cannot be used
    CHECK(sim_control().fault_fired(number) == 1);
    CHECK(r.cudaGetLastError() == cudaErrorMemoryAllocation);
    CHECK(r.cudaMalloc(&memory, 64) == cudaSuccess);
    fail_after("cudaFree", cudaErrorUnknown);
    CHECK(r.cudaFree(memory) == cudaErrorUnknown); // freed nevertheless
}

TEST_CASE("runtime calls are listed without the driver calls they make") {
    REQUIRE(r.cudaFree(nullptr) == cudaSuccess);
    sim_control().log_calls(1);
    void *memory = allocate_by_runtime(4096);
    CHECK(r.cudaFree(memory) == cudaSuccess);
    CHECK(d.cuCtxSynchronize() == good);
    CHECK(r.cudaSetDevice(-1) == cudaErrorInvalidDevice);
    REQUIRE(sim_control().call_count() == 4);
    const char *names[] = {"cudaMalloc", "cudaFree", "cuCtxSynchronize", "cudaSetDevice"};
    for (size_t i = 0; i < 4; ++i) {
        cushim_sim_call call{};
        REQUIRE(sim_control().call_at(i, &call) == 1);
        CHECK(std::string(call.name) == names[i]);
        CHECK(call.status == (i == 3 ? 101 : 0));
    }
}
