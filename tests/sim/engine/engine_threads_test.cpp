// Streams that many threads use at once, and those that work at the same time.
#include "run_order.hpp"
#include "sim.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators_range.hpp>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#ifndef _WIN32
#include <dlfcn.h>
#endif

using namespace sim_test;

TEST_CASE("many threads queue, wait and destroy at once", "[engine]") {
    start(GENERATE(as<std::string>{}, "mode=threaded", "mode=immediate", "mode=adversarial"));
    const auto &d = cushim::driver();
    CUcontext context = nullptr;
    REQUIRE(d.cuCtxGetCurrent(&context) == CUDA_SUCCESS);
    constexpr int threads = 8, rounds = 40;
    const CUevent shared = make_event();
    const CUstream common = make_stream(CU_STREAM_NON_BLOCKING);
    std::atomic<int> failures{0};
    RunOrder order;
    std::vector<std::thread> all;
    for (int thread = 0; thread < threads; ++thread) {
        all.emplace_back([&, thread] {
            const auto check = [&](bool good) { failures += good ? 0 : 1; };
            check(d.cuCtxSetCurrent(context) == CUDA_SUCCESS);
            for (int round = 0; round < rounds; ++round) {
                CUstream stream = nullptr;
                check(d.cuStreamCreate(&stream, round % 2) == CUDA_SUCCESS);
                const int number = (thread * rounds + round) * 4;
                check(order.launch(stream, number) == CUDA_SUCCESS);
                check(d.cuStreamWaitEvent(stream, shared, 0) == CUDA_SUCCESS);
                check(order.launch(stream, number + 1) == CUDA_SUCCESS);
                check(order.launch(common, number + 2) == CUDA_SUCCESS);
                check(d.cuEventRecord(shared, common) == CUDA_SUCCESS);
                check(order.launch(CU_STREAM_PER_THREAD, number + 3) == CUDA_SUCCESS);
                if (round % 3 == 0) {
                    check(d.cuStreamSynchronize(stream) == CUDA_SUCCESS);
                    check(order.has(number + 1));
                }
                const CUresult asked = d.cuEventQuery(shared);
                check(asked == CUDA_SUCCESS || asked == CUDA_ERROR_NOT_READY);
                check(d.cuStreamDestroy(stream) == CUDA_SUCCESS);
            }
            if (thread % 2 == 0) {
                check(d.cuCtxSynchronize() == CUDA_SUCCESS);
            }
        });
    }
    for (auto &thread : all) {
        thread.join();
    }
    CHECK(failures == 0);
    CHECK(d.cuCtxSynchronize() == CUDA_SUCCESS);
    CHECK(order.ran().size() == threads * rounds * 4);
    destroy(shared);
    destroy(common);
    CHECK(leaks().empty());
}

TEST_CASE("a reset ends workers that are busy", "[engine]") {
    for (int round = 0; round < 20; ++round) {
        start("mode=threaded");
        RunOrder order;
        for (int i = 0; i < 4; ++i) {
            const CUstream stream = make_stream();
            for (int j = 0; j < 50; ++j) {
                REQUIRE(order.launch(stream, j) == CUDA_SUCCESS);
            }
        }
        sim_control().reset();
        const auto ran = order.ran().size();
        std::this_thread::yield();
        CHECK(order.ran().size() == ran);
    }
}

TEST_CASE("threaded mode really runs streams at the same time", "[engine]") {
    start("mode=threaded");
    const auto &d = cushim::driver();
    const CUstream one = make_stream(), two = make_stream();
    // Each waits for the other.
    static std::atomic<int> arrived;
    arrived = 0;
    const auto meet = [](void *) {
        ++arrived;
        const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
        while (arrived < 2 && std::chrono::steady_clock::now() < end) {
            std::this_thread::yield();
        }
        ++arrived;
    };
    REQUIRE(d.cuLaunchHostFunc(one, meet, nullptr) == CUDA_SUCCESS);
    REQUIRE(d.cuLaunchHostFunc(two, meet, nullptr) == CUDA_SUCCESS);
    CHECK(d.cuCtxSynchronize() == CUDA_SUCCESS);
    CHECK(arrived == 4);
    destroy(one);
    destroy(two);
}

#ifndef _WIN32
namespace {

template <class Function>
Function *function(void *library, const char *name) {
    const auto found = reinterpret_cast<Function *>(dlsym(library, name));
    REQUIRE(found != nullptr);
    return found;
}

} // namespace

TEST_CASE("a driver that has had threads stays loaded when it is closed", "[engine]") {
    const char *path = std::getenv("SIM_DRIVER_MISSING_ONE_NAME");
    REQUIRE(path != nullptr);
    void *const driver = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    REQUIRE(driver != nullptr);
    const cushim_sim &control = *function<const cushim_sim *()>(driver, CUSHIM_SIM_CONTROL)();
    control.reset();
    REQUIRE(control.configure("mode=threaded") == 0);
    CUcontext context = nullptr;
    CUstream stream = nullptr;
    REQUIRE(function<CUresult(unsigned int)>(driver, "cuInit")(0) == CUDA_SUCCESS);
    REQUIRE(function<CUresult(CUcontext *, CUdevice)>(driver, "cuDevicePrimaryCtxRetain")(
                &context, 0) == CUDA_SUCCESS);
    REQUIRE(function<CUresult(CUcontext)>(driver, "cuCtxSetCurrent")(context) == CUDA_SUCCESS);
    REQUIRE(function<CUresult(CUstream *, unsigned int)>(driver, "cuStreamCreate")(&stream, 0) ==
            CUDA_SUCCESS);
    REQUIRE(function<CUresult(CUstream, CUhostFn, void *)>(driver, "cuLaunchHostFunc")(
                stream, [](void *) {}, nullptr) == CUDA_SUCCESS);
    REQUIRE(function<CUresult(CUstream)>(driver, "cuStreamSynchronize")(stream) == CUDA_SUCCESS);
    control.reset(); // the thread may be on its way back through the library's code still
    REQUIRE(dlclose(driver) == 0);
    CHECK(dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD) != nullptr);
}
#endif
