// What an executable graph uses lives until its launches have completed, in whatever stream they
// are.
#include "harness/graph_scenario.hpp"
#include "harness/memory.hpp"
#include "harness/reports.hpp"

#include <catch2/generators/catch_generators.hpp>
#include <cushim/device_buffer.hpp>

using namespace api_test;
using namespace cushim;

namespace {

// An executable graph whose node calls `watched`; its graph is gone.
struct Launching {
    explicit Launching(Api of, const std::string &settings = "mode=threaded")
        : api(of), context(context_after_restart(settings)),
          exec(ok(call_graph(api, context, watched).instantiate())) {}

    Stream stream() const { return ok(Stream::create(context, {.non_blocking = true})); }
    // Launches it behind the gate, and destroys it.
    void launch_and_end(const Stream &in) {
        ok(gate.close(in));
        ok(exec.launch(in));
        exec.reset();
    }
    void check_kept() const {
        wait_for_possible_releases();
        CHECK_FALSE(watched.is_destroyed());
    }
    void check_released() const {
        gate.open();
        CHECK(watched.is_destroyed_soon());
        CHECK(watched.calls() == 1);
    }

    Api api;
    Watched watched;
    Context context;
    GraphExec exec;
    Gate gate;
};

} // namespace

TEST_CASE("a launch into a stream that is destroyed meanwhile keeps what its nodes use",
          "[graph][G13][current]") {
    Launching at(GENERATE(Api::driver, Api::runtime));
    Stream stream = at.stream();
    ok(at.gate.close(stream));
    ok(at.exec.launch(stream));
    CHECK(stream.close().has_value()); // the executable graph still has it
    at.exec.reset();
    at.check_kept();
    at.check_released();
}

TEST_CASE("a launch into a stream that is given away keeps what its nodes use",
          "[graph][G13][current]") {
    Launching at(GENERATE(Api::driver, Api::runtime));
    Stream stream = at.stream();
    ok(at.gate.close(stream));
    ok(at.exec.launch(stream));
    const CUstream native = stream.release();
    CHECK(driver().cuStreamDestroy(native) == CUDA_SUCCESS);
    at.exec.reset();
    at.check_kept();
    at.check_released();
    CHECK(misuses() == std::vector<std::string>());
}

TEST_CASE("a launch into a stream that others own keeps what its nodes use",
          "[graph][G13][current]") {
    Launching at(GENERATE(Api::driver, Api::runtime));
    const ContextScope scope = ok(at.context.enter());
    Stream owner = at.stream();
    const Stream streams[] = {Stream::borrow(owner.native()), Stream::legacy(),
                              Stream::per_thread()};
    const Stream &stream = streams[GENERATE(0, 1, 2)];
    ok(at.gate.close(stream));
    ok(at.exec.launch(stream));
    owner.reset(); // the borrowed one is gone before the executable graph is
    at.exec.reset();
    at.check_kept();
    at.check_released();
    CHECK(misuses() == std::vector<std::string>());
}

TEST_CASE("launches in several streams keep what their nodes use", "[graph][G13][current]") {
    Launching at(GENERATE(Api::driver, Api::runtime));
    const Stream first = at.stream(), second = at.stream();
    ok(at.gate.close(first));
    ok(at.exec.launch(first));
    ok(at.exec.launch(second)); // runs after the first launch
    at.exec.reset();
    at.check_kept();
    at.gate.open();
    CHECK(at.watched.is_destroyed_soon());
    CHECK(at.watched.calls() == 2);
}

TEST_CASE("a direct launch, followed by launched(), keeps what its nodes use",
          "[graph][G13][current]") {
    Launching at(GENERATE(Api::driver, Api::runtime));
    const Stream stream = at.stream();
    ok(at.gate.close(stream));
    REQUIRE(driver().cuGraphLaunch(at.exec.native(), stream.native()) == CUDA_SUCCESS);
    ok(at.exec.launched(stream));
    at.exec.reset();
    at.check_kept();
    at.check_released();
}

TEST_CASE("an executable graph is released after the capture of its stream",
          "[graph][capture][current]") {
    Launching at(GENERATE(Api::driver, Api::runtime), "");
    const Stream stream = at.stream();
    ok(at.exec.launch(stream));
    ok(stream.begin_capture(GENERATE(CaptureMode::global, CaptureMode::relaxed)));
    at.exec.reset();
    wait_for_possible_releases();
    CHECK_FALSE(at.watched.is_destroyed()); // its end cannot be recorded
    CHECK(ok(stream.capture_status()) == CaptureStatus::active);
    const Graph captured = ok(stream.end_capture());
    CHECK(ok(captured.nodes()).empty());
    CHECK(at.watched.is_destroyed_soon());
}

