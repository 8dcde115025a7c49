#include "harness/devices.hpp"
#include "harness/memory.hpp"
#include "harness/spied_call.hpp"

#include <cushim/device_buffer.hpp>
#include <cushim/feature.hpp>
#include <cushim/graph.hpp>
#include <cushim/host_mapped_buffer.hpp>
#include <cushim/host_registration.hpp>
#include <cushim/managed_buffer.hpp>
#include <cushim/memory_pool.hpp>
#include <cushim/pool_buffer.hpp>

#include <atomic>
#include <limits>
#include <thread>

using namespace api_test;
using namespace cushim;

namespace {

constexpr unsigned int count = 1000;

Result<Worker> first_worker() {
    CUSHIM_TRY(const Device device, Device::get(0));
    return Worker::on(device);
}

Worker load_or_fail() {
    restart("");
    return ok(first_worker());
}

// A launch without arguments.
Result<void> launch_idle(const Worker &loaded, const LaunchConfig &config) {
    CUSHIM_TRY(const auto idle, loaded.code.kernel<void()>("idle"));
    CUSHIM_TRY_VOID(idle.launch(loaded.stream, config));
    return loaded.stream.synchronize();
}

bool has_clusters() {
    return driver_version() >= Version::of(11, 8);
}

} // namespace

SCENARIO_TEST("kernels run in stream order with their arguments", "[launch]", ()) {
    CUSHIM_TRY(const Worker loaded, first_worker());
    CUSHIM_TRY(const auto add, loaded.code.kernel<Add>("add"));
    CUSHIM_TRY(const auto scale, loaded.code.kernel<Scale>("line"));
    CUSHIM_TRY(auto a, DeviceBuffer<float>::allocate(loaded.context, count));
    CUSHIM_TRY(auto sum, DeviceBuffer<float>::allocate(loaded.context, count));
    std::vector<float> values(count);
    for (unsigned int i = 0; i < count; ++i) {
        values[i] = static_cast<float>(i);
    }
    CUSHIM_TRY_VOID(copy(loaded.context, a.span(), std::span(values)));
    const LaunchConfig config = LaunchConfig::covering(count, 128);
    const DeviceSpan<const float> from = a;
    CUSHIM_TRY_VOID(add.launch(loaded.stream, config, from, a, sum, count));
    CUSHIM_TRY_VOID(scale.launch(loaded.stream, config, sum.data(), Line{0.5F, 1}, count));
    CUSHIM_TRY_VOID(loaded.stream.synchronize());
    CUSHIM_TRY_VOID(copy(loaded.context, std::span(values), sum.span()));
    bool right = true;
    for (unsigned int i = 0; i < count; ++i) {
        right = right && values[i] == static_cast<float>(i) + 1;
    }
    CHECK(right);
    return {};
}

SCENARIO_TEST("a kernel writes to mapped and managed memory", "[launch]", ()) {
    CUSHIM_TRY(const Worker loaded, first_worker());
    CUSHIM_TRY(const auto fill_kernel, loaded.code.kernel<Fill>("fill"));
    CUSHIM_TRY(auto mapped, HostMappedBuffer<int>::allocate(loaded.context, count));
    CUSHIM_TRY(auto managed, ManagedBuffer<int>::allocate(loaded.context, count));
    const LaunchConfig config = LaunchConfig::covering(count);
    CUSHIM_TRY_VOID(fill_kernel.launch(loaded.stream, config, mapped, 3, count));
    CUSHIM_TRY_VOID(fill_kernel.launch(loaded.stream, config, managed, 4, count));
    CUSHIM_TRY(const auto threes, mapped.synchronized_span(loaded.stream));
    CHECK(std::vector<int>(threes.begin(), threes.end()) == std::vector<int>(count, 3));
    CUSHIM_TRY(const auto fours, managed.synchronized_span(loaded.stream));
    CHECK(std::vector<int>(fours.begin(), fours.end()) == std::vector<int>(count, 4));
    return {};
}

SCENARIO_TEST("arguments are copied before the launch returns", "[launch]", ()) {
    CUSHIM_TRY(const Worker loaded, first_worker());
    CUSHIM_TRY(const auto fill_kernel, loaded.code.kernel<Fill>("fill"));
    CUSHIM_TRY(auto buffer, DeviceBuffer<int>::allocate(loaded.context, count));
    int value = 5;
    CUSHIM_TRY_VOID(
        fill_kernel.launch(loaded.stream, LaunchConfig::covering(count), buffer, value, count));
    value = 6;
    CUSHIM_TRY_VOID(loaded.stream.synchronize());
    return check_filled(loaded.context, buffer, 5);
}

