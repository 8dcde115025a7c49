#include "harness/memory.hpp"

#include <algorithm>
#include <limits>
#include <thread>

using namespace api_test;
using namespace cushim;

namespace {

// The end of a stream that is full of work.
Result<void> keep_busy(const Stream &stream, const DeviceBuffer<int> &buffer) {
    for (int round = 0; round < 4; ++round) {
        CUSHIM_TRY_VOID(fill(stream, buffer.span(), round));
    }
    return {};
}

} // namespace

CONTEXT_SCENARIO_TEST("device memory holds what it is given", "[device_buffer]") {
    CUSHIM_TRY(const auto buffer, DeviceBuffer<int>::copy_of(context, numbers(1000)));
    CHECK(buffer.size() == 1000);
    CHECK(buffer.size_bytes() == 4000);
    CHECK(static_cast<bool>(buffer));
    CHECK(buffer.native() == reinterpret_cast<CUdeviceptr>(buffer.data()));
    CHECK_GIVES(read(context, buffer), numbers(1000));
    return {};
}

CONTEXT_SCENARIO_TEST("device memory that is given up is the caller's", "[device_buffer]") {
    CUSHIM_TRY(auto buffer, DeviceBuffer<int>::copy_of(context, numbers(10)));
    const CUdeviceptr address = buffer.release();
    CHECK(buffer.empty());
    CUSHIM_TRY(const auto adopted, DeviceBuffer<int>::adopt(context, address, 10));
    CHECK_GIVES(read(context, adopted), numbers(10));
    return {};
}

SCENARIO_TEST("device memory keeps its context", "[device_buffer]") {
    DeviceBuffer<int> buffer;
    {
        CUSHIM_TRY(const Device device, Device::get(0));
        CUSHIM_TRY(const Context created, Context::create(device));
        CUSHIM_TRY(buffer, DeviceBuffer<int>::allocate(created, 100));
    }
    return buffer.close();
}

// Freed any earlier, it would be used after that.
CONTEXT_SCENARIO_TEST("stream-ordered memory goes in order of its stream", "[device_buffer]") {
    CUSHIM_TRY(const Stream stream, Stream::create(context, {.non_blocking = true}));
    CUSHIM_TRY(const auto result, DeviceBuffer<int>::allocate_async(stream, 1000));
    {
        CUSHIM_TRY(const auto scratch, DeviceBuffer<int>::allocate_async(stream, 1000));
        CUSHIM_TRY_VOID(fill(stream, scratch.span(), 5));
        CUSHIM_TRY_VOID(copy(stream, result.span(), scratch));
    }
    CUSHIM_TRY_VOID(stream.synchronize());
    CHECK_GIVES(read(context, result), std::vector<int>(1000, 5));
    return {};
}

SCENARIO_TEST("stream-ordered memory keeps its stream", "[device_buffer]") {
    DeviceBuffer<int> buffer;
    {
        CUSHIM_TRY(const Context context, trial.context());
        CUSHIM_TRY(const Stream stream, Stream::create(context, {.non_blocking = true}));
        CUSHIM_TRY(buffer, DeviceBuffer<int>::allocate_async(stream, 1000));
        CUSHIM_TRY_VOID(fill(stream, buffer.span(), 5));
    }
    return buffer.close();
}

CONTEXT_SCENARIO_TEST("memory is freed in order of another stream", "[device_buffer]") {
    CUSHIM_TRY(const Stream first, Stream::create(context, {.non_blocking = true}));
    CUSHIM_TRY(const Stream second, Stream::create(context, {.non_blocking = true}));
    CUSHIM_TRY(const Event between, Event::create(context, {.timing = false}));
    CUSHIM_TRY(const auto result, DeviceBuffer<int>::allocate(context, 100));
    CUSHIM_TRY(auto now, DeviceBuffer<int>::allocate_async(first, 100));
    CUSHIM_TRY(auto later, DeviceBuffer<int>::allocate_async(first, 100));
    CUSHIM_TRY_VOID(later.release_after(second));
    CUSHIM_TRY_VOID(fill(first, now.span(), 5));
    CUSHIM_TRY_VOID(fill(first, later.span(), 6));
    CUSHIM_TRY_VOID(between.record(first));
    CUSHIM_TRY_VOID(second.wait_event(between));
    CUSHIM_TRY_VOID(copy(second, *result.span().subspan(0, 50), *now.span().subspan(0, 50)));
    CUSHIM_TRY_VOID(copy(second, *result.span().subspan(50, 50), *later.span().subspan(0, 50)));
    CUSHIM_TRY_VOID(now.free_async(second));
    CHECK(now.empty());
    CUSHIM_TRY_VOID(now.free_async(second)); // nothing is left to free
    CUSHIM_TRY_VOID(later.close());
    CUSHIM_TRY_VOID(second.synchronize());
    CUSHIM_TRY(const auto values, read(context, result));
    CHECK(std::count(values.begin(), values.end(), 5) == 50);
    CHECK(std::count(values.begin(), values.end(), 6) == 50);
    return {};
}

