#include "harness/memory.hpp"

#include <cushim/device_buffer.hpp>
#include <cushim/graph_memory.hpp>
#include <cushim/growable_buffer.hpp>
#include <cushim/host_mapped_buffer.hpp>
#include <cushim/managed_buffer.hpp>
#include <cushim/memory_pool.hpp>
#include <cushim/pinned_buffer.hpp>
#include <cushim/pool_buffer.hpp>

#include <algorithm>
#include <array>
#include <limits>
#include <utility>
#include <vector>

using namespace api_test;
using namespace cushim;

namespace {

// Reads the memory in a stream that does not wait for the default streams.
Result<std::vector<int>> seen_aside(const Context &context, DeviceSpan<const int> span) {
    CUSHIM_TRY(const Stream aside, Stream::create(context, {.non_blocking = true}));
    std::vector<int> values(span.size());
    CUSHIM_TRY_VOID(copy(aside, std::span(values), span));
    CUSHIM_TRY_VOID(aside.synchronize());
    return values;
}

struct Pair {
    short first;
    short second;
    friend bool operator==(const Pair &, const Pair &) = default;
};

template <class T>
Result<void> check_fill(const Context &context, const Stream &stream, const T &one, const T &two) {
    CUSHIM_TRY(auto buffer, DeviceBuffer<T>::allocate(context, 100));
    CUSHIM_TRY_VOID(fill(context, buffer.span(), one));
    CUSHIM_TRY_VOID(fill(stream, *buffer.span().subspan(50, 50), two));
    CUSHIM_TRY_VOID(stream.synchronize());
    std::array<T, 100> values{};
    CUSHIM_TRY_VOID(copy(context, std::span(values), buffer.span()));
    CHECK((values[0] == one && values[49] == one));
    CHECK((values[50] == two && values[99] == two));
    return {};
}

} // namespace

// CUDA returns once it has read pageable memory, before the data has arrived.
SCENARIO_TEST("copies and fills in a context have completed on return", "[copy]",
              (const Context &context)) {
    CUSHIM_TRY(auto buffer, DeviceBuffer<int>::allocate(context, 1000));
    CUSHIM_TRY_VOID(copy(context, buffer.span(), numbers(1000)));
    CUSHIM_TRY_VOID(check_gives(seen_aside(context, buffer), numbers(1000)));
    CUSHIM_TRY(auto other, DeviceBuffer<int>::allocate(context, 1000));
    CUSHIM_TRY_VOID(copy(context, other.span(), buffer)); // within the device
    CUSHIM_TRY_VOID(check_gives(seen_aside(context, other), numbers(1000)));
    CUSHIM_TRY_VOID(fill(context, buffer.span(), 9));
    return check_gives(seen_aside(context, buffer), std::vector<int>(1000, 9));
}

SCENARIO_TEST("a copy in a context runs after work in its blocking streams", "[copy]",
              (const Context &context, const Stream &stream)) {
    CUSHIM_TRY(auto buffer, DeviceBuffer<int>::allocate(context, 100));
    CUSHIM_TRY_VOID(fill(stream, buffer.span(), 3));
    return check_filled(context, buffer, 3);
}

// CUDA rejects pool memory if the current context is of another device.
SCENARIO_TEST("copies run in stream order, for pool memory and borrowed streams, too", "[copy]",
              (const Context &context, const StreamAside &aside)) {
    const Stream &stream = aside.stream;
    CUSHIM_TRY(auto sent, PinnedBuffer<int>::copy_of(context, numbers(100)));
    for (const bool pooled : {false, true}) {
        const auto allocate = [&] {
            return pooled ? DeviceBuffer<int>::allocate_async(stream, 100)
                          : DeviceBuffer<int>::allocate(context, 100);
        };
        CUSHIM_TRY(auto received, PinnedBuffer<int>::allocate(context, 100));
        CUSHIM_TRY(auto first, allocate());
        CUSHIM_TRY(auto second, allocate());
        CUSHIM_TRY_VOID(first.release_after(stream));
        CUSHIM_TRY_VOID(second.release_after(stream));
        const Stream in = pooled ? Stream::borrow(stream.native()) : stream.share();
        CUSHIM_TRY_VOID(copy(in, first.span(), sent));
        CUSHIM_TRY_VOID(copy(in, second.span(), first));
        CUSHIM_TRY_VOID(fill(in, first.span(), 0));
        CUSHIM_TRY_VOID(copy(in, received.span(), second));
        CUSHIM_TRY_VOID(stream.synchronize());
        CHECK(received.span()[99] == 99);
    }
    return {};
}