SCENARIO_TEST("launch_covering() launches a thread for each element", "[launch]", ()) {
    CUSHIM_TRY(const Worker loaded, first_worker());
    CUSHIM_TRY(const auto fill_kernel, loaded.code.kernel<Fill>("fill"));
    CUSHIM_TRY(auto buffer, DeviceBuffer<int>::allocate(loaded.context, count));
    CUSHIM_TRY_VOID(fill_kernel.launch_covering(loaded.stream, count, buffer, 7, count));
    CUSHIM_TRY_VOID(loaded.stream.synchronize());
    return check_filled(loaded.context, buffer, 7);
}

SCENARIO_TEST("integers of other types are passed if they fit", "[launch]", ()) {
    CUSHIM_TRY(const Worker loaded, first_worker());
    CUSHIM_TRY(const auto fill_kernel, loaded.code.kernel<Fill>("fill"));
    CUSHIM_TRY(auto buffer, DeviceBuffer<int>::allocate(loaded.context, count));
    const LaunchConfig config = LaunchConfig::covering(count);
    CUSHIM_TRY_VOID(fill_kernel.launch(loaded.stream, config, buffer, 7LL, buffer.size()));
    CUSHIM_TRY_VOID(loaded.stream.synchronize());
    return check_filled(loaded.context, buffer, 7);
}

SCENARIO_TEST("launch_unchecked() passes raw arguments", "[launch]", ()) {
    CUSHIM_TRY(const Worker loaded, first_worker());
    CUSHIM_TRY(const AnyKernel fill_kernel, loaded.code.kernel("fill"));
    CUSHIM_TRY(auto buffer, DeviceBuffer<int>::allocate(loaded.context, count));
    CUdeviceptr to = buffer.native();
    int value = 8;
    unsigned int number = count;
    void *arguments[] = {&to, &value, &number};
    const LaunchConfig config = LaunchConfig::covering(count);
    CUSHIM_TRY_VOID(fill_kernel.launch_unchecked(loaded.stream, config, arguments));
    CUSHIM_TRY_VOID(loaded.stream.synchronize());
    return check_filled(loaded.context, buffer, 8);
}

SCENARIO_TEST("a cooperative kernel is launched", "[launch]", ()) {
    CUSHIM_TRY(const Worker loaded, first_worker());
    return launch_idle(loaded, {.grid = 2, .block = 32, .cooperative = true});
}

SCENARIO_TEST("a kernel is launched in clusters", "[launch]", (Trial &trial)) {
    trial.needs_driver(11, 6);
    CUSHIM_TRY(Worker loaded, first_worker());
    CUSHIM_TRY(const Device device, loaded.context.device());
    CUSHIM_TRY(const ComputeCapability capability, device.compute_capability());
    if (capability < ComputeCapability{9, 0}) {
        trial.skip("the device has no clusters");
        return {};
    }
    if (has_clusters()) { // older drivers treat every kernel the same
        CUSHIM_TRY(loaded.code, Module::load(loaded.context, cluster_code));
    }
    return launch_idle(loaded, {.grid = 4, .block = 32, .cluster = 2});
}

SCENARIO_TEST("kernels are launched with priorities and with overlap", "[launch]", (Trial &trial)) {
    trial.needs_driver(11, 6);
    CUSHIM_TRY(const Worker loaded, first_worker());
    CUSHIM_TRY(const auto idle, loaded.code.kernel<void()>("idle"));
    CUSHIM_TRY(const StreamPriorities range, loaded.context.stream_priorities());
    CUSHIM_TRY_VOID(idle.launch(loaded.stream, {.priority = range.greatest}));
    CUSHIM_TRY_VOID(idle.launch(loaded.stream, {.programmatic_stream_serialization = true}));
    CUSHIM_TRY_VOID(idle.launch(loaded.stream, {.cooperative = true, .priority = range.least}));
    return loaded.stream.synchronize();
}

#if CUDA_VERSION >= 11080
SCENARIO_TEST("a kernel is launched with raw CUDA attributes", "[launch]", (Trial &trial)) {
    trial.needs_driver(11, 6);
    CUSHIM_TRY(const Worker loaded, first_worker());
    CUlaunchAttribute attributes[2] = {};
    attributes[0].id = CU_LAUNCH_ATTRIBUTE_IGNORE;
    attributes[1].id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
    attributes[1].value.cooperative = 1;
    return launch_idle(loaded, {.more = {attributes, 2}});
}