TEST_CASE("giving away a stream that is captured does not affect the capture",
          "[graph][capture][current]") {
    need_simulator("needs the simulator: the closure stays alive for good");
    static Launching at(Api::driver); // cushim keeps the closure permanently
    Stream stream = at.stream();
    ok(at.gate.close(stream));
    ok(at.exec.launch(stream));
    ok(stream.begin_capture(CaptureMode::relaxed));
    const CUstream native = stream.release();
    at.exec.reset();
    at.check_kept();
    const Stream borrowed = Stream::borrow(native);
    CHECK(ok(borrowed.capture_status()) == CaptureStatus::active);
    CHECK(ok(ok(borrowed.end_capture()).nodes()).empty());
    at.gate.open();
    ok(borrowed.synchronize());
    CHECK(at.watched.calls() == 1);
    CHECK(driver().cuStreamDestroy(native) == CUDA_SUCCESS);
    at.check_kept(); // its end is unknown
    at.context.reset();
}

TEST_CASE("a stream is given away once", "[graph][G13][current]") {
    Launching at(Api::driver);
    Stream stream = at.stream();
    Stream other = stream.share();
    ok(at.gate.close(stream));
    ok(at.exec.launch(stream));
    const CUstream native = stream.release();
    CHECK(driver().cuStreamDestroy(native) == CUDA_SUCCESS);
    CHECK(other.release() == native);
    at.exec.reset();
    at.check_kept();
    at.check_released();
    CHECK(misuses() == std::vector<std::string>());
}

TEST_CASE("the end of a launch into a stream that others own keeps the context alive",
          "[graph][G13][current]") {
    need_simulator("needs the simulator, where nothing else uses the primary context");
    Launching at(GENERATE(Api::driver, Api::runtime));
    const int which = GENERATE(0, 1, 2);
    Stream owner;
    {
        const ContextScope scope = ok(at.context.enter());
        owner = at.stream();
        const Stream streams[] = {Stream::borrow(owner.native()), Stream::legacy(),
                                  Stream::per_thread()};
        ok(at.gate.close(streams[which]));
        ok(at.exec.launch(streams[which]));
    }
    owner.reset();
    at.exec.reset();
    for (int i = 0; i < 20; ++i) { // until it is polled rarely
        at.check_kept();
    }
    at.gate.open();
    at.context.reset();
    at.check_released();
    CHECK(misuses() == std::vector<std::string>());
}

TEST_CASE("the destruction of a context ends the launches in it", "[graph][G13][current]") {
    need_simulator("needs the simulator, whose streams wait for the gate");
    (void)context_after_restart("mode=threaded");
    CUcontext native = nullptr;
    REQUIRE(driver().cuCtxCreate_v2(&native, 0, 0) == CUDA_SUCCESS);
    const Context context = Context::borrow(native);
    Watched watched;
    const Gate gate;
    GraphExec exec = ok(call_graph(Api::driver, context, watched).instantiate());
    ok(gate.close(Stream::legacy()));
    ok(exec.launch(Stream::legacy()));
    exec.reset();
    for (int i = 0; i < 20; ++i) {
        wait_for_possible_releases();
    }
    CHECK_FALSE(watched.is_destroyed());
    gate.open();
    CHECK(soon([&] { return watched.calls() == 1; }));
    CHECK(driver().cuCtxDestroy(native) == CUDA_SUCCESS);
    CHECK(watched.is_destroyed_soon());
}

// cuEventRecord refuses the stream as it would refuse one whose context is destroyed.
TEST_CASE("a launch into a stream adopted with a wrong context keeps what its nodes use",
          "[graph][G13][current]") {
    need_simulator("needs the simulator, whose streams wait for the gate");
    // Static, since cushim keeps the closure permanently.
    static Launching at(Api::driver);
    const Context other = ok(Context::create(ok(Device::get(0))));
    const Stream stream = ok(Stream::create(other, {.non_blocking = true}));
    const Reports reports;
    at.launch_and_end(ok(Stream::adopt(at.context, stream.share().native())));
    for (int i = 0; i < 20; ++i) {
        at.check_kept();
    }
    CHECK(std::ranges::count(reports.names(), "cuEventRecord") == 1);
    at.gate.open();
}

