// Contexts, streams and events that one thread destroys while others use them: nothing crashes, and
// every call returns.
#include "run_order.hpp"

using namespace sim_test;

namespace {

// A host function that blocks until the gate is opened.
struct Gate {
    std::atomic<bool> reached{false}, open{false};

    static void CUDA_CB pass(void *gate) {
        auto &own = *static_cast<Gate *>(gate);
        own.reached = true;
        while (!own.open) {
            std::this_thread::yield();
        }
    }
    void wait() const {
        while (!reached) {
            std::this_thread::yield();
        }
    }
};

// Waits until another thread has begun to end the current context, which then takes no more work.
void wait_for_end() {
    unsigned int flags = 0;
    while (driver().cuCtxGetFlags(&flags) == CUDA_SUCCESS) {
        std::this_thread::yield();
    }
}

// A thread in which the context is current.
template <class Body>
std::thread thread_in(CUcontext context, Body body) {
    return std::thread([context, body] {
        if (driver().cuCtxSetCurrent(context) == CUDA_SUCCESS) {
            body();
        }
    });
}

} // namespace

TEST_CASE("calls in a destroyed context and on its objects fail with CONTEXT_IS_DESTROYED") {
    const CUcontext context = make_context();
    CUdeviceptr memory = allocate(64);
    void *pinned = allocate_pinned(64, 0);
    std::thread([&] { destroy(context); }).join();
    CHECK(current() == context);
    CUDA_ARRAY_DESCRIPTOR description{};
    CUarray array = nullptr;
    check_all(CUDA_ERROR_CONTEXT_IS_DESTROYED,
              {driver().cuMemFree(memory), driver().cuMemFreeHost(pinned),
               driver().cuArrayGetDescriptor(&description, reinterpret_cast<CUarray>(pinned)),
               driver().cuArrayCreate(&array, &description), driver().cuMemAlloc(&memory, 16),
               driver().cuCtxSynchronize()});
    ok(driver().cuCtxPopCurrent(nullptr));
    expect_ended({"device memory", "pinned host memory"});
}

TEST_CASE("the second of two threads that destroy a context fails with CONTEXT_IS_DESTROYED") {
    start("mode=threaded");
    const CUcontext context = make_context();
    Gate gate;
    require_ok(driver().cuLaunchHostFunc(nullptr, Gate::pass, &gate));
    gate.wait();
    CUresult destroyed = CUDA_ERROR_UNKNOWN;
    std::thread first([&] { destroyed = driver().cuCtxDestroy(context); });
    wait_for_end();
    CUdeviceptr memory = 0;
    CHECK(driver().cuMemAlloc(&memory, 16) == CUDA_ERROR_CONTEXT_IS_DESTROYED);
    CHECK(driver().cuCtxDestroy(context) == CUDA_ERROR_CONTEXT_IS_DESTROYED);
    CHECK(driver().cuLaunchHostFunc(nullptr, Gate::pass, &gate) == CUDA_ERROR_CONTEXT_IS_DESTROYED);
    gate.open = true;
    first.join();
    CHECK(destroyed == CUDA_SUCCESS);
    ok(driver().cuCtxPopCurrent(nullptr));
}

TEST_CASE("every wait returns when its context is destroyed by another thread") {
    start(GENERATE("mode=threaded", "mode=adversarial;seed=1", "mode=adversarial;seed=7"));
    for (int round = 0; round < 20; ++round) {
        const CUcontext context = make_context();
        const CUstream stream = make_stream();
        const CUevent event = make_event();
        RunOrder order;
        for (int i = 0; i < 20; ++i) {
            require_ok(order.launch(stream, i));
            require_ok(order.launch(nullptr, i));
        }
        require_ok(driver().cuEventRecord(event, stream));
        std::atomic<int> strange{0};
        const auto check = [&strange](CUresult status) {
            const bool known = status == CUDA_SUCCESS || status == CUDA_ERROR_NOT_READY ||
                               status == CUDA_ERROR_CONTEXT_IS_DESTROYED ||
                               status == CUDA_ERROR_INVALID_CONTEXT;
            strange += known ? 0 : 1;
        };
        std::vector<std::thread> waiters;
        waiters.push_back(thread_in(context, [=] { check(driver().cuStreamSynchronize(stream)); }));
        waiters.push_back(thread_in(context, [=] { check(driver().cuEventSynchronize(event)); }));
        waiters.push_back(thread_in(context, [=] { check(driver().cuCtxSynchronize()); }));
        waiters.push_back(thread_in(context, [=] {
            for (int i = 0; i < 50; ++i) {
                check(driver().cuStreamQuery(stream));
                check(driver().cuEventQuery(event));
            }
        }));
        waiters.push_back(thread_in(context, [=] {
            unsigned char bytes[16] = {};
            CUdeviceptr memory = 0;
            for (int i = 0; i < 10; ++i) {
                const CUresult allocated = driver().cuMemAlloc(&memory, sizeof bytes);
                check(allocated);
                if (allocated == CUDA_SUCCESS) {
                    check(driver().cuMemcpyHtoD(memory, bytes, sizeof bytes));
                    check(driver().cuMemFree(memory));
                }
            }
        }));
        check(driver().cuCtxDestroy(context));
        for (std::thread &waiter : waiters) {
            waiter.join();
        }
        CHECK(strange == 0);
        for (const std::string &line : misuses()) { // of calls that came after the destruction
            INFO(line);
            CHECK((line.find("use of a destroyed context") != std::string::npos ||
                   line.find("whose context was destroyed") != std::string::npos));
        }
        sim_control().clear_misuses();
        // A thread may have allocated memory just before.
        const std::size_t left = leaks().size();
        CHECK(left <= 1);
        expect_ended(std::vector<std::string>(left, "device memory"));
    }
}

