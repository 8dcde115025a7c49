#include "harness/memory.hpp"

#include <cushim/device_buffer.hpp>
#include <cushim/memory_pool.hpp>
#include <cushim/pool_buffer.hpp>

#include <algorithm>
#include <limits>

using namespace api_test;
using namespace cushim;

namespace {

// Enqueues several fills.
Result<void> keep_busy(const Stream &stream, DeviceBuffer<int> &buffer) {
    for (int round = 0; round < 4; ++round) {
        CUSHIM_TRY_VOID(fill(stream, buffer.span(), round));
    }
    return {};
}

struct Twelve {
    float numbers[3];
};

} // namespace

SCENARIO_TEST("copy_of() makes device memory with the values of a range", "[device_buffer]",
              (const Context &context)) {
    CUSHIM_TRY(auto buffer, DeviceBuffer<int>::copy_of(context, numbers(1000)));
    CHECK(buffer.size() == 1000);
    CHECK(buffer.size_bytes() == 4000);
    CHECK(static_cast<bool>(buffer));
    CHECK(buffer.native() == reinterpret_cast<CUdeviceptr>(buffer.data()));
    return check_gives(read(context, buffer), numbers(1000));
}

SCENARIO_TEST("memory is allocated with zeros", "[device_buffer]",
              (const Context &context, const StreamAside &aside)) {
    const Stream &stream = aside.stream;
    for (int repetition = 0; repetition < 2; ++repetition) { // the second may get the same memory
        CUSHIM_TRY(auto buffer, DeviceBuffer<int>::allocate_zeroed(context, 1000));
        CUSHIM_TRY_VOID(check_filled(context, buffer, 0));
        CUSHIM_TRY_VOID(fill(buffer, 5));
        CUSHIM_TRY(auto ordered, DeviceBuffer<int>::allocate_zeroed_async(stream, 1000));
        CUSHIM_TRY_VOID(stream.synchronize());
        CUSHIM_TRY_VOID(check_filled(context, ordered, 0));
        CUSHIM_TRY_VOID(fill(stream, ordered, 5));
    }
    CUSHIM_TRY(const auto none, DeviceBuffer<double>::allocate_zeroed(context, 0));
    CHECK(none.size() == 0);
    return {};
}

// The simulator reports work that uses freed memory.
SCENARIO_TEST("stream-ordered memory is freed in stream order", "[device_buffer]",
              (const Context &context, const StreamAside &aside)) {
    const Stream &stream = aside.stream;
    CUSHIM_TRY(auto result, DeviceBuffer<int>::allocate_async(stream, 1000));
    {
        CUSHIM_TRY(auto scratch, DeviceBuffer<int>::allocate_async(stream, 1000));
        CUSHIM_TRY_VOID(fill(stream, scratch.span(), 5));
        CUSHIM_TRY_VOID(copy(stream, result.span(), scratch));
    }
    CUSHIM_TRY_VOID(stream.synchronize());
    return check_filled(context, result, 5);
}

SCENARIO_TEST("stream-ordered memory keeps its stream alive", "[device_buffer]", (Trial &trial)) {
    DeviceBuffer<int> buffer;
    {
        CUSHIM_TRY(const Context context, trial.context());
        CUSHIM_TRY(const Stream stream, Stream::create(context, {.non_blocking = true}));
        CUSHIM_TRY(buffer, DeviceBuffer<int>::allocate_async(stream, 1000));
        CUSHIM_TRY_VOID(fill(stream, buffer.span(), 5));
    }
    return buffer.close();
}

SCENARIO_TEST("stream-ordered memory is freed in the order of another stream", "[device_buffer]",
              (const Context &context)) {
    CUSHIM_TRY(const Stream first, Stream::create(context, {.non_blocking = true}));
    CUSHIM_TRY(const Stream second, Stream::create(context, {.non_blocking = true}));
    CUSHIM_TRY(const Event between, Event::create(context, {.timing = false}));
    CUSHIM_TRY(const Device device, context.device());
    CUSHIM_TRY(const MemoryPool pool, MemoryPool::create(device));
    CUSHIM_TRY(auto result, DeviceBuffer<int>::allocate(context, 150));
    CUSHIM_TRY(auto now, DeviceBuffer<int>::allocate_async(first, 100));
    CUSHIM_TRY(auto later, DeviceBuffer<int>::allocate_async(first, 100));
    CUSHIM_TRY(auto pooled, PoolBuffer<int>::allocate(pool, first, 100));
    CUSHIM_TRY_VOID(later.release_after(second));
    CUSHIM_TRY_VOID(pooled.release_after(second));
    CUSHIM_TRY_VOID(fill(first, now.span(), 5));
    CUSHIM_TRY_VOID(fill(first, later.span(), 6));
    CUSHIM_TRY_VOID(fill(first, pooled.span(), 7));
    CUSHIM_TRY_VOID(between.record(first));
    CUSHIM_TRY_VOID(second.wait_event(between));
    CUSHIM_TRY_VOID(copy(second, *result.span().subspan(0, 50), *now.span().subspan(0, 50)));
    CUSHIM_TRY_VOID(copy(second, *result.span().subspan(50, 50), *later.span().subspan(0, 50)));
    CUSHIM_TRY_VOID(copy(second, *result.span().subspan(100, 50), *pooled.span().subspan(0, 50)));
    CUSHIM_TRY_VOID(now.free_async(second));
    CHECK(now.empty());
    CUSHIM_TRY_VOID(now.free_async(second)); // already freed
    CUSHIM_TRY_VOID(later.close());
    CUSHIM_TRY_VOID(pooled.close());
    CUSHIM_TRY_VOID(second.synchronize());
    CUSHIM_TRY(const auto values, read(context, result));
    for (const int value : {5, 6, 7}) {
        CHECK(std::count(values.begin(), values.end(), value) == 50);
    }
    return {};
}

