// Outputs of failed calls: they are overwritten with values that cannot be mistaken for results.
#include "launch_tools.hpp"

using namespace sim_test;

namespace {

template <class T>
bool holds(const T &value, unsigned char byte) {
    std::array<unsigned char, sizeof value> bytes, expected;
    std::memcpy(bytes.data(), &value, sizeof value);
    expected.fill(byte);
    return bytes == expected;
}

// Whether the call, with a pointer to its output in the place of `out`, fails with that status and
// poisons the output.
template <class T, class Table, class... Parameters, class... Arguments>
bool poisons(CUresult status, CUresult (Table::*function)(Parameters...) const,
             const Arguments &...arguments) {
    T value;
    std::memset(static_cast<void *>(&value), 0x11, sizeof value);
    return call_with(value, function, arguments...) == status && holds(value, 0xbd);
}

} // namespace

TEST_CASE("calls before cuInit and without a context poison their outputs", "[fresh]") {
    configure("init=3");
    CHECK(poisons<int>(CUDA_ERROR_NOT_INITIALIZED, &Driver::cuDeviceGetCount, out));
    CHECK(poisons<CUdeviceptr>(CUDA_ERROR_NOT_INITIALIZED, &Driver::cuMemAlloc, out, 16));
    configure("init=0");
    require_ok(driver().cuInit(0));
    CHECK(poisons<CUdeviceptr>(CUDA_ERROR_INVALID_CONTEXT, &Driver::cuMemAlloc, out, 16));
    CHECK(poisons<CUcontext>(CUDA_ERROR_INVALID_CONTEXT, &Driver::cuCtxPopCurrent, out));
}

TEST_CASE("calls with invalid arguments poison their outputs") {
    const auto nobody = reinterpret_cast<CUstream>(0x1230);
    CHECK(poisons<CUdevice>(CUDA_ERROR_INVALID_DEVICE, &Driver::cuDeviceGet, out, 99));
    CHECK(poisons<CUuuid>(CUDA_ERROR_INVALID_DEVICE, &Driver::cuDeviceGetUuid, out, 99));
    CHECK(poisons<CUstream>(invalid, &Driver::cuStreamCreate, out, 0x77));
    CHECK(poisons<void *>(invalid, &Driver::cuMemHostAlloc, out, 16, 0x100));
    CHECK(poisons<int>(CUDA_ERROR_INVALID_HANDLE, &Driver::cuStreamGetPriority, nobody, out));
    expect_misuse("is not a stream handle");
    std::size_t size = 7;
    CHECK(poisons<CUdeviceptr>(CUDA_ERROR_NOT_FOUND, &Driver::cuMemGetAddressRange, out, &size,
                               0x1230));
    CHECK(holds(size, 0xbd));
}

TEST_CASE("uses of the outputs of failed calls are reported") {
    start("fault=cuMemAlloc:1:2;fault=cuStreamCreate:1:2");
    CUdeviceptr memory = 0;
    CHECK(driver().cuMemAlloc(&memory, 64) == CUDA_ERROR_OUT_OF_MEMORY);
    check_misuse(driver().cuMemsetD8(memory, 0, 64), invalid,
                 "use of an address that a failed call returned");
    check_misuse(driver().cuMemsetD8(memory + 32, 0, 32), invalid,
                 "use of an address that a failed call returned");
    check_misuse(driver().cuMemFree(memory), invalid,
                 "cuMemFree of an address that a failed call returned");
    const DeviceMemory other(64);
    check_misuse(driver().cuMemcpyHtoD(other, reinterpret_cast<void *>(memory), 64), invalid,
                 "use of an address that a failed call returned");
    CUstream stream = nullptr;
    CHECK(driver().cuStreamCreate(&stream, 0) == CUDA_ERROR_OUT_OF_MEMORY);
    check_misuse(driver().cuStreamQuery(stream), CUDA_ERROR_INVALID_HANDLE,
                 "is not a stream handle: a failed call returned it");
}

