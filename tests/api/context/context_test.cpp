#include "harness/memory.hpp"

#include <utility>

using namespace api_test;
using namespace cushim;

namespace {

Result<CUcontext> current() {
    CUSHIM_TRY(const Context context, Context::current());
    return context.native();
}

} // namespace

SCENARIO_TEST("a scope makes a context current, and puts back what was", "[context]") {
    trial.leave_out(Current::primary, "there is nothing else to be put back");
    CUSHIM_TRY(const CUcontext before, current());
    CUSHIM_TRY(const Context primary, trial.context());
    CHECK(primary.native() != before);
    {
        CUSHIM_TRY(const ContextScope scope, primary.enter());
        CHECK_GIVES(current(), primary.native());
        CUSHIM_TRY(const ContextScope again, primary.enter());
    }
    CHECK_GIVES(current(), before);
    return {};
}

SCENARIO_TEST("everything keeps its context alive", "[context]") {
    Stream stream;
    {
        CUSHIM_TRY(const Device device, Device::get(0));
        CUSHIM_TRY(const Context created, Context::create(device));
        CUSHIM_TRY(stream, Stream::create(created));
    }
    CUSHIM_TRY_VOID(stream.synchronize());
    return {};
}

SCENARIO_TEST("a created context is its own world", "[context]") {
    CUSHIM_TRY(const Device device, Device::get(0));
    CUSHIM_TRY(const Context created, Context::create(device, CU_CTX_SCHED_YIELD));
    CUSHIM_TRY(const Context primary, Context::primary(device));
    CHECK(created.native() != primary.native());
    CHECK_GIVES(created.device(), device);
    CUSHIM_TRY(const unsigned int flags, created.flags());
    CHECK((flags & CU_CTX_SCHED_MASK) == CU_CTX_SCHED_YIELD);
    CUSHIM_TRY_VOID(created.synchronize());
    return {};
}

CONTEXT_SCENARIO_TEST("limits and priorities of a context", "[context]") {
    CUSHIM_TRY(const std::size_t stack, context.limit(CU_LIMIT_STACK_SIZE));
    CHECK(stack > 0);
    CUSHIM_TRY_VOID(context.set_limit(CU_LIMIT_STACK_SIZE, stack));
    CUSHIM_TRY(const StreamPriorities priorities, context.stream_priorities());
    CHECK(priorities.greatest <= priorities.least);
    CUSHIM_TRY(const Stream urgent, Stream::create(context, {.priority = priorities.greatest}));
    CHECK_GIVES(urgent.priority(), priorities.greatest);
    return {};
}

SCENARIO_TEST("peers are let in and shut out", "[context]", "devices=2") {
    CUSHIM_TRY_VOID(trial.needs_devices(2));
    CUSHIM_TRY(const Device first, Device::get(0));
    CUSHIM_TRY(const Device second, Device::get(1));
    CUSHIM_TRY(const Context here, Context::create(first));
    CUSHIM_TRY(const Context there, Context::create(second));
    CUSHIM_TRY_VOID(here.enable_peer_access(there));
    return here.disable_peer_access(there);
}

SCENARIO_TEST("two owners share one context", "[context]") {
    CUSHIM_TRY(const Device device, Device::get(0));
    CUSHIM_TRY(Context first, Context::create(device));
    Context second = first.share();
    CHECK(first.native() == second.native());
    CUSHIM_TRY_VOID(first.close());
    CHECK_FALSE(static_cast<bool>(first));
    CUSHIM_TRY_VOID(second.synchronize());
    return second.close();
}

SCENARIO_TEST("a context that is given up is the caller's", "[context]") {
    CUSHIM_TRY(const Device device, Device::get(0));
    CUSHIM_TRY(Context context, Context::create(device));
    const CUcontext native = context.release();
    CHECK_FALSE(static_cast<bool>(context));
    CUSHIM_TRY(const Context owned, Context::adopt(native));
    CHECK(owned.native() == native);
    return {};
}

TEST_CASE("a context that was created is not current", "[context]") {
    restart("");
    const Context created = required(Context::create(Device::from_native(0)));
    CHECK(current_context() == nullptr);
}

