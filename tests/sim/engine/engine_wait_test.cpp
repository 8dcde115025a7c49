// Waits for values in memory, deadlocks, changes of the mode, work without a waiting thread.
#include "pinned_word.hpp"
#include "run_order.hpp"

#include <condition_variable>
#include <mutex>

using namespace sim_test;

TEST_CASE("a wait for a value ends when the host writes the value") {
    start(GENERATE_COPY(from_range(all_modes())));
    RunOrder order;
    PinnedWord word;
    const Stream stream;
    require_ok(driver().cuStreamWaitValue32_v2(stream, word.address, 7, CU_STREAM_WAIT_VALUE_EQ));
    require_ok(order.launch(stream, 1));
    CHECK(driver().cuStreamQuery(stream) == CUDA_ERROR_NOT_READY);
    CHECK(driver().cuStreamQuery(stream) == CUDA_ERROR_NOT_READY);
    std::thread writer([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        word.value->store(7);
    });
    ok(driver().cuStreamSynchronize(stream));
    CHECK(order.has(1));
    writer.join();
}

TEST_CASE("a wait for a value that is never written is reported as a deadlock") {
    start("patience=50;" + GENERATE_COPY(from_range(all_modes())));
    RunOrder order;
    PinnedWord word;
    const CUstream waits = make_stream(), other = make_stream();
    const CUevent event = make_event();
    require_ok(driver().cuStreamWaitValue32_v2(waits, word.address, 7, CU_STREAM_WAIT_VALUE_EQ));
    require_ok(driver().cuEventRecord(event, waits));
    require_ok(driver().cuStreamWaitEvent(other, event, 0));
    require_ok(order.launch(other, 1));
    CHECK(driver().cuStreamSynchronize(other) == CUDA_ERROR_LAUNCH_TIMEOUT);
    expect_misuse("deadlock: cuStreamSynchronize waits for cuStreamWaitValue32 (operation");
    CHECK(order.ran().empty());
    CHECK(driver().cuStreamSynchronize(other) == CUDA_ERROR_LAUNCH_TIMEOUT); // the context failed
    CHECK(driver().cuStreamDestroy(waits) ==
          CUDA_ERROR_LAUNCH_TIMEOUT); // and its objects are destroyed
    CHECK(driver().cuStreamDestroy(other) == CUDA_ERROR_LAUNCH_TIMEOUT);
    CHECK(driver().cuEventDestroy(event) == CUDA_ERROR_LAUNCH_TIMEOUT);
    ok(driver().cuDevicePrimaryCtxReset(0));
}

TEST_CASE("two streams that wait for each other's values are reported as a deadlock") {
    start("patience=50;" + GENERATE_COPY(from_range(all_modes())));
    PinnedWord a, b;
    const CUstream one = make_stream(), two = make_stream();
    require_ok(driver().cuStreamWaitValue32_v2(one, a.address, 1, CU_STREAM_WAIT_VALUE_EQ));
    require_ok(driver().cuStreamWriteValue32_v2(one, b.address, 1, 0));
    require_ok(driver().cuStreamWaitValue32_v2(two, b.address, 1, CU_STREAM_WAIT_VALUE_EQ));
    require_ok(driver().cuStreamWriteValue32_v2(two, a.address, 1, 0));
    CHECK(driver().cuCtxSynchronize() == CUDA_ERROR_LAUNCH_TIMEOUT);
    expect_misuse("deadlock: cuCtxSynchronize waits for cuStreamWaitValue32");
    sim_control().reset();
}

TEST_CASE("drain runs all work that can run and returns how much is left") {
    start(GENERATE(as<std::string>{}, "mode=adversarial", "mode=threaded", "mode=immediate"));
    RunOrder order;
    PinnedWord word;
    const Stream one, two;
    order.launch_many(one, 50);
    require_ok(driver().cuStreamWaitValue32_v2(two, word.address, 1, CU_STREAM_WAIT_VALUE_EQ));
    require_ok(order.launch(two, 50));
    CHECK(sim_control().drain() == 2);
    CHECK(order.ran().size() == 50);
    word.value->store(1);
    CHECK(sim_control().drain() == 0);
    CHECK(order.ran().size() == 51);
}

