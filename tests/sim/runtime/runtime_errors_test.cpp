// Errors of the runtime: names, descriptions, and the last error of each thread.
#include "plan_fault.hpp"

using namespace sim_test;

namespace {

cudaError_t fail_with_invalid_value() {
    return runtime().cudaMalloc(nullptr, 16);
}

} // namespace

TEST_CASE("each runtime error has a name and a description") {
    const auto name = [](int code) {
        return std::string(runtime().cudaGetErrorName(static_cast<cudaError_t>(code)));
    };
    const auto text = [](int code) {
        return std::string(runtime().cudaGetErrorString(static_cast<cudaError_t>(code)));
    };
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

TEST_CASE("null arguments of runtime calls are refused") {
    const RuntimeGraph graph;
    cudaGraphNode_t node = nullptr;
    cudaDeviceProp prop{};
    cudaExternalMemory_t memory = nullptr;
    void *pitched = nullptr;
    int value = 0;
    check_all(
        cudaErrorInvalidValue,
        {runtime().cudaGetDeviceProperties(nullptr, 0),
         runtime().cudaDeviceGetAttribute(nullptr, cudaDevAttrWarpSize, 0),
         runtime().cudaDeviceGetByPCIBusId(&value, nullptr),
         runtime().cudaChooseDevice(nullptr, &prop), runtime().cudaChooseDevice(&value, nullptr),
         runtime().cudaMallocPitch(&pitched, nullptr, 1, 1),
         runtime().cudaImportExternalMemory(&memory, nullptr),
         runtime().cudaGraphAddMemsetNode(&node, graph, nullptr, 0, nullptr),
         runtime().cudaGraphAddExternalSemaphoresSignalNode(&node, graph, nullptr, 0, nullptr)});
}

TEST_CASE("cudaErrorNotReady does not become the last error") {
    start("mode=adversarial;seed=1");
    const RuntimeStream stream;
    const RuntimeMemory memory(64);
    require_ok(runtime().cudaMemsetAsync(memory, 0, 64, stream));
    const RuntimeEvent event;
    CHECK(runtime().cudaStreamQuery(stream) == cudaErrorNotReady);
    require_ok(runtime().cudaEventRecord(event, stream));
    CHECK(runtime().cudaEventQuery(event) == cudaErrorNotReady);
    ok(runtime().cudaPeekAtLastError());
    // An earlier error stays.
    CHECK(runtime().cudaMalloc(nullptr, 16) == cudaErrorInvalidValue);
    require_ok(runtime().cudaMemsetAsync(memory, 0, 64, stream));
    CHECK(runtime().cudaStreamQuery(stream) == cudaErrorNotReady);
    CHECK(runtime().cudaGetLastError() == cudaErrorInvalidValue);
    ok(runtime().cudaGetLastError());
    ok(runtime().cudaStreamSynchronize(stream));
    ok(runtime().cudaStreamQuery(stream));
}

TEST_CASE("a reset of the simulator clears the last error") {
    CHECK(fail_with_invalid_value() == cudaErrorInvalidValue);
    start();
    ok(runtime().cudaGetLastError());
}

TEST_CASE("planned faults of runtime calls can replace or follow the call") {
    const auto number = fail_instead("cudaMalloc", cudaErrorMemoryAllocation);
    void *memory = nullptr;
    CHECK(runtime().cudaMalloc(&memory, 64) == cudaErrorMemoryAllocation);
    CHECK(reinterpret_cast<std::uintptr_t>(memory) ==
          0xbdbdbdbdbdbdbdbd); // an address that cannot be used
    CHECK(sim_control().fault_fired(number) == 1);
    CHECK(runtime().cudaGetLastError() == cudaErrorMemoryAllocation);
    ok(runtime().cudaMalloc(&memory, 64));
    fail_after("cudaFree", cudaErrorUnknown);
    CHECK(runtime().cudaFree(memory) == cudaErrorUnknown); // freed nevertheless
}

TEST_CASE("runtime calls are listed without the driver calls they make") {
    require_ok(runtime().cudaFree(nullptr));
    sim_control().log_calls(1);
    void *memory = allocate_by_runtime(4096);
    ok(runtime().cudaFree(memory));
    ok(driver().cuCtxSynchronize());
    CHECK(runtime().cudaSetDevice(-1) == cudaErrorInvalidDevice);
    REQUIRE(sim_control().call_count() == 4);
    const char *names[] = {"cudaMalloc", "cudaFree", "cuCtxSynchronize", "cudaSetDevice"};
    for (size_t i = 0; i < 4; ++i) {
        cushim_sim_call call{};
        REQUIRE(sim_control().call_at(i, &call) == 1);
        CHECK(std::string(call.name) == names[i]);
        CHECK(call.status == (i == 3 ? 101 : 0));
    }
}
