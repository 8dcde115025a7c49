#include "harness/reports.hpp"
#include "harness/scenario.hpp"

#include <cushim/device_buffer.hpp>
#include <cushim/error_hook.hpp>
#include <cushim/host_registration.hpp>
#include <cushim/override.hpp>
#include <cushim/pinned_buffer.hpp>

#include <string>
#include <vector>

using namespace api_test;
using namespace cushim;

TEST_CASE("a destructor reports a failure to the sink, and close() returns it", "[teardown]") {
    need_faults();
    const Context context = context_after_restart("");
    auto closed = ok(Event::create(context));
    auto destroyed = ok(Event::create(context));
    const auto handle = reinterpret_cast<unsigned long long>(destroyed.native());
    const Reports reports;
    always_fail_after("cuEventDestroy_v2");
    CHECK(error_of(closed.close()).status() == 999);
    CHECK_FALSE(static_cast<bool>(closed));
    CHECK(reports.failures.empty());
    destroyed.reset();
    simulator()->clear_faults();
    REQUIRE(reports.failures.size() == 1);
    const TeardownFailure &failure = reports.failures.front();
    CHECK(std::string(failure.entry_point) == "cuEventDestroy_v2");
    CHECK(failure.status == 999);
    CHECK(failure.handle == handle);
}

TEST_CASE("the sink receives one failure for a context that has failed", "[teardown]") {
    need_faults();
    const auto fail = [] {
        const Context context = context_after_restart("fault=cuMemsetD8Async:1:719:async");
        const Stream stream = ok(Stream::create(context));
        const Event event = ok(Event::create(context));
        auto memory = ok(DeviceBuffer<char>::allocate(context, 16));
        const auto more = ok(DeviceBuffer<char>::allocate(context, 16));
        ok(fill(stream, memory, '\1'));
        CHECK(stream.synchronize().error().status() == CUDA_ERROR_LAUNCH_FAILED);
    };
    const Reports reports;
    fail();
    REQUIRE(reports.failures.size() == 1);
    CHECK(reports.failures.front().status == CUDA_ERROR_LAUNCH_FAILED);
    fail();
    CHECK(reports.failures.size() == 2);
    const Reports others;
    fail();
    CHECK(others.failures.size() == 1);
}

TEST_CASE("a driver that has shut down is not reported as a failure", "[teardown]") {
    need_faults();
    const Context context = context_after_restart("fault=cuEventDestroy_v2:1:4:after");
    const Reports reports;
    (void)Event::create(context);
    CHECK(reports.failures.empty());
}

TEST_CASE("the last of several owners destroys the object", "[teardown]") {
    const Context context = context_after_restart("");
    auto first = ok(Event::create(context));
    Event second = first.share();
    REQUIRE(first.close().has_value());
    CHECK(second.query().has_value());
    CHECK(second.close().has_value());
}

TEST_CASE("an object released by one owner is not destroyed by another", "[teardown]") {
    const Context context = context_after_restart("");
    auto first = ok(Event::create(context));
    Event second = first.share();
    const CUevent native = first.release();
    CHECK(second.close().has_value());
    CHECK(driver().cuEventQuery(native) == CUDA_SUCCESS);
    CHECK(driver().cuEventDestroy(native) == CUDA_SUCCESS);
}

TEST_CASE("failures of destructors do not reach the error hook, but those of close() do",
          "[teardown]") {
    need_faults();
    const Context context = context_after_restart("");
    std::vector<std::string> functions;
    const auto add = [](const Error &error, void *user) {
        static_cast<std::vector<std::string> *>(user)->emplace_back(error.function());
    };
    const ErrorHookSetting before = set_error_hook({add, &functions});
    auto closed = ok(PinnedBuffer<int>::allocate(context, 4));
    auto destroyed = ok(PinnedBuffer<int>::allocate(context, 4));
    always_fail_instead("cuCtxPushCurrent");
    destroyed.reset();
    CHECK(functions.empty());
    simulator()->clear_faults();
    always_fail_after("cuMemFreeHost");
    CHECK(!closed.close().has_value());
    simulator()->clear_faults();
    CHECK(functions == std::vector<std::string>{"close"});

    functions.clear();
    constexpr std::size_t many = ~std::size_t(0) / 4;
    CHECK(!DeviceBuffer<double>::allocate(context, many).has_value());
    CHECK(functions == std::vector<std::string>{"DeviceBuffer::allocate"});
    set_error_hook(before);
}

// --- a context that cannot be made current

TEST_CASE("host memory is freed even if its context cannot be made current", "[teardown]") {
    need_faults();
    const Context context = context_after_restart("");
    const Stream stream = ok(Stream::create(context));
    std::vector<int> values(100);
    auto pinned = ok(PinnedBuffer<int>::allocate(context, 100));
    auto registered = ok(HostRegistration<int>::create(context, values));
    const Reports reports;
    always_fail_instead("cuCtxPushCurrent");
    pinned.reset();
    CHECK(registered.close()); // the call that unregisters the memory succeeds
    simulator()->clear_faults();
    CHECK(reports.names() == std::vector<std::string>(2, "cuCtxPushCurrent_v2"));
    // The context and the stream.
    CHECK(leaks().size() == 2);
}

TEST_CASE("memory of the default stream is freed even if its context cannot be made current",
          "[teardown]") {
    need_faults();
    const Context context = context_after_restart("");
    auto buffer = [&] {
        const auto scope = ok(context.enter());
        return ok(DeviceBuffer<int>::allocate_async(Stream::legacy(), 100));
    }();
    const Context other = ok(Context::create(Device::from_native(0)));
    const auto scope = ok(other.enter());
    const Reports reports;
    always_fail_instead("cuCtxPushCurrent");
    CHECK(buffer.close());
    simulator()->clear_faults();
    CHECK(reports.names() == std::vector<std::string>{"cuCtxPushCurrent_v2"});
}

TEST_CASE("host memory is not freed if its context has been destroyed", "[teardown]") {
    need_faults();
    const Context context = context_after_restart("");
    auto buffer = ok(PinnedBuffer<int>::allocate(context, 100));
    int *const address = buffer.data();
    const Reports reports;
    {
        const ScopedOverride<entry::cuCtxPushCurrent> gone(
            [](CUcontext) { return CUDA_ERROR_CONTEXT_IS_DESTROYED; });
        CHECK(buffer.close());
    }
    CHECK(reports.failures.empty());
    const auto scope = ok(context.enter());
    CHECK(driver().cuMemFreeHost(address) == CUDA_SUCCESS);
}

namespace {
entry::cuMemFree::pfn free_memory = nullptr;
}

TEST_CASE("device memory is freed in its context if the driver requires a current one",
          "[teardown]") {
    const Context context = context_after_restart("");
    auto buffer = ok(DeviceBuffer<int>::allocate(context, 100));
    const ScopedOverride<entry::cuMemFree> strict([](CUdeviceptr address) {
        CUcontext current = nullptr;
        (void)driver().cuCtxGetCurrent(&current);
        return current != nullptr ? free_memory(address) : CUDA_ERROR_INVALID_CONTEXT;
    });
    free_memory = strict.original();
    const Reports reports;
    REQUIRE(driver().cuCtxSetCurrent(nullptr) == CUDA_SUCCESS);
    CHECK(buffer.close());
    CUcontext current = context.native();
    CHECK(driver().cuCtxGetCurrent(&current) == CUDA_SUCCESS);
    CHECK(current == nullptr);
    CHECK(reports.failures.empty());
}
