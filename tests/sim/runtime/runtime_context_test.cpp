// The runtime's devices and contexts: the implicit primary context, and contexts of the driver API.
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

TEST_CASE("the first call that needs a context makes the primary one current", "[fresh]") {
    CHECK(got<int>(&Runtime::cudaGetDeviceCount, out) == 1);
    CHECK(current() == nullptr);
    CHECK_FALSE(primary_active(0));
    CHECK(r.cudaFree(nullptr) == cudaSuccess);
    CHECK(primary_active(0));
    const CUcontext primary = retain_primary(0);
    CHECK(current() == primary);
    CHECK(d.cuDevicePrimaryCtxRelease(0) == good);
    CHECK(primary_active(0)); // the runtime holds it still
}

TEST_CASE("what only asks makes no context", "[fresh]") {
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

TEST_CASE("a device is chosen per thread", "[fresh]") {
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
TEST_CASE("choosing or initialising a device makes its context at once", "[fresh]") {
    configure("devices=3");
    CHECK(r.cudaInitDevice(1, cudaDeviceScheduleYield, cudaInitDeviceFlagsAreValid) == cudaSuccess);
    CHECK(primary_active(1));
    CHECK(current() == nullptr); // it is not chosen
    CHECK(r.cudaInitDevice(3, 0, 0) == cudaErrorInvalidDevice);
    REQUIRE(r.cudaSetDevice(2) == cudaSuccess);
    CHECK(primary_active(2));
    CHECK(got<CUdevice>(&Driver::cuCtxGetDevice, out) == 2);
}

TEST_CASE("the own device is current once it is initialised", "[fresh]") {
    configure("devices=2");
    CHECK(r.cudaInitDevice(0, cudaDeviceScheduleYield, 0x80) == cudaSuccess); // no such flag
    CHECK(primary_active(0));
    CHECK(got<CUdevice>(&Driver::cuCtxGetDevice, out) == 0);
    unsigned int flags = 0;
    CHECK(d.cuCtxGetFlags(&flags) == good);
    CHECK((flags & CU_CTX_SCHED_MASK) == 0); // they were not said to be valid
}
#endif

TEST_CASE("a context of the driver API that is current is used") {
    start("devices=2");
    const CUcontext own = make_context(1);
    CHECK(got<int>(&Runtime::cudaGetDevice, out) == 1);
    void *memory = allocate_by_runtime(256);
    CHECK(current() == own);
    CHECK(got<CUcontext>(&Driver::cuPointerGetAttribute, out, CU_POINTER_ATTRIBUTE_CONTEXT,
                         reinterpret_cast<CUdeviceptr>(memory)) == own);
    CHECK_FALSE(primary_active(1));
    CHECK(r.cudaFree(memory) == cudaSuccess);
    // Choosing a device makes its primary context current instead, without a push.
    CHECK(r.cudaSetDevice(0) == cudaSuccess);
    CHECK(r.cudaFree(nullptr) == cudaSuccess);
    CHECK(current() != own);
    destroy(own);
}

TEST_CASE("handles are those of the driver API") {
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

TEST_CASE("a reset ends all, and the next use begins anew", "[fresh]") {
    void *memory = allocate_by_runtime(4096);
    const CUcontext before = current();
    CHECK(r.cudaDeviceReset() == cudaSuccess);
    CHECK(current() == nullptr);
    CHECK_FALSE(primary_active(0));
    CHECK(leaks().empty());
    CHECK(r.cudaFree(nullptr) == cudaSuccess);
    CHECK(primary_active(0));
    CHECK(current() == before); // the handle of a device's primary context is always the same
    CHECK(r.cudaFree(got(r.cudaMalloc(&memory, 4096), memory)) == cudaSuccess);
}

TEST_CASE("a reset by one thread is noticed by others", "[fresh]") {
    REQUIRE(r.cudaFree(nullptr) == cudaSuccess);
    std::thread([] { CHECK(r.cudaDeviceReset() == cudaSuccess); }).join();
    CHECK_FALSE(primary_active(0));
    const RuntimeMemory memory(64);
    CHECK(primary_active(0));
}

TEST_CASE("a reset of a device that others retain through the driver", "[fresh]") {
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

TEST_CASE("flags of a device", "[fresh]") {
    CHECK(r.cudaSetDeviceFlags(cudaDeviceScheduleBlockingSync) == cudaSuccess);
    unsigned int flags = 0;
    CHECK(r.cudaGetDeviceFlags(&flags) == cudaSuccess);
    CHECK((flags & cudaDeviceScheduleMask) == cudaDeviceScheduleBlockingSync);
    CHECK(r.cudaFree(nullptr) == cudaSuccess);
    CHECK(d.cuCtxGetFlags(&flags) == good);
    CHECK(flags == (CU_CTX_SCHED_BLOCKING_SYNC | CU_CTX_MAP_HOST)); // which the runtime always does
    CHECK(r.cudaSetDeviceFlags(0xffff) == cudaErrorInvalidValue);
    CHECK(r.cudaGetDeviceFlags(nullptr) == cudaErrorInvalidValue);
}

TEST_CASE("devices that a thread may use, in its order", "[fresh]") {
    configure("devices=3");
    int order[] = {2, 1};
    CHECK(r.cudaSetValidDevices(order, 2) == cudaSuccess);
    CHECK(got<int>(&Runtime::cudaGetDevice, out) == 2);
    CHECK(r.cudaSetValidDevices(order, -1) == cudaErrorInvalidValue);
    CHECK(r.cudaSetValidDevices(nullptr, 1) == cudaErrorInvalidValue);
    order[1] = 7;
    CHECK(r.cudaSetValidDevices(order, 2) == cudaErrorInvalidDevice);
}

TEST_CASE("many threads make the first call at once", "[fresh]") {
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
    CHECK(r.cudaDeviceReset() == cudaSuccess); // one retain of the runtime, whatever the threads
    CHECK(d.cuDevicePrimaryCtxRelease(0) == CUDA_ERROR_INVALID_CONTEXT);
}

#if CUDART_VERSION >= 12000
TEST_CASE("a null stream is the thread's own in per-thread calls") {
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

TEST_CASE("a per-thread copy waits for the thread's stream only") {
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