SCENARIO_TEST("parts of memory are copied", "[copy]", (const Context &context)) {
    CUSHIM_TRY(auto buffer, DeviceBuffer<int>::copy_of(context, numbers(100)));
    CUSHIM_TRY(const auto middle, buffer.span().subspan(40, 3));
    std::array<int, 3> values{};
    CUSHIM_TRY_VOID(copy(context, std::span(values), middle)); // a span of static extent
    CHECK(values == std::array{40, 41, 42});
    CUSHIM_TRY(const auto elsewhere, buffer.span().subspan(43, 3));
    CUSHIM_TRY_VOID(copy(context, elsewhere, middle)); // adjacent
    CUSHIM_TRY_VOID(copy(context, middle, elsewhere)); // adjacent, in the other direction
    CUSHIM_TRY_VOID(copy(context, std::span(values), elsewhere));
    CHECK(values == std::array{40, 41, 42});
    return {};
}

SCENARIO_TEST("memory is filled with elements of every size", "[copy]",
              (const Context &context, const StreamAside &aside)) {
    const Stream &stream = aside.stream;
    CUSHIM_TRY_VOID(check_fill<signed char>(context, stream, -1, 2));
    CUSHIM_TRY_VOID(check_fill<bool>(context, stream, false, true));
    CUSHIM_TRY_VOID(check_fill<unsigned short>(context, stream, 0x1234, 0xfedc));
    CUSHIM_TRY_VOID(check_fill<float>(context, stream, 1.5F, -2.5F));
    CUSHIM_TRY_VOID(
        check_fill<double>(context, stream, 0.0, -2.5)); // both halves are equal, or not
    CUSHIM_TRY_VOID(check_fill<long long>(context, stream, -1, 0x123456789abcdef0));
    return check_fill<Pair>(context, stream, {1, 2}, {3, 4});
}

SCENARIO_TEST("memory is copied between devices", "[copy]", (Trial &trial), "devices=2") {
    CUSHIM_TRY_VOID(trial.needs_devices(2));
    CUSHIM_TRY(const Device second, Device::get(1));
    CUSHIM_TRY(const Context here, trial.context());
    CUSHIM_TRY(const Context there, Context::primary(second));
    CUSHIM_TRY(auto source, DeviceBuffer<int>::copy_of(here, numbers(1000)));
    CUSHIM_TRY(auto middle, DeviceBuffer<int>::allocate(there, 1000));
    CUSHIM_TRY(auto target, DeviceBuffer<int>::allocate(here, 1000));
    CUSHIM_TRY_VOID(copy(here, middle.span(), source));
    CUSHIM_TRY_VOID(check_gives(seen_aside(there, middle), numbers(1000)));
    CUSHIM_TRY(const Stream stream, Stream::create(there, {.non_blocking = true}));
    CUSHIM_TRY_VOID(copy(stream, target.span(), middle));
    CUSHIM_TRY_VOID(stream.synchronize());
    return check_gives(seen_aside(here, target), numbers(1000));
}

SCENARIO_TEST("memory is copied between contexts", "[copy]", (Trial &trial)) {
    CUSHIM_TRY(const Device device, Device::get(0));
    CUSHIM_TRY(const Context first, Context::create(device));
    CUSHIM_TRY(const Context second, trial.context());
    CUSHIM_TRY(auto source, DeviceBuffer<int>::copy_of(first, numbers(100)));
    CUSHIM_TRY(auto target, DeviceBuffer<int>::allocate(second, 100));
    CUSHIM_TRY_VOID(copy(second, target.span(), source));
    return check_gives(seen_aside(second, target), numbers(100));
}

