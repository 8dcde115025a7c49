// Host memory that the device uses: mapped buffers and registrations.
#include "harness/memory.hpp"

#include <cushim/device_buffer.hpp>
#include <cushim/host_mapped_buffer.hpp>
#include <cushim/host_registration.hpp>
#include <cushim/override.hpp>
#include <cushim/pinned_buffer.hpp>

#include <algorithm>
#include <type_traits>

using namespace api_test;
using namespace cushim;

namespace {

struct Particle {
    float mass = 1;
    int charge = -2;
};

// Trivially copyable without a default constructor.
struct Named {
    explicit Named(int given) : number(given) {}
    int number;
};

bool all_are(std::span<const int> values, int expected) {
    return std::all_of(values.begin(), values.end(),
                       [expected](int value) { return value == expected; });
}

// A device address that differs from the host address.
constexpr CUdeviceptr elsewhere = 0x123456789000;

CUresult CUDAAPI answer_elsewhere(CUdeviceptr *address, void *, unsigned int) {
    *address = elsewhere;
    return CUDA_SUCCESS;
}

} // namespace

template <class T>
concept HasMappedBuffer = requires { typename HostMappedBuffer<T>; };

TEST_CASE("mapped memory holds trivially copyable types", "[host_mapped_buffer][Z1]") {
    STATIC_REQUIRE(HasMappedBuffer<Particle>);
    STATIC_REQUIRE_FALSE(HasMappedBuffer<std::string>);
    STATIC_REQUIRE_FALSE(HasMappedBuffer<int &>);
}

SCENARIO_TEST("host and device see each other's writes to mapped memory",
              "[host_mapped_buffer][Z4]", (const Context &context)) {
    CUSHIM_TRY(auto buffer, HostMappedBuffer<int>::allocate(context, 1000));
    CHECK(buffer.data() != nullptr);
    CHECK(buffer.device_data() != nullptr);
    CHECK(buffer.native() == buffer.data());
    CHECK(buffer.size() == 1000);
    CHECK(buffer.span().size() == 1000);
    CHECK(buffer.device_span().size() == 1000);
    buffer.span()[999] = 42;
    int seen = 0;
    CUSHIM_TRY(const auto last, buffer.device_span().subspan(999, 1));
    CUSHIM_TRY_VOID(copy(context, std::span(&seen, 1), last));
    CHECK(seen == 42);
    CUSHIM_TRY_VOID(fill(context, buffer.device_span(), 7));
    CHECK(all_are(buffer.span(), 7));
    return {};
}

SCENARIO_TEST("elements of mapped memory are value-initialized", "[host_mapped_buffer][Z2]",
              (const Context &context)) {
    CUSHIM_TRY(auto particles, HostMappedBuffer<Particle>::allocate(context, 100));
    for (const Particle &particle : particles.span()) {
        CHECK((particle.mass == 1 && particle.charge == -2));
    }
    CUSHIM_TRY(auto zeros, HostMappedBuffer<int>::allocate(context, 100));
    CHECK(all_are(zeros.span(), 0));
    return {};
}

SCENARIO_TEST("a mapped buffer reports the flags of its options", "[host_mapped_buffer][Z2]",
              (const Context &context)) {
    const auto flags_of = [&](const PinnedBufferOptions &options) -> Result<unsigned int> {
        CUSHIM_TRY(auto buffer, HostMappedBuffer<int>::allocate(context, 10, options));
        return buffer.flags();
    };
    CUSHIM_TRY(const unsigned int plain, flags_of({}));
    CHECK((plain & CU_MEMHOSTALLOC_DEVICEMAP) != 0);
    CHECK((plain & CU_MEMHOSTALLOC_WRITECOMBINED) == 0);
    CUSHIM_TRY(const unsigned int portable, flags_of({.portable = true}));
    CHECK((portable & CU_MEMHOSTALLOC_PORTABLE) != 0);
    CUSHIM_TRY(const unsigned int combined,
               flags_of({.write_combined = true, .value_initialize = false}));
    CHECK((combined & CU_MEMHOSTALLOC_WRITECOMBINED) != 0);
    CHECK((combined & CU_MEMHOSTALLOC_DEVICEMAP) != 0);
    return {};
}

TEST_CASE("span() does not synchronize", "[host_mapped_buffer][Z5]") {
    need_simulator("needs the simulator, which decides when enqueued work runs");
    const auto context = context_after_restart("mode=adversarial");
    const auto stream = ok(Stream::create(context));
    auto buffer = ok(HostMappedBuffer<int>::allocate(context, 10));
    REQUIRE(fill(stream, buffer.device_span(), 7).has_value());
    CHECK(all_are(buffer.span(), 0));
    REQUIRE(buffer.synchronized_span(stream).has_value());
    CHECK(all_are(buffer.span(), 7));
}

