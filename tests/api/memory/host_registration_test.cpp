#include "harness/memory.hpp"

using namespace api_test;
using namespace cushim;

namespace {

constexpr CUdeviceptr elsewhere = 0x123456789000;

Result<bool> reads_only(const Context &context) {
    CUSHIM_TRY(const Device device, context.device());
    CUSHIM_TRY(const int value,
               device.attribute(CU_DEVICE_ATTRIBUTE_READ_ONLY_HOST_REGISTER_SUPPORTED));
    return value != 0;
}

} // namespace

SCENARIO_TEST("registered memory is the device's, too", "[host_registration]") {
    std::vector<int> values = numbers(1000);
    CUSHIM_TRY(const Context context, trial.context());
    CUSHIM_TRY(const auto registration, HostRegistration<int>::create(context, values));
    CHECK(registration.size() == 1000);
    CHECK(registration.size_bytes() == 4000);
    CHECK(registration.host_span().data() == values.data());
    std::vector<int> copied(1000);
    CUSHIM_TRY_VOID(copy(context, std::span(copied), registration.device_span()));
    CHECK(copied == numbers(1000));
    CUSHIM_TRY_VOID(fill(context, registration.device_span(), 3));
    CHECK(values == std::vector<int>(1000, 3));
    return {};
}

SCENARIO_TEST("memory that is only read, and copied while the host goes on",
              "[host_registration]") {
    const std::vector<int> values = numbers(1000);
    CUSHIM_TRY(const Context context, trial.context());
    CUSHIM_TRY(const Stream stream, Stream::create(context, {.non_blocking = true}));
    CUSHIM_TRY(const auto buffer, DeviceBuffer<int>::allocate(context, 1000));
    {
        CUSHIM_TRY(auto registration, HostRegistration<const int>::create(
                                          context, values, {.portable = true, .mapped = false}));
        CUSHIM_TRY(const unsigned int flags, registration.flags());
        CHECK((flags & CU_MEMHOSTREGISTER_PORTABLE) != 0);
        CHECK(registration.device_span().empty());
        CHECK(registration.device_data() == nullptr);
        CUSHIM_TRY_VOID(registration.release_after(stream));
        CUSHIM_TRY_VOID(copy(stream, buffer.span(), registration.host_span()));
    }
    CHECK_GIVES(read(context, buffer), values);
    return {};
}

SCENARIO_TEST("memory can be registered again after it was let go", "[host_registration]") {
    std::vector<int> values(1000);
    CUSHIM_TRY(const Context context, trial.context());
    CUSHIM_TRY(auto first, HostRegistration<int>::create(context, values));
    CUSHIM_TRY_VOID(first.close());
    CUSHIM_TRY(const auto second, HostRegistration<int>::create(context, values));
    CHECK(second.size() == 1000);
    return {};
}

SCENARIO_TEST("read-only registration", "[host_registration]") {
    const std::vector<int> values = numbers(10);
    CUSHIM_TRY(const Context context, trial.context());
    CUSHIM_TRY(const bool supported, reads_only(context));
    if (!supported) {
        trial.skip("the device has no read-only registration");
    }
    CUSHIM_TRY(const auto registration,
               HostRegistration<const int>::create(context, values, {.read_only = true}));
    std::vector<int> copied(10);
    CUSHIM_TRY_VOID(copy(context, std::span(copied), registration.device_span()));
    CHECK(copied == values);
    return {};
}

SCENARIO_TEST("a registration keeps its context", "[host_registration]") {
    std::vector<int> values(100);
    HostRegistration<int> registration;
    {
        CUSHIM_TRY(const Device device, Device::get(0));
        CUSHIM_TRY(const Context created, Context::create(device));
        CUSHIM_TRY(registration, HostRegistration<int>::create(created, values));
    }
    return registration.close();
}

TEST_CASE("read-only registration where the device has none", "[host_registration]") {
    need_simulator("needs the simulator, whose devices can lack a feature");
    const auto context = context_after_restart("attribute.113=0");
    const std::vector<int> values(10);
    const Error refused =
        error_of(HostRegistration<const int>::create(context, values, {.read_only = true}));
    CHECK(refused.kind() == ErrorKind::not_supported_by_device);
    CHECK(HostRegistration<const int>::create(context, values).has_value());
}

TEST_CASE("the device's address of registered memory is asked for", "[host_registration]") {
    const auto context = context_after_restart("");
    const ScopedOverride<entry::cuMemHostGetDevicePointer> pointer(
        [](CUdeviceptr *address, void *, unsigned int) {
            *address = elsewhere;
            return CUDA_SUCCESS;
        });
    std::vector<int> values(10);
    const auto registration = required(HostRegistration<int>::create(context, values));
    CHECK(registration.device_span().address() == elsewhere);
    CHECK(registration.host_span().data() == values.data());
}

// Where host and devices share one address space, CUDA maps what is not asked for as mapped, too.
TEST_CASE("registering asks CUDA for what the options say", "[host_registration]") {
    const auto context = context_after_restart("");
    static unsigned int asked;
    const ScopedOverride<entry::cuMemHostRegister> registering(
        [](void *, std::size_t, unsigned int flags) {
            asked = flags;
            return CUDA_ERROR_OUT_OF_MEMORY;
        });
    std::vector<int> values(10);
    CHECK_FALSE(HostRegistration<int>::create(context, values));
    CHECK(asked == CU_MEMHOSTREGISTER_DEVICEMAP);
    CHECK_FALSE(
        HostRegistration<int>::create(context, values, {.portable = true, .mapped = false}));
    CHECK(asked == CU_MEMHOSTREGISTER_PORTABLE);
}

TEST_CASE("memory that the device cannot have is unregistered again", "[host_registration]") {
    const auto context = context_after_restart("");
    std::vector<int> values(10);
    {
        const ScopedOverride<entry::cuMemHostGetDevicePointer> pointer(
            [](CUdeviceptr *, void *, unsigned int) { return CUDA_ERROR_UNKNOWN; });
        CHECK_FALSE(HostRegistration<int>::create(context, values).has_value());
    }
    CHECK(HostRegistration<int>::create(context, values).has_value());
}

TEST_CASE("what cannot be registered", "[host_registration]") {
    const auto context = context_after_restart("");
    std::vector<int> values(10);
    const auto at_null = std::span<int>(static_cast<int *>(nullptr), 3);
    CHECK(contains(refusal(HostRegistration<int>::create(context, at_null)),
                   "the address is null, the size is 12"));
    CHECK(contains(refusal(HostRegistration<int>::create(Context(), values)), "context"));
    CHECK(contains(refusal(HostRegistration<int>::create(context, values, {.read_only = true})),
                   "const"));
    const auto first = required(HostRegistration<int>::create(context, values));
    CHECK(error_of(HostRegistration<int>::create(context, values)).status() ==
          CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
}

TEST_CASE("a registration of nothing", "[host_registration]") {
    const auto context = context_after_restart("");
    const auto calls = calls_in([&] {
        auto registration = required(HostRegistration<int>::create(context, {}, {.mapped = true}));
        CHECK(registration.empty());
        CHECK(registration.device_span().empty());
        CHECK(registration.close().has_value());
    });
    CHECK(calls.empty());
}