TEST_CASE("a copy in a stream is asynchronous", "[copy]") {
    need_simulator("needs the simulator, which decides when enqueued work runs");
    const auto context = context_after_restart("mode=adversarial");
    const auto stream = ok(Stream::create(context));
    auto buffer = ok(DeviceBuffer<int>::copy_of(context, numbers(10)));
    auto pinned = ok(PinnedBuffer<int>::allocate(context, 10));
    REQUIRE(copy(stream, pinned.span(), buffer.span()).has_value());
    CHECK(pinned.span()[9] == 0);
    REQUIRE(stream.synchronize().has_value());
    CHECK(pinned.span()[9] == 9);
}

TEST_CASE("copies and fills of 0 elements make no CUDA calls", "[copy]") {
    const auto context = context_after_restart("");
    const auto stream = ok(Stream::create(context));
    const std::vector<int> none;
    check_no_calls([&] {
        CHECK(copy(context, DeviceSpan<int>(), none).has_value());
        CHECK(copy(stream, DeviceSpan<int>(), none).has_value());
        CHECK(copy(context, std::span<int>(), DeviceSpan<int>()).has_value());
        CHECK(copy(stream, std::span<int>(), DeviceSpan<int>()).has_value());
        CHECK(copy(context, DeviceSpan<int>(16, 0), DeviceSpan<int>(16, 0)).has_value());
        CHECK(copy(stream, DeviceSpan<int>(16, 0), DeviceSpan<int>(16, 0)).has_value());
        CHECK(fill(context, DeviceSpan<int>(), 1).has_value());
        CHECK(fill(stream, DeviceSpan<int>(), 1).has_value());
    });
    check_refused(copy(Context(), DeviceSpan<int>(), none), "Context is empty");
    check_refused(copy(Stream(), DeviceSpan<int>(), none), "Stream is empty");
    check_refused(fill(Context(), DeviceSpan<int>(), 1), "Context is empty");
    check_refused(fill(Stream(), DeviceSpan<int>(), 1), "Stream is empty");
}

TEST_CASE("copies of different sizes or of overlapping memory are rejected", "[copy]") {
    const auto context = context_after_restart("");
    const auto stream = ok(Stream::create(context));
    auto buffer = ok(DeviceBuffer<int>::copy_of(context, numbers(10)));
    std::vector<int> values(9);
    check_no_calls([&] {
        check_refused(copy(context, std::span(values), buffer.span()), "source 10, destination 9");
        check_refused(copy(stream, buffer.span(), values), "source 9, destination 10");
        const auto first = *buffer.span().subspan(0, 6);
        const auto second = *buffer.span().subspan(4, 6);
        for (const auto &[to, from] : {std::pair(first, second), {second, first}, {first, first}}) {
            check_refused(copy(context, to, from), ") overlap");
            check_refused(copy(stream, to, from), "overlap");
        }
        // From unchecked constructors.
        constexpr std::size_t many = std::numeric_limits<std::size_t>::max() / 2;
        const DeviceSpan<int> large(buffer.native(), many), other(buffer.native() + 4, many);
        check_refused(copy(stream, large, other), std::to_string(many));
        check_refused(fill(context, large, 1), std::to_string(many));
    });
}

SCENARIO_TEST("a buffer determines the context of its copies and fills", "[copy]",
              (const Context &context)) {
    CUSHIM_TRY(auto buffer, DeviceBuffer<int>::allocate(context, 1000));
    CUSHIM_TRY_VOID(cushim::copy(buffer, numbers(1000)));
    CUSHIM_TRY_VOID(check_gives(seen_aside(context, buffer), numbers(1000)));
    CUSHIM_TRY_VOID(check_gives(buffer.to_vector(), numbers(1000)));
    CUSHIM_TRY(auto pinned, PinnedBuffer<int>::allocate(context, 1000));
    CUSHIM_TRY_VOID(cushim::copy(pinned, std::as_const(buffer).span()));
    CUSHIM_TRY_VOID(check_gives(pinned.to_vector(), numbers(1000)));
    CUSHIM_TRY_VOID(cushim::fill(buffer, 9));
    CUSHIM_TRY_VOID(check_gives(seen_aside(context, buffer), std::vector<int>(1000, 9)));
    CUSHIM_TRY(auto other, DeviceBuffer<int>::allocate(context, 1000));
    CUSHIM_TRY_VOID(cushim::copy(other, buffer));
    return check_gives(other.to_vector(), std::vector<int>(1000, 9));
}

