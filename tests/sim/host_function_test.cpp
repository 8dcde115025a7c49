// Host functions and callbacks: when they run, what they may do, what they learn of errors.
#include "run_order.hpp"
#include "sim.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators_range.hpp>

#include <string>
#include <thread>
#include <vector>

using namespace sim_test;

namespace {

cushim::DriverTable d() {
    return cushim::driver();
}

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

void fail_next(const char *entry, int code) {
    cushim_sim_fault fault{};
    fault.entry = entry;
    fault.kind = CUSHIM_SIM_FAULT_ASYNC;
    fault.code = code;
    REQUIRE(sim_control().plan_fault(&fault) != 0);
}

// What calls of the API answered to a host function.
struct Answers {
    CUstream stream;
    CUevent event;
    std::vector<CUresult> all;
    CUresult any_time = CUDA_ERROR_UNKNOWN;
};

void CUDA_CB call_back_in(void *user) {
    auto &answers = *static_cast<Answers *>(user);
    CUdeviceptr memory = 0;
    answers.all = {d().cuMemAlloc(&memory, 4), d().cuStreamSynchronize(answers.stream),
                   d().cuEventRecord(answers.event, answers.stream),
                   d().cuStreamQuery(answers.stream), d().cuCtxSynchronize()};
    int version = 0;
    answers.any_time = d().cuDriverGetVersion(&version);
}

void CUDA_CB call_back_in_status(CUstream, CUresult, void *user) {
    call_back_in(user);
}

} // namespace

TEST_CASE("a host function may not call the API", "[host]") {
    start(GENERATE_COPY(from_range(all_modes())));
    Answers answers{make_stream(), make_event(), {}};
    if (GENERATE(false, true)) {
        REQUIRE(d().cuLaunchHostFunc(answers.stream, call_back_in, &answers) == CUDA_SUCCESS);
    } else {
        REQUIRE(d().cuStreamAddCallback(answers.stream, call_back_in_status, &answers, 0) ==
                CUDA_SUCCESS);
    }
    REQUIRE(d().cuStreamSynchronize(answers.stream) == CUDA_SUCCESS);
    CHECK(answers.all == std::vector<CUresult>(5, CUDA_ERROR_NOT_PERMITTED));
    CHECK(answers.any_time == CUDA_SUCCESS);
    // The thread may again.
    CHECK(d().cuStreamQuery(answers.stream) == CUDA_SUCCESS);
    destroy(answers.stream);
    destroy(answers.event);
}

TEST_CASE("host functions and callbacks are checked", "[host]") {
    start();
    Called called;
    CHECK(d().cuLaunchHostFunc(nullptr, nullptr, nullptr) == CUDA_ERROR_INVALID_VALUE);
    CHECK(d().cuStreamAddCallback(nullptr, nullptr, nullptr, 0) == CUDA_ERROR_INVALID_VALUE);
    CHECK(d().cuStreamAddCallback(nullptr, note_call, &called, 1) == CUDA_ERROR_INVALID_VALUE);
    CHECK(called.times == 0);
}

TEST_CASE("a callback is told its stream and success", "[host]") {
    start(GENERATE_COPY(from_range(all_modes())));
    const CUstream stream = GENERATE(false, true) ? make_stream() : nullptr;
    Called called;
    REQUIRE(d().cuStreamAddCallback(stream, note_call, &called, 0) == CUDA_SUCCESS);
    REQUIRE(d().cuStreamSynchronize(stream) == CUDA_SUCCESS);
    CHECK(called.times == 1);
    CHECK(called.status == CUDA_SUCCESS);
    CHECK(called.stream == stream);
    if (stream != nullptr) {
        destroy(stream);
    }
}