// With a unified address space, CUDA also maps memory that is not requested as mapped.
TEST_CASE("mapped host memory is requested with CU_MEMHOSTALLOC_DEVICEMAP",
          "[host_mapped_buffer][Z2]") {
    const auto context = context_after_restart("");
    static unsigned int asked;
    const ScopedOverride<entry::cuMemHostAlloc> allocation(
        [](void **, std::size_t, unsigned int flags) {
            asked = flags;
            return CUDA_ERROR_OUT_OF_MEMORY;
        });
    CHECK_FALSE(HostMappedBuffer<int>::allocate(context, 10));
    CHECK(asked == CU_MEMHOSTALLOC_DEVICEMAP);
    CHECK_FALSE(
        HostMappedBuffer<int>::allocate(context, 10, {.portable = true, .write_combined = true}));
    CHECK(asked ==
          (CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_WRITECOMBINED));
    CHECK_FALSE(PinnedBuffer<int>::allocate(context, 10));
    CHECK(asked == 0);
}

// On WSL and WDDM it differs from the host address.
TEST_CASE("a mapped buffer queries its device address", "[host_mapped_buffer][Z2][Z4]") {
    const auto context = context_after_restart("");
    const ScopedOverride<entry::cuMemHostGetDevicePointer> pointer(answer_elsewhere);
    auto buffer = ok(HostMappedBuffer<int>::allocate(context, 10));
    CHECK(buffer.device_span().native() == elsewhere);
    CHECK(buffer.device_data() == reinterpret_cast<int *>(elsewhere));
    CHECK(buffer.data() != buffer.device_data());
    buffer.span()[9] = 1; // the host address
}

TEST_CASE("memory without a device address is freed", "[host_mapped_buffer][Z2]") {
    const auto context = context_after_restart("");
    static int freed;
    freed = 0;
    static ScopedOverride<entry::cuMemFreeHost> *free_host;
    ScopedOverride<entry::cuMemFreeHost> counting([](void *memory) {
        ++freed;
        return free_host->original()(memory);
    });
    free_host = &counting;
    const ScopedOverride<entry::cuMemHostGetDevicePointer> pointer(
        [](CUdeviceptr *, void *, unsigned int) { return CUDA_ERROR_UNKNOWN; });
    const Error buffer = error_of(HostMappedBuffer<int>::allocate(context, 10));
    CHECK(buffer.status() == CUDA_ERROR_UNKNOWN);
    CHECK(std::string(buffer.entry_point()) == "cuMemHostGetDevicePointer_v2");
    CHECK(freed == 1);
}

TEST_CASE("elements without a default constructor need value_initialize = false",
          "[host_mapped_buffer][Z2]") {
    const auto context = context_after_restart("");
    check_refused(HostMappedBuffer<Named>::allocate(context, 3), "no default");
    auto named = ok(HostMappedBuffer<Named>::allocate(context, 3, {.value_initialize = false}));
    named.span()[2] = Named(5);
    CHECK(named.span()[2].number == 5);
}

SCENARIO_TEST("portable mapped memory is usable in every context", "[host_mapped_buffer]",
              (Trial &trial), "devices=2") {
    CUSHIM_TRY_VOID(trial.needs_devices(2));
    CUSHIM_TRY(const Device second, Device::get(1));
    CUSHIM_TRY(const Context here, trial.context());
    CUSHIM_TRY(const Context there, Context::primary(second));
    CUSHIM_TRY(auto shared, HostMappedBuffer<int>::allocate(here, 100, {.portable = true}));
    CUSHIM_TRY_VOID(fill(there, shared.device_span(), 5));
    CHECK(all_are(shared.span(), 5));
    CUSHIM_TRY(auto local, DeviceBuffer<int>::allocate(there, 100));
    shared.span()[50] = 6;
    CUSHIM_TRY_VOID(copy(there, local.span(), shared.device_span()));
    std::vector<int> values(100);
    CUSHIM_TRY_VOID(copy(there, std::span(values), local.span()));
    CHECK(values[49] == 5);
    CHECK(values[50] == 6);
    return {};
}

static_assert(!std::is_copy_constructible_v<HostMappedBuffer<int>>);
static_assert(std::is_nothrow_move_constructible_v<HostMappedBuffer<int>>);

// --- registered host memory

namespace {

Result<bool> reads_only(const Context &context) {
    CUSHIM_TRY(const Device device, context.device());
    CUSHIM_TRY(const int value,
               device.attribute(CU_DEVICE_ATTRIBUTE_READ_ONLY_HOST_REGISTER_SUPPORTED));
    return value != 0;
}

} // namespace

SCENARIO_TEST("the device reads and writes registered memory", "[host_registration]",
              (const Context &context)) {
    std::vector<int> values = numbers(1000);
    CUSHIM_TRY(auto registration, HostRegistration<int>::create(context, values));
    CHECK(registration.size() == 1000);
    CHECK(registration.size_bytes() == 4000);
    CHECK(registration.span().data() == values.data());
    std::vector<int> copied(1000);
    CUSHIM_TRY_VOID(copy(context, std::span(copied), registration.device_span()));
    CHECK(copied == numbers(1000));
    CUSHIM_TRY_VOID(fill(context, registration.device_span(), 3));
    CHECK(values == std::vector<int>(1000, 3));
    return {};
}

