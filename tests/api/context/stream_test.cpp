// Streams, events and host functions.
#include "harness/watched.hpp"

#include <cushim/device_buffer.hpp>

#include <atomic>
#include <memory>

using namespace api_test;
using namespace cushim;

SCENARIO_TEST("a stream has the requested flags and context", "[stream]",
              (const Context &context, const StreamAside &aside)) {
    const Stream &stream = aside.stream;
    CUSHIM_TRY(const Stream plain, Stream::create(context));
    CUSHIM_TRY_VOID(check_gives(plain.flags(), CU_STREAM_DEFAULT));
    CUSHIM_TRY_VOID(check_gives(stream.flags(), CU_STREAM_NON_BLOCKING));
    CUSHIM_TRY(const Context its, stream.context());
    CHECK(its.native() == context.native());
    CUSHIM_TRY_VOID(stream.synchronize());
    return check_gives(stream.query(), true);
}

SCENARIO_TEST("two streams have different ids", "[stream]",
              (Trial &trial, const Context &context)) {
    trial.needs_cuda(12, 0);
    CUSHIM_TRY(const Stream first, Stream::create(context));
    CUSHIM_TRY(const Stream second, Stream::create(context));
    CUSHIM_TRY(const unsigned long long one, first.id());
    CUSHIM_TRY(const unsigned long long other, second.id());
    CHECK(one != other);
    return {};
}

SCENARIO_TEST("host functions run in stream order", "[stream]", (const Stream &stream)) {
    const auto order = std::make_shared<std::string>();
    CUSHIM_TRY_VOID(stream.launch_host_function([order] { *order += "a"; }));
    CUSHIM_TRY_VOID(stream.launch_host_function([order] { *order += "b"; }));
    CUSHIM_TRY_VOID(stream.synchronize());
    CHECK(*order == "ab");
    wait_for_released_closures();
    CHECK(order.use_count() == 1);
    return {};
}

// The driver forbids CUDA calls in its callbacks; the destructor of the function frees device
// memory.
SCENARIO_TEST("a host function may own device memory", "[stream]",
              (const Context &context, const Stream &stream)) {
    CUSHIM_TRY(auto buffer, DeviceBuffer<int>::allocate(context, 16));
    CUSHIM_TRY_VOID(fill(stream, buffer.span(), 1));
    CUSHIM_TRY_VOID(stream.launch_host_function([kept = std::move(buffer)] { (void)kept; }));
    CUSHIM_TRY_VOID(stream.synchronize());
    wait_for_released_closures();
    return {};
}

SCENARIO_TEST("both default streams can be synchronized", "[stream]", (const Context &context)) {
    CUSHIM_TRY(const ContextScope scope, context.enter());
    CUSHIM_TRY_VOID(Stream::legacy().synchronize());
    return Stream::per_thread().synchronize();
}

TEST_CASE("a host function is destroyed even if earlier work fails", "[stream]") {
    need_faults();
    const Context context = context_after_restart("fault=cuMemsetD8Async:1:719:async");
    const auto stream = ok(Stream::create(context));
    auto buffer = ok(DeviceBuffer<char>::allocate(context, 16));
    const auto ran = std::make_shared<std::atomic<int>>(0);
    (void)fill(stream, buffer.span(), 'x');
    (void)stream.launch_host_function([ran] { ++*ran; });
    CHECK(stream.synchronize().error().status() == CUDA_ERROR_LAUNCH_FAILED);
    wait_for_released_closures();
    CHECK(*ran == 0);
    CHECK(ran.use_count() == 1);
}

TEST_CASE("query() returns false while work in the stream waits", "[stream]") {
    const Context context = context_after_restart("mode=threaded");
    const Stream stream = ok(Stream::create(context, {.non_blocking = true}));
    const Event event = ok(Event::create(context, {.timing = false}));
    const Gate gate;
    REQUIRE(gate.close(stream).has_value());
    REQUIRE(event.record(stream).has_value());
    CHECK_FALSE(*stream.query());
    CHECK_FALSE(*event.query());
    gate.open();
    REQUIRE(stream.synchronize().has_value());
    CHECK(*stream.query());
    CHECK(*event.query());
}

// --- events

