// Tests of every kind of buffer that is allocated in a context.
#include "harness/memory.hpp"
#include "harness/spied_call.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <thread>

#include <catch2/catch_template_test_macros.hpp>
#include <cushim/device_buffer.hpp>
#include <cushim/host_mapped_buffer.hpp>
#include <cushim/managed_buffer.hpp>
#include <cushim/pinned_buffer.hpp>

using namespace api_test;
using namespace cushim;

#define EACH_BUFFER DeviceBuffer<int>, PinnedBuffer<int>, HostMappedBuffer<int>, ManagedBuffer<int>
// Buffers with memory that the host reads.
#define EACH_HOST_BUFFER PinnedBuffer<int>, HostMappedBuffer<int>, ManagedBuffer<int>

namespace {

// Enqueues work that writes 7 to every element.
Result<void> write_sevens(const Stream &stream, DeviceBuffer<int> &buffer) {
    return fill(stream, buffer.span(), 7);
}
Result<void> write_sevens(const Stream &stream, PinnedBuffer<int> &buffer) {
    CUSHIM_TRY(auto sevens, DeviceBuffer<int>::allocate_async(stream, buffer.size()));
    CUSHIM_TRY_VOID(fill(stream, sevens.span(), 7));
    return copy(stream, buffer.span(), sevens);
}
template <class Buffer>
Result<void> write_sevens(const Stream &stream, Buffer &buffer) {
    return fill(stream, buffer.device_span(), 7);
}

template <class Buffer>
Result<Buffer> adopt(const Context &context, CUdeviceptr native, std::size_t size) {
    return Buffer::adopt(context, native, size);
}
template <class Buffer>
Result<Buffer> adopt(const Context &context, void *native, std::size_t size) {
    return Buffer::adopt(context, static_cast<int *>(native), size);
}
void free(CUdeviceptr native) {
    driver().cuMemFree(native);
}
void free(void *native) {
    driver().cuMemFreeHost(native);
}

// Skips managed memory on systems where host and device cannot use it at the same time.
template <class Buffer>
Result<void> need_concurrent_access(const Trial &trial, const Context &context) {
    if constexpr (std::is_same_v<Buffer, ManagedBuffer<int>>) {
        CUSHIM_TRY(const Device device, context.device());
        CUSHIM_TRY(const int concurrent,
                   device.attribute(CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS));
        if (concurrent == 0) {
            trial.skip("host and device cannot use managed memory at the same time");
        }
    }
    return {};
}

// Without release_after() the simulator would report memory that is freed while work uses it.
template <class Buffer>
Result<void> waits_for_stream(Trial &, const Context &context, const StreamAside &aside) {
    const Stream &stream = aside.stream;
    CUSHIM_TRY(const Stream idle, Stream::create(context, {.non_blocking = true}));
    CUSHIM_TRY(auto buffer, Buffer::allocate(context, 1000));
    CUSHIM_TRY_VOID(buffer.release_after(idle));
    CUSHIM_TRY_VOID(buffer.release_after(stream)); // replaces `idle`
    CUSHIM_TRY_VOID(write_sevens(stream, buffer));
    return buffer.close();
}

template <class Buffer>
Result<void> keeps_its_context(Trial &) {
    Buffer buffer;
    {
        CUSHIM_TRY(const Device device, Device::get(0));
        CUSHIM_TRY(const Context created, Context::create(device));
        CUSHIM_TRY(buffer, Buffer::allocate(created, 100));
    }
    return buffer.close();
}

template <class Buffer>
Result<void> is_given_up(Trial &trial, const Context &context, const StreamAside &aside) {
    const Stream &stream = aside.stream;
    CUSHIM_TRY_VOID(need_concurrent_access<Buffer>(trial, context));
    CUSHIM_TRY(auto buffer, Buffer::allocate(context, 10));
    CUSHIM_TRY_VOID(write_sevens(stream, buffer));
    CUSHIM_TRY_VOID(stream.synchronize());
    const auto native = buffer.release();
    CHECK(buffer.empty());
    auto adopted = adopt<Buffer>(context, native, 10);
    if (!adopted) {                         // a failed adopt() leaves ownership to the caller
        const auto scope = context.enter(); // without it, the memory is freed all the same
        free(native);
        return adopted.error();
    }
    CHECK(adopted->size() == 10);
    CHECK(adopted->native() == native);
    if constexpr (std::is_same_v<Buffer, DeviceBuffer<int>>) {
        CUSHIM_TRY_VOID(check_filled(context, *adopted, 7));
    } else {
        CHECK(adopted->span()[9] == 7);
    }
    return adopted->close();
}

template <class Buffer>
Result<void> is_read_after(Trial &trial, const Context &context, const StreamAside &aside) {
    const Stream &stream = aside.stream;
    CUSHIM_TRY_VOID(need_concurrent_access<Buffer>(trial, context));
    const auto are = [](std::span<const int> values, int value) {
        return std::vector<int>(values.begin(), values.end()) ==
               std::vector<int>(values.size(), value);
    };
    CUSHIM_TRY(const Event written, Event::create(context, {.timing = false}));
    CUSHIM_TRY(auto buffer, Buffer::allocate(context, 1000));
    CUSHIM_TRY_VOID(write_sevens(stream, buffer));
    CUSHIM_TRY(const std::span<int> values, buffer.synchronized_span(stream));
    CHECK(values.data() == buffer.span().data());
    CHECK(are(values, 7));
    CUSHIM_TRY(auto other, Buffer::allocate(context, 1000));
    CUSHIM_TRY_VOID(other.release_after(stream));
    CUSHIM_TRY(auto another, Buffer::allocate(context, 1000));
    CUSHIM_TRY_VOID(another.release_after(stream));
    CUSHIM_TRY_VOID(write_sevens(stream, other));
    CUSHIM_TRY_VOID(written.record(stream));
    CUSHIM_TRY_VOID(write_sevens(stream, another)); // after the event
    CUSHIM_TRY(const std::span<int> later, other.synchronized_span(written));
    CHECK(are(later, 7));
    return {};
}

int frees = 0;
CUcontext freed_in = nullptr; // host memory

} // namespace