namespace {

// The priority attributes of the last launch.
struct {
    int count;
    int value;
} passed_priority;

void look_at_priority(const CUlaunchConfig *config, CUfunction, void **, void **) {
    passed_priority = {};
    for (unsigned int i = 0; i != config->numAttrs; ++i) {
        if (config->attrs[i].id == CU_LAUNCH_ATTRIBUTE_PRIORITY) {
            passed_priority = {passed_priority.count + 1, config->attrs[i].value.priority};
        }
    }
}

} // namespace

TEST_CASE("the driver receives a priority only if it is set", "[launch]") {
    const Worker loaded = load_or_fail();
    if (driver_version() < Version::of(11, 8)) {
        SKIP("needs CUDA 11.8");
    }
    const SpiedCall<entry::cuLaunchKernelEx> spied(look_at_priority);
    for (const int priority : {-3, -1, 0}) {
        CHECK(launch_idle(loaded, {.priority = priority}));
        CHECK(passed_priority.count == 1);
        CHECK(passed_priority.value == priority);
    }
    CHECK(launch_idle(loaded, {.programmatic_stream_serialization = true}));
    CHECK(passed_priority.count == 0);
}

#endif

TEST_CASE("several threads share and launch one kernel", "[launch]") {
    Worker loaded = load_or_fail();
    auto fill_kernel = ok(loaded.code.kernel<Fill>("fill"));
    auto buffer = ok(DeviceBuffer<int>::allocate(loaded.context, count));
    std::atomic<int> failures = 0;
    std::vector<std::thread> threads;
    for (int value = 0; value < 4; ++value) {
        threads.emplace_back([&, value, mine = fill_kernel.share()]() mutable {
            for (int i = 0; i < 50; ++i) {
                const auto launched = mine.launch(loaded.stream, {}, buffer, value, count);
                failures += launched ? 0 : 1;
            }
            failures += loaded.stream.synchronize() ? 0 : 1;
            mine.reset();
        });
    }
    loaded.code.reset();
    fill_kernel.reset();
    for (std::thread &thread : threads) {
        thread.join();
    }
    CHECK(failures == 0);
}

TEST_CASE("launch sizes accept all integer types", "[launch]") {
    const std::size_t size = 7;
    const short width = 8;
    CHECK(Dim3() == Dim3(1, 1, 1));
    CHECK(Dim3(size, width) == Dim3(7, 8, 1));
    static_assert(!std::is_constructible_v<Dim3, float> && !std::is_constructible_v<Dim3, bool>);
    CHECK(LaunchConfig::covering(1).grid == Dim3(1));
    CHECK(LaunchConfig::covering(256).grid == Dim3(1));
    CHECK(LaunchConfig::covering(257).grid == Dim3(2));
    CHECK(LaunchConfig::covering(std::numeric_limits<std::size_t>::max(), 1024).grid.x ==
          1LL << 54);
    CHECK(LaunchConfig::covering(100, 32).block == Dim3(32));
}

TEST_CASE("launch sizes of zero or beyond CUDA's range are rejected with the value", "[launch]") {
    const Worker loaded = load_or_fail();
    const struct {
        LaunchConfig config;
        const char *why;
    } cases[] = {
        {{.grid = 0}, "grid size 0 x 1 x 1"},
        {{.grid = {4, 0}}, "grid size 4 x 0 x 1"},
        {{.block = {1, 2, 0}}, "block size 1 x 2 x 0"},
        {{.block = -1}, "block size -1 x 1 x 1"},
        {{.grid = 1LL << 32}, "4294967296"},
        {{.shared_bytes = std::size_t(1) << 32}, "4294967296"},
        {LaunchConfig::covering(1, 0), "grid size 0"},
#if CUDA_VERSION >= 11080
        {{.grid = 0, .priority = 0}, "grid size 0"},
#endif
    };
    for (const auto &[config, why] : cases) {
        check_refused(launch_idle(loaded, config), why);
    }
}

