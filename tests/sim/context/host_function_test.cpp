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
    answers.refused = {d.cuMemAlloc(&memory, 4), d.cuStreamSynchronize(answers.stream),
                       d.cuEventSynchronize(answers.event), d.cuCtxSynchronize(),
                       // These streams belong to the current context.
                       d.cuStreamQuery(nullptr), d.cuStreamQuery(CU_STREAM_PER_THREAD),
                       d.cuEventRecord(answers.event, CU_STREAM_LEGACY)};
    int version = 0;
    answers.answered = {d.cuStreamQuery(answers.stream),
                        d.cuEventRecord(answers.event, answers.stream),
                        d.cuDriverGetVersion(&version)};
    CUresult recorded = CUDA_ERROR_NOT_READY;
    while (recorded == CUDA_ERROR_NOT_READY) {
        recorded = d.cuEventQuery(answers.event);
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
        REQUIRE(d.cuLaunchHostFunc(runs_in, call_back_in, &answers) == good);
    } else {
        REQUIRE(d.cuStreamAddCallback(runs_in, call_back_in_status, &answers, 0) == good);
    }
    REQUIRE(d.cuStreamSynchronize(runs_in) == good);
    CHECK(answers.refused == std::vector<CUresult>(7, CUDA_ERROR_NOT_PERMITTED));
    CHECK(answers.answered == std::vector<CUresult>(4, good));
    // After the host function the thread may call the API again.
    CHECK(d.cuStreamSynchronize(other) == good);
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
        its.status = d.cuStreamQuery(its.stream);
    };
    REQUIRE(d.cuLaunchHostFunc(stream, ask, &asked) == good);
    REQUIRE(d.cuStreamSynchronize(stream) == good);
    CHECK(asked.status == CUDA_ERROR_NOT_READY);
}

TEST_CASE("arguments of host functions and callbacks are checked") {
    Called called;
    check_all(invalid, {d.cuLaunchHostFunc(nullptr, nullptr, nullptr),
                        d.cuStreamAddCallback(nullptr, nullptr, nullptr, 0),
                        d.cuStreamAddCallback(nullptr, note_call, &called, 1)});
    CHECK(called.times == 0);
}

TEST_CASE("a callback receives its stream and CUDA_SUCCESS") {
    start(GENERATE_COPY(from_range(all_modes())));
    const Stream own;
    for (const CUstream stream : {own.get(), CUstream(nullptr)}) {
        Called called;
        REQUIRE(d.cuStreamAddCallback(stream, note_call, &called, 0) == good);
        REQUIRE(d.cuStreamSynchronize(stream) == good);
        CHECK(called.times == 1);
        CHECK(called.status == good);
        CHECK(called.stream == stream);
    }
}

TEST_CASE("after a failure callbacks run with the error, host functions do not run") {
    start(adversarial(GENERATE(1u, 2u, 3u)));
    RunOrder order;
    Called called;
    const CUstream stream = make_stream();
    fail_work("cuLaunchHostFunc", CUDA_ERROR_ILLEGAL_ADDRESS);
    REQUIRE(order.launch(stream, 1) == good);
    REQUIRE(order.launch(stream, 2) == good);
    REQUIRE(d.cuStreamAddCallback(stream, note_call, &called, 0) == good);
    REQUIRE(order.launch(stream, 3) == good);
    CHECK(d.cuStreamSynchronize(stream) == CUDA_ERROR_ILLEGAL_ADDRESS);
    CHECK(order.ran().empty());
    CHECK(called.times == 1);
    CHECK(called.status == CUDA_ERROR_ILLEGAL_ADDRESS);
    CHECK(d.cuDevicePrimaryCtxReset(0) == good);
}

TEST_CASE("a callback receives the failure that is planned for its own work") {
    start(GENERATE_COPY(from_range(all_modes())));
    const CUresult failure = GENERATE(CUDA_ERROR_LAUNCH_FAILED, CUDA_ERROR_OUT_OF_MEMORY);
    Called called;
    fail_work("cuStreamAddCallback", failure);
    CHECK(d.cuStreamAddCallback(nullptr, note_call, &called, 0) == good);
    CHECK(d.cuCtxSynchronize() == failure);
    CHECK(called.times == 1);
    CHECK(called.status == failure);
    CHECK(d.cuDevicePrimaryCtxReset(0) == good);
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
        REQUIRE(d.cuLaunchHostFunc(stream, enter, nullptr) == good);
    }
    CHECK(d.cuStreamSynchronize(stream) == good);
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
            d.cuCtxSetCurrent(m.context);
            CUstream stream = nullptr;
            m.status = d.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
            d.cuStreamDestroy(stream);
        }).join();
    };
    REQUIRE(d.cuLaunchHostFunc(nullptr, meet, &meeting) == good);
    CHECK(d.cuCtxSynchronize() == good);
    CHECK(meeting.status == good);
}

#if CUDA_VERSION >= 13020
TEST_CASE("a host function may be launched with a blocking or spinning wait mode") {
    RunOrder order;
    const auto launch = [&](int number, unsigned int mode) {
        return d.cuLaunchHostFunc_v2(nullptr, RunOrder::note, order.entry(number), mode);
    };
    check_all(good, {launch(1, CU_HOST_TASK_BLOCKING), launch(2, CU_HOST_TASK_SPINWAIT)});
    CHECK(launch(3, 2) == invalid);
    CHECK(d.cuCtxSynchronize() == good);
    CHECK(order.ran() == std::vector{1, 2});
}

#endif
