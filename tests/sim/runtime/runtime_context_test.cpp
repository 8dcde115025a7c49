// Devices and contexts of the runtime: primary contexts, and contexts of the driver API.
#include "base/checks.hpp"

using namespace sim_test;

namespace {

bool primary_active(int device) {
    unsigned int flags = 0;
    const auto active = got<int>(&Driver::cuDevicePrimaryCtxGetState, device, &flags, out);
    return active == 1;
}

} // namespace

TEST_CASE("the first call that needs a context makes the primary context current", "[fresh]") {
    CHECK(got<int>(&Runtime::cudaGetDeviceCount, out) == 1);
    CHECK(current() == nullptr);
    CHECK_FALSE(primary_active(0));
    ok(runtime().cudaFree(nullptr));
    CHECK(primary_active(0));
    const CUcontext primary = retain_primary(0);
    CHECK(current() == primary);
    ok(driver().cuDevicePrimaryCtxRelease(0));
    CHECK(primary_active(0)); // still retained by the runtime
}

TEST_CASE("queries create no context", "[fresh]") {
    configure("devices=2");
    int value = 0;
    cudaDeviceProp prop;
    CHECK(got(runtime().cudaGetDevice(&value), value) == 0);
    ok(runtime().cudaDeviceGetAttribute(&value, cudaDevAttrWarpSize, 1));
    ok(runtime().cudaGetDeviceProperties(&prop, 1));
    ok(runtime().cudaDeviceCanAccessPeer(&value, 0, 1));
    CHECK(got(runtime().cudaRuntimeGetVersion(&value), value) == CUDART_VERSION);
    CHECK(got(runtime().cudaDriverGetVersion(&value), value) == CUDA_VERSION);
    CHECK_FALSE(primary_active(0));
    CHECK_FALSE(primary_active(1));
}

TEST_CASE("each thread selects its own device", "[fresh]") {
    configure("devices=2");
    require_ok(runtime().cudaSetDevice(1));
    require_ok(runtime().cudaFree(nullptr));
    CHECK(got<int>(&Runtime::cudaGetDevice, out) == 1);
    CHECK(primary_active(1));
    CHECK_FALSE(primary_active(0));
    int others = -1;
    std::thread([&] {
        (void)runtime().cudaGetDevice(&others);
        (void)runtime().cudaFree(nullptr);
    }).join();
    CHECK(others == 0);
    CHECK(primary_active(0));
}

#if CUDART_VERSION >= 12000
TEST_CASE("selecting or initializing a device creates its primary context at once", "[fresh]") {
    configure("devices=3");
    ok(runtime().cudaInitDevice(1, cudaDeviceScheduleYield, cudaInitDeviceFlagsAreValid));
    CHECK(primary_active(1));
    CHECK(current() == nullptr); // not selected
    require_ok(runtime().cudaSetDevice(2));
    CHECK(primary_active(2));
    CHECK(got<CUdevice>(&Driver::cuCtxGetDevice, out) == 2);
}

TEST_CASE("initializing the selected device does not make its primary context current", "[fresh]") {
    configure("devices=2");
    ok(runtime().cudaInitDevice(0, cudaDeviceScheduleYield, 0x80)); // an unknown flag
    CHECK(primary_active(0));
    CHECK(current() == nullptr);
    require_ok(runtime().cudaSetDevice(0));
    // The flags were not marked valid.
    CHECK(got<unsigned int>(&Driver::cuCtxGetFlags, out) == CU_CTX_MAP_HOST);
}

TEST_CASE("the runtime sets flags of primary contexts only", "[fresh]") {
    ok(runtime().cudaSetDeviceFlags(cudaDeviceScheduleYield));
    CHECK(primary_active(0));
    CHECK(current() != nullptr);
    const CUcontext made = make_context(0);
    CHECK(runtime().cudaSetDeviceFlags(cudaDeviceScheduleSpin) ==
          cudaErrorIncompatibleDriverContext);
    CHECK(got<unsigned int>(&Runtime::cudaGetDeviceFlags, out) == 0); // of the created context
    destroy(made);
}
#endif

TEST_CASE("runtime calls use a current context of the driver API") {
    start("devices=2");
    const CUcontext own = make_context(1);
    CHECK(got<int>(&Runtime::cudaGetDevice, out) == 1);
    void *memory = allocate_by_runtime(256);
    CHECK(current() == own);
    CHECK(got<CUcontext>(&Driver::cuPointerGetAttribute, out, CU_POINTER_ATTRIBUTE_CONTEXT,
                         reinterpret_cast<CUdeviceptr>(memory)) == own);
    CHECK_FALSE(primary_active(1));
    ok(runtime().cudaFree(memory));
    // Selecting a device replaces the current context by its primary context.
    ok(runtime().cudaSetDevice(0));
    ok(runtime().cudaFree(nullptr));
    CHECK(current() != own);
    destroy(own);
}