TEMPLATE_TEST_CASE("a buffer waits for its stream before it is freed", "[buffers]", EACH_BUFFER) {
    run_scenario("it waits for its stream", with_fixtures<waits_for_stream<TestType>>);
}

TEMPLATE_TEST_CASE("a buffer keeps its context alive", "[buffers][Z2]", EACH_BUFFER) {
    run_scenario("it keeps its context alive", keeps_its_context<TestType>);
}

TEMPLATE_TEST_CASE("released memory can be adopted again", "[buffers]", EACH_BUFFER) {
    run_scenario("it is released and adopted", with_fixtures<is_given_up<TestType>>);
}

TEMPLATE_TEST_CASE("the host reads memory after a stream or an event", "[buffers][Z5]",
                   EACH_HOST_BUFFER) {
    run_scenario("it is read after a stream", with_fixtures<is_read_after<TestType>>);
}

TEMPLATE_TEST_CASE("a buffer is freed once on any thread, host memory in its own context",
                   "[buffers][Z6]", EACH_BUFFER) {
    restart("");
    const auto context = ok(Context::create(Device::from_native(0)));
    frees = 0;
    freed_in = nullptr;
    const SpiedCall<entry::cuMemFree> of_device([](CUdeviceptr) { ++frees; });
    const SpiedCall<entry::cuMemFreeHost> of_host([](void *) {
        ++frees;
        driver().cuCtxGetCurrent(&freed_in);
    });
    auto made = ok(TestType::allocate(context, 10));
    TestType buffer = std::move(made);
    CHECK_FALSE(static_cast<bool>(made));
    CHECK(made.size() == 0);
    CHECK(buffer.size() == 10);
    CUcontext left = context.native();
    bool closed = false;
    std::thread([&, buffer = std::move(buffer)]() mutable {
        closed = buffer.close().has_value() && buffer.close().has_value();
        driver().cuCtxGetCurrent(&left);
    }).join();
    CHECK(closed);
    CHECK(frees == 1);
    constexpr bool is_of_host = std::is_pointer_v<decltype(made.native())>;
    CHECK(freed_in == (is_of_host ? context.native() : nullptr));
    CHECK(left == nullptr);
}