SCENARIO_TEST("free_async() frees plain memory in stream order", "[device_buffer]",
              (const Context &context, const StreamAside &aside)) {
    const Stream &stream = aside.stream;
    CUSHIM_TRY(auto buffer, DeviceBuffer<int>::allocate(context, 1000));
    CUSHIM_TRY_VOID(keep_busy(stream, buffer));
    CUSHIM_TRY_VOID(buffer.free_async(stream));
    CHECK_FALSE(static_cast<bool>(buffer));
    return stream.synchronize();
}

// The default streams are those of the current context, which is another one at the free.
SCENARIO_TEST("memory of a default stream is freed in its own context", "[device_buffer][pool]",
              (const Context &context)) {
    CUSHIM_TRY(const MemoryPool pool, MemoryPool::create(Device::from_native(0)));
    for (const bool legacy : {true, false}) {
        const Stream stream = legacy ? Stream::legacy() : Stream::per_thread();
        DeviceBuffer<int> buffer;
        PoolBuffer<int> pooled;
        {
            CUSHIM_TRY(const ContextScope scope, context.enter());
            CUSHIM_TRY(buffer, DeviceBuffer<int>::allocate_async(stream, 1000));
            CUSHIM_TRY_VOID(keep_busy(stream, buffer));
            CUSHIM_TRY(pooled, PoolBuffer<int>::allocate(pool, stream, 1000));
            CUSHIM_TRY_VOID(fill(stream, pooled.span(), 3));
        }
        CUSHIM_TRY_VOID(buffer.close());
        CUSHIM_TRY_VOID(pooled.close());
        CUSHIM_TRY(const ContextScope scope, context.enter());
        CUSHIM_TRY_VOID(stream.synchronize());
    }
    return {};
}

TEST_CASE("an ordered buffer or a copy with no elements makes no CUDA call", "[device_buffer]") {
    const auto context = context_after_restart("");
    const auto stream = ok(Stream::create(context));
    check_no_calls([&] {
        auto ordered = ok(DeviceBuffer<int>::allocate_async(stream, 0));
        CHECK(ordered.span().empty());
        CHECK(DeviceBuffer<int>::copy_of(context, {}).has_value());
        CHECK(ordered.release_after(stream).has_value());
        CHECK(ordered.free_async(stream).has_value());
    });
}

TEST_CASE("invalid sizes, streams and ranges of device memory are rejected", "[device_buffer]") {
    const auto context = context_after_restart("");
    const auto stream = ok(Stream::create(context));
    constexpr std::size_t many = std::numeric_limits<std::size_t>::max() / 4 + 1;
    const std::string numbers_in = std::to_string(many) + " elements of 4 bytes";
    check_refused(DeviceBuffer<int>::allocate_async(stream, many), numbers_in);
    check_refused(DeviceBuffer<int>::allocate_async(Stream(), 1), "Stream is empty");
    auto buffer = ok(DeviceBuffer<int>::allocate(context, 10));
    check_refused(buffer.free_async(Stream()), "Stream is empty");
    CHECK(static_cast<bool>(buffer));
    check_refused(buffer.span().subspan(11, 0), "11");
    CHECK(buffer.span().subspan(10, 0).has_value());
    constexpr std::size_t all = std::numeric_limits<std::size_t>::max();
    check_refused(buffer.span().subspan(1, all), "1");
    check_refused(DeviceBuffer<int>::allocate_zeroed(context, many), numbers_in);
    check_refused(DeviceBuffer<int>::allocate_zeroed_async(Stream(), 1), "Stream is empty");
}

TEST_CASE("parts of device memory, also as elements of another type", "[device_buffer]") {
    const DeviceSpan<const int> whole(1024, 10);
    CHECK(ok(whole.first(3)).native() == 1024);
    CHECK(ok(whole.first(3)).size() == 3);
    CHECK(ok(whole.last(3)).native() == 1024 + 28);
    CHECK(ok(whole.last(3)).size() == 3);
    CHECK(ok(whole.last(10)).native() == 1024);
    CHECK(ok(whole.last(0)).empty());
    check_refused(whole.first(11), "range [0, 11) exceeds the size of 10 elements");
    check_refused(whole.last(11), "range [0, 11) exceeds the size of 10 elements");

    CHECK(ok(whole.as<const double>()).size() == 5);
    CHECK(ok(whole.as<const unsigned char>()).size() == 40);
    CHECK(ok(DeviceSpan<int>(1024, 10).as<float>()).native() == 1024);
    check_refused(ok(whole.first(3)).as<const double>(),
                  "size 12 is not a multiple of the element size of 8 bytes");
    check_refused(ok(whole.last(5)).as<const Twelve>(),
                  "size 20 is not a multiple of the element size of 12 bytes");
    check_refused(ok(ok(whole.last(3)).first(2)).as<const double>(),
                  "address 0x41c is not a multiple of the element alignment of 8 bytes");
}