SCENARIO_TEST("memory allocated in stream order is copied and filled in its stream", "[copy]",
              (const Context &context, const StreamAside &aside)) {
    const Stream &stream = aside.stream;
    CUSHIM_TRY(const Device device, context.device());
    CUSHIM_TRY(const MemoryPool pool, MemoryPool::create(device));
    CUSHIM_TRY(const ContextScope scope, context.enter()); // for the default streams
    for (const Stream &in : {stream.share(), Stream::borrow(stream.native()), Stream::legacy(),
                             Stream::per_thread()}) {
        CUSHIM_TRY(auto first, DeviceBuffer<int>::allocate_async(in, 1000));
        CUSHIM_TRY(auto second, PoolBuffer<int>::allocate(pool, in, 1000));
        CUSHIM_TRY_VOID(cushim::copy(first, numbers(1000)));
        CUSHIM_TRY_VOID(cushim::copy(second, first));
        CUSHIM_TRY_VOID(check_gives(second.to_vector(), numbers(1000)));
        CUSHIM_TRY_VOID(cushim::fill(second, 4));
        CUSHIM_TRY_VOID(check_gives(second.to_vector(), std::vector<int>(1000, 4)));
        CUSHIM_TRY_VOID(first.close());
        CUSHIM_TRY_VOID(second.close());
    }
    return {};
}

TEST_CASE("a copy or a fill without a context enqueues and waits in the memory's stream",
          "[copy]") {
    need_simulator("needs the simulator, which records the calls");
    const auto context = context_after_restart("mode=adversarial");
    const auto stream = ok(Stream::create(context, {.non_blocking = true}));
    const auto other = ok(Stream::create(context, {.non_blocking = true}));
    auto buffer = ok(DeviceBuffer<int>::allocate_async(stream, 10));
    using Calls = std::vector<std::string>;
    CHECK(destroying_calls_in([&] { REQUIRE(cushim::fill(buffer, 7).has_value()); }) ==
          Calls{"cuMemsetD32Async", "cuStreamSynchronize"});
    CHECK(destroying_calls_in([&] { REQUIRE(cushim::copy(buffer, numbers(10)).has_value()); }) ==
          Calls{"cuMemcpyHtoDAsync_v2", "cuStreamSynchronize"});
    std::vector<int> values;
    CHECK(destroying_calls_in([&] { values = ok(buffer.to_vector()); }) ==
          Calls{"cuMemcpyDtoHAsync_v2", "cuStreamSynchronize"});
    CHECK(values == numbers(10));
    // The memory in a device has precedence, and of two the destination.
    auto pinned = ok(PinnedBuffer<int>::allocate(context, 10));
    CHECK(destroying_calls_in([&] { REQUIRE(cushim::copy(pinned, buffer).has_value()); }) ==
          Calls{"cuMemcpyDtoHAsync_v2", "cuStreamSynchronize"});
    auto plain = ok(DeviceBuffer<int>::allocate(context, 10));
    CHECK(destroying_calls_in([&] { REQUIRE(cushim::copy(plain, buffer).has_value()); }) ==
          Calls{"cuMemcpy", "cuStreamSynchronize"});
}