SCENARIO_TEST("an event completes after earlier work in its stream", "[event]",
              (const Context &context, const Stream &stream)) {
    CUSHIM_TRY(const Event before, Event::create(context));
    CUSHIM_TRY(const Event after, Event::create(context));
    CUSHIM_TRY_VOID(check_gives(before.query(), true));
    CUSHIM_TRY_VOID(before.record(stream));
    CUSHIM_TRY_VOID(after.record(stream));
    CUSHIM_TRY_VOID(after.synchronize());
    CUSHIM_TRY_VOID(check_gives(before.query(), true));
    CUSHIM_TRY(const float milliseconds, after.elapsed_since(before));
    CHECK(milliseconds >= 0);
    return {};
}

SCENARIO_TEST("a stream waits for an event of another stream", "[event]",
              (const Context &context)) {
    CUSHIM_TRY(const Stream first, Stream::create(context, {.non_blocking = true}));
    CUSHIM_TRY(const Stream second, Stream::create(context, {.non_blocking = true}));
    CUSHIM_TRY(const Event between, Event::create(context, {.timing = false}));
    CUSHIM_TRY(auto buffer, DeviceBuffer<int>::allocate(context, 100));
    CUSHIM_TRY_VOID(fill(first, buffer.span(), 7));
    CUSHIM_TRY_VOID(between.record(first));
    CUSHIM_TRY_VOID(second.wait_event(between));
    CUSHIM_TRY_VOID(fill(second, buffer.span(), 8));
    CUSHIM_TRY_VOID(second.synchronize());
    return check_filled(context, buffer, 8);
}

SCENARIO_TEST("a stream waits for the work of another stream", "[stream]",
              (const Context &context)) {
    CUSHIM_TRY(const Stream first, Stream::create(context, {.non_blocking = true}));
    CUSHIM_TRY(const Stream second, Stream::create(context, {.non_blocking = true}));
    CUSHIM_TRY(auto buffer, DeviceBuffer<int>::allocate(context, 100));
    CUSHIM_TRY_VOID(fill(first, buffer.span(), 7));
    CUSHIM_TRY_VOID(second.wait(first));
    CUSHIM_TRY_VOID(fill(second, buffer.span(), 8));
    CUSHIM_TRY_VOID(second.synchronize());
    return check_filled(context, buffer, 8);
}

SCENARIO_TEST("record_event() creates an event and records it", "[event]", (const Stream &stream)) {
    CUSHIM_TRY(const Event before, stream.record_event());
    CUSHIM_TRY(const Event after, stream.record_event());
    CUSHIM_TRY(const Event borrowed, Stream::borrow(stream.native()).record_event());
    CUSHIM_TRY_VOID(borrowed.synchronize());
    CUSHIM_TRY(const float milliseconds, after.elapsed_since(before));
    CHECK(milliseconds >= 0);
    return {};
}

TEST_CASE("record_event() creates the event with these options", "[event]") {
    const Context context = context_after_restart("");
    const Stream stream = ok(Stream::create(context));
    const Event timed = ok(stream.record_event());
    const Event untimed = ok(stream.record_event({.timing = false}));
    REQUIRE(untimed.synchronize().has_value());
    CHECK(untimed.elapsed_since(timed).error().status() == CUDA_ERROR_INVALID_HANDLE);
}

TEST_CASE("an interprocess event has no timing", "[event]") {
    const Context context = context_after_restart("");
    const auto event = ok(Event::interprocess(context));
    const auto other = ok(Event::create(context));
    const auto stream = ok(Stream::create(context));
    REQUIRE(event.record(stream).has_value());
    REQUIRE(other.record(stream).has_value());
    REQUIRE(stream.synchronize().has_value());
    CHECK_FALSE(other.elapsed_since(event).has_value());
}

SCENARIO_TEST("waiting for an interprocess event of another context fails", "[event]",
              (const Context &context, const Stream &stream)) {
    CUSHIM_TRY(const Device device, context.device());
    CUSHIM_TRY(const Context other, Context::create(device));
    CUSHIM_TRY(const Stream elsewhere, Stream::create(other));
    CUSHIM_TRY(const Event event, Event::interprocess(context));
    CUSHIM_TRY_VOID(event.record(stream));
    CUSHIM_TRY_VOID(stream.wait_event(event));
    const auto waited = elsewhere.wait_event(event); // the CUDA call would end the process
    REQUIRE_FALSE(waited.has_value());
    if (waited.error().kind() != ErrorKind::wrong_context) {
        return waited; // stream.context() failed
    }
    CUSHIM_TRY(const Event own, Event::create(context, {.timing = false}));
    CUSHIM_TRY_VOID(own.record(stream));
    CUSHIM_TRY_VOID(elsewhere.wait_event(own));
    CUSHIM_TRY_VOID(elsewhere.synchronize());
    return stream.synchronize();
}
