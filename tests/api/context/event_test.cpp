#include "harness/scenario.hpp"

using namespace api_test;
using namespace cushim;

STREAM_SCENARIO_TEST("an event marks what was before it", "[event]") {
    CUSHIM_TRY(const Event before, Event::create(context));
    CUSHIM_TRY(const Event after, Event::create(context));
    CHECK_GIVES(before.query(), true);
    CUSHIM_TRY_VOID(before.record(stream));
    CUSHIM_TRY_VOID(after.record(stream));
    CUSHIM_TRY_VOID(after.synchronize());
    CHECK_GIVES(before.query(), true);
    CUSHIM_TRY(const float milliseconds, after.elapsed_since(before));
    CHECK(milliseconds >= 0);
    return {};
}

CONTEXT_SCENARIO_TEST("a stream waits for an event of another", "[event]") {
    CUSHIM_TRY(const Stream first, Stream::create(context, {.non_blocking = true}));
    CUSHIM_TRY(const Stream second, Stream::create(context, {.non_blocking = true}));
    CUSHIM_TRY(const Event between, Event::create(context, {.timing = false}));
    CUSHIM_TRY(const auto buffer, DeviceBuffer<int>::allocate(context, 100));
    CUSHIM_TRY_VOID(fill(first, buffer.span(), 7));
    CUSHIM_TRY_VOID(between.record(first));
    CUSHIM_TRY_VOID(second.wait_event(between));
    CUSHIM_TRY_VOID(fill(second, buffer.span(), 8));
    CUSHIM_TRY_VOID(second.synchronize());
    CHECK_GIVES(read(context, buffer), std::vector<int>(100, 8));
    return {};
}

TEST_CASE("an event for other processes measures no time", "[event]") {
    const Context context = context_after_restart("");
    const Error both = error_of(Event::create(context, {.timing = true, .interprocess = true}));
    CHECK(both.kind() == ErrorKind::invalid_argument);
    const auto event = required(Event::interprocess(context));
    const auto other = required(Event::create(context));
    const auto stream = required(Stream::create(context));
    REQUIRE(event.record(stream).has_value());
    REQUIRE(other.record(stream).has_value());
    REQUIRE(stream.synchronize().has_value());
    CHECK_FALSE(other.elapsed_since(event).has_value());
}

CONTEXT_SCENARIO_TEST("an event for several processes is waited for in its own context",
                      "[event]") {
    CUSHIM_TRY(const Device device, context.device());
    CUSHIM_TRY(const Context other, Context::create(device));
    CUSHIM_TRY(const Stream stream, Stream::create(context));
    CUSHIM_TRY(const Stream elsewhere, Stream::create(other));
    CUSHIM_TRY(const Event event, Event::interprocess(context));
    CUSHIM_TRY_VOID(event.record(stream));
    CUSHIM_TRY_VOID(stream.wait_event(event));
    const auto waited = elsewhere.wait_event(event); // would end the process
    REQUIRE_FALSE(waited.has_value());
    if (waited.error().kind() != ErrorKind::wrong_context) {
        return waited; // the stream was asked for its context, and that failed
    }
    CUSHIM_TRY(const Event own, Event::create(context, {.timing = false}));
    CUSHIM_TRY_VOID(own.record(stream));
    CUSHIM_TRY_VOID(elsewhere.wait_event(own));
    CUSHIM_TRY_VOID(elsewhere.synchronize());
    return stream.synchronize();
}

TEST_CASE("an empty event is refused", "[event]") {
    restart("");
    const Event empty;
    CHECK(refused(empty.query()));
    CHECK(refused(empty.synchronize()));
    CHECK(refused(empty.record(Stream::legacy())));
    CHECK(refused(Stream::legacy().wait_event(empty)));
}
