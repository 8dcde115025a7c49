// Streams that several threads use, and streams that run concurrently.
#include "run_order.hpp"

#ifndef _WIN32
#include <dlfcn.h>
#endif

using namespace sim_test;

TEST_CASE("threads can enqueue, wait and destroy concurrently") {
    start(GENERATE(as<std::string>{}, "mode=threaded", "mode=immediate", "mode=adversarial"));
    const CUcontext context = current();
    constexpr int threads = 8, rounds = 40;
    const CUevent shared = make_event();
    const CUstream common = make_stream(non_blocking);
    std::atomic<int> failures{0};
    RunOrder order;
    std::vector<std::thread> all;
    for (int thread = 0; thread < threads; ++thread) {
        all.emplace_back([&, thread] {
            const auto check = [&](bool good) { failures += good ? 0 : 1; };
            check(d.cuCtxSetCurrent(context) == good);
            for (int round = 0; round < rounds; ++round) {
                CUstream stream = nullptr;
                check(d.cuStreamCreate(&stream, round % 2) == good);
                const int number = (thread * rounds + round) * 4;
                check(order.launch(stream, number) == good);
                check(d.cuStreamWaitEvent(stream, shared, 0) == good);
                check(order.launch(stream, number + 1) == good);
                check(order.launch(common, number + 2) == good);
                check(d.cuEventRecord(shared, common) == good);
                check(order.launch(CU_STREAM_PER_THREAD, number + 3) == good);
                if (round % 3 == 0) {
                    check(d.cuStreamSynchronize(stream) == good);
                    check(order.has(number + 1));
                }
                const CUresult asked = d.cuEventQuery(shared);
                check(asked == good || asked == CUDA_ERROR_NOT_READY);
                check(d.cuStreamDestroy(stream) == good);
            }
            if (thread % 2 == 0) {
                check(d.cuCtxSynchronize() == good);
            }
        });
    }
    for (auto &thread : all) {
        thread.join();
    }
    CHECK(failures == 0);
    CHECK(d.cuCtxSynchronize() == good);
    CHECK(order.ran().size() == threads * rounds * 4);
    destroy(shared);
    destroy(common);
    CHECK(leaks().empty());
}

TEST_CASE("resetting the simulator stops busy worker threads") {
    for (int round = 0; round < 20; ++round) {
        start("mode=threaded");
        RunOrder order;
        for (int i = 0; i < 4; ++i) {
            const CUstream stream = make_stream();
            order.launch_many(stream, 50);
        }
        sim_control().reset();
        const auto ran = order.ran().size();
        std::this_thread::yield();
        CHECK(order.ran().size() == ran);
    }
}

TEST_CASE("threaded mode runs streams concurrently") {
    start("mode=threaded");
    const Stream one, two;
    // Each host function waits for the other.
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
    REQUIRE(d.cuLaunchHostFunc(one, meet, nullptr) == good);
    REQUIRE(d.cuLaunchHostFunc(two, meet, nullptr) == good);
    CHECK(d.cuCtxSynchronize() == good);
    CHECK(arrived == 4);
}

TEST_CASE("worker threads run work of all streams that was enqueued in another mode") {
    start("mode=threaded");
    const Stream one(non_blocking), two(non_blocking);
    RunOrder order;
    for (int round = 0; round < 20; ++round) {
        configure("mode=adversarial");
        REQUIRE(order.launch(one, 2 * round) == good);
        REQUIRE(order.launch(two, 2 * round + 1) == good);
        configure("mode=threaded");
        REQUIRE(d.cuStreamSynchronize(one) == good);
        const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
        while (!order.has(2 * round + 1) && std::chrono::steady_clock::now() < end) {
            std::this_thread::yield();
        }
        CHECK(order.has(2 * round + 1));
    }
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

TEST_CASE("a driver that has started threads stays loaded after dlclose") {
    const char *path = std::getenv("SIM_DRIVER_MISSING_ONE_NAME");
    REQUIRE(path != nullptr);
    void *const driver = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    REQUIRE(driver != nullptr);
    const cushim_sim &control = *function<const cushim_sim *()>(driver, CUSHIM_SIM_CONTROL)();
    control.reset();
    REQUIRE(control.configure("mode=threaded") == 0);
    CUcontext context = nullptr;
    CUstream stream = nullptr;
    REQUIRE(function<CUresult(unsigned int)>(driver, "cuInit")(0) == good);
    REQUIRE(function<CUresult(CUcontext *, CUdevice)>(driver, "cuDevicePrimaryCtxRetain")(
                &context, 0) == good);
    REQUIRE(function<CUresult(CUcontext)>(driver, "cuCtxSetCurrent")(context) == good);
    REQUIRE(function<CUresult(CUstream *, unsigned int)>(driver, "cuStreamCreate")(&stream, 0) ==
            good);
    REQUIRE(function<CUresult(CUstream, CUhostFn, void *)>(driver, "cuLaunchHostFunc")(
                stream, [](void *) {}, nullptr) == good);
    REQUIRE(function<CUresult(CUstream)>(driver, "cuStreamSynchronize")(stream) == good);
    control.reset(); // the thread may still be returning through code of the library
    REQUIRE(dlclose(driver) == 0);
    CHECK(dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD) != nullptr);
}
#endif