TEST_CASE("runtime handles are driver handles") {
    const RuntimeStream stream(cudaStreamNonBlocking);
    const RuntimeEvent event(cudaEventDisableTiming);
    void *memory = allocate_by_runtime(4096);
    const auto address = reinterpret_cast<CUdeviceptr>(memory);
    ok(driver().cuMemsetD32Async(address, 0x01020304, 1024, stream));
    ok(driver().cuEventRecord(event, stream));
    ok(runtime().cudaEventSynchronize(event));
    CHECK(got<unsigned int>(&Runtime::cudaMemcpy, out, memory, 4, cudaMemcpyDefault) == 0x01020304);
    CHECK(got<unsigned int>(&Driver::cuStreamGetFlags, stream, out) == CU_STREAM_NON_BLOCKING);
    ok(driver().cuMemFree(address));
    CHECK(runtime().cudaFree(memory) == cudaErrorInvalidValue);
    expect_misuse("cuMemFree");
    const Stream of_driver;
    ok(runtime().cudaStreamQuery(of_driver));
    destroy(got<CUstream>(&Runtime::cudaStreamCreate, out));
    destroy(got<CUevent>(&Runtime::cudaEventCreate, out));
}

TEST_CASE("cudaDeviceReset frees all memory, the next call creates the context again", "[fresh]") {
    void *memory = allocate_by_runtime(4096);
    const CUcontext before = current();
    ok(runtime().cudaDeviceReset());
    CHECK(current() == nullptr);
    CHECK_FALSE(primary_active(0));
    expect_ended({"device memory"});
    ok(runtime().cudaFree(nullptr));
    CHECK(primary_active(0));
    CHECK(current() == before); // the handle of a primary context never changes
    ok(runtime().cudaFree(got(runtime().cudaMalloc(&memory, 4096), memory)));
}

TEST_CASE("other threads notice a reset of the device", "[fresh]") {
    require_ok(runtime().cudaFree(nullptr));
    std::thread([] { ok(runtime().cudaDeviceReset()); }).join();
    CHECK_FALSE(primary_active(0));
    const RuntimeMemory memory(64);
    CHECK(primary_active(0));
}

TEST_CASE("resetting a device destroys a primary context that the driver API retains", "[fresh]") {
    require_ok(runtime().cudaFree(nullptr));
    const PrimaryContext primary(0);
    ok(runtime().cudaDeviceReset());
    CHECK_FALSE(primary_active(0));
    ok(driver().cuCtxSetCurrent(primary));
    CUdeviceptr address = 0;
    CHECK(driver().cuMemAlloc(&address, 64) == CUDA_ERROR_CONTEXT_IS_DESTROYED);
    ok(runtime().cudaFree(nullptr));
    ok(driver().cuMemFree(got(driver().cuMemAlloc(&address, 64), address)));
}

TEST_CASE("device flags apply to the primary context", "[fresh]") {
    ok(runtime().cudaSetDeviceFlags(cudaDeviceScheduleBlockingSync));
    unsigned int flags = 0;
    ok(runtime().cudaGetDeviceFlags(&flags));
    CHECK((flags & cudaDeviceScheduleMask) == cudaDeviceScheduleBlockingSync);
    ok(runtime().cudaFree(nullptr));
    ok(driver().cuCtxGetFlags(&flags));
    CHECK(flags ==
          (CU_CTX_SCHED_BLOCKING_SYNC | CU_CTX_MAP_HOST)); // primary contexts always have MAP_HOST
    ok(runtime().cudaDeviceReset());
    ok(runtime().cudaGetDeviceFlags(&flags));
    CHECK(flags == 0);
}

TEST_CASE("threads can make the first call concurrently", "[fresh]") {
    configure("devices=2");
    CHECK(in_threads([](std::size_t t) {
              void *memory = nullptr;
              const cudaError_t selected = runtime().cudaSetDevice(static_cast<int>(t % 2));
              const cudaError_t made = runtime().cudaMalloc(&memory, 1024);
              return std::array{selected, made, runtime().cudaFree(memory)};
          }) == std::vector<std::array<cudaError_t, 3>>(4));
    retain_primary(0);
    ok(driver().cuDevicePrimaryCtxRelease(0));
    ok(runtime().cudaDeviceReset()); // the runtime retains once for all threads
    CHECK(driver().cuDevicePrimaryCtxRelease(0) == CUDA_ERROR_INVALID_CONTEXT);
}

#if CUDART_VERSION >= 12000
TEST_CASE("a null stream of a per-thread call is the per-thread stream") {
    const auto get_id = exported_as<cudaError_t (*)(cudaStream_t, unsigned long long *)>(
        "cudaStreamGetId_ptsz", std::getenv("CUSHIM_RUNTIME"));
    unsigned long long legacy = 0, own = 0, named = 0, again = 0;
    ok(runtime().cudaStreamGetId(nullptr, &legacy));
    ok(get_id(nullptr, &own));
    ok(runtime().cudaStreamGetId(cudaStreamPerThread, &named));
    ok(get_id(cudaStreamLegacy, &again));
    CHECK(own == named);
    CHECK(own != legacy);
    CHECK(again == legacy);
    unsigned long long others = 0;
    std::thread([&] {
        (void)runtime().cudaSetDevice(0);
        (void)get_id(nullptr, &others);
    }).join();
    CHECK(others != own);
}
#endif

TEST_CASE("a per-thread copy waits for the per-thread stream only") {
    start("mode=adversarial;seed=3");
    const auto copy = exported_as<cudaError_t (*)(void *, const void *, size_t, cudaMemcpyKind)>(
        "cudaMemcpy_ptds", std::getenv("CUSHIM_RUNTIME"));
    const RuntimeMemory memory(64);
    require_ok(runtime().cudaMemsetAsync(memory, 7, 64, cudaStreamPerThread));
    unsigned char bytes[64] = {};
    ok(copy(bytes, memory, 64, cudaMemcpyDeviceToHost));
    CHECK(bytes[0] == 7);
    CHECK(bytes[63] == 7);
}
