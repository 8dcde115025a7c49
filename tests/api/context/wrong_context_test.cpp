// What is used in a stream of another context: CUDA calls it an invalid handle, cushim says which
// it is.
#include "harness/device_code.hpp"
#include "harness/memory.hpp"

using namespace api_test;
using namespace cushim;

namespace {

// Two contexts, and a stream of the second.
struct Places {
    Context here;
    Context there;
    Stream stream;
};

Places places() {
    restart("");
    Places made;
    made.here = Context::create(Device::from_native(0)).value();
    made.there = Context::create(Device::from_native(0)).value();
    made.stream = Stream::create(made.there).value();
    return made;
}

void check_wrong(const Result<void> &result) {
    REQUIRE_FALSE(result.has_value());
    INFO(result.error().message());
    CHECK(result.error().kind() == ErrorKind::wrong_context);
    if (simulator() != nullptr) {
        CHECK(result.error().status() == CUDA_ERROR_INVALID_HANDLE);
        CHECK(contains(std::string_view(result.error().message()), "another context"));
    }
}

} // namespace

TEST_CASE("an event is recorded only in its own context", "[wrong_context][event]") {
    const Places at = places();
    const Event event = Event::create(at.here).value();
    check_wrong(event.record(at.stream));
    const Stream own = Stream::create(at.here).value();
    CHECK(event.record(own).has_value());
    CHECK(own.synchronize().has_value());
}

TEST_CASE("an invalid handle that is none of another context stays one", "[wrong_context][event]") {
    const Places at = places();
    const Event event = Event::create(at.there).value();
    const Event foreign = Event::create(at.here).value();
    const ScopedOverride<entry::cuEventRecord> record(
        [](CUevent, CUstream) { return CUDA_ERROR_INVALID_HANDLE; });
    CHECK(refused(event.record(at.stream), ErrorKind::status));
    // Nobody knows what context a borrowed one is of.
    CHECK(refused(Event::borrow(foreign.native()).record(at.stream), ErrorKind::status));
    CHECK(refused(foreign.record(at.stream), ErrorKind::wrong_context));
}

TEST_CASE("time is not measured between devices", "[wrong_context][event]") {
    restart("devices=2");
    if (Device::count().value() < 2) {
        SKIP("needs 2 devices");
    }
    Event events[2];
    for (int index = 0; index < 2; ++index) {
        const Context context = Context::primary(Device::get(index).value()).value();
        const Stream stream = Stream::create(context).value();
        events[index] = Event::create(context).value();
        CHECK(refused(events[index].elapsed_since(events[index]), ErrorKind::status));
        REQUIRE(events[index].record(stream).has_value());
        REQUIRE(stream.synchronize().has_value());
    }
    CHECK(refused(events[1].elapsed_since(events[0]), ErrorKind::wrong_context));
    CHECK(events[0].elapsed_since(events[0]).has_value());
}

TEST_CASE("a kernel is launched only in its module's context", "[wrong_context][launch]") {
    const Places at = places();
    const Module module = load_device_code(at.here).value();
    const AnyKernel idle = module.kernel("idle").value();
    check_wrong(idle.launch_unchecked(at.stream, {}, nullptr));
    check_wrong(idle.launch_unchecked(at.stream, {.cooperative = true}, nullptr));
#if CUDA_VERSION >= 11080
    if (supports(driver_version(), Feature::launch_attributes)) {
        check_wrong(idle.launch_unchecked(at.stream, {.priority = 0}, nullptr));
    }
#endif
    const Stream own = Stream::create(at.here).value();
    CHECK(idle.launch_unchecked(own, {}, nullptr).has_value());
    CHECK(own.synchronize().has_value());
}