TEST_CASE("behind a failure callbacks run, and are told, and host functions do not", "[host]") {
    start(adversarial(GENERATE(1u, 2u, 3u)));
    RunOrder order;
    Called called;
    const CUstream stream = make_stream();
    fail_next("cuLaunchHostFunc", CUDA_ERROR_ILLEGAL_ADDRESS);
    REQUIRE(order.launch(stream, 1) == CUDA_SUCCESS);
    REQUIRE(order.launch(stream, 2) == CUDA_SUCCESS);
    REQUIRE(d().cuStreamAddCallback(stream, note_call, &called, 0) == CUDA_SUCCESS);
    REQUIRE(order.launch(stream, 3) == CUDA_SUCCESS);
    CHECK(d().cuStreamSynchronize(stream) == CUDA_ERROR_ILLEGAL_ADDRESS);
    CHECK(order.ran().empty());
    CHECK(called.times == 1);
    CHECK(called.status == CUDA_ERROR_ILLEGAL_ADDRESS);
    CHECK(d().cuDevicePrimaryCtxReset(0) == CUDA_SUCCESS);
}

TEST_CASE("a planned failure of a callback itself keeps it from running", "[host]") {
    start();
    Called called;
    fail_next("cuStreamAddCallback", CUDA_ERROR_LAUNCH_FAILED);
    CHECK(d().cuStreamAddCallback(nullptr, note_call, &called, 0) == CUDA_SUCCESS);
    CHECK(d().cuCtxSynchronize() == CUDA_ERROR_LAUNCH_FAILED);
    CHECK(called.times == 0);
    CHECK(d().cuDevicePrimaryCtxReset(0) == CUDA_SUCCESS);
}

TEST_CASE("host functions of one stream never overlap", "[host]") {
    start("mode=threaded");
    static int inside, most; // no atomics: TSan would see an overlap, too
    inside = most = 0;
    const CUstream stream = make_stream();
    for (int i = 0; i < 100; ++i) {
        REQUIRE(d().cuLaunchHostFunc(
                    stream,
                    [](void *) {
                        ++inside;
                        most = inside > most ? inside : most;
                        --inside;
                    },
                    nullptr) == CUDA_SUCCESS);
    }
    CHECK(d().cuStreamSynchronize(stream) == CUDA_SUCCESS);
    CHECK(most == 1);
    destroy(stream);
}

TEST_CASE("the lock is free while a host function runs", "[host]") {
    start(GENERATE(as<std::string>{}, "mode=immediate", "mode=adversarial", "mode=threaded"));
    // It waits for another thread that calls the API.
    struct Meeting {
        CUcontext context = nullptr;
        CUresult status = CUDA_ERROR_UNKNOWN;
    } meeting;
    REQUIRE(d().cuCtxGetCurrent(&meeting.context) == CUDA_SUCCESS);
    REQUIRE(d().cuLaunchHostFunc(
                nullptr,
                [](void *user) {
                    std::thread([user] {
                        auto &m = *static_cast<Meeting *>(user);
                        d().cuCtxSetCurrent(m.context);
                        CUstream stream = nullptr;
                        m.status = d().cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
                        d().cuStreamDestroy(stream);
                    }).join();
                },
                &meeting) == CUDA_SUCCESS);
    CHECK(d().cuCtxSynchronize() == CUDA_SUCCESS);
    CHECK(meeting.status == CUDA_SUCCESS);
}

#if CUDA_VERSION >= 13010
TEST_CASE("a host function has a mode in which its thread waits", "[host]") {
    start();
    RunOrder order;
    CHECK(d().cuLaunchHostFunc_v2(nullptr, RunOrder::note, order.entry(1), CU_HOST_TASK_BLOCKING) ==
          CUDA_SUCCESS);
    CHECK(d().cuLaunchHostFunc_v2(nullptr, RunOrder::note, order.entry(2), CU_HOST_TASK_SPINWAIT) ==
          CUDA_SUCCESS);
    CHECK(d().cuLaunchHostFunc_v2(nullptr, RunOrder::note, order.entry(3), 2) ==
          CUDA_ERROR_INVALID_VALUE);
    CHECK(d().cuCtxSynchronize() == CUDA_SUCCESS);
    CHECK(order.ran() == std::vector{1, 2});
}
#endif