TEST_CASE("a launch makes the oldest call that can do it", "[launch]") {
    need_simulator("needs the simulator, which records the calls");
    const Worker loaded = load_or_fail();
    const auto idle = ok(loaded.code.kernel<void()>("idle"));
    const auto calls = [&](const LaunchConfig &config) {
        return calls_in([&] { (void)idle.launch(loaded.stream, config); });
    };
    using Names = std::vector<std::string>;
    CHECK(calls({}) == Names{"cuLaunchKernel"});
    CHECK(calls({.grid = 2, .cooperative = true}) == Names{"cuLaunchCooperativeKernel"});
    if (supports(driver_version(), Feature::launch_attributes)) {
        CHECK(calls({.priority = 0}) == Names{"cuLaunchKernelEx"});
        CHECK(calls({.cooperative = true, .priority = 0}) == Names{"cuLaunchKernelEx"});
    }
    CHECK(calls({.grid = 0}).empty());
}

TEST_CASE("synchronize() returns the error of a kernel", "[launch]") {
    need_simulator("leaves a context that no other test can use");
    const Worker loaded = load_or_fail();
    const auto fill_kernel = ok(loaded.code.kernel<Fill>("fill"));
    REQUIRE(fill_kernel.launch(loaded.stream, {}, nullptr, 1, 1U).has_value());
    CHECK(loaded.stream.synchronize().error().status() == CUDA_ERROR_ILLEGAL_ADDRESS);
}

namespace {

template <class Buffer, class Make>
void check_closed_is_refused(const Worker &loaded, const Make &make) {
    const auto fill = ok(loaded.code.kernel<Fill>("fill"));
    const auto config = LaunchConfig::covering(count);
    auto buffer = ok(make());
    CHECK(fill.launch(loaded.stream, config, buffer, 7, count).has_value());
    REQUIRE(loaded.stream.synchronize().has_value());
    const std::string why = "kernel argument 0 is a buffer without memory: closed, released, "
                            "moved from, or default-constructed";
    Buffer moved = std::move(buffer);
    CHECK(refusal(fill.launch(loaded.stream, config, buffer, 7, count)) == why);
    REQUIRE(buffer.close().has_value());
    CHECK(refusal(fill.launch(loaded.stream, config, buffer, 7, count)) == why);
    CHECK(refusal(fill.launch(loaded.stream, config, Buffer(), 7, count)) == why);
    auto graph = ok(Graph::create(loaded.context));
    CHECK(refusal(graph.add_kernel_node({}, fill, config, buffer, 7, count)) == why);
    CHECK(fill.launch(loaded.stream, config, moved, 7, count).has_value());
    CHECK(loaded.stream.synchronize().has_value());
}

} // namespace