CONTEXT_SCENARIO_TEST("plain memory is freed in order of a stream", "[device_buffer]") {
    CUSHIM_TRY(const Stream stream, Stream::create(context, {.non_blocking = true}));
    CUSHIM_TRY(auto buffer, DeviceBuffer<int>::allocate(context, 1000));
    CUSHIM_TRY_VOID(keep_busy(stream, buffer));
    CUSHIM_TRY_VOID(buffer.free_async(stream));
    CHECK_FALSE(static_cast<bool>(buffer));
    return stream.synchronize();
}

// Without release_after() the simulator would tell of memory that was freed under queued work.
CONTEXT_SCENARIO_TEST("plain memory waits for its stream before it goes", "[device_buffer]") {
    CUSHIM_TRY(const Stream idle, Stream::create(context, {.non_blocking = true}));
    CUSHIM_TRY(const auto buffer, DeviceBuffer<int>::allocate(context, 1000));
    CUSHIM_TRY_VOID(buffer.release_after(idle));
    {
        CUSHIM_TRY(const Stream stream, Stream::create(context, {.non_blocking = true}));
        CUSHIM_TRY_VOID(buffer.release_after(stream)); // the last one counts, and is kept
        CUSHIM_TRY_VOID(keep_busy(stream, buffer));
    }
    return {};
}

// The legacy stream is that of whatever context is current: when it is freed, another one is.
CONTEXT_SCENARIO_TEST("memory of a default stream goes in the context that it is of",
                      "[device_buffer]") {
    for (const bool legacy : {true, false}) {
        const Stream stream = legacy ? Stream::legacy() : Stream::per_thread();
        DeviceBuffer<int> buffer;
        {
            CUSHIM_TRY(const ContextScope scope, context.enter());
            CUSHIM_TRY(buffer, DeviceBuffer<int>::allocate_async(stream, 1000));
            CUSHIM_TRY_VOID(keep_busy(stream, buffer));
        }
        CUSHIM_TRY_VOID(buffer.close());
        CUSHIM_TRY(const ContextScope scope, context.enter());
        CUSHIM_TRY_VOID(stream.synchronize());
    }
    return {};
}

TEST_CASE("device memory goes in its own context, on any thread", "[device_buffer]") {
    restart("");
    const auto context = required(Context::create(Device::from_native(0)));
    auto buffer = DeviceBuffer<int>::allocate(context, 10);
    REQUIRE(buffer.has_value());
    CUcontext left = context.native();
    bool freed = false;
    std::thread([&, buffer = std::move(*buffer)]() mutable {
        freed = buffer.close().has_value();
        driver().cuCtxGetCurrent(&left);
    }).join();
    CHECK(freed);
    CHECK(left == nullptr);
}

TEST_CASE("a device buffer of nothing", "[device_buffer]") {
    const auto context = context_after_restart("");
    const auto stream = required(Stream::create(context));
    const auto calls = calls_in([&] {
        auto plain = required(DeviceBuffer<int>::allocate(context, 0));
        auto ordered = required(DeviceBuffer<int>::allocate_async(stream, 0));
        CHECK(plain.empty());
        CHECK(plain.native() == 0);
        CHECK(plain.span().empty());
        CHECK(DeviceBuffer<int>::copy_of(context, {}).has_value());
        CHECK(DeviceBuffer<int>::adopt(context, 0, 0).has_value());
        CHECK(plain.release_after(stream).has_value());
        CHECK(ordered.free_async(stream).has_value());
        CHECK(plain.close().has_value());
    });
    CHECK(calls.empty());
}

TEST_CASE("what no device buffer can be", "[device_buffer]") {
    const auto context = context_after_restart("");
    const auto stream = required(Stream::create(context));
    constexpr std::size_t many = std::numeric_limits<std::size_t>::max() / 4 + 1;
    const std::string numbers_in = std::to_string(many) + " elements of 4 bytes";
    CHECK(contains(refusal(DeviceBuffer<int>::allocate(context, many)), numbers_in));
    CHECK(contains(refusal(DeviceBuffer<int>::allocate_async(stream, many)), numbers_in));
    CHECK(contains(refusal(DeviceBuffer<int>::allocate_async(Stream(), 1)), "stream"));
    CHECK(contains(refusal(DeviceBuffer<int>::adopt(context, 0, 2)),
                   "the address is null, the size is 8"));
    CHECK(contains(refusal(DeviceBuffer<int>::adopt(Context(), 16, 2)), "context"));
    auto buffer = required(DeviceBuffer<int>::allocate(context, 10));
    CHECK(contains(refusal(buffer.free_async(Stream())), "stream"));
    CHECK(contains(refusal(buffer.release_after(Stream::per_thread())), "default"));
    CHECK(static_cast<bool>(buffer));
    CHECK(contains(refusal(buffer.span().subspan(8, 3)),
                   "range of 3 at offset 8 exceeds the size, 10"));
    CHECK(contains(refusal(buffer.span().subspan(11, 0)), "11"));
    CHECK(buffer.span().subspan(10, 0).has_value());
    constexpr std::size_t all = std::numeric_limits<std::size_t>::max();
    CHECK(contains(refusal(buffer.span().subspan(1, all)), "1"));
}

TEST_CASE("more memory than there is", "[device_buffer]") {
    const auto context = context_after_restart("");
    CHECK(error_of(DeviceBuffer<char>::allocate(context, std::size_t{1} << 50)).kind() ==
          ErrorKind::out_of_memory);
}