TEST_CASE("retaining or resetting a primary context waits for a reset in progress") {
    start("mode=threaded");
    CUcontext context = current();
    Gate gate;
    require_ok(driver().cuLaunchHostFunc(nullptr, Gate::pass, &gate));
    gate.wait();
    CUresult results[] = {CUDA_ERROR_UNKNOWN, CUDA_ERROR_UNKNOWN, CUDA_ERROR_UNKNOWN};
    CUcontext same = nullptr;
    std::thread first([&] { results[0] = driver().cuDevicePrimaryCtxReset(0); });
    wait_for_end();
    std::thread second([&] { results[1] = driver().cuDevicePrimaryCtxReset(0); });
    std::thread third([&] { results[2] = driver().cuDevicePrimaryCtxRetain(&same, 0); });
    std::this_thread::sleep_for(std::chrono::milliseconds(20)); // both threads are waiting now
    CHECK(same == nullptr);
    gate.open = true;
    first.join();
    second.join();
    third.join();
    for (const CUresult result : results) {
        CHECK(result == CUDA_SUCCESS);
    }
    CHECK(same == context);
    require_ok(driver().cuDevicePrimaryCtxRetain(&context, 0));
    ok(driver().cuCtxSynchronize());
    ok(driver().cuDevicePrimaryCtxRelease(0));
    ok(driver().cuDevicePrimaryCtxRelease(0));
}

TEST_CASE("a stream may be destroyed while a graph launch in it runs") {
    start(); // immediate: the launch runs the nodes
    const CUstream stream = make_stream();
    Gate gate;
    RunOrder order;
    CUgraphNode first = nullptr, second = nullptr;
    const CUgraph graph = make_graph();
    const CUDA_HOST_NODE_PARAMS waits{Gate::pass, &gate}, notes{RunOrder::note, order.entry(1)};
    require_ok(driver().cuGraphAddHostNode(&first, graph, nullptr, 0, &waits));
    require_ok(driver().cuGraphAddHostNode(&second, graph, &first, 1, &notes));
    const CUgraphExec exec = instantiate(graph);
    CUresult launched = CUDA_ERROR_UNKNOWN;
    std::thread launcher([&] { launched = driver().cuGraphLaunch(exec, stream); });
    gate.wait();
    destroy(stream);
    destroy(exec);
    destroy(graph);
    gate.open = true;
    launcher.join();
    CHECK(launched == CUDA_SUCCESS);
    CHECK(order.ran() == std::vector{1});
}

TEST_CASE("an event may be destroyed while a thread waits for it") {
    start("mode=threaded");
    Gate gate;
    const CUevent event = make_event();
    require_ok(driver().cuLaunchHostFunc(nullptr, Gate::pass, &gate));
    require_ok(driver().cuEventRecord(event, nullptr));
    gate.wait();
    CUresult waited = CUDA_ERROR_UNKNOWN;
    std::thread waiter([&] { waited = driver().cuEventSynchronize(event); });
    std::this_thread::sleep_for(std::chrono::milliseconds(20)); // the thread is waiting now
    destroy(event);
    gate.open = true;
    waiter.join();
    CHECK((waited == CUDA_SUCCESS || waited == CUDA_ERROR_INVALID_HANDLE));
    ok(driver().cuCtxSynchronize());
    if (!misuses().empty()) {
        expect_misuse("use of a destroyed event"); // the wait began after the destruction
    }
}
