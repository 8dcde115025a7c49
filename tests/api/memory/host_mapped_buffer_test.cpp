#include "harness/device_code.hpp"
#include "harness/memory.hpp"

#include <algorithm>
#include <limits>
#include <thread>
#include <type_traits>

using namespace api_test;
using namespace cushim;

namespace {

struct Particle {
    float mass = 1;
    int charge = -2;
};

// What can be copied bytewise, and has no default.
struct Named {
    explicit Named(int given) : number(given) {}
    int number;
};

bool all_are(std::span<const int> values, int expected) {
    return std::all_of(values.begin(), values.end(),
                       [expected](int value) { return value == expected; });
}

// Where the device is said to have host memory, whatever the host's address.
constexpr CUdeviceptr elsewhere = 0x123456789000;

CUresult CUDAAPI answer_elsewhere(CUdeviceptr *address, void *, unsigned int) {
    *address = elsewhere;
    return CUDA_SUCCESS;
}

} // namespace

template <class T>
concept HasMappedBuffer = requires { typename HostMappedBuffer<T>; };

TEST_CASE("mapped memory holds what can be copied byte by byte", "[host_mapped_buffer][Z1]") {
    STATIC_REQUIRE(HasMappedBuffer<Particle>);
    STATIC_REQUIRE_FALSE(HasMappedBuffer<std::string>);
    STATIC_REQUIRE_FALSE(HasMappedBuffer<int &>);
}

CONTEXT_SCENARIO_TEST("host and device use the same memory", "[host_mapped_buffer][Z4]") {
    CUSHIM_TRY(const auto buffer, HostMappedBuffer<int>::allocate(context, 1000));
    CHECK(buffer.host_data() != nullptr);
    CHECK(buffer.device_data() != nullptr);
    CHECK(buffer.native() == buffer.host_data());
    buffer.host_span()[999] = 42;
    int seen = 0;
    CUSHIM_TRY(const auto last, buffer.device_span().subspan(999, 1));
    CUSHIM_TRY_VOID(copy(context, std::span(&seen, 1), last));
    CHECK(seen == 42);
    CUSHIM_TRY_VOID(fill(context, buffer.device_span(), 7));
    CHECK(all_are(buffer.host_span(), 7));
    return {};
}

CONTEXT_SCENARIO_TEST("a kernel works on mapped memory in its place",
                      "[host_mapped_buffer][Z4][Z5]") {
    CUSHIM_TRY(const Module module, load_device_code(context));
    CUSHIM_TRY(const auto add, module.kernel<Add>("add"));
    CUSHIM_TRY(const Stream stream, Stream::create(context, {.non_blocking = true}));
    CUSHIM_TRY(const auto a, HostMappedBuffer<float>::allocate(context, 1000));
    CUSHIM_TRY(const auto b, HostMappedBuffer<float>::allocate(context, 1000));
    CUSHIM_TRY(const auto sum, HostMappedBuffer<float>::allocate(context, 1000));
    std::fill(a.host_span().begin(), a.host_span().end(), 1.0F);
    std::fill(b.host_span().begin(), b.host_span().end(), 2.0F);
    CUSHIM_TRY_VOID(add.launch(stream, LaunchConfig::covering(1000), a, b, sum, 1000U));
    CUSHIM_TRY(const std::span<float> values, sum.host_span_after(stream));
    CHECK(std::count(values.begin(), values.end(), 3.0F) == 1000);
    return {};
}

CONTEXT_SCENARIO_TEST("a mapped buffer knows its size", "[host_mapped_buffer][Z3]") {
    CUSHIM_TRY(const auto buffer, HostMappedBuffer<double>::allocate(context, 12));
    CHECK(buffer.size() == 12);
    CHECK(buffer.size_bytes() == 96);
    CHECK_FALSE(buffer.empty());
    CHECK(static_cast<bool>(buffer));
    CHECK(buffer.host_span().size() == 12);
    CHECK(buffer.device_span().size() == 12);
    return {};
}