SCENARIO_TEST("every kind of memory is copied without a context", "[copy]",
              (const Context &context)) {
    CUSHIM_TRY(const Device device, context.device());
    CUSHIM_TRY(auto source, DeviceBuffer<int>::copy_of(context, numbers(100)));
    CUSHIM_TRY(auto mapped, HostMappedBuffer<int>::allocate(context, 100));
    CUSHIM_TRY(auto managed, ManagedBuffer<int>::allocate(context, 100));
    CUSHIM_TRY_VOID(cushim::copy(mapped, source));
    CUSHIM_TRY_VOID(cushim::copy(managed, source));
    CUSHIM_TRY_VOID(check_gives(mapped.to_vector(), numbers(100)));
    CUSHIM_TRY_VOID(check_gives(managed.to_vector(), numbers(100)));
    CUSHIM_TRY_VOID(cushim::fill(source, 0));
    CUSHIM_TRY_VOID(cushim::copy(source, mapped));
    CUSHIM_TRY_VOID(check_gives(source.to_vector(), numbers(100)));
    CUSHIM_TRY_VOID(cushim::fill(source, 0));
    CUSHIM_TRY_VOID(cushim::copy(source, managed));
    CUSHIM_TRY_VOID(check_gives(source.to_vector(), numbers(100)));
    CUSHIM_TRY(auto growing, GrowableBuffer<int>::create(device, 100));
    CUSHIM_TRY_VOID(growing.resize(100));
    CUSHIM_TRY_VOID(cushim::copy(growing, numbers(100)));
    CUSHIM_TRY_VOID(check_gives(growing.to_vector(), numbers(100)));
    CUSHIM_TRY_VOID(cushim::fill(growing, 5));
    return check_gives(growing.to_vector(), std::vector<int>(100, 5));
}

TEST_CASE("copies and fills of buffers without memory fail or do nothing", "[copy]") {
    const auto context = context_after_restart("");
    auto buffer = ok(DeviceBuffer<int>::allocate(context, 10));
    REQUIRE(buffer.close().has_value());
    std::vector<int> values(10), none;
    check_no_calls([&] {
        check_refused(cushim::copy(buffer, values), "source 10, destination 0");
        check_refused(cushim::copy(values, buffer), "source 0, destination 10");
        CHECK(cushim::copy(buffer, none).has_value());
        CHECK(cushim::fill(buffer, 1).has_value());
        CHECK(ok(buffer.to_vector()).empty());
    });
}

SCENARIO_TEST("copies and fills accept buffers and ranges", "[copy]",
              (const Context &context, const Stream &stream)) {
    CUSHIM_TRY(auto first, DeviceBuffer<int>::allocate(context, 100));
    CUSHIM_TRY(auto second, DeviceBuffer<int>::allocate(context, 100));
    const std::vector<int> values = numbers(100);
    CUSHIM_TRY_VOID(copy(context, first, values));
    CUSHIM_TRY_VOID(copy(stream, second, first));
    std::vector<int> seen(100);
    CUSHIM_TRY_VOID(copy(stream, seen, second));
    CUSHIM_TRY_VOID(stream.synchronize());
    CHECK(seen == values);
    CUSHIM_TRY_VOID(fill(context, first, 7));
    std::array<int, 100> sevens{};
    CUSHIM_TRY_VOID(copy(context, sevens, first));
    CHECK(std::count(sevens.begin(), sevens.end(), 7) == 100);
    CUSHIM_TRY(auto pinned, PinnedBuffer<int>::allocate(context, 100));
    CUSHIM_TRY_VOID(copy(context, pinned, second));
    CHECK(std::equal(values.begin(), values.end(), pinned.span().begin()));
    return {};
}

namespace {

template <class To, class From>
concept Copies = requires(const Stream &stream, To &&to, From &&from) {
    copy(stream, std::forward<To>(to), std::forward<From>(from));
};
static_assert(Copies<std::vector<int> &, DeviceBuffer<int> &>);
static_assert(Copies<DeviceBuffer<int> &, const std::vector<int> &>);
static_assert(!Copies<std::vector<int>, DeviceBuffer<int> &>);
static_assert(!Copies<const std::vector<int> &, DeviceBuffer<int> &>);
static_assert(!Copies<std::vector<short> &, DeviceBuffer<int> &>);
static_assert(!Copies<std::vector<int> &, std::vector<int> &>);

struct alignas(512) Wide {
    char bytes[512];
};
template <template <class> class Buffer, class T>
concept Exists = requires { typename Buffer<T>; };
static_assert(Exists<DeviceBuffer, int> && !Exists<DeviceBuffer, Wide>);
static_assert(!Exists<PoolBuffer, Wide> && !Exists<ManagedBuffer, Wide>);
static_assert(!Exists<PinnedBuffer, Wide> && !Exists<HostMappedBuffer, Wide>);
static_assert(!Exists<GrowableBuffer, Wide> && !Exists<GraphAllocation, Wide>);

} // namespace
