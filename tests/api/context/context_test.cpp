#include "harness/device_code.hpp"
#include "harness/memory.hpp"
#include "harness/reports.hpp"

#include <array>
#include <cstring>
#include <span>
#include <utility>

#include <catch2/generators/catch_generators.hpp>
#include <cushim/device_buffer.hpp>
#include <cushim/feature.hpp>
#include <cushim/memory_pool.hpp>
#include <cushim/override.hpp>
#include <cushim/pool_buffer.hpp>

using namespace api_test;
using namespace cushim;

namespace {

Result<CUcontext> current() {
    CUSHIM_TRY(const Context context, Context::current());
    return context.native();
}

} // namespace

SCENARIO_TEST("a scope makes a context current and restores the previous one", "[context]",
              (Trial &trial)) {
    trial.leave_out(Current::primary, "the previous context is the same one");
    CUSHIM_TRY(const CUcontext before, current());
    CUSHIM_TRY(const Context primary, trial.context());
    CHECK(primary.native() != before);
    {
        CUSHIM_TRY(const ContextScope scope, primary.enter());
        CUSHIM_TRY_VOID(check_gives(current(), primary.native()));
        CUSHIM_TRY(const ContextScope again, primary.enter());
    }
    return check_gives(current(), before);
}

SCENARIO_TEST("Device::all() returns every device in order", "[context]", ()) {
    CUSHIM_TRY(const int count, Device::count());
    CUSHIM_TRY(const std::vector<Device> all, Device::all());
    CHECK(all.size() == static_cast<std::size_t>(count));
    for (std::size_t ordinal = 0; ordinal < all.size(); ++ordinal) {
        CUSHIM_TRY_VOID(check_gives(Device::get(static_cast<int>(ordinal)), all[ordinal]));
    }
    return {};
}

SCENARIO_TEST("a stream keeps its context alive", "[context]", ()) {
    Stream stream;
    {
        CUSHIM_TRY(const Device device, Device::get(0));
        CUSHIM_TRY(const Context created, Context::create(device));
        CUSHIM_TRY(stream, Stream::create(created));
    }
    CUSHIM_TRY_VOID(stream.synchronize());
    return {};
}

SCENARIO_TEST("a created context has its own device, flags and work", "[context]", ()) {
    CUSHIM_TRY(const Device device, Device::get(0));
    CUSHIM_TRY(const Context created, Context::create(device, CU_CTX_SCHED_YIELD));
    CUSHIM_TRY(const Context primary, Context::primary(device));
    CHECK(created.native() != primary.native());
    CUSHIM_TRY_VOID(check_gives(created.device(), device));
    CUSHIM_TRY(const unsigned int flags, created.flags());
    CHECK((flags & CU_CTX_SCHED_MASK) == CU_CTX_SCHED_YIELD);
    CUSHIM_TRY_VOID(created.synchronize());
    return {};
}

SCENARIO_TEST("a context reports its limits and stream priorities", "[context]",
              (const Context &context)) {
    CUSHIM_TRY(const std::size_t stack, context.limit(CU_LIMIT_STACK_SIZE));
    CHECK(stack > 0);
    CUSHIM_TRY_VOID(context.set_limit(CU_LIMIT_STACK_SIZE, stack));
    CUSHIM_TRY(const StreamPriorities priorities, context.stream_priorities());
    CHECK(priorities.greatest <= priorities.least);
    CUSHIM_TRY(const Stream urgent, Stream::create(context, {.priority = priorities.greatest}));
    return check_gives(urgent.priority(), priorities.greatest);
}

SCENARIO_TEST("peer access is enabled and disabled", "[context]", (Trial &trial), "devices=2") {
    CUSHIM_TRY_VOID(trial.needs_devices(2));
    CUSHIM_TRY(const Device first, Device::get(0));
    CUSHIM_TRY(const Device second, Device::get(1));
    CUSHIM_TRY(const Context here, Context::create(first));
    CUSHIM_TRY(const Context there, Context::create(second));
    CUSHIM_TRY_VOID(here.enable_peer_access(there));
    return here.disable_peer_access(there);
}

SCENARIO_TEST("two owners share one context", "[context]", ()) {
    CUSHIM_TRY(const Device device, Device::get(0));
    CUSHIM_TRY(Context first, Context::create(device));
    Context second = first.share();
    CHECK(first.native() == second.native());
    CUSHIM_TRY_VOID(first.close());
    CHECK_FALSE(static_cast<bool>(first));
    CUSHIM_TRY_VOID(second.synchronize());
    return second.close();
}