TEST_CASE("a kernel that runs with an address that a failed call returned is reported") {
    start(GENERATE(from_range(all_modes())));
    const LoadedModule module("cushim-sim-image 1\nkernel take params=8\n");
    CUdeviceptr memory = 0;
    CHECK(driver().cuMemAlloc(&memory, 0) == invalid);
    ok(launch_with_pointer(module.function("take"), memory));
    ok(driver().cuCtxSynchronize());
    expect_misuse("kernel take runs with an address that a failed call returned");
}

TEST_CASE("a planned fault poisons the outputs of its call") {
    start("fault=cuMemAlloc_v2:1:2;fault=cuStreamCreate:1:2;fault=cuEventElapsedTime:1:600;"
          "fault=cuMemHostAlloc:1:2:after");
    CHECK(poisons<CUdeviceptr>(CUDA_ERROR_OUT_OF_MEMORY, &Driver::cuMemAlloc, out, 64));
    CHECK(poisons<CUstream>(CUDA_ERROR_OUT_OF_MEMORY, &Driver::cuStreamCreate, out, 0));
    // NOT_READY is not a failure.
    float time = -1;
    CHECK(driver().cuEventElapsedTime(&time, nullptr, nullptr) == CUDA_ERROR_NOT_READY);
    CHECK(time == -1);
    // A call that did its work has written its output.
    void *host = nullptr;
    CHECK(driver().cuMemHostAlloc(&host, 64, 0) == CUDA_ERROR_OUT_OF_MEMORY);
    ok(driver().cuMemFreeHost(host));
}

TEST_CASE("calls in a failed context poison their outputs") {
    start("fault=cuMemsetD8Async:1:700:async");
    const CUdeviceptr memory = allocate(64);
    require_ok(driver().cuMemsetD8Async(memory, 0, 64, nullptr));
    CHECK(driver().cuCtxSynchronize() == CUDA_ERROR_ILLEGAL_ADDRESS);
    CHECK(poisons<CUdeviceptr>(CUDA_ERROR_ILLEGAL_ADDRESS, &Driver::cuMemAlloc, out, 64));
    CHECK(poisons<CUevent>(CUDA_ERROR_ILLEGAL_ADDRESS, &Driver::cuEventCreate, out, 0));
    ok(driver().cuDevicePrimaryCtxReset(0));
}

TEST_CASE("failed calls leave lists and inputs unchanged") {
    start("fault=cuGraphGetNodes:1:999;fault=cuThreadExchangeStreamCaptureMode:1:999");
    const Graph graph;
    CUgraphNode nodes[2] = {};
    std::size_t count = 2;
    CHECK(driver().cuGraphGetNodes(graph, nodes, &count) == CUDA_ERROR_UNKNOWN);
    CHECK(nodes[0] == nullptr);
    CHECK(count == 2);
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    CHECK(driver().cuThreadExchangeStreamCaptureMode(&mode) == CUDA_ERROR_UNKNOWN);
    CHECK(mode == CU_STREAM_CAPTURE_MODE_RELAXED);
}

TEST_CASE("outputs that real drivers set or keep on failure are not poisoned") {
    CUgraph graph = reinterpret_cast<CUgraph>(7);
    CHECK(driver().cuStreamEndCapture(nullptr, &graph) != CUDA_SUCCESS);
    CHECK(graph == nullptr);
    const char *text = "before";
    CHECK(driver().cuGetErrorName(static_cast<CUresult>(999999), &text) == invalid);
    CHECK(text == nullptr);
#if CUDA_VERSION >= 13000 // older drivers accept any version
    int untouched = 7;
    void *address = &untouched;
    CHECK(call_exported(std::getenv("SIM_DRIVER_CURRENT"), "cuGetProcAddress", "cuMemAlloc",
                        &address, 99000, cuuint64_t(0)) == invalid);
    CHECK(address == &untouched);
#endif
}
