#include "harness/memory.hpp"

#include <algorithm>
#include <limits>

using namespace api_test;
using namespace cushim;

namespace {

// Managed memory that host and device may use at the same time, as these tests do.
Result<Context> context_of(const Trial &trial) {
    CUSHIM_TRY(Context context, Trial::context());
    CUSHIM_TRY(const Device device, context.device());
    CUSHIM_TRY(const int concurrent,
               device.attribute(CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS));
    if (concurrent == 0) {
        trial.skip("host and device cannot use managed memory at the same time");
    }
    return context;
}

template <class T>
Result<int> attribute(const Context &context, CUmem_range_attribute which,
                      const DeviceSpan<T> &span) {
    CUSHIM_TRY(const ContextScope scope, context.enter());
    int value = 0;
    const CUresult status = driver().cuMemRangeGetAttribute(&value, sizeof value, which,
                                                            span.address(), span.size_bytes());
    if (status != CUDA_SUCCESS) {
        return Error::status(Api::driver, status, "cuMemRangeGetAttribute");
    }
    return value;
}

bool all_are(std::span<const int> values, int expected) {
    return std::all_of(values.begin(), values.end(),
                       [expected](int value) { return value == expected; });
}

} // namespace

SCENARIO_TEST("managed memory is everybody's", "[managed_buffer]") {
    CUSHIM_TRY(const Context context, context_of(trial));
    CUSHIM_TRY(const Stream stream, Stream::create(context, {.non_blocking = true}));
    CUSHIM_TRY(const auto buffer, ManagedBuffer<int>::allocate(context, 1000));
    CHECK(buffer.size() == 1000);
    CHECK(buffer.size_bytes() == 4000);
    CHECK(reinterpret_cast<CUdeviceptr>(buffer.data()) == buffer.native());
    std::fill(buffer.host_span().begin(), buffer.host_span().end(), 1);
    CUSHIM_TRY_VOID(fill(stream, *buffer.device_span().subspan(500, 500), 2));
    CUSHIM_TRY(const std::span<int> values, buffer.host_span_after(stream));
    CHECK(all_are(values.first(500), 1));
    CHECK(all_are(values.last(500), 2));
    return {};
}

SCENARIO_TEST("managed memory after an event", "[managed_buffer]") {
    CUSHIM_TRY(const Context context, context_of(trial));
    CUSHIM_TRY(const Stream stream, Stream::create(context, {.non_blocking = true}));
    CUSHIM_TRY(const Event written, Event::create(context, {.timing = false}));
    CUSHIM_TRY(const auto buffer, ManagedBuffer<int>::allocate(context, 1000));
    CUSHIM_TRY_VOID(fill(stream, buffer.device_span(), 2));
    CUSHIM_TRY_VOID(written.record(stream));
    CUSHIM_TRY(const std::span<int> values, buffer.host_span_after(written));
    CHECK(all_are(values, 2));
    return {};
}

SCENARIO_TEST("managed memory goes where it is wanted", "[managed_buffer]") {
    CUSHIM_TRY(const Context context, context_of(trial));
    CUSHIM_TRY(const Device device, context.device());
    CUSHIM_TRY(const Stream stream, Stream::create(context, {.non_blocking = true}));
    CUSHIM_TRY(const auto buffer, ManagedBuffer<int>::allocate(context, 1 << 20));
    std::fill(buffer.host_span().begin(), buffer.host_span().end(), 1);
    constexpr auto last = CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION;
    CUSHIM_TRY_VOID(buffer.prefetch(stream, device));
    CUSHIM_TRY_VOID(stream.synchronize());
    CHECK_GIVES(attribute(context, last, buffer.device_span()), device.native());
    CUSHIM_TRY_VOID(buffer.prefetch(stream, ManagedLocation::host()));
    CUSHIM_TRY(const std::span<int> values, buffer.host_span_after(stream));
    CHECK_GIVES(attribute(context, last, buffer.device_span()), CU_DEVICE_CPU);
    CHECK(all_are(values, 1));
    return {};
}

