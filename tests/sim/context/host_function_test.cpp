// Host functions and callbacks: when they run, permitted calls, received errors.
#include "plan_fault.hpp"
#include "run_order.hpp"

using namespace sim_test;

namespace {

struct Called {
    CUstream stream = nullptr;
    CUresult status = CUDA_ERROR_UNKNOWN;
    int times = 0;
};

void CUDA_CB note_call(CUstream stream, CUresult status, void *called) {
    auto &noted = *static_cast<Called *>(called);
    noted.stream = stream;
    noted.status = status;
    ++noted.times;
}

// Statuses of API calls made by a host function: calls that it must not make, and permitted ones.
struct Answers {
    CUstream stream;
    CUevent event;
    std::vector<CUresult> refused = {}, answered = {};
};

void CUDA_CB call_back_in(void *user) {
    auto &answers = *static_cast<Answers *>(user);
    CUdeviceptr memory = 0;
    answers.refused = {
        driver().cuMemAlloc(&memory, 4), driver().cuStreamSynchronize(answers.stream),
        driver().cuEventSynchronize(answers.event), driver().cuCtxSynchronize(),
        // These streams belong to the current context.
        driver().cuStreamQuery(nullptr), driver().cuStreamQuery(CU_STREAM_PER_THREAD),
        driver().cuEventRecord(answers.event, CU_STREAM_LEGACY)};
    int version = 0;
    answers.answered = {driver().cuStreamQuery(answers.stream),
                        driver().cuEventRecord(answers.event, answers.stream),
                        driver().cuDriverGetVersion(&version)};
    CUresult recorded = CUDA_ERROR_NOT_READY;
    while (recorded == CUDA_ERROR_NOT_READY) {
        recorded = driver().cuEventQuery(answers.event);
        std::this_thread::yield();
    }
    answers.answered.push_back(recorded);
}

void CUDA_CB call_back_in_status(CUstream, CUresult, void *user) {
    call_back_in(user);
}

} // namespace

TEST_CASE("a host function may query and record, other calls fail with NOT_PERMITTED") {
    start(GENERATE_COPY(from_range(all_modes())));
    const Stream runs_in(non_blocking), other;
    const Event event;
    Answers answers{other, event};
    if (GENERATE(false, true)) {
        require_ok(driver().cuLaunchHostFunc(runs_in, call_back_in, &answers));
    } else {
        require_ok(driver().cuStreamAddCallback(runs_in, call_back_in_status, &answers, 0));
    }
    require_ok(driver().cuStreamSynchronize(runs_in));
    CHECK(answers.refused == std::vector<CUresult>(7, CUDA_ERROR_NOT_PERMITTED));
    CHECK(answers.answered == std::vector<CUresult>(4, CUDA_SUCCESS));
    // After the host function the thread may call the API again.
    ok(driver().cuStreamSynchronize(other));
}

TEST_CASE("a stream is NOT_READY while one of its host functions runs") {
    start(GENERATE_COPY(from_range(all_modes())));
    const Stream stream;
    struct Asked {
        CUstream stream;
        CUresult status = CUDA_ERROR_UNKNOWN;
    } asked{stream};
    const auto ask = [](void *user) {
        auto &its = *static_cast<Asked *>(user);
        its.status = driver().cuStreamQuery(its.stream);
    };
    require_ok(driver().cuLaunchHostFunc(stream, ask, &asked));
    require_ok(driver().cuStreamSynchronize(stream));
    CHECK(asked.status == CUDA_ERROR_NOT_READY);
}

TEST_CASE("a callback receives its stream and CUDA_SUCCESS") {
    start(GENERATE_COPY(from_range(all_modes())));
    const Stream own;
    for (const CUstream stream : {own.get(), CUstream(nullptr)}) {
        Called called;
        require_ok(driver().cuStreamAddCallback(stream, note_call, &called, 0));
        require_ok(driver().cuStreamSynchronize(stream));
        CHECK(called.times == 1);
        CHECK(called.status == CUDA_SUCCESS);
        CHECK(called.stream == stream);
    }
}

TEST_CASE("after a failure callbacks run with the error, host functions do not run") {
    start(adversarial(GENERATE(1u, 2u, 3u)));
    RunOrder order;
    Called called;
    const CUstream stream = make_stream();
    fail_work("cuLaunchHostFunc", CUDA_ERROR_ILLEGAL_ADDRESS);
    require_ok(order.launch(stream, 1));
    require_ok(order.launch(stream, 2));
    require_ok(driver().cuStreamAddCallback(stream, note_call, &called, 0));
    require_ok(order.launch(stream, 3));
    CHECK(driver().cuStreamSynchronize(stream) == CUDA_ERROR_ILLEGAL_ADDRESS);
    CHECK(order.ran().empty());
    CHECK(called.times == 1);
    CHECK(called.status == CUDA_ERROR_ILLEGAL_ADDRESS);
    ok(driver().cuDevicePrimaryCtxReset(0));
}

TEST_CASE("a callback receives the failure that is planned for its own work") {
    start(GENERATE_COPY(from_range(all_modes())));
    const CUresult failure = GENERATE(CUDA_ERROR_LAUNCH_FAILED, CUDA_ERROR_OUT_OF_MEMORY);
    Called called;
    fail_work("cuStreamAddCallback", failure);
    ok(driver().cuStreamAddCallback(nullptr, note_call, &called, 0));
    CHECK(driver().cuCtxSynchronize() == failure);
    CHECK(called.times == 1);
    CHECK(called.status == failure);
    ok(driver().cuDevicePrimaryCtxReset(0));
}

TEST_CASE("host functions of one stream never overlap") {
    start("mode=threaded");
    static int inside, most; // not atomic: TSan would also report an overlap
    inside = most = 0;
    const Stream stream;
    const auto enter = [](void *) {
        ++inside;
        most = inside > most ? inside : most;
        --inside;
    };
    for (int i = 0; i < 100; ++i) {
        require_ok(driver().cuLaunchHostFunc(stream, enter, nullptr));
    }
    ok(driver().cuStreamSynchronize(stream));
    CHECK(most == 1);
}

TEST_CASE("other threads can call the API while a host function runs") {
    start(GENERATE(as<std::string>{}, "mode=immediate", "mode=adversarial", "mode=threaded"));
    // The host function waits for another thread that calls the API.
    struct Meeting {
        CUcontext context;
        CUresult status = CUDA_ERROR_UNKNOWN;
    } meeting{current()};
    const auto meet = [](void *user) {
        std::thread([user] {
            auto &m = *static_cast<Meeting *>(user);
            driver().cuCtxSetCurrent(m.context);
            CUstream stream = nullptr;
            m.status = driver().cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
            driver().cuStreamDestroy(stream);
        }).join();
    };
    require_ok(driver().cuLaunchHostFunc(nullptr, meet, &meeting));
    ok(driver().cuCtxSynchronize());
    CHECK(meeting.status == CUDA_SUCCESS);
}

#if CUDA_VERSION >= 13020
TEST_CASE("a host function may be launched with a blocking or spinning wait mode") {
    RunOrder order;
    const auto launch = [&](int number, unsigned int mode) {
        return driver().cuLaunchHostFunc_v2(nullptr, RunOrder::note, order.entry(number), mode);
    };
    check_all(CUDA_SUCCESS, {launch(1, CU_HOST_TASK_BLOCKING), launch(2, CU_HOST_TASK_SPINWAIT)});
    CHECK(launch(3, 2) == invalid);
    ok(driver().cuCtxSynchronize());
    CHECK(order.ran() == std::vector{1, 2});
}

#endif