SCENARIO_TEST("a registration of const memory waits for its stream", "[host_registration]",
              (const Context &context, const StreamAside &aside)) {
    const Stream &stream = aside.stream;
    const std::vector<int> values = numbers(1000);
    CUSHIM_TRY(auto buffer, DeviceBuffer<int>::allocate(context, 1000));
    {
        CUSHIM_TRY(auto registration, HostRegistration<const int>::create(
                                          context, values, {.portable = true, .mapped = false}));
        CUSHIM_TRY(const unsigned int flags, registration.flags());
        CHECK((flags & CU_MEMHOSTREGISTER_PORTABLE) != 0);
        CHECK(registration.device_span().empty());
        CHECK(registration.device_data() == nullptr);
        CUSHIM_TRY_VOID(registration.release_after(stream));
        CUSHIM_TRY_VOID(copy(stream, buffer.span(), registration.span()));
    }
    return check_gives(read(context, buffer), values);
}

SCENARIO_TEST("memory can be registered again after close()", "[host_registration]",
              (const Context &context)) {
    std::vector<int> values(1000);
    CUSHIM_TRY(auto first, HostRegistration<int>::create(context, values));
    CUSHIM_TRY_VOID(first.close());
    CUSHIM_TRY(auto second, HostRegistration<int>::create(context, values));
    CHECK(second.size() == 1000);
    return {};
}

SCENARIO_TEST("the device reads read-only registered memory", "[host_registration]",
              (Trial &trial, const Context &context)) {
    const std::vector<int> values = numbers(10);
    CUSHIM_TRY(const bool supported, reads_only(context));
    if (!supported) {
        trial.skip("the device has no read-only registration");
    }
    CUSHIM_TRY(auto registration,
               HostRegistration<const int>::create(context, values, {.read_only = true}));
    std::vector<int> copied(10);
    CUSHIM_TRY_VOID(copy(context, std::span(copied), registration.device_span()));
    CHECK(copied == values);
    return {};
}

SCENARIO_TEST("a registration keeps its context alive", "[host_registration]", ()) {
    std::vector<int> values(100);
    HostRegistration<int> registration;
    {
        CUSHIM_TRY(const Device device, Device::get(0));
        CUSHIM_TRY(const Context created, Context::create(device));
        CUSHIM_TRY(registration, HostRegistration<int>::create(created, values));
    }
    return registration.close();
}

TEST_CASE("memory of const elements is registered by a device without read-only registration",
          "[host_registration]") {
    need_simulator("needs the simulator, whose devices can lack a feature");
    const auto context = context_after_restart("attribute.113=0");
    const std::vector<int> values(10);
    CHECK(HostRegistration<const int>::create(context, values).has_value());
}

TEST_CASE("a registration queries its device address", "[host_registration]") {
    const auto context = context_after_restart("");
    const ScopedOverride<entry::cuMemHostGetDevicePointer> pointer(answer_elsewhere);
    std::vector<int> values(10);
    auto registration = ok(HostRegistration<int>::create(context, values));
    CHECK(registration.device_span().native() == elsewhere);
    CHECK(registration.span().data() == values.data());
}

// With a unified address space, CUDA also maps memory that is not requested as mapped.
TEST_CASE("a registration passes the flags of its options", "[host_registration]") {
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

TEST_CASE("memory without a device address is unregistered", "[host_registration]") {
    const auto context = context_after_restart("");
    std::vector<int> values(10);
    {
        const ScopedOverride<entry::cuMemHostGetDevicePointer> pointer(
            [](CUdeviceptr *, void *, unsigned int) { return CUDA_ERROR_UNKNOWN; });
        CHECK_FALSE(HostRegistration<int>::create(context, values).has_value());
    }
    CHECK(HostRegistration<int>::create(context, values).has_value());
}

TEST_CASE("invalid registrations are rejected", "[host_registration]") {
    const auto context = context_after_restart("");
    std::vector<int> values(10);
    const auto at_null = std::span<int>(static_cast<int *>(nullptr), 3);
    check_refused(HostRegistration<int>::create(context, at_null),
                  "the address is null, but the size is 12 bytes");
    check_refused(HostRegistration<int>::create(Context(), values), "Context is empty");
    auto first = ok(HostRegistration<int>::create(context, values));
    CHECK(error_of(HostRegistration<int>::create(context, values)).status() ==
          CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
}

TEST_CASE("a registration of 0 elements makes no CUDA calls", "[host_registration]") {
    const auto context = context_after_restart("");
    check_no_calls([&] {
        auto registration = ok(HostRegistration<int>::create(context, {}, {.mapped = true}));
        CHECK(registration.empty());
        CHECK(registration.device_span().empty());
        CHECK(registration.close().has_value());
    });
}