SCENARIO_TEST("a part of managed memory goes where it is wanted", "[managed_buffer]") {
    CUSHIM_TRY(const Context context, context_of(trial));
    CUSHIM_TRY(const Device device, context.device());
    CUSHIM_TRY(const Stream stream, Stream::create(context, {.non_blocking = true}));
    constexpr std::size_t half = 1 << 20; // four MiB: whole pages of every size
    CUSHIM_TRY(const auto buffer, ManagedBuffer<int>::allocate(context, 2 * half));
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

SCENARIO_TEST("advice is taken and given up", "[managed_buffer]") {
    CUSHIM_TRY(const Context context, context_of(trial));
    CUSHIM_TRY(const Device device, context.device());
    constexpr std::size_t half = 1 << 20;
    CUSHIM_TRY(const auto buffer, ManagedBuffer<int>::allocate(context, 2 * half));
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

SCENARIO_TEST("managed memory is attached", "[managed_buffer]") {
    CUSHIM_TRY(const Context context, context_of(trial));
    CUSHIM_TRY(const Stream stream, Stream::create(context, {.non_blocking = true}));
    CUSHIM_TRY(const auto buffer,
               ManagedBuffer<int>::allocate(context, 100, {.attachment = ManagedAttachment::host}));
    std::fill(buffer.host_span().begin(), buffer.host_span().end(), 1);
    CUSHIM_TRY_VOID(buffer.attach(stream, ManagedAttachment::single));
    CUSHIM_TRY_VOID(fill(stream, buffer.device_span(), 2));
    CUSHIM_TRY(const std::span<int> values, buffer.host_span_after(stream));
    CHECK(all_are(values, 2));
    CUSHIM_TRY_VOID(buffer.attach(stream, ManagedAttachment::global));
    return stream.synchronize();
}

// Without release_after() the simulator would tell of memory that was freed under queued work.
SCENARIO_TEST("managed memory waits for its stream before it goes", "[managed_buffer]") {
    CUSHIM_TRY(const Context context, context_of(trial));
    CUSHIM_TRY(const Stream stream, Stream::create(context, {.non_blocking = true}));
    CUSHIM_TRY(auto buffer, ManagedBuffer<int>::allocate(context, 1000));
    CUSHIM_TRY_VOID(buffer.release_after(stream));
    CUSHIM_TRY_VOID(fill(stream, buffer.device_span(), 2));
    return buffer.close();
}

SCENARIO_TEST("managed memory keeps its context, and can be given up", "[managed_buffer]") {
    CUSHIM_TRY(const Context context, context_of(trial));
    ManagedBuffer<int> buffer;
    {
        CUSHIM_TRY(const Device device, context.device());
        CUSHIM_TRY(const Context created, Context::create(device));
        CUSHIM_TRY(buffer, ManagedBuffer<int>::allocate(created, 100));
    }
    CUSHIM_TRY_VOID(buffer.close());
    CUSHIM_TRY(buffer, ManagedBuffer<int>::allocate(context, 100));
    const CUdeviceptr address = buffer.release();
    CHECK(buffer.empty());
    CUSHIM_TRY(const auto adopted, ManagedBuffer<int>::adopt(context, address, 100));
    CHECK(adopted.size() == 100);
    return {};
}

TEST_CASE("a managed buffer of nothing", "[managed_buffer]") {
    const auto context = context_after_restart("");
    const auto stream = required(Stream::create(context));
    const auto device = Device::from_native(0);
    const auto calls = calls_in([&] {
        auto buffer = required(ManagedBuffer<int>::allocate(context, 0));
        CHECK(buffer.empty());
        CHECK(buffer.host_span().empty());
        CHECK(buffer.device_span().empty());
        CHECK(buffer.advise(CU_MEM_ADVISE_SET_READ_MOSTLY, device).has_value());
        CHECK(buffer.advise(CU_MEM_ADVISE_SET_READ_MOSTLY, device, 0, 0).has_value());
        CHECK(buffer.prefetch(stream, device).has_value());
        CHECK(buffer.prefetch(stream, device, 0, 0).has_value());
        CHECK(buffer.attach(stream, ManagedAttachment::single).has_value());
        CHECK(buffer.close().has_value());
    });
    CHECK(calls.empty());
}

TEST_CASE("what managed memory cannot be asked", "[managed_buffer]") {
    const auto context = context_after_restart("");
    const auto stream = required(Stream::create(context));
    const auto device = Device::from_native(0);
    constexpr std::size_t many = std::numeric_limits<std::size_t>::max() / 2;
    CHECK(contains(refusal(ManagedBuffer<int>::allocate(context, many)), std::to_string(many)));
    CHECK(contains(refusal(ManagedBuffer<int>::allocate(Context(), 1)), "context"));
    CHECK(contains(refusal(ManagedBuffer<int>::allocate(context, 1,
                                                        {.attachment = ManagedAttachment::single})),
                   "single"));
    CHECK(contains(refusal(ManagedBuffer<int>::adopt(context, 0, 2)),
                   "the address is null, the size is 8"));
    const auto buffer = required(ManagedBuffer<int>::allocate(context, 10));
    CHECK(contains(refusal(buffer.prefetch(Stream(), device)), "stream"));
    CHECK(contains(refusal(buffer.attach(Stream(), ManagedAttachment::global)), "stream"));
    CHECK(contains(refusal(buffer.prefetch(stream, device, 8, 3)), "range of 3 at offset 8"));
    CHECK(contains(refusal(buffer.advise(CU_MEM_ADVISE_SET_READ_MOSTLY, device, 11, 0)), "11"));
}
