// Devices and contexts of the runtime: primary contexts, and contexts of the driver API.
#include "handles.hpp"

using namespace sim_test;

namespace {

bool primary_active(int device) {
    unsigned int flags = 0;
    int active = -1;
    CHECK(d.cuDevicePrimaryCtxGetState(device, &flags, &active) == good);
    return active == 1;
}

} // namespace

TEST_CASE("the first call that needs a context makes the primary context current", "[fresh]") {
    CHECK(got<int>(&Runtime::cudaGetDeviceCount, out) == 1);
    CHECK(current() == nullptr);
    CHECK_FALSE(primary_active(0));
    CHECK(r.cudaFree(nullptr) == cudaSuccess);
    CHECK(primary_active(0));
    const CUcontext primary = retain_primary(0);
    CHECK(current() == primary);
    CHECK(d.cuDevicePrimaryCtxRelease(0) == good);
    CHECK(primary_active(0)); // still retained by the runtime
}

TEST_CASE("queries create no context", "[fresh]") {
    configure("devices=2");
    int value = 0;
    cudaDeviceProp prop;
    CHECK(got(r.cudaGetDevice(&value), value) == 0);
    CHECK(r.cudaDeviceGetAttribute(&value, cudaDevAttrWarpSize, 1) == cudaSuccess);
    CHECK(r.cudaGetDeviceProperties(&prop, 1) == cudaSuccess);
    CHECK(r.cudaDeviceCanAccessPeer(&value, 0, 1) == cudaSuccess);
    CHECK(got(r.cudaRuntimeGetVersion(&value), value) == CUDART_VERSION);
    CHECK(got(r.cudaDriverGetVersion(&value), value) == CUDA_VERSION);
    CHECK_FALSE(primary_active(0));
    CHECK_FALSE(primary_active(1));
}

TEST_CASE("each thread selects its own device", "[fresh]") {
    configure("devices=2");
    REQUIRE(r.cudaSetDevice(1) == cudaSuccess);
    REQUIRE(r.cudaFree(nullptr) == cudaSuccess);
    CHECK(got<int>(&Runtime::cudaGetDevice, out) == 1);
    CHECK(primary_active(1));
    CHECK_FALSE(primary_active(0));
    int others = -1;
    std::thread([&] {
        (void)r.cudaGetDevice(&others);
        (void)r.cudaFree(nullptr);
    }).join();
    CHECK(others == 0);
    CHECK(primary_active(0));
    CHECK(r.cudaSetDevice(2) == cudaErrorInvalidDevice);
    CHECK(r.cudaSetDevice(-1) == cudaErrorInvalidDevice);
    CHECK(got<int>(&Runtime::cudaGetDevice, out) == 1);
    CHECK(r.cudaGetDevice(nullptr) == cudaErrorInvalidValue);
}

#if CUDART_VERSION >= 12000
TEST_CASE("selecting or initializing a device creates its primary context at once", "[fresh]") {
    configure("devices=3");
    CHECK(r.cudaInitDevice(1, cudaDeviceScheduleYield, cudaInitDeviceFlagsAreValid) == cudaSuccess);
    CHECK(primary_active(1));
    CHECK(current() == nullptr); // not selected
    CHECK(r.cudaInitDevice(3, 0, 0) == cudaErrorInvalidDevice);
    REQUIRE(r.cudaSetDevice(2) == cudaSuccess);
    CHECK(primary_active(2));
    CHECK(got<CUdevice>(&Driver::cuCtxGetDevice, out) == 2);
}

TEST_CASE("initializing the selected device makes its primary context current", "[fresh]") {
    configure("devices=2");
    CHECK(r.cudaInitDevice(0, cudaDeviceScheduleYield, 0x80) == cudaSuccess); // an unknown flag
    CHECK(primary_active(0));
    CHECK(got<CUdevice>(&Driver::cuCtxGetDevice, out) == 0);
    unsigned int flags = 0;
    CHECK(d.cuCtxGetFlags(&flags) == good);
    CHECK((flags & CU_CTX_SCHED_MASK) == 0); // the flags were not marked valid
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
    CHECK(r.cudaFree(memory) == cudaSuccess);
    // Selecting a device replaces the current context by its primary context.
    CHECK(r.cudaSetDevice(0) == cudaSuccess);
    CHECK(r.cudaFree(nullptr) == cudaSuccess);
    CHECK(current() != own);
    destroy(own);
}

TEST_CASE("runtime handles are driver handles") {
    const RuntimeStream stream(cudaStreamNonBlocking);
    const RuntimeEvent event(cudaEventDisableTiming);
    void *memory = allocate_by_runtime(4096);
    const auto address = reinterpret_cast<CUdeviceptr>(memory);
    CHECK(d.cuMemsetD32Async(address, 0x01020304, 1024, stream) == good);
    CHECK(d.cuEventRecord(event, stream) == good);
    CHECK(r.cudaEventSynchronize(event) == cudaSuccess);
    CHECK(got<unsigned int>(&Runtime::cudaMemcpy, out, memory, 4, cudaMemcpyDefault) == 0x01020304);
    CHECK(got<unsigned int>(&Driver::cuStreamGetFlags, stream, out) == CU_STREAM_NON_BLOCKING);
    CHECK(d.cuMemFree(address) == good);
    CHECK(r.cudaFree(memory) == cudaErrorInvalidValue);
    expect_misuse("cuMemFree");
    const Stream of_driver;
    CHECK(r.cudaStreamQuery(of_driver) == cudaSuccess);
    destroy(make_runtime_stream());
    destroy(make_runtime_event());
}

