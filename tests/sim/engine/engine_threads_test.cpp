// Streams that several threads use, and streams that run concurrently.
#include "pinned_word.hpp"
#include "run_order.hpp"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <filesystem>
#include <iterator>

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
            const auto check = [&](bool succeeded) { failures += succeeded ? 0 : 1; };
            check(driver().cuCtxSetCurrent(context) == CUDA_SUCCESS);
            for (int round = 0; round < rounds; ++round) {
                CUstream stream = nullptr;
                check(driver().cuStreamCreate(&stream, round % 2) == CUDA_SUCCESS);
                const int number = (thread * rounds + round) * 4;
                check(order.launch(stream, number) == CUDA_SUCCESS);
                check(driver().cuStreamWaitEvent(stream, shared, 0) == CUDA_SUCCESS);
                check(order.launch(stream, number + 1) == CUDA_SUCCESS);
                check(order.launch(common, number + 2) == CUDA_SUCCESS);
                check(driver().cuEventRecord(shared, common) == CUDA_SUCCESS);
                check(order.launch(CU_STREAM_PER_THREAD, number + 3) == CUDA_SUCCESS);
                if (round % 3 == 0) {
                    check(driver().cuStreamSynchronize(stream) == CUDA_SUCCESS);
                    check(order.has(number + 1));
                }
                const CUresult asked = driver().cuEventQuery(shared);
                check(asked == CUDA_SUCCESS || asked == CUDA_ERROR_NOT_READY);
                check(driver().cuStreamDestroy(stream) == CUDA_SUCCESS);
            }
            if (thread % 2 == 0) {
                check(driver().cuCtxSynchronize() == CUDA_SUCCESS);
            }
        });
    }
    for (auto &thread : all) {
        thread.join();
    }
    CHECK(failures == 0);
    ok(driver().cuCtxSynchronize());
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
    require_ok(driver().cuLaunchHostFunc(one, meet, nullptr));
    require_ok(driver().cuLaunchHostFunc(two, meet, nullptr));
    ok(driver().cuCtxSynchronize());
    CHECK(arrived == 4);
}

namespace {

// Host functions that wait for each other.
class Meeting {
  public:
    explicit Meeting(int expected) : expected_(expected) {}
    static void CUDA_CB join(void *meeting) { static_cast<Meeting *>(meeting)->join(); }
    int most() const { return most_; } // that were inside at the same time
    int left() const { return left_; }

  private:
    void join() {
        std::unique_lock lock(mutex_);
        most_ = std::max(most_, ++inside_);
        begun_ += 1;
        changed_.notify_all();
        changed_.wait_for(lock, std::chrono::seconds(60), [this] { return begun_ >= expected_; });
        --inside_;
        ++left_;
    }

    std::mutex mutex_;
    std::condition_variable changed_;
    const int expected_;
    int begun_ = 0, inside_ = 0, most_ = 0, left_ = 0;
};

constexpr int most_workers = 1024;

} // namespace

TEST_CASE("host functions of many streams may wait for each other in threaded mode") {
    start("mode=threaded");
    constexpr int count = 200;
    Meeting meeting(count);
    const std::deque<Stream> streams(count);
    for (const Stream &stream : streams) {
        require_ok(driver().cuLaunchHostFunc(stream, Meeting::join, &meeting));
    }
    ok(driver().cuCtxSynchronize());
    CHECK(meeting.most() == count);
}

TEST_CASE("a limited number of host functions run at the same time, the others follow") {
    start("mode=threaded");
    constexpr int more = 50;
    Meeting meeting(most_workers);
    const std::deque<Stream> streams(most_workers + more);
    for (const Stream &stream : streams) {
        require_ok(driver().cuLaunchHostFunc(stream, Meeting::join, &meeting));
    }
    ok(driver().cuCtxSynchronize());
    CHECK(meeting.most() == most_workers);
    CHECK(meeting.left() == most_workers + more);
    const auto reports = notes();
    CHECK(std::ranges::any_of(reports, [](const std::string &text) {
        return text.find("others wait until one returns") != text.npos;
    }));
}

#ifdef __linux__
TEST_CASE("threaded mode runs 100,000 streams in a few threads") {
    const auto threads = [] {
        return std::distance(std::filesystem::directory_iterator("/proc/self/task"), {});
    };
    start("mode=threaded");
    const CUdeviceptr memory = allocate(16);
    const auto before = threads();
    std::vector<CUstream> streams;
    int failed = 0;
    for (int i = 0; i < 100'000; ++i) {
        CUstream stream = nullptr;
        failed += driver().cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
        failed += driver().cuMemsetD8Async(memory, 1, 16, stream);
        streams.push_back(stream);
    }
    CHECK(threads() <= before + 2);
    require_ok(driver().cuCtxSynchronize());
    for (const CUstream stream : streams) {
        failed += driver().cuStreamDestroy(stream);
    }
    CHECK(failed == 0);
    CHECK(threads() <= before + 2);
    release(memory);
}
#endif

TEST_CASE("streams that wait for memory need no thread each") {
    start("mode=threaded");
    const PinnedWord word;
    const std::deque<Stream> streams(2000);
    RunOrder order;
    int number = 0;
    for (const Stream &stream : streams) {
        require_ok(driver().cuStreamWaitValue32(stream, word.address, 1, CU_STREAM_WAIT_VALUE_EQ));
        require_ok(order.launch(stream, number++));
    }
    CHECK(order.ran().empty());
    *word.value = 1;
    ok(driver().cuCtxSynchronize());
    CHECK(order.ran().size() == streams.size());
}

TEST_CASE("worker threads run work of all streams that was enqueued in another mode") {
    start("mode=threaded");
    const Stream one(non_blocking), two(non_blocking);
    RunOrder order;
    for (int round = 0; round < 20; ++round) {
        configure("mode=adversarial");
        require_ok(order.launch(one, 2 * round));
        require_ok(order.launch(two, 2 * round + 1));
        configure("mode=threaded");
        require_ok(driver().cuStreamSynchronize(one));
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
    require_ok(function<CUresult(unsigned int)>(driver, "cuInit")(0));
    require_ok(
        function<CUresult(CUcontext *, CUdevice)>(driver, "cuDevicePrimaryCtxRetain")(&context, 0));
    require_ok(function<CUresult(CUcontext)>(driver, "cuCtxSetCurrent")(context));
    require_ok(function<CUresult(CUstream *, unsigned int)>(driver, "cuStreamCreate")(&stream, 0));
    require_ok(function<CUresult(CUstream, CUhostFn, void *)>(driver, "cuLaunchHostFunc")(
        stream, [](void *) {}, nullptr));
    require_ok(function<CUresult(CUstream)>(driver, "cuStreamSynchronize")(stream));
    control.reset(); // the thread may still be returning through code of the library
    REQUIRE(dlclose(driver) == 0);
    CHECK(dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD) != nullptr);
}
#endif