TEMPLATE_TEST_CASE("a buffer with no elements makes no CUDA call", "[buffers][Z2][Z3]",
                   EACH_BUFFER) {
    const auto context = context_after_restart("");
    check_no_calls([&] {
        auto buffer = ok(TestType::allocate(context, 0));
        CHECK(buffer.empty());
        CHECK(buffer.size() == 0);
        CHECK(buffer.size_bytes() == 0);
        CHECK(buffer.native() == decltype(buffer.native()){});
        CHECK(TestType::adopt(context, {}, 0).has_value());
        CHECK(buffer.close().has_value());
    });
    CHECK(refused(TestType::allocate(Context(), 0)));
}

TEMPLATE_TEST_CASE("invalid sizes, addresses, contexts and streams are rejected", "[buffers][Z2]",
                   EACH_BUFFER) {
    const auto context = context_after_restart("");
    constexpr std::size_t many = std::numeric_limits<std::size_t>::max() / 4 + 1;
    check_no_calls([&] {
        check_refused(TestType::allocate(context, many),
                      std::to_string(many) + " elements of 4 bytes");
        check_refused(TestType::allocate(Context(), 1), "Context is empty");
        check_refused(TestType::adopt(context, {}, 3),
                      "the address is null, but the size is 12 bytes");
        check_refused(TestType::adopt(Context(), {}, 3), "Context is empty");
    });
    auto buffer = ok(TestType::allocate(context, 10));
    CHECK(buffer.size() == 10);
    CHECK(buffer.size_bytes() == 40);
    check_refused(buffer.release_after(Stream()), "Stream is empty");
    check_refused(buffer.release_after(Stream::legacy()), "Stream::create()");
    check_refused(buffer.release_after(Stream::per_thread()), "Stream::create()");
}

// --- pinned buffers only

SCENARIO_TEST("pinned memory is copied to the device and back", "[host_buffer]",
              (const Context &context, const StreamAside &aside)) {
    const Stream &stream = aside.stream;
    CUSHIM_TRY(auto buffer, DeviceBuffer<int>::allocate(context, 1000));
    CUSHIM_TRY(auto sent, PinnedBuffer<int>::copy_of(context, numbers(1000)));
    CUSHIM_TRY(auto received, PinnedBuffer<int>::allocate(context, 1000));
    CUSHIM_TRY_VOID(copy(stream, buffer.span(), sent));
    CUSHIM_TRY_VOID(copy(stream, received.span(), buffer));
    CUSHIM_TRY(const std::span<int> values, received.synchronized_span(stream));
    CHECK(std::equal(values.begin(), values.end(), sent.begin(), sent.end()));
    return {};
}

SCENARIO_TEST("a pinned buffer is a range", "[host_buffer]", (const Context &context)) {
    CUSHIM_TRY(auto buffer, PinnedBuffer<int>::allocate(context, 10));
    CHECK(std::accumulate(buffer.begin(), buffer.end(), 0) == 0);
    for (int &value : buffer) {
        value = 2;
    }
    const std::span<const int> view = buffer;
    CHECK(std::accumulate(view.begin(), view.end(), 0) == 20);
    CHECK(buffer.size_bytes() == 40);
    return {};
}

SCENARIO_TEST("a pinned buffer reports the flags of its options", "[host_buffer]",
              (const Context &context)) {
    CUSHIM_TRY(auto buffer, PinnedBuffer<int>::allocate(
                                context, 10, {.portable = true, .write_combined = true}));
    CUSHIM_TRY(const unsigned int flags, buffer.flags());
    CHECK((flags & CU_MEMHOSTALLOC_PORTABLE) != 0);
    CHECK((flags & CU_MEMHOSTALLOC_WRITECOMBINED) != 0);
    return {};
}

TEST_CASE("an empty range is copied into a pinned buffer without a CUDA call", "[host_buffer]") {
    const auto context = context_after_restart("");
    check_no_calls([&] {
        auto buffer = ok(PinnedBuffer<int>::copy_of(context, {}));
        CHECK(buffer.begin() == buffer.end());
    });
}
