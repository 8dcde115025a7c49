#include "harness/scenario.hpp"
#include "harness/simulator.hpp"

#include <atomic>
#include <memory>

using namespace cushim;

SCENARIO_TEST("a stream is made as it was asked for", "[stream]") {
    CUSHIM_TRY(const Context context, trial.context());
    CUSHIM_TRY(const Stream plain, Stream::create(context));
    CUSHIM_TRY(const unsigned int blocking, plain.flags());
    CHECK(blocking == CU_STREAM_DEFAULT);
    CUSHIM_TRY(const Stream stream, Stream::create(context, {.non_blocking = true}));
    CUSHIM_TRY(const unsigned int flags, stream.flags());
    CHECK(flags == CU_STREAM_NON_BLOCKING);
    CUSHIM_TRY(const Context its, stream.context());
    CHECK(its.native() == context.native());
    CUSHIM_TRY_VOID(stream.synchronize());
    CUSHIM_TRY(const bool idle, stream.query());
    CHECK(idle);
    return {};
}

SCENARIO_TEST("streams have numbers of their own", "[stream]") {
    trial.needs_cuda(12, 0);
    CUSHIM_TRY(const Context context, trial.context());
    CUSHIM_TRY(const Stream first, Stream::create(context));
    CUSHIM_TRY(const Stream second, Stream::create(context));
    CUSHIM_TRY(const unsigned long long one, first.id());
    CUSHIM_TRY(const unsigned long long other, second.id());
    CHECK(one != other);
    return {};
}

SCENARIO_TEST("a host function runs in its place", "[stream]") {
    CUSHIM_TRY(const Context context, trial.context());
    CUSHIM_TRY(const Stream stream, Stream::create(context));
    const auto order = std::make_shared<std::string>();
    CUSHIM_TRY_VOID(stream.launch_host_function([order] { *order += "a"; }));
    CUSHIM_TRY_VOID(stream.launch_host_function([order] { *order += "b"; }));
    CUSHIM_TRY_VOID(stream.synchronize());
    CHECK(*order == "ab");
    wait_for_released_closures();
    CHECK(order.use_count() == 1);
    return {};
}

// Its destructor frees device memory, which the driver forbids in its callback.
SCENARIO_TEST("a host function may own what CUDA has to destroy", "[stream]") {
    CUSHIM_TRY(const Context context, trial.context());
    CUSHIM_TRY(const Stream stream, Stream::create(context));
    CUSHIM_TRY(auto buffer, DeviceBuffer<int>::allocate(context, 16));
    CUSHIM_TRY_VOID(fill(stream, buffer.span(), 1));
    CUSHIM_TRY_VOID(stream.launch_host_function([kept = std::move(buffer)] { (void)kept; }));
    CUSHIM_TRY_VOID(stream.synchronize());
    wait_for_released_closures();
    return {};
}

SCENARIO_TEST("the default streams are named", "[stream]") {
    CUSHIM_TRY(const Context context, trial.context());
    CUSHIM_TRY(const ContextScope scope, context.enter());
    CUSHIM_TRY_VOID(Stream::legacy().synchronize());
    return Stream::per_thread().synchronize();
}

TEST_CASE("a host function that does not run is destroyed all the same", "[stream]") {
    if (api_test::simulator() == nullptr) {
        SKIP("needs the simulator, whose calls can be made to fail");
    }
    api_test::restart("fault=cuMemsetD8Async:1:719:async");
    const auto context = Context::primary(Device::from_native(0));
    REQUIRE(context.has_value());
    const auto stream = Stream::create(*context);
    REQUIRE(stream.has_value());
    const auto buffer = DeviceBuffer<char>::allocate(*context, 16);
    REQUIRE(buffer.has_value());
    const auto ran = std::make_shared<std::atomic<int>>(0);
    (void)fill(*stream, buffer->span(), 'x');
    (void)stream->launch_host_function([ran] { ++*ran; });
    CHECK(stream->synchronize().error().status() == CUDA_ERROR_LAUNCH_FAILED);
    wait_for_released_closures();
    CHECK(*ran == 0);
    CHECK(ran.use_count() == 1);
}

TEST_CASE("an empty stream is refused, and never means the default one", "[stream]") {
    api_test::restart("");
    const Stream empty;
    CHECK(empty.synchronize().error().kind() == ErrorKind::invalid_argument);
    CHECK(empty.query().error().kind() == ErrorKind::invalid_argument);
    CHECK(Stream::borrow(nullptr).flags().error().kind() == ErrorKind::invalid_argument);
    CHECK(fill(empty, DeviceSpan<int>(16, 0), 0).error().kind() == ErrorKind::invalid_argument);
    CHECK(DeviceBuffer<int>::allocate_async(empty, 0).error().kind() ==
          ErrorKind::invalid_argument);
}
