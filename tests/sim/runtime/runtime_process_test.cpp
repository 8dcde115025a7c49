// The runtime without a device, with a driver that is too old, and with the stub: each call fails
// before it checks its arguments, and leaves its outputs unchanged.
#include "handles.hpp"

#ifndef _WIN32
#include <sys/wait.h>
#include <unistd.h>
#endif

using namespace sim_test;

namespace {

// These calls fail in each of these states in a real runtime of CUDA 12 and 13.
void check_refused(cudaError_t why) {
    int number = 77;
    void *memory = &number;
    cudaStream_t stream = reinterpret_cast<cudaStream_t>(&number);
    check_all(why, {runtime().cudaPeekAtLastError(),
                    runtime().cudaGetLastError(),
                    runtime().cudaGetLastError(),
                    runtime().cudaGetDeviceCount(&number),
                    runtime().cudaGetDeviceCount(nullptr),
                    runtime().cudaGetDevice(&number),
                    runtime().cudaSetDevice(0),
                    runtime().cudaSetDevice(-1),
                    runtime().cudaMalloc(&memory, 16),
                    runtime().cudaMalloc(nullptr, 16),
                    runtime().cudaFree(nullptr),
                    runtime().cudaDeviceReset(),
                    runtime().cudaDeviceSynchronize(),
                    runtime().cudaStreamCreate(&stream),
                    runtime().cudaStreamQuery(nullptr),
                    runtime().cudaMemcpy(nullptr, nullptr, 0, static_cast<cudaMemcpyKind>(99)),
                    runtime().cudaSetDeviceFlags(0xffff),
                    runtime().cudaSetValidDevices(&number, 0),
                    runtime().cudaLaunchKernel(nullptr, {}, {}, nullptr, 0, nullptr),
                    runtime().cudaDeviceCanAccessPeer(&number, 0, 1)});
    CHECK(number == 77);
    CHECK(memory == &number);
    CHECK(stream == reinterpret_cast<cudaStream_t>(&number));
}

void check_versions(int driver) {
    int version = 77;
    CHECK(got(runtime().cudaDriverGetVersion(&version), version) == driver);
    CHECK(runtime().cudaDriverGetVersion(nullptr) == cudaErrorInvalidValue);
#if CUDART_VERSION >= 12000
    CHECK(got(runtime().cudaRuntimeGetVersion(&version), version) == CUDART_VERSION);
#else
    CHECK(runtime().cudaRuntimeGetVersion(&version) != cudaSuccess);
#endif
}

bool is(const char *variant) {
    const char *named = std::getenv("SIM_VARIANT");
    return std::strcmp(named ? named : "current", variant) == 0;
}

void skip_variants() {
    if (!is("current")) {
        SKIP("runs with the current variant only");
    }
}

} // namespace

TEST_CASE("runtime calls fail with NoDevice without a device", "[fresh]") {
    skip_variants();
    configure("devices=0");
    check_versions(CUDA_VERSION);
    check_refused(cudaErrorNoDevice);
    check_versions(CUDA_VERSION);
    CHECK(std::string(runtime().cudaGetErrorString(cudaErrorNoDevice)) ==
          "no CUDA-capable device is detected");
}

TEST_CASE("the runtime does not look for devices again", "[fresh]") {
    skip_variants();
    configure("devices=0");
    CHECK(runtime().cudaFree(nullptr) == cudaErrorNoDevice);
    configure("devices=1");
    CHECK(runtime().cudaFree(nullptr) == cudaErrorNoDevice);
    ok(driver().cuInit(0));
    CHECK(runtime().cudaFree(nullptr) == cudaErrorNoDevice);
    sim_control().reset();
    ok(runtime().cudaFree(nullptr));
}

TEST_CASE("runtime calls fail with SystemNotReady if the driver cannot start", "[fresh]") {
    skip_variants();
    configure("init=802");
    check_refused(cudaErrorSystemNotReady);
    configure("init=0");
    ok(runtime().cudaFree(nullptr));
    CHECK(runtime().cudaGetLastError() == cudaErrorSystemNotReady);
    ok(runtime().cudaGetLastError());
}

TEST_CASE("runtime calls fail with InsufficientDriver if the driver setting is too old",
          "[fresh]") {
    skip_variants();
    const int older = (CUDART_VERSION / 1000 - 1) * 1000 + 80;
    configure("driver=" + std::to_string(older));
    check_versions(older);
    check_refused(cudaErrorInsufficientDriver);
}

TEST_CASE("a runtime call succeeds with an older driver of the same major version", "[fresh]") {
    skip_variants();
    configure("driver=" + std::to_string(CUDART_VERSION / 1000 * 1000));
    ok(runtime().cudaFree(nullptr));
}

TEST_CASE("runtime calls fail with InsufficientDriver with a driver that is too old",
          "[fresh][runtime_process][old]") {
    const char *expected = std::getenv("SIM_EXPECTED_VERSION");
    if (expected == nullptr || std::stoi(expected) / 1000 == CUDART_VERSION / 1000 || is("stub")) {
        SKIP("runs with variants of an older major version only");
    }
    check_versions(std::stoi(expected));
    check_refused(cudaErrorInsufficientDriver);
}

TEST_CASE("runtime calls fail with StubLibrary with the stub", "[fresh][runtime_process][stub]") {
    if (!is("stub")) {
        SKIP("runs with the stub variant only");
    }
    check_versions(0);
    check_refused(cudaErrorStubLibrary);
}

#ifndef _WIN32
TEST_CASE("a forked child keeps cached results of the runtime, other calls fail") {
    skip_variants();
    start("devices=3");
    require_ok(runtime().cudaFree(nullptr));
    const pid_t child = fork();
    if (child == 0) {
        int count = 0, chosen = 77, current = 77;
        const cudaDeviceProp any{};
        const bool knows = runtime().cudaGetDeviceCount(&count) == cudaSuccess && count == 3 &&
                           runtime().cudaChooseDevice(&chosen, &any) == cudaSuccess &&
                           chosen == 0 && runtime().cudaProfilerStop() == cudaSuccess;
        const bool works = runtime().cudaGetDevice(&current) != cudaErrorInitializationError ||
                           runtime().cudaProfilerStart() != cudaErrorInitializationError ||
                           runtime().cudaSetDevice(0) != cudaErrorInitializationError;
        _exit(knows && !works ? 0 : 1);
    }
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
    CHECK((WIFEXITED(status) && WEXITSTATUS(status) == 0));
}
#endif
