#include "harness/memory.hpp"

#include <cushim/managed_buffer.hpp>

#include <algorithm>

using namespace api_test;
using namespace cushim;

namespace {

template <class T>
Result<int> attribute(const Context &context, CUmem_range_attribute which,
                      const DeviceSpan<T> &span) {
    CUSHIM_TRY(const ContextScope scope, context.enter());
    int value = 0;
    CUSHIM_TRY_VOID(answer(driver().cuMemRangeGetAttribute(&value, sizeof value, which,
                                                           span.native(), span.size_bytes()),
                           "cuMemRangeGetAttribute"));
    return value;
}

bool all_are(std::span<const int> values, int expected) {
    return std::all_of(values.begin(), values.end(),
                       [expected](int value) { return value == expected; });
}

} // namespace

SCENARIO_TEST("host and device write to managed memory", "[managed_buffer]",
              (const Context &context, const ConcurrentDevice &, const StreamAside &aside)) {
    const Stream &stream = aside.stream;
    CUSHIM_TRY(auto buffer, ManagedBuffer<int>::allocate(context, 1000));
    CHECK(buffer.size() == 1000);
    CHECK(buffer.size_bytes() == 4000);
    CHECK(reinterpret_cast<CUdeviceptr>(buffer.data()) == buffer.native());
    std::fill(buffer.span().begin(), buffer.span().end(), 1);
    CUSHIM_TRY_VOID(fill(stream, *buffer.device_span().subspan(500, 500), 2));
    CUSHIM_TRY(const std::span<int> values, buffer.synchronized_span(stream));
    CHECK(all_are(values.first(500), 1));
    CHECK(all_are(values.last(500), 2));
    return {};
}

SCENARIO_TEST("prefetch() moves managed memory to a device and back", "[managed_buffer]",
              (const Context &context, const ConcurrentDevice &device, const StreamAside &aside)) {
    const Stream &stream = aside.stream;
    CUSHIM_TRY(auto buffer, ManagedBuffer<int>::allocate(context, 1 << 20));
    std::fill(buffer.span().begin(), buffer.span().end(), 1);
    constexpr auto last = CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION;
    CUSHIM_TRY_VOID(buffer.prefetch(stream, device));
    CUSHIM_TRY_VOID(stream.synchronize());
    CUSHIM_TRY_VOID(check_gives(attribute(context, last, buffer.device_span()), device.native()));
    CUSHIM_TRY_VOID(buffer.prefetch(stream, ManagedLocation::host()));
    CUSHIM_TRY(const std::span<int> values, buffer.synchronized_span(stream));
    CUSHIM_TRY_VOID(check_gives(attribute(context, last, buffer.device_span()), CU_DEVICE_CPU));
    CHECK(all_are(values, 1));
    return {};
}

SCENARIO_TEST("prefetch() moves a part of managed memory", "[managed_buffer]",
              (const Context &context, const ConcurrentDevice &device, const StreamAside &aside)) {
    const Stream &stream = aside.stream;
    constexpr std::size_t half = 1 << 20; // 4 MiB: whole pages of every size
    CUSHIM_TRY(auto buffer, ManagedBuffer<int>::allocate(context, 2 * half));
    CUSHIM_TRY_VOID(buffer.prefetch(stream, ManagedLocation::host()));
    CUSHIM_TRY_VOID(buffer.prefetch(stream, device, half, half));
    CUSHIM_TRY_VOID(stream.synchronize());
    constexpr auto last = CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION;
    CUSHIM_TRY(const int first, attribute(context, last, *buffer.device_span().subspan(0, half)));
    CUSHIM_TRY(const int second,
               attribute(context, last, *buffer.device_span().subspan(half, half)));
    CHECK(first == CU_DEVICE_CPU);
    CHECK(second == device.native());
    return {};
}

SCENARIO_TEST("advice is set and unset for parts of managed memory", "[managed_buffer]",
              (const Context &context, const ConcurrentDevice &device)) {
    constexpr std::size_t half = 1 << 20;
    CUSHIM_TRY(auto buffer, ManagedBuffer<int>::allocate(context, 2 * half));
    const auto front = *buffer.device_span().subspan(0, half);
    const auto back = *buffer.device_span().subspan(half, half);

    CUSHIM_TRY_VOID(buffer.advise(CU_MEM_ADVISE_SET_PREFERRED_LOCATION, device));
    CUSHIM_TRY_VOID(
        buffer.advise(CU_MEM_ADVISE_SET_PREFERRED_LOCATION, ManagedLocation::host(), half, half));
    constexpr auto preferred = CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION;
    CUSHIM_TRY(const int of_front, attribute(context, preferred, front));
    CUSHIM_TRY(const int of_back, attribute(context, preferred, back));
    CHECK(of_front == device.native());
    CHECK(of_back == CU_DEVICE_CPU);

    constexpr auto read_mostly = CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY;
    CUSHIM_TRY_VOID(buffer.advise(CU_MEM_ADVISE_SET_READ_MOSTLY, device, 0, half));
    CUSHIM_TRY(const int set, attribute(context, read_mostly, front));
    CUSHIM_TRY(const int of_other, attribute(context, read_mostly, back));
    CUSHIM_TRY_VOID(buffer.advise(CU_MEM_ADVISE_UNSET_READ_MOSTLY, device));
    CUSHIM_TRY(const int unset, attribute(context, read_mostly, front));
    CHECK((set == 1 && of_other == 0 && unset == 0));
    return {};
}

SCENARIO_TEST("managed memory is attached to a stream", "[managed_buffer]",
              (const Context &context, const ConcurrentDevice &, const StreamAside &aside)) {
    const Stream &stream = aside.stream;
    CUSHIM_TRY(auto buffer,
               ManagedBuffer<int>::allocate(context, 100, {.attachment = ManagedAttachment::host}));
    std::fill(buffer.span().begin(), buffer.span().end(), 1);
    CUSHIM_TRY_VOID(buffer.attach(stream, ManagedAttachment::single));
    CUSHIM_TRY_VOID(fill(stream, buffer.device_span(), 2));
    CUSHIM_TRY(const std::span<int> values, buffer.synchronized_span(stream));
    CHECK(all_are(values, 2));
    CUSHIM_TRY_VOID(buffer.attach(stream, ManagedAttachment::global));
    return stream.synchronize();
}

TEST_CASE("a managed buffer of 0 elements makes no CUDA calls", "[managed_buffer]") {
    const auto context = context_after_restart("");
    const auto stream = ok(Stream::create(context));
    const auto device = Device::from_native(0);
    check_no_calls([&] {
        auto buffer = ok(ManagedBuffer<int>::allocate(context, 0));
        CHECK(buffer.span().empty());
        CHECK(buffer.device_span().empty());
        CHECK(buffer.advise(CU_MEM_ADVISE_SET_READ_MOSTLY, device).has_value());
        CHECK(buffer.advise(CU_MEM_ADVISE_SET_READ_MOSTLY, device, 0, 0).has_value());
        CHECK(buffer.prefetch(stream, device).has_value());
        CHECK(buffer.prefetch(stream, device, 0, 0).has_value());
        CHECK(buffer.attach(stream, ManagedAttachment::single).has_value());
        CHECK(buffer.close().has_value());
    });
}