TEST_CASE("the mode can change while work is pending") {
    start("mode=adversarial");
    const std::string mode = GENERATE("mode=immediate", "mode=threaded");
    RunOrder order;
    const Stream one;
    require_ok(order.launch(one, 1));
    configure(mode);
    ok(driver().cuStreamSynchronize(one));
    require_ok(order.launch(one, 2));
    configure("mode=adversarial");
    require_ok(order.launch(one, 3));
    configure(mode);
    ok(driver().cuStreamSynchronize(one));
    CHECK(order.ran() == std::vector{1, 2, 3});
}

// --- Work that runs without a waiting thread

namespace {

// A program waits for the bell, a host function rings it.
struct Bell {
    std::mutex mutex;
    std::condition_variable rung;
    bool ring = false;

    static void CUDA_CB press(void *bell) {
        auto &b = *static_cast<Bell *>(bell);
        const std::lock_guard held(b.mutex);
        b.ring = true;
        b.rung.notify_all();
    }
    bool wait() {
        std::unique_lock lock(mutex);
        return rung.wait_for(lock, std::chrono::seconds(30), [&] { return ring; });
    }
};

} // namespace

TEST_CASE("a program can wait for a host function without calling CUDA") {
    start("stall=100;" + GENERATE_COPY(from_range(all_modes())));
    Bell bell;
    PinnedWord word;
    const Stream stream;
    if (GENERATE(false, true)) {
        require_ok(
            driver().cuStreamWaitValue32_v2(stream, word.address, 1, CU_STREAM_WAIT_VALUE_EQ));
        word.value->store(1);
    }
    ok(driver().cuLaunchHostFunc(stream, Bell::press, &bell));
    CHECK(bell.wait());
    ok(driver().cuStreamSynchronize(stream));
}

TEST_CASE("work that ran without a waiting thread is noted") {
    start("stall=100;mode=adversarial");
    RunOrder order;
    Bell bell;
    require_ok(order.launch(nullptr, 1));
    require_ok(driver().cuCtxSynchronize());
    CHECK(notes().empty());
    require_ok(order.launch(nullptr, 2));
    ok(driver().cuLaunchHostFunc(nullptr, Bell::press, &bell));
    CHECK(bell.wait());
    require_ok(driver().cuCtxSynchronize());
    REQUIRE(notes().size() == 1);
    CHECK(notes().front().find("for 100 ms, so 2 operations") != std::string::npos);
    CHECK(misuses().empty());
    sim_control().reset();
    CHECK(notes().empty());
}

TEST_CASE("with stall=0 no work runs without a waiting thread") {
    start("stall=0;mode=adversarial");
    RunOrder order;
    require_ok(order.launch(nullptr, 1));
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    CHECK(order.ran().empty());
    ok(driver().cuCtxSynchronize());
    CHECK(order.has(1));
}

TEST_CASE("a host function that never returns is noted") {
    start("mode=adversarial;stall=200;patience=100");
    static std::atomic<bool> other_ran, let_go;
    other_ran = let_go = false;
    const Stream one(non_blocking), other(non_blocking);
    const auto wait = [](void *) {
        while (!other_ran && !let_go) {
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
    };
    require_ok(driver().cuLaunchHostFunc(one, wait, nullptr));
    require_ok(driver().cuLaunchHostFunc(other, [](void *) { other_ran = true; }, nullptr));
    std::string note;
    std::thread watcher([&] {
        for (int i = 0; i < 5000 && notes().empty(); ++i) {
            std::this_thread::sleep_for(std::chrono::milliseconds(2));
        }
        note = notes().empty() ? "" : notes().front();
        let_go = true;
    });
    ok(driver().cuStreamSynchronize(one));
    watcher.join();
    CHECK(note.find("cuLaunchHostFunc (operation 1) in stream ") == 0);
    CHECK(note.find(" has run for 100 ms") != std::string::npos);
    ok(driver().cuStreamSynchronize(other));
    CHECK(notes().size() == 1); // only once
}