TEST_CASE("cudaDeviceReset frees all memory, the next call creates the context again", "[fresh]") {
    void *memory = allocate_by_runtime(4096);
    const CUcontext before = current();
    CHECK(r.cudaDeviceReset() == cudaSuccess);
    CHECK(current() == nullptr);
    CHECK_FALSE(primary_active(0));
    CHECK(leaks().empty());
    CHECK(r.cudaFree(nullptr) == cudaSuccess);
    CHECK(primary_active(0));
    CHECK(current() == before); // the handle of a primary context never changes
    CHECK(r.cudaFree(got(r.cudaMalloc(&memory, 4096), memory)) == cudaSuccess);
}

TEST_CASE("other threads notice a reset of the device", "[fresh]") {
    REQUIRE(r.cudaFree(nullptr) == cudaSuccess);
    std::thread([] { CHECK(r.cudaDeviceReset() == cudaSuccess); }).join();
    CHECK_FALSE(primary_active(0));
    const RuntimeMemory memory(64);
    CHECK(primary_active(0));
}

TEST_CASE("resetting a device destroys a primary context that the driver API retains", "[fresh]") {
    REQUIRE(r.cudaFree(nullptr) == cudaSuccess);
    const PrimaryContext primary(0);
    CHECK(r.cudaDeviceReset() == cudaSuccess);
    CHECK_FALSE(primary_active(0));
    CHECK(d.cuCtxSetCurrent(primary) == good);
    CUdeviceptr address = 0;
    CHECK(d.cuMemAlloc(&address, 64) == CUDA_ERROR_CONTEXT_IS_DESTROYED);
    CHECK(r.cudaFree(nullptr) == cudaSuccess);
    CHECK(d.cuMemFree(got(d.cuMemAlloc(&address, 64), address)) == good);
}

TEST_CASE("device flags apply to the primary context", "[fresh]") {
    CHECK(r.cudaSetDeviceFlags(cudaDeviceScheduleBlockingSync) == cudaSuccess);
    unsigned int flags = 0;
    CHECK(r.cudaGetDeviceFlags(&flags) == cudaSuccess);
    CHECK((flags & cudaDeviceScheduleMask) == cudaDeviceScheduleBlockingSync);
    CHECK(r.cudaFree(nullptr) == cudaSuccess);
    CHECK(d.cuCtxGetFlags(&flags) == good);
    CHECK(flags ==
          (CU_CTX_SCHED_BLOCKING_SYNC | CU_CTX_MAP_HOST)); // the runtime always sets MAP_HOST
    CHECK(r.cudaSetDeviceFlags(0xffff) == cudaErrorInvalidValue);
    CHECK(r.cudaGetDeviceFlags(nullptr) == cudaErrorInvalidValue);
}

TEST_CASE("cudaSetValidDevices selects the first device of its list", "[fresh]") {
    configure("devices=3");
    int order[] = {2, 1};
    CHECK(r.cudaSetValidDevices(order, 2) == cudaSuccess);
    CHECK(got<int>(&Runtime::cudaGetDevice, out) == 2);
    CHECK(r.cudaSetValidDevices(order, -1) == cudaErrorInvalidValue);
    CHECK(r.cudaSetValidDevices(nullptr, 1) == cudaErrorInvalidValue);
    order[1] = 7;
    CHECK(r.cudaSetValidDevices(order, 2) == cudaErrorInvalidDevice);
}

TEST_CASE("threads can make the first call concurrently", "[fresh]") {
    configure("devices=2");
    std::vector<std::thread> threads;
    std::vector<cudaError_t> answers(8, cudaErrorUnknown);
    for (std::size_t i = 0; i < answers.size(); ++i) {
        threads.emplace_back([&answers, i] {
            void *memory = nullptr;
            answers[i] = r.cudaSetDevice(static_cast<int>(i % 2));
            if (answers[i] == cudaSuccess) {
                answers[i] = r.cudaMalloc(&memory, 1024);
            }
            if (answers[i] == cudaSuccess) {
                answers[i] = r.cudaFree(memory);
            }
        });
    }
    for (auto &thread : threads) {
        thread.join();
    }
    for (const cudaError_t answer : answers) {
        CHECK(answer == cudaSuccess);
    }
    retain_primary(0);
    CHECK(d.cuDevicePrimaryCtxRelease(0) == good);
    CHECK(r.cudaDeviceReset() == cudaSuccess); // the runtime retains once for all threads
    CHECK(d.cuDevicePrimaryCtxRelease(0) == CUDA_ERROR_INVALID_CONTEXT);
}

#if CUDART_VERSION >= 12000
TEST_CASE("a null stream of a per-thread call is the per-thread stream") {
    const auto get_id = exported_as<cudaError_t (*)(cudaStream_t, unsigned long long *)>(
        "cudaStreamGetId_ptsz", std::getenv("CUSHIM_RUNTIME"));
    unsigned long long legacy = 0, own = 0, named = 0, again = 0;
    CHECK(r.cudaStreamGetId(nullptr, &legacy) == cudaSuccess);
    CHECK(get_id(nullptr, &own) == cudaSuccess);
    CHECK(r.cudaStreamGetId(cudaStreamPerThread, &named) == cudaSuccess);
    CHECK(get_id(cudaStreamLegacy, &again) == cudaSuccess);
    CHECK(own == named);
    CHECK(own != legacy);
    CHECK(again == legacy);
    unsigned long long others = 0;
    std::thread([&] {
        (void)r.cudaSetDevice(0);
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
    REQUIRE(r.cudaMemsetAsync(memory, 7, 64, cudaStreamPerThread) == cudaSuccess);
    unsigned char bytes[64] = {};
    CHECK(copy(bytes, memory, 64, cudaMemcpyDeviceToHost) == cudaSuccess);
    CHECK(bytes[0] == 7);
    CHECK(bytes[63] == 7);
}
