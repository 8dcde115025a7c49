// What a call that fails leaves where it would have written: nothing that anybody can take for an
// answer.
#include "handles.hpp"

#include <cstring>

using namespace sim_test;

namespace {

template <class T>
bool holds(const T &value, unsigned char byte) {
    unsigned char bytes[sizeof value];
    std::memcpy(bytes, &value, sizeof value);
    for (const unsigned char b : bytes) {
        if (b != byte) {
            return false;
        }
    }
    return true;
}

// Whether the call fails with that status and poisons its output.
template <class T, class Call>
bool poisons(CUresult status, const Call &call) {
    T value;
    std::memset(static_cast<void *>(&value), 0x11, sizeof value);
    return call(&value) == status && holds(value, 0xbd);
}

} // namespace

TEST_CASE("calls before cuInit, and without a context") {
    sim_control().reset();
    CHECK(poisons<int>(CUDA_ERROR_NOT_INITIALIZED, [](int *p) { return d.cuDeviceGetCount(p); }));
    CHECK(poisons<CUdeviceptr>(CUDA_ERROR_NOT_INITIALIZED,
                               [](CUdeviceptr *p) { return d.cuMemAlloc(p, 16); }));
    REQUIRE(d.cuInit(0) == good);
    CHECK(poisons<CUdeviceptr>(CUDA_ERROR_INVALID_CONTEXT,
                               [](CUdeviceptr *p) { return d.cuMemAlloc(p, 16); }));
    CHECK(poisons<CUcontext>(CUDA_ERROR_INVALID_CONTEXT,
                             [](CUcontext *p) { return d.cuCtxPopCurrent(p); }));
}

TEST_CASE("numbers, handles and structures of calls that are refused") {
    start();
    const auto nobody = reinterpret_cast<CUstream>(0x1230);
    CHECK(poisons<CUdevice>(CUDA_ERROR_INVALID_DEVICE,
                            [](CUdevice *p) { return d.cuDeviceGet(p, 99); }));
    CHECK(poisons<std::size_t>(CUDA_ERROR_INVALID_DEVICE,
                               [](std::size_t *p) { return d.cuDeviceTotalMem(p, 99); }));
    CHECK(poisons<CUuuid>(CUDA_ERROR_INVALID_DEVICE,
                          [](CUuuid *p) { return d.cuDeviceGetUuid(p, 99); }));
    CHECK(poisons<CUcontext>(CUDA_ERROR_INVALID_DEVICE,
                             [](CUcontext *p) { return d.cuDevicePrimaryCtxRetain(p, 99); }));
    CHECK(poisons<CUstream>(invalid, [](CUstream *p) { return d.cuStreamCreate(p, 0x77); }));
    CHECK(poisons<void *>(invalid, [](void **p) { return d.cuMemHostAlloc(p, 16, 0x100); }));
    CHECK(poisons<CUgraph>(invalid, [](CUgraph *p) { return d.cuGraphCreate(p, 7); }));
    CHECK(poisons<int>(CUDA_ERROR_INVALID_HANDLE,
                       [=](int *p) { return d.cuStreamGetPriority(nobody, p); }));
    expect_misuse("is not a stream handle");
    std::size_t size = 7;
    CHECK(poisons<CUdeviceptr>(CUDA_ERROR_NOT_FOUND, [&](CUdeviceptr *p) {
        return d.cuMemGetAddressRange(p, &size, 0x1230);
    }));
    CHECK(holds(size, 0xbd));
}

TEST_CASE("null outputs, and those of calls that succeed") {
    start();
    CHECK(d.cuDeviceGetCount(nullptr) == invalid);
    CHECK(got<int>(&Driver::cuDeviceGetCount, out) == 1);
}

TEST_CASE("a planned fault poisons what the call would have written") {
    start("fault=cuMemAlloc_v2:1:2;fault=cuStreamCreate:1:2;fault=cuEventElapsedTime:1:600;"
          "fault=cuMemHostAlloc:1:2:after");
    CHECK(poisons<CUdeviceptr>(CUDA_ERROR_OUT_OF_MEMORY,
                               [](CUdeviceptr *p) { return d.cuMemAlloc(p, 64); }));
    CHECK(poisons<CUstream>(CUDA_ERROR_OUT_OF_MEMORY,
                            [](CUstream *p) { return d.cuStreamCreate(p, 0); }));
    // That work is not done yet is no failure.
    float time = -1;
    CHECK(d.cuEventElapsedTime(&time, nullptr, nullptr) == CUDA_ERROR_NOT_READY);
    CHECK(time == -1);
    // What has done its work has written, too.
    void *host = nullptr;
    CHECK(d.cuMemHostAlloc(&host, 64, 0) == CUDA_ERROR_OUT_OF_MEMORY);
    CHECK(d.cuMemFreeHost(host) == good);
}

TEST_CASE("calls into a context that has failed") {
    start("fault=cuMemsetD8Async:1:700:async");
    const CUdeviceptr memory = allocate(64);
    REQUIRE(d.cuMemsetD8Async(memory, 0, 64, nullptr) == good);
    CHECK(d.cuCtxSynchronize() == CUDA_ERROR_ILLEGAL_ADDRESS);
    CHECK(poisons<CUdeviceptr>(CUDA_ERROR_ILLEGAL_ADDRESS,
                               [](CUdeviceptr *p) { return d.cuMemAlloc(p, 64); }));
    CHECK(poisons<CUevent>(CUDA_ERROR_ILLEGAL_ADDRESS,
                           [](CUevent *p) { return d.cuEventCreate(p, 0); }));
    CHECK(d.cuDevicePrimaryCtxReset(0) == good);
}

TEST_CASE("lists, and what a call reads, stay as they are") {
    start("fault=cuGraphGetNodes:1:999;fault=cuThreadExchangeStreamCaptureMode:1:999");
    const Graph graph;
    CUgraphNode nodes[2] = {};
    std::size_t count = 2;
    CHECK(d.cuGraphGetNodes(graph, nodes, &count) == CUDA_ERROR_UNKNOWN);
    CHECK(nodes[0] == nullptr);
    CHECK(count == 2);
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    CHECK(d.cuThreadExchangeStreamCaptureMode(&mode) == CUDA_ERROR_UNKNOWN);
    CHECK(mode == CU_STREAM_CAPTURE_MODE_RELAXED);
}

TEST_CASE("what drivers are known to answer with a failure stays") {
    start();
    CUgraph graph = reinterpret_cast<CUgraph>(7);
    CHECK(d.cuStreamEndCapture(nullptr, &graph) != good);
    CHECK(graph == nullptr);
    const char *text = "before";
    CHECK(d.cuGetErrorName(static_cast<CUresult>(999999), &text) == invalid);
    CHECK(text == nullptr);
#if CUDA_VERSION >= 13000 // older drivers know no version that is too new
    int untouched = 7;
    void *address = &untouched;
    using Resolve = CUresult (*)(const char *, void **, int, cuuint64_t);
    CHECK(reinterpret_cast<Resolve>(exported("cuGetProcAddress"))("cuMemAlloc", &address, 99000,
                                                                  0) == invalid);
    CHECK(address == &untouched);
#endif
}