SCENARIO_TEST("a released context can be adopted again", "[context]", ()) {
    CUSHIM_TRY(const Device device, Device::get(0));
    CUSHIM_TRY(Context context, Context::create(device));
    const CUcontext native = context.release();
    CHECK_FALSE(static_cast<bool>(context));
    CUSHIM_TRY(const Context owned, Context::adopt(native));
    CHECK(owned.native() == native);
    return {};
}

TEST_CASE("a created context is not current", "[context]") {
    restart("");
    const Context created = ok(Context::create(Device::from_native(0)));
    CHECK(current_context() == nullptr);
}

#if CUDA_VERSION >= 12050
TEST_CASE("wrappers work in the context of a green context, and in its streams",
          "[context][current]") {
    restart("");
    const auto call = driver();
    const Context primary = ok(Context::primary(Device::from_native(0)));
    CUdevResource all{};
    CUdevResourceDesc description = nullptr;
    CUgreenCtx green = nullptr;
    CUcontext native = nullptr;
    CUstream own = nullptr;
    REQUIRE(call.cuDeviceGetDevResource(0, &all, CU_DEV_RESOURCE_TYPE_SM) == CUDA_SUCCESS);
    REQUIRE(call.cuDevResourceGenerateDesc(&description, &all, 1) == CUDA_SUCCESS);
    REQUIRE(call.cuGreenCtxCreate(&green, description, 0, CU_GREEN_CTX_DEFAULT_STREAM) ==
            CUDA_SUCCESS);
    REQUIRE(call.cuCtxFromGreenCtx(&native, green) == CUDA_SUCCESS);
    REQUIRE(call.cuGreenCtxStreamCreate(&own, green, CU_STREAM_NON_BLOCKING, 0) == CUDA_SUCCESS);
    {
        const Stream borrowed = Stream::borrow(own);
        CHECK(ok(borrowed.context()).native() == native);
        const Context context = Context::borrow(native);
        const Stream made = ok(Stream::create(context));
        CHECK(ok(made.context()).native() == native);
        auto buffer = ok(DeviceBuffer<int>::allocate(context, 4));
        const Event event = ok(Event::create(primary));
        for (const Stream *stream : {&borrowed, &made}) {
            CHECK(fill(*stream, buffer, 7).has_value());
            CHECK(event.record(*stream).has_value());
            CHECK(event.synchronize().has_value());
        }
        std::array<int, 4> values{};
        CHECK(copy(primary, std::span(values), buffer.span()).has_value());
        CHECK(values == std::array<int, 4>{7, 7, 7, 7});
        const Context created = ok(Context::create(Device::from_native(0)));
        const auto refused = ok(Event::create(created)).record(borrowed);
        CHECK(!refused.has_value());
        CHECK(refused.error().kind() == ErrorKind::wrong_context);
    }
    CHECK(call.cuStreamDestroy(own) == CUDA_SUCCESS);
    CHECK(call.cuGreenCtxDestroy(green) == CUDA_SUCCESS);
}
#endif

TEST_CASE("moving a context leaves the source empty", "[context]") {
    restart("");
    auto made = ok(Context::create(Device::from_native(0)));
    Context first = std::move(made);
    CHECK_FALSE(static_cast<bool>(made));
    Context second;
    second = std::move(first);
    CHECK_FALSE(static_cast<bool>(first));
    CHECK(static_cast<bool>(second));
    Context &itself = second;
    second = std::move(itself);
    CHECK(static_cast<bool>(second));
    second.reset();
    CHECK_FALSE(static_cast<bool>(second));
    CHECK(second.close().has_value());
}

TEST_CASE("a borrowed context is not destroyed", "[context]") {
    restart("");
    const auto made = ok(Context::create(Device::from_native(0)));
    { const Context lent = Context::borrow(made.native()).share(); }
    CHECK(made.synchronize().has_value());
}

TEST_CASE("destructors of objects report no failure after a reset of their context", "[context]") {
    restart("");
    const Reports reports;
    {
        const auto context = ok(Context::primary(Device::from_native(0)));
        auto stream = ok(Stream::create(context));
        const auto event = ok(Event::create(context));
        auto buffer = ok(DeviceBuffer<int>::allocate(context, 4));
        REQUIRE(Context::reset_primary(Device::from_native(0)).has_value());
        CHECK(stream.close().has_value());
    }
    CHECK(reports.failures.empty());
}