TEST_CASE("a launch that CUDA refuses keeps nothing alive", "[graph][G13][current]") {
    need_faults();
    const int status = GENERATE(201, 400, 709, 800, 900, 901, 902, 903, 904, 905, 906, 907, 908);
    Launching at(Api::driver,
                 "mode=threaded;fault=cuGraphLaunch:1:" + std::to_string(status) + ":instead");
    const Stream stream = at.stream();
    ok(at.gate.close(stream));
    CHECK(error_of(at.exec.launch(stream)).status() == status);
    at.exec.reset();
    CHECK(at.watched.is_destroyed_soon()); // although the gate is closed
}

TEST_CASE("a launch without a context keeps nothing alive", "[graph][G13][current]") {
    Launching at(Api::driver);
    CHECK(refused(at.exec.launch(Stream::legacy()), ErrorKind::wrong_context));
    at.exec.reset();
    CHECK(at.watched.is_destroyed_soon());
}

TEST_CASE("a launch ends the doubt about earlier ones", "[graph][G13][after_effect]") {
    need_faults();
    Launching at(Api::driver, "mode=threaded;fault=cuGraphLaunch:2:999:instead;"
                              "fault=cuGraphLaunch:3:999:after");
    const Stream first = at.stream(), second = at.stream();
    ok(at.exec.launch(first));
    CHECK_FALSE(at.exec.launch(second).has_value());
    CHECK_FALSE(at.exec.launch(second).has_value());
    ok(at.exec.launch(second));
    at.exec.reset();
    CHECK(at.watched.is_destroyed_soon());
}

TEST_CASE("a launch that failed after its effect keeps what its nodes use",
          "[graph][G13][after_effect]") {
    need_faults();
    Launching at(Api::driver, "mode=threaded;fault=cuGraphLaunch:1:999:after");
    const Stream stream = at.stream();
    ok(at.gate.close(stream));
    CHECK_FALSE(at.exec.launch(stream).has_value());
    at.exec.reset();
    at.check_kept();
    at.check_released();
}

TEST_CASE("a launch before a failed one in another stream keeps what its nodes use",
          "[graph][G13][after_effect]") {
    need_faults();
    Launching at(Api::driver, "mode=threaded;fault=cuGraphLaunch:2:999:instead");
    const Stream first = at.stream(), second = at.stream();
    ok(at.gate.close(first));
    ok(at.exec.launch(first));
    CHECK_FALSE(at.exec.launch(second).has_value());
    at.exec.reset();
    ok(second.synchronize());
    at.check_kept();
    at.check_released();
}

TEST_CASE("a failed query of the end of a launch is repeated", "[graph][G13][after_effect]") {
    need_faults();
    Launching at(Api::driver, "mode=threaded;fault=cuEventQuery:1:999:instead");
    const Reports reports;
    const Stream stream = at.stream();
    ok(at.gate.close(stream));
    ok(at.exec.launch(stream));
    at.exec.reset();
    at.check_kept();
    CHECK(reports.names() == std::vector<std::string>{"cuEventQuery"});
    at.check_released();
}

TEST_CASE("after a failure of the context, a closure that may run stays alive",
          "[graph][G13][current]") {
    need_faults();
    // Static, since cushim keeps the closure permanently.
    static Launching at(Api::driver, "mode=threaded;fault=cuMemsetD32Async:1:719:async");
    const Reports reports;
    const Stream stream = at.stream(), failing = at.stream();
    auto memory = ok(DeviceBuffer<int>::allocate(at.context, 8));
    ok(at.gate.close(stream));
    ok(at.exec.launch(stream));
    ok(fill(failing, memory.span(), 1));
    CHECK_FALSE(failing.synchronize().has_value());
    at.exec.reset();
    for (int i = 0; i < 20; ++i) {
        at.check_kept();
    }
    CHECK(std::ranges::count(reports.names(), "cuStreamIsCapturing") == 1); // not at every poll
    at.gate.open();
    at.context.reset();
}

TEST_CASE("launches into one stream record no events", "[graph][G23][current]") {
    need_simulator("needs the simulator, which records the calls");
    Launching at(GENERATE(Api::driver, Api::runtime), "");
    const Stream stream = at.stream();
    const auto calls = calls_in([&] {
        for (int i = 0; i < 10; ++i) {
            ok(at.exec.launch(stream));
        }
    });
    CHECK(std::ranges::count(calls, graph_call(at.api, "Launch")) == 10);
    CHECK(std::ranges::count(calls, "cuEventRecord") == 0);
    const auto at_the_end = calls_in([&] {
        at.exec.reset();
        wait_for_released_closures();
    });
    CHECK(std::ranges::count(at_the_end, "cuEventRecord") == 1);
}