TEST_CASE("owners move, and are empty after it", "[context]") {
    restart("");
    auto made = required(Context::create(Device::from_native(0)));
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

TEST_CASE("what is borrowed is not destroyed", "[context]") {
    restart("");
    const auto made = required(Context::create(Device::from_native(0)));
    { const Context lent = Context::borrow(made.native()).share(); }
    CHECK(made.synchronize().has_value());
}

TEST_CASE("an empty context is refused, and never means the current one", "[context]") {
    restart("");
    const Context empty;
    CHECK(refused(empty.enter()));
    CHECK(refused(empty.make_current()));
    CHECK(refused(empty.synchronize()));
    CHECK(refused(Stream::create(empty)));
    CHECK(refused(Event::create(empty)));
    CHECK(refused(DeviceBuffer<int>::allocate(empty, 0)));
}

// Destructors of what was in it have nothing left to destroy, and report nothing.
TEST_CASE("a primary context is reset under its objects", "[context]") {
    restart("");
    int reports = 0;
    const auto before = set_teardown_sink(
        {[](const TeardownFailure &, void *user) { ++*static_cast<int *>(user); }, &reports});
    {
        const auto context = required(Context::primary(Device::from_native(0)));
        auto stream = required(Stream::create(context));
        const auto event = required(Event::create(context));
        const auto buffer = required(DeviceBuffer<int>::allocate(context, 4));
        REQUIRE(Context::reset_primary(Device::from_native(0)).has_value());
        CHECK(stream.close().has_value());
    }
    set_teardown_sink(before);
    CHECK(reports == 0);
}

TEST_CASE("what is made in a context after its reset is destroyed as ever", "[context]") {
    const Context context = context_after_restart("");
    REQUIRE(Context::reset_primary(Device::from_native(0)).has_value());
    CHECK(Stream::create(context).error().status() == CUDA_ERROR_CONTEXT_IS_DESTROYED);
    // Active again, and so is the older owner.
    const auto again = required(Context::primary(Device::from_native(0)));
    CHECK(again.native() == context.native());
    auto buffer = required(DeviceBuffer<int>::allocate(context, 4));
    const auto before = leaks().size();
    CHECK(buffer.close().has_value());
    CHECK((simulator() == nullptr || leaks().size() == before - 1));
}

TEST_CASE("every reset is known to what was made before it", "[context]") {
    restart("");
    const Device device = Device::from_native(0);
    for (int round = 0; round != 3; ++round) {
        const auto context = required(Context::primary(device));
        auto stream = required(Stream::create(context));
        auto buffer = required(DeviceBuffer<int>::allocate(context, 4));
        REQUIRE(Context::reset_primary(device).has_value());
        const auto calls = calls_in([&] {
            CHECK(stream.close().has_value());
            CHECK(buffer.close().has_value());
        });
        CHECK(calls.empty());
    }
}

TEST_CASE("a reset is known to what was made in a context that is borrowed", "[context]") {
    restart("");
    const auto owned = required(Context::primary(Device::from_native(0)));
    const auto context = Context::borrow(owned.native());
    auto stream = required(Stream::create(context));
    auto buffer = required(DeviceBuffer<int>::allocate(context, 4));
    REQUIRE(Context::reset_primary(Device::from_native(0)).has_value());
    const auto calls = calls_in([&] {
        CHECK(stream.close().has_value());
        CHECK(buffer.close().has_value());
    });
    CHECK(calls.empty());
}

// A driver that is given such a stream crashes.
namespace {

void reset_under_ordered_memory(bool stream_is_borrowed) {
    restart("");
    const Device device = Device::from_native(0);
    const auto context = required(Context::primary(device));
    auto owned = required(Stream::create(context));
    const Stream stream = stream_is_borrowed ? Stream::borrow(owned.native()) : owned.share();
    const auto pool = required(MemoryPool::create(device));
    auto buffer = required(DeviceBuffer<int>::allocate_async(stream, 4));
    auto pooled = required(PoolBuffer<int>::allocate(pool, stream, 4));
    REQUIRE(stream.synchronize().has_value());
    REQUIRE(Context::reset_primary(device).has_value());
    const auto calls = calls_in([&] {
        CHECK(buffer.close().has_value());
        CHECK(pooled.close().has_value());
    });
    CHECK(calls.empty());
}

} // namespace

TEST_CASE("a reset is known to memory of a stream that is borrowed", "[context]") {
    reset_under_ordered_memory(true);
}

TEST_CASE("a reset is known to memory of a stream that it keeps", "[context]") {
    reset_under_ordered_memory(false);
}

TEST_CASE("a scope keeps its context", "[context]") {
    restart("");
    auto outer = required(Context::create(Device::from_native(0)));
    const auto base = required(outer.enter());
    {
        auto inner = required(Context::create(Device::from_native(0)));
        const auto scope = required(inner.enter());
        inner.reset();
        CHECK(current_context() != outer.native());
    }
    CHECK(current_context() == outer.native());
}