TEST_CASE("an object made in a context after its reset is destroyed", "[context]") {
    const Context context = context_after_restart("");
    REQUIRE(Context::reset_primary(Device::from_native(0)).has_value());
    CHECK(Stream::create(context).error().status() == CUDA_ERROR_CONTEXT_IS_DESTROYED);
    // Makes the context active again; the older owner is valid, too.
    const auto again = ok(Context::primary(Device::from_native(0)));
    CHECK(again.native() == context.native());
    auto buffer = ok(DeviceBuffer<int>::allocate(context, 4));
    const auto before = leaks().size();
    CHECK(buffer.close().has_value());
    CHECK((simulator() == nullptr || leaks().size() == before - 1));
}

// A driver crashes if it is passed a stream of such a context.
TEST_CASE("objects made in a context before its reset make no calls after it", "[context]") {
    const bool context_is_borrowed = GENERATE(false, true);
    const bool stream_is_borrowed = GENERATE(false, true);
    restart("");
    const Device device = Device::from_native(0);
    for (int round = 0; round != 3; ++round) {
        const auto owned = ok(Context::primary(device));
        const Context context =
            context_is_borrowed ? Context::borrow(owned.native()) : owned.share();
        auto own_stream = ok(Stream::create(context));
        const Stream stream =
            stream_is_borrowed ? Stream::borrow(own_stream.native()) : own_stream.share();
        const auto pool = ok(MemoryPool::create(device));
        auto plain = ok(DeviceBuffer<int>::allocate(context, 4));
        auto ordered = ok(DeviceBuffer<int>::allocate_async(stream, 4));
        auto pooled = ok(PoolBuffer<int>::allocate(pool, stream, 4));
        REQUIRE(stream.synchronize().has_value());
        REQUIRE(Context::reset_primary(device).has_value());
        check_no_calls([&] {
            CHECK(plain.close().has_value());
            CHECK(ordered.close().has_value());
            CHECK(pooled.close().has_value());
            CHECK(own_stream.close().has_value());
        });
    }
}

TEST_CASE("a scope keeps its context alive", "[context]") {
    restart("");
    auto outer = ok(Context::create(Device::from_native(0)));
    const auto base = ok(outer.enter());
    {
        auto inner = ok(Context::create(Device::from_native(0)));
        const auto scope = ok(inner.enter());
        inner.reset();
        CHECK(current_context() != outer.native());
    }
    CHECK(current_context() == outer.native());
}

// --- devices

SCENARIO_TEST("a device is found by its UUID and its PCI bus id", "[device]", (), "devices=3") {
    CUSHIM_TRY(const int count, Device::count());
    REQUIRE(count > 0);
    CUSHIM_TRY(const Device last, Device::get(count - 1));
    CUSHIM_TRY(const DeviceUuid uuid, last.uuid());
    CUSHIM_TRY_VOID(check_gives(Device::by_uuid(uuid), last));
    CUSHIM_TRY(const PciBusId id, last.pci_bus_id());
    return check_gives(Device::by_pci_bus_id(id.c_str()), last);
}

SCENARIO_TEST("a device reports its name, attributes and memory", "[device]", ()) {
    CUSHIM_TRY(const Device device, Device::get(0));
    CUSHIM_TRY(const DeviceName name, device.name());
    CHECK(std::strlen(name.c_str()) > 0);
    CUSHIM_TRY(const ComputeCapability capability, device.compute_capability());
    CHECK(capability >= ComputeCapability{3, 5});
    CUSHIM_TRY_VOID(check_gives(device.attribute(CU_DEVICE_ATTRIBUTE_WARP_SIZE), 32));
    CUSHIM_TRY(const std::size_t total, device.total_memory());
    CHECK(total > 0);
    return {};
}

// Independent of the current context: the harness makes one of device 0 current.
SCENARIO_TEST("memory_info() reports the memory of its device", "[device]", (),
              "devices=2;memory=1GiB") {
    CUSHIM_TRY(const int count, Device::count());
    CUSHIM_TRY(const Device last, Device::get(count - 1));
    CUSHIM_TRY(const Context context, Context::primary(last));
    CUSHIM_TRY(const MemoryInfo before, last.memory_info());
    CUSHIM_TRY(auto buffer, DeviceBuffer<char>::allocate(context, 64 << 20));
    CUSHIM_TRY(const MemoryInfo after, last.memory_info());
    CHECK(after.total == before.total);
    if (simulator() != nullptr) { // on a GPU other processes allocate and free
        CHECK(after.free <= before.free - (64 << 20));
    }
    return {};
}

