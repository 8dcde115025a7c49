#include "harness/memory.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

using namespace api_test;
using namespace cushim;

CONTEXT_SCENARIO_TEST("pinned memory goes to the device and back", "[host_buffer]") {
    CUSHIM_TRY(const Stream stream, Stream::create(context, {.non_blocking = true}));
    CUSHIM_TRY(const auto buffer, DeviceBuffer<int>::allocate(context, 1000));
    CUSHIM_TRY(const auto sent, PinnedBuffer<int>::copy_of(context, numbers(1000)));
    CUSHIM_TRY(const auto received, PinnedBuffer<int>::allocate(context, 1000));
    CUSHIM_TRY_VOID(copy(stream, buffer.span(), sent));
    CUSHIM_TRY_VOID(copy(stream, received.span(), buffer));
    CUSHIM_TRY(const std::span<int> values, received.span_after(stream));
    CHECK(std::equal(values.begin(), values.end(), sent.begin(), sent.end()));
    return {};
}

CONTEXT_SCENARIO_TEST("pinned memory after an event", "[host_buffer]") {
    CUSHIM_TRY(const Stream stream, Stream::create(context, {.non_blocking = true}));
    CUSHIM_TRY(const Event done, Event::create(context, {.timing = false}));
    CUSHIM_TRY(const auto buffer, DeviceBuffer<int>::copy_of(context, numbers(100)));
    CUSHIM_TRY(const auto received, PinnedBuffer<int>::allocate(context, 100));
    CUSHIM_TRY_VOID(copy(stream, received.span(), buffer));
    CUSHIM_TRY_VOID(done.record(stream));
    CUSHIM_TRY(const std::span<int> values, received.span_after(done));
    CHECK(values[99] == 99);
    return {};
}

CONTEXT_SCENARIO_TEST("a pinned buffer is a range", "[host_buffer]") {
    CUSHIM_TRY(const auto buffer, PinnedBuffer<int>::allocate(context, 10));
    CHECK(std::accumulate(buffer.begin(), buffer.end(), 0) == 0);
    for (int &value : buffer) {
        value = 2;
    }
    const std::span<const int> view = buffer;
    CHECK(std::accumulate(view.begin(), view.end(), 0) == 20);
    CHECK(buffer.size_bytes() == 40);
    return {};
}

CONTEXT_SCENARIO_TEST("a pinned buffer as its options say", "[host_buffer]") {
    CUSHIM_TRY(const auto buffer, PinnedBuffer<int>::allocate(
                                      context, 10, {.portable = true, .write_combined = true}));
    CUSHIM_TRY(const unsigned int flags, buffer.flags());
    CHECK((flags & CU_MEMHOSTALLOC_PORTABLE) != 0);
    CHECK((flags & CU_MEMHOSTALLOC_WRITECOMBINED) != 0);
    return {};
}

// Without release_after() the simulator would tell of memory that was freed under queued work.
CONTEXT_SCENARIO_TEST("a pinned buffer waits for its stream before it goes", "[host_buffer]") {
    CUSHIM_TRY(const Stream stream, Stream::create(context, {.non_blocking = true}));
    CUSHIM_TRY(const auto target, DeviceBuffer<int>::allocate(context, 1000));
    {
        CUSHIM_TRY(auto source, PinnedBuffer<int>::copy_of(context, numbers(1000)));
        CUSHIM_TRY_VOID(source.release_after(stream));
        CUSHIM_TRY_VOID(copy(stream, target.span(), source));
    }
    CHECK_GIVES(read(context, target), numbers(1000));
    return {};
}

CONTEXT_SCENARIO_TEST("a pinned buffer that is given up is the caller's", "[host_buffer]") {
    CUSHIM_TRY(auto buffer, PinnedBuffer<int>::copy_of(context, numbers(10)));
    int *const data = static_cast<int *>(buffer.release());
    CHECK(buffer.empty());
    CUSHIM_TRY(auto adopted, PinnedBuffer<int>::adopt(context, data, 10));
    CHECK(adopted.data() == data);
    CHECK(adopted.span()[9] == 9);
    return adopted.close();
}

TEST_CASE("a pinned buffer of nothing", "[host_buffer]") {
    const auto context = context_after_restart("");
    const auto calls = calls_in([&] {
        auto buffer = required(PinnedBuffer<int>::allocate(context, 0));
        CHECK(buffer.empty());
        CHECK(buffer.begin() == buffer.end());
        CHECK(PinnedBuffer<int>::copy_of(context, {}).has_value());
        CHECK(PinnedBuffer<int>::adopt(context, nullptr, 0).has_value());
    });
    CHECK(calls.empty());
}

TEST_CASE("what no pinned buffer can be", "[host_buffer]") {
    const auto context = context_after_restart("");
    constexpr std::size_t many = std::numeric_limits<std::size_t>::max() / 2;
    CHECK(contains(refusal(PinnedBuffer<int>::allocate(context, many)), std::to_string(many)));
    CHECK(contains(refusal(PinnedBuffer<int>::allocate(Context(), 1)), "context"));
    CHECK(contains(refusal(PinnedBuffer<int>::adopt(context, nullptr, 3)),
                   "the address is null, the size is 12"));
    CHECK(contains(refusal(PinnedBuffer<int>().flags()), "empty"));
    const auto buffer = required(PinnedBuffer<int>::allocate(context, 1));
    CHECK(contains(refusal(buffer.release_after(Stream())), "stream"));
    CHECK(contains(refusal(buffer.release_after(Stream::legacy())), "default"));
}