CONTEXT_SCENARIO_TEST("the elements have their default", "[host_mapped_buffer][Z2]") {
    CUSHIM_TRY(const auto particles, HostMappedBuffer<Particle>::allocate(context, 100));
    for (const Particle &particle : particles.host_span()) {
        CHECK((particle.mass == 1 && particle.charge == -2));
    }
    CUSHIM_TRY(const auto zeros, HostMappedBuffer<int>::allocate(context, 100));
    CHECK(all_are(zeros.host_span(), 0));
    return {};
}

CONTEXT_SCENARIO_TEST("a mapped buffer as its options say", "[host_mapped_buffer][Z2]") {
    const auto flags_of = [&](const PinnedOptions &options) -> Result<unsigned int> {
        CUSHIM_TRY(const auto buffer, HostMappedBuffer<int>::allocate(context, 10, options));
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

CONTEXT_SCENARIO_TEST("what a stream writes is there after it", "[host_mapped_buffer][Z5]") {
    CUSHIM_TRY(const Stream stream, Stream::create(context, {.non_blocking = true}));
    CUSHIM_TRY(const auto buffer, HostMappedBuffer<int>::allocate(context, 1000));
    CUSHIM_TRY_VOID(fill(stream, buffer.device_span(), 7));
    CUSHIM_TRY(const std::span<int> values, buffer.host_span_after(stream));
    CHECK(values.data() == buffer.host_data());
    CHECK(all_are(values, 7));
    values[0] = 8;
    CUSHIM_TRY_VOID(fill(stream, *buffer.device_span().subspan(1, 999), 9));
    CUSHIM_TRY(const std::span<int> again, buffer.host_span_after(stream));
    CHECK(again[0] == 8);
    CHECK(all_are(again.subspan(1), 9));
    return {};
}

CONTEXT_SCENARIO_TEST("what was before an event is there after it", "[host_mapped_buffer][Z5]") {
    CUSHIM_TRY(const Stream stream, Stream::create(context, {.non_blocking = true}));
    CUSHIM_TRY(const Event written, Event::create(context, {.timing = false}));
    CUSHIM_TRY(const auto buffer, HostMappedBuffer<int>::allocate(context, 1000));
    CUSHIM_TRY(const auto other, HostMappedBuffer<int>::allocate(context, 1000));
    CUSHIM_TRY_VOID(other.release_after(stream));
    CUSHIM_TRY_VOID(fill(stream, buffer.device_span(), 7));
    CUSHIM_TRY_VOID(written.record(stream));
    CUSHIM_TRY_VOID(fill(stream, other.device_span(), 8)); // goes on
    CUSHIM_TRY(const std::span<int> values, buffer.host_span_after(written));
    CHECK(all_are(values, 7));
    return {};
}

TEST_CASE("host_span() waits for nobody", "[host_mapped_buffer][Z5]") {
    need_simulator("needs the simulator, which decides when enqueued work runs");
    const auto context = context_after_restart("mode=adversarial");
    const auto stream = required(Stream::create(context));
    const auto buffer = required(HostMappedBuffer<int>::allocate(context, 10));
    REQUIRE(fill(stream, buffer.device_span(), 7).has_value());
    CHECK(all_are(buffer.host_span(), 0));
    REQUIRE(buffer.host_span_after(stream).has_value());
    CHECK(all_are(buffer.host_span(), 7));
}

TEST_CASE("waiting for nothing is refused", "[host_mapped_buffer][Z5]") {
    const auto context = context_after_restart("");
    const auto buffer = required(HostMappedBuffer<int>::allocate(context, 10));
    CHECK(refusal(buffer.host_span_after(Stream())) == "invalid argument: the stream is empty");
    CHECK(refusal(buffer.host_span_after(Event())) == "invalid argument: the event is empty");
}

// Where host and devices share one address space, CUDA maps what is not asked for as mapped, too.
TEST_CASE("mapped memory is asked for as mapped", "[host_mapped_buffer][Z2]") {
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

// On WSL and WDDM it is not the host's.
TEST_CASE("the device's address is always asked for", "[host_mapped_buffer][Z2][Z4]") {
    const auto context = context_after_restart("");
    const ScopedOverride<entry::cuMemHostGetDevicePointer> pointer(answer_elsewhere);
    const auto buffer = required(HostMappedBuffer<int>::allocate(context, 10));
    CHECK(buffer.device_span().address() == elsewhere);
    CHECK(buffer.device_data() == reinterpret_cast<int *>(elsewhere));
    CHECK(buffer.host_data() != buffer.device_data());
    buffer.host_span()[9] = 1; // the host's own address still
}

TEST_CASE("memory that the device cannot have is freed again", "[host_mapped_buffer][Z2]") {
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

TEST_CASE("more elements than there are addresses", "[host_mapped_buffer][Z2]") {
    const auto context = context_after_restart("");
    constexpr std::size_t many = std::numeric_limits<std::size_t>::max() / 4;
    std::string said;
    const auto calls =
        calls_in([&] { said = refusal(HostMappedBuffer<double>::allocate(context, many)); });
    CHECK(contains(said, std::to_string(many) + " elements of 8 bytes"));
    CHECK(calls.empty());
}

TEST_CASE("a mapped buffer of nothing", "[host_mapped_buffer][Z2][Z3]") {
    const auto context = context_after_restart("");
    const auto calls = calls_in([&] {
        auto buffer = required(HostMappedBuffer<int>::allocate(context, 0));
        CHECK(buffer.empty());
        CHECK(buffer.size() == 0);
        CHECK(buffer.size_bytes() == 0);
        CHECK(buffer.host_data() == nullptr);
        CHECK(buffer.host_span().empty());
        CHECK(buffer.device_span().empty());
        CHECK(buffer.close().has_value());
    });
    CHECK(calls.empty());
    CHECK(refused(HostMappedBuffer<int>::allocate(Context(), 0)));
}

TEST_CASE("elements without a default", "[host_mapped_buffer][Z2]") {
    const auto context = context_after_restart("");
    CHECK(contains(refusal(HostMappedBuffer<Named>::allocate(context, 3)), "no default"));
    const auto named =
        required(HostMappedBuffer<Named>::allocate(context, 3, {.value_initialize = false}));
    named.host_span()[2] = Named(5);
    CHECK(named.host_span()[2].number == 5);
}

// The seed's own example cannot work: to retain a context does not make it current.
TEST_CASE("no context need be current", "[host_mapped_buffer][Z7]") {
    restart("");
    std::thread([] { // a thread that has none
        const auto context = required(Context::primary(Device::from_native(0)));
        CHECK(current_context() == nullptr);
        auto buffer = required(HostMappedBuffer<int>::allocate(context, 4));
        CHECK(fill(context, buffer.device_span(), 4).has_value());
        CHECK(all_are(buffer.host_span(), 4));
        CHECK(buffer.close().has_value());
        CHECK(current_context() == nullptr);
    })
        .join();
}

SCENARIO_TEST("a mapped buffer keeps its context", "[host_mapped_buffer][Z2]") {
    HostMappedBuffer<int> buffer;
    {
        CUSHIM_TRY(const Device device, Device::get(0));
        CUSHIM_TRY(const Context created, Context::create(device));
        CUSHIM_TRY(buffer, HostMappedBuffer<int>::allocate(created, 100));
    }
    CHECK(all_are(buffer.host_span(), 0)); // there still, as its context is
    buffer.host_span()[99] = 1;
    return buffer.close();
}

TEST_CASE("a mapped buffer goes in its own context, on any thread", "[host_mapped_buffer][Z6]") {
    restart("");
    const auto context = required(Context::create(Device::from_native(0)));
    static CUcontext freed_in;
    freed_in = nullptr;
    static ScopedOverride<entry::cuMemFreeHost> *free_host;
    ScopedOverride<entry::cuMemFreeHost> noting([](void *memory) {
        driver().cuCtxGetCurrent(&freed_in);
        return free_host->original()(memory);
    });
    free_host = &noting;
    auto buffer = HostMappedBuffer<int>::allocate(context, 10);
    REQUIRE(buffer.has_value());
    CUcontext left = context.native();
    std::thread([&left, buffer = std::move(*buffer)]() mutable {
        buffer.reset();
        driver().cuCtxGetCurrent(&left);
    }).join();
    CHECK(freed_in == context.native());
    CHECK(left == nullptr);
}

TEST_CASE("a mapped buffer is freed once", "[host_mapped_buffer][Z6]") {
    const auto context = context_after_restart("");
    const auto calls = calls_in([&] {
        auto made = required(HostMappedBuffer<int>::allocate(context, 10));
        HostMappedBuffer<int> first = std::move(made);
        CHECK_FALSE(static_cast<bool>(made));
        CHECK(made.size() == 0);
        HostMappedBuffer<int> second = std::move(first);
        CHECK(second.size() == 10);
        CHECK(second.close().has_value());
        CHECK(second.close().has_value());
        CHECK(second.device_span().empty());
    });
    if (simulator() != nullptr) {
        CHECK(std::count(calls.begin(), calls.end(), "cuMemFreeHost") == 1);
    }
}

CONTEXT_SCENARIO_TEST("a mapped buffer that is given up is the caller's", "[host_mapped_buffer]") {
    CUSHIM_TRY(auto buffer, HostMappedBuffer<int>::allocate(context, 10));
    buffer.host_span()[9] = 9;
    int *const data = static_cast<int *>(buffer.release());
    CHECK(buffer.empty());
    auto adopted = HostMappedBuffer<int>::adopt(context, data, 10);
    if (!adopted) {
        // Nobody's yet: what failed took nothing over.
        CUSHIM_TRY(const ContextScope scope, context.enter());
        driver().cuMemFreeHost(data);
        return adopted.error();
    }
    CHECK(adopted->size() == 10);
    CHECK(adopted->host_span()[9] == 9);
    CHECK_FALSE(adopted->device_span().empty());
    return {};
}

// Without release_after() the simulator would tell of memory that was freed under queued work.
CONTEXT_SCENARIO_TEST("a mapped buffer waits for its stream before it goes",
                      "[host_mapped_buffer]") {
    CUSHIM_TRY(const auto target, DeviceBuffer<int>::allocate(context, 1000));
    {
        CUSHIM_TRY(const Stream stream, Stream::create(context, {.non_blocking = true}));
        CUSHIM_TRY(const auto source, HostMappedBuffer<int>::allocate(context, 1000));
        CUSHIM_TRY_VOID(source.release_after(stream));
        std::fill(source.host_span().begin(), source.host_span().end(), 6);
        CUSHIM_TRY_VOID(copy(stream, target.span(), source.device_span()));
    }
    std::vector<int> values(1000);
    CUSHIM_TRY_VOID(copy(context, std::span(values), target.span()));
    CHECK(all_are(values, 6));
    return {};
}

SCENARIO_TEST("mapped memory is that of every context", "[host_mapped_buffer]", "devices=2") {
    CUSHIM_TRY_VOID(trial.needs_devices(2));
    CUSHIM_TRY(const Device second, Device::get(1));
    CUSHIM_TRY(const Context here, trial.context());
    CUSHIM_TRY(const Context there, Context::primary(second));
    CUSHIM_TRY(const auto shared, HostMappedBuffer<int>::allocate(here, 100, {.portable = true}));
    CUSHIM_TRY_VOID(fill(there, shared.device_span(), 5));
    CHECK(all_are(shared.host_span(), 5));
    CUSHIM_TRY(const auto local, DeviceBuffer<int>::allocate(there, 100));
    shared.host_span()[50] = 6;
    CUSHIM_TRY_VOID(copy(there, local.span(), shared.device_span()));
    std::vector<int> values(100);
    CUSHIM_TRY_VOID(copy(there, std::span(values), local.span()));
    CHECK(values[49] == 5);
    CHECK(values[50] == 6);
    return {};
}

static_assert(!std::is_copy_constructible_v<HostMappedBuffer<int>>);
static_assert(std::is_nothrow_move_constructible_v<HostMappedBuffer<int>>);