SCENARIO_TEST("can_access() returns the peer attribute of the two devices", "[device]",
              (Trial &trial), "devices=2") {
    CUSHIM_TRY_VOID(trial.needs_devices(2));
    CUSHIM_TRY(const Device first, Device::get(0));
    CUSHIM_TRY(const Device second, Device::get(1));
    CUSHIM_TRY(const bool can, first.can_access(second));
    CUSHIM_TRY(const int supported,
               first.peer_attribute(CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED, second));
    CHECK(can == (supported != 0));
    return {};
}

// --- objects used in a stream of another context, for which CUDA returns INVALID_HANDLE

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
    made.here = ok(Context::create(Device::from_native(0)));
    made.there = ok(Context::create(Device::from_native(0)));
    made.stream = ok(Stream::create(made.there));
    return made;
}

void check_wrong(const Result<void> &result) {
    REQUIRE_FALSE(result.has_value());
    INFO(result.error().message());
    CHECK(result.error().kind() == ErrorKind::wrong_context);
    if (simulator() != nullptr) {
        CHECK(result.error().status() == CUDA_ERROR_INVALID_HANDLE);
        CHECK(contains(std::string_view(result.error().message()), "; use a stream of context 0x"));
    }
}

} // namespace

TEST_CASE("recording an event in a stream of another context fails with wrong_context",
          "[wrong_context][event]") {
    const Places at = places();
    const Event event = ok(Event::create(at.here));
    check_wrong(event.record(at.stream));
    const Stream own = ok(Stream::create(at.here));
    CHECK(event.record(own).has_value());
    CHECK(own.synchronize().has_value());
}

TEST_CASE("an invalid handle in the right context is not wrong_context", "[wrong_context][event]") {
    const Places at = places();
    const Event event = ok(Event::create(at.there));
    const Event foreign = ok(Event::create(at.here));
    const ScopedOverride<entry::cuEventRecord> record(
        [](CUevent, CUstream) { return CUDA_ERROR_INVALID_HANDLE; });
    CHECK(refused(event.record(at.stream), ErrorKind::status));
    // The context of a borrowed event is unknown.
    CHECK(refused(Event::borrow(foreign.native()).record(at.stream), ErrorKind::status));
    CHECK(refused(foreign.record(at.stream), ErrorKind::wrong_context));
}

TEST_CASE("the time between events of two devices fails with wrong_context",
          "[wrong_context][event]") {
    restart("devices=2");
    if (ok(Device::count()) < 2) {
        SKIP("needs 2 devices");
    }
    Event events[2];
    for (int index = 0; index < 2; ++index) {
        const Context context = ok(Context::primary(ok(Device::get(index))));
        const Stream stream = ok(Stream::create(context));
        events[index] = ok(Event::create(context));
        CHECK(refused(events[index].elapsed_since(events[index]), ErrorKind::status));
        REQUIRE(events[index].record(stream).has_value());
        REQUIRE(stream.synchronize().has_value());
    }
    CHECK(refused(events[1].elapsed_since(events[0]), ErrorKind::wrong_context));
    CHECK(events[0].elapsed_since(events[0]).has_value());
}

TEST_CASE("launching a kernel in another context than its module's fails with wrong_context",
          "[wrong_context][launch]") {
    const Places at = places();
    const Module module = ok(load_device_code(at.here));
    const AnyKernel idle = ok(module.kernel("idle"));
    check_wrong(idle.launch_unchecked(at.stream, {}, nullptr));
    check_wrong(idle.launch_unchecked(at.stream, {.cooperative = true}, nullptr));
#if CUDA_VERSION >= 11080
    if (supports(driver_version(), Feature::launch_attributes)) {
        check_wrong(idle.launch_unchecked(at.stream, {.priority = 0}, nullptr));
    }
#endif
    const Stream own = ok(Stream::create(at.here));
    CHECK(idle.launch_unchecked(own, {}, nullptr).has_value());
    CHECK(own.synchronize().has_value());
}