TEST_CASE("a launch rejects an integer that the parameter cannot hold", "[launch]") {
    const Worker loaded = load_or_fail();
    const auto fill_kernel = ok(loaded.code.kernel<Fill>("fill"));
    auto buffer = ok(DeviceBuffer<int>::allocate(loaded.context, count));
    check_refused(fill_kernel.launch(loaded.stream, {}, buffer, 1, -1),
                  "kernel argument 2 is -1, which its parameter of 4 bytes cannot hold");
    check_refused(fill_kernel.launch(loaded.stream, {}, buffer, 1, 5'000'000'000),
                  "kernel argument 2 is 5000000000, which its parameter of 4 bytes cannot hold");
    check_refused(fill_kernel.launch(loaded.stream, {}, buffer, 3'000'000'000U, count),
                  "kernel argument 1 is 3000000000, which its parameter of 4 bytes cannot hold");
    check_refused(fill_kernel.launch(loaded.stream, {}, buffer, ~0ULL, count),
                  "kernel argument 1 is 18446744073709551615, which its parameter of 4 bytes");
    const auto bits = ok(loaded.code.kernel<void(int *, float, unsigned int)>("fill"));
    check_refused(bits.launch(loaded.stream, {}, buffer, (1 << 24) + 1, count),
                  "kernel argument 1 is 16777217, which its parameter of 4 bytes cannot hold");
    CHECK(bits.launch(loaded.stream, {}, buffer, -(1 << 24), short(1)).has_value());
    CHECK(bits.launch(loaded.stream, {}, buffer, 20'000'000, 1).has_value());
    CHECK(bits.launch(loaded.stream, {}, buffer, 1ULL << 63, 1).has_value());
    CHECK(bits.launch(loaded.stream, {}, buffer, 0, 1).has_value());
    check_refused(bits.launch(loaded.stream, {}, buffer, ~0ULL, 1), "kernel argument 1 is 184467");
    ok(loaded.stream.synchronize());
}

TEST_CASE("launches cover ranges of up to three dimensions", "[launch]") {
    const auto grid = [](const LaunchConfig &config) { return config.grid; };
    CHECK(grid(LaunchConfig::covering(1000)) == Dim3(4));
    CHECK(grid(LaunchConfig::covering({1000, 17})) == Dim3(32, 3));
    CHECK(LaunchConfig::covering({1000, 17}).block == Dim3(32, 8));
    CHECK(grid(LaunchConfig::covering({64, 64, 65}, {8, 8, 8})) == Dim3(8, 8, 9));
    CHECK(LaunchConfig::covering({64, 64, 65}, {8, 8, 8}).block == Dim3(8, 8, 8));
    CHECK(grid(LaunchConfig::covering({0, 17})) == Dim3(0, 3));
    CHECK(grid(LaunchConfig::covering({5, 5}, {0, 8})) == Dim3(0, 1));
}

TEST_CASE("a launch rejects a closed or moved-from buffer", "[launch]") {
    const Worker loaded = load_or_fail();
    check_closed_is_refused<DeviceBuffer<int>>(
        loaded, [&] { return DeviceBuffer<int>::allocate(loaded.context, count); });
    check_closed_is_refused<HostMappedBuffer<int>>(
        loaded, [&] { return HostMappedBuffer<int>::allocate(loaded.context, count); });
    check_closed_is_refused<ManagedBuffer<int>>(
        loaded, [&] { return ManagedBuffer<int>::allocate(loaded.context, count); });
    const auto pool = ok(MemoryPool::create(Device::from_native(0)));
    check_closed_is_refused<PoolBuffer<int>>(
        loaded, [&] { return PoolBuffer<int>::allocate(pool, loaded.stream, count); });
}

TEST_CASE("a kernel receives a null address from nullptr and from an empty span", "[launch]") {
    const Worker loaded = load_or_fail();
    const auto fill = ok(loaded.code.kernel<Fill>("fill"));
    CHECK(fill.launch(loaded.stream, {}, nullptr, 7, 0u).has_value());
    CHECK(fill.launch(loaded.stream, {}, DeviceSpan<int>(), 7, 0u).has_value());
    DeviceBuffer<int> none;
    CHECK(fill.launch(loaded.stream, {}, none.span(), 7, 0u).has_value());
    CHECK(loaded.stream.synchronize().has_value());
}

namespace {

// A moved buffer stays valid; a moved-from or closed one is rejected.
template <class Buffer>
void check_zero_length_is_passed(const Worker &loaded, Result<Buffer> made) {
    const auto fill = ok(loaded.code.kernel<Fill>("fill"));
    REQUIRE(made.has_value());
    CHECK(made->empty());
    CHECK(fill.launch(loaded.stream, {}, *made, 7, 0u).has_value());
    Buffer moved = *std::move(made);
    CHECK_FALSE(fill.launch(loaded.stream, {}, *made, 7, 0u).has_value());
    CHECK(fill.launch(loaded.stream, {}, moved, 7, 0u).has_value());
    auto graph = ok(Graph::create(loaded.context));
    CHECK(graph.add_kernel_node({}, fill, {}, moved, 7, 0u).has_value());
    CHECK(loaded.stream.synchronize().has_value());
    REQUIRE(moved.close().has_value());
    CHECK_FALSE(fill.launch(loaded.stream, {}, moved, 7, 0u).has_value());
}

} // namespace

TEST_CASE("a kernel receives a null address from a buffer of 0 elements", "[launch]") {
    const Worker loaded = load_or_fail();
    check_zero_length_is_passed(loaded, DeviceBuffer<int>::allocate(loaded.context, 0));
    check_zero_length_is_passed(loaded, DeviceBuffer<int>::allocate_async(loaded.stream, 0));
    check_zero_length_is_passed(loaded, DeviceBuffer<int>::copy_of(loaded.context, {}));
    check_zero_length_is_passed(loaded, DeviceBuffer<int>::adopt(loaded.context, 0, 0));
    check_zero_length_is_passed(loaded, ManagedBuffer<int>::allocate(loaded.context, 0));
    check_zero_length_is_passed(loaded, ManagedBuffer<int>::adopt(loaded.context, 0, 0));
    check_zero_length_is_passed(loaded, HostMappedBuffer<int>::allocate(loaded.context, 0));
    check_zero_length_is_passed(loaded, HostMappedBuffer<int>::adopt(loaded.context, nullptr, 0));
    check_zero_length_is_passed(loaded, HostRegistration<int>::create(loaded.context, {}));
    const auto pool = ok(MemoryPool::create(Device::from_native(0)));
    check_zero_length_is_passed(loaded, PoolBuffer<int>::allocate(pool, loaded.stream, 0));
}
