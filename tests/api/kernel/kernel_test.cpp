#include "harness/device_code.hpp"
#include "harness/scenario.hpp"

#include <cushim/device_buffer.hpp>
#include <cushim/feature.hpp>
#include <cushim/growable_buffer.hpp>
#include <cushim/host_mapped_buffer.hpp>
#include <cushim/host_registration.hpp>
#include <cushim/library.hpp>
#include <cushim/managed_buffer.hpp>
#include <cushim/memory_pool.hpp>
#include <cushim/occupancy.hpp>
#include <cushim/pinned_buffer.hpp>
#include <cushim/pool_buffer.hpp>

#ifndef _WIN32
#include "harness/registered_kernel.hpp"
#endif

using namespace api_test;
using namespace cushim;

namespace {

struct Incomplete;
struct Derived : Line {};
enum class Colour { red };
enum Plain { plain };

template <class Argument, class Parameter>
constexpr bool accepts = detail::KernelArgument<Argument, Parameter>;

// Numbers: conversions that keep every value, and integers, whose values are checked.
static_assert(accepts<int, int> && accepts<unsigned int, unsigned int> && accepts<float, float>);
static_assert(accepts<short, int> && accepts<int, long long> && accepts<float, double>);
static_assert(accepts<unsigned int, unsigned long long> && accepts<bool, int>);
static_assert(accepts<int, unsigned int> && accepts<unsigned int, int>);
static_assert(accepts<long long, int> && accepts<int, float> && accepts<int, char>);
static_assert(!accepts<double, float> && !accepts<double, int> && !accepts<float, int>);
static_assert(!accepts<int, bool> && !accepts<bool, float> && !accepts<Plain, int>);
static_assert(!accepts<long long, long double>); // its mantissa depends on the compiler

// Pointers: to the same type, to more const of it, or to void.
static_assert(accepts<float *, float *> && accepts<float *, const float *>);
static_assert(accepts<float *, void *> && accepts<const float *, const void *>);
static_assert(accepts<std::nullptr_t, float *> && accepts<Incomplete *, const Incomplete *>);
static_assert(!accepts<const float *, float *> && !accepts<int *, float *>);
static_assert(!accepts<const float *, void *> && !accepts<Derived *, Line *>);
static_assert(!accepts<int, float *> && !accepts<unsigned long long, float *>);
static_assert(!accepts<float *, unsigned long long> && !accepts<float *, bool>);
static_assert(!accepts<float[4], float *> && !accepts<std::vector<float>, float *>);

// Memory of that type.
static_assert(accepts<DeviceBuffer<float>, float *> && accepts<DeviceBuffer<float>, const float *>);
static_assert(accepts<DeviceSpan<float>, float *> && accepts<DeviceSpan<float>, const float *>);
static_assert(accepts<DeviceSpan<const float>, const float *>);
static_assert(accepts<PoolBuffer<float>, float *> && accepts<GrowableBuffer<float>, float *>);
static_assert(accepts<HostMappedBuffer<float>, float *> && accepts<ManagedBuffer<float>, float *>);
static_assert(accepts<HostRegistration<float>, const float *>);
static_assert(!accepts<HostMappedBuffer<int>, float *> && !accepts<PinnedBuffer<float>, float *>);
static_assert(!accepts<DeviceSpan<const float>, float *> && !accepts<DeviceBuffer<int>, float *>);
static_assert(!accepts<DeviceBuffer<float>, Incomplete *> &&
              !accepts<DeviceBuffer<float>, CUdeviceptr>);

// Other types: only the same type.
static_assert(accepts<Line, Line> && !accepts<Derived, Line>);
static_assert(accepts<Colour, Colour> && !accepts<Colour, int>);

constexpr bool knows_parameters() {
#if CUDA_VERSION >= 12040
    return true;
#else
    return false;
#endif
}

bool driver_knows_parameters() {
    return knows_parameters() && supports(driver_version(), Feature::kernel_parameter_info);
}

struct Loaded {
    Context context = context_after_restart("");
    Module module = ok(load_device_code(context));
    AnyKernel idle = ok(module.kernel("idle"));
};

Result<void> check_parameters_of(const AnyKernel &kernel) {
    CUSHIM_TRY_VOID(check_gives(kernel.parameter_count(), 3));
    CUSHIM_TRY(const KernelParameter values, kernel.parameter(0));
    CHECK(values.offset == 0);
    CHECK(values.size == sizeof(float *));
    CUSHIM_TRY(const KernelParameter line, kernel.parameter(1));
    CHECK(line.offset == sizeof(float *));
    CHECK(line.size == sizeof(Line));
    return {};
}

Result<void> check_attributes_of(const AnyKernel &kernel, const Context &context) {
    CUSHIM_TRY(const KernelAttributes attributes, kernel.attributes(context));
    CHECK(attributes.max_threads_per_block >= 32);
    CHECK(attributes.registers > 0);
    CHECK(attributes.shared_bytes == 0);
    CHECK(attributes.local_bytes == 0);
    CHECK(attributes.max_dynamic_shared_bytes == 48 * 1024);
    CHECK(attributes.binary_version >= 50);
    CUSHIM_TRY_VOID(kernel.set_max_dynamic_shared_bytes(context, 32 * 1024));
    CUSHIM_TRY_VOID(kernel.set_shared_memory_carveout(context, 50));
    CUSHIM_TRY_VOID(check_gives(
        kernel.attribute(context, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES), 32 * 1024));
    return check_gives(
        kernel.attribute(context, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT), 50);
}

} // namespace

SCENARIO_TEST("kernels of modules and libraries report their parameters", "[kernel]",
              (Trial &trial, const Context &context)) {
    trial.needs_cuda(12, 4);
    CUSHIM_TRY(const Module module, load_device_code(context));
    CUSHIM_TRY(const AnyKernel of_module, module.kernel("line"));
    CUSHIM_TRY_VOID(check_parameters_of(of_module));
    // The query uses the current context or, without one, an active context.
    CUSHIM_TRY(const Library library, Library::load(device_code));
    CUSHIM_TRY(const AnyKernel of_library, library.kernel("line"));
    return check_parameters_of(of_library);
}

SCENARIO_TEST("a module kernel reads and sets its attributes", "[kernel]",
              (const Context &context)) {
    CUSHIM_TRY(const Module module, load_device_code(context));
    CUSHIM_TRY(const AnyKernel kernel, module.kernel("add"));
    return check_attributes_of(kernel, context);
}

SCENARIO_TEST("a library kernel reads and sets its attributes", "[kernel]",
              (Trial &trial, const Context &context)) {
    trial.needs_cuda(12, 0);
    CUSHIM_TRY(const Library library, Library::load(device_code));
    CUSHIM_TRY(const AnyKernel kernel, library.kernel("add"));
    return check_attributes_of(kernel, context);
}

SCENARIO_TEST("a kernel reports its name", "[kernel]", (Trial &trial, const Context &context)) {
    trial.needs_cuda(12, 3);
    CUSHIM_TRY(const Module module, load_device_code(context));
    CUSHIM_TRY(const AnyKernel kernel, module.kernel("add"));
    CUSHIM_TRY(const std::string_view name, kernel.name());
    CHECK(name == "add");
    CUSHIM_TRY(const Library library, Library::load(device_code));
    CUSHIM_TRY(const AnyKernel of_library, library.kernel("line"));
    CUSHIM_TRY(const std::string_view line, of_library.name());
    CHECK(line == "line");
    return {};
}

SCENARIO_TEST("function_in() returns the function of a library kernel", "[kernel]",
              (Trial &trial, const Context &context)) {
    trial.needs_cuda(12, 0);
    CUSHIM_TRY(const Library library, Library::load(device_code));
    CUSHIM_TRY(const AnyKernel kernel, library.kernel("idle"));
    CUSHIM_TRY(const CUfunction function, kernel.function_in(context));
    CHECK(function != nullptr);
    CHECK(function != kernel.native());
    return {};
}

SCENARIO_TEST("a borrowed module kernel is launched", "[kernel]",
              (const Context &context, const Stream &stream)) {
    register_kernels();
    CUSHIM_TRY(const Module module, load_device_code(context));
    CUSHIM_TRY(const AnyKernel kernel, module.kernel("idle"));
    CUSHIM_TRY(const auto idle, AnyKernel::borrow(kernel.native()).as<void()>());
    CHECK_FALSE(idle.is_of_library());
    CUSHIM_TRY_VOID(idle.launch(stream, {}));
    return stream.synchronize();
}

SCENARIO_TEST("a borrowed library kernel is launched", "[kernel]",
              (Trial &trial, const Stream &stream)) {
    trial.needs_cuda(12, 0);
    register_kernels();
    CUSHIM_TRY(const Library library, Library::load(device_code));
    CUSHIM_TRY(const AnyKernel kernel, library.kernel("idle"));
    auto *const raw = reinterpret_cast<CUkern_st *>(kernel.native());
    CUSHIM_TRY(const auto idle, AnyKernel::borrow(raw).as<void()>());
    CHECK(idle.is_of_library());
    CUSHIM_TRY_VOID(idle.launch(stream, {}));
    return stream.synchronize();
}

#ifndef _WIN32
TEST_CASE("a kernel of the program is launched by its symbol", "[kernel][current]") {
    need_simulator("needs the simulator, which accepts kernels that no compiler registered");
    const Context context = context_after_restart("");
    const Stream stream = ok(Stream::create(context));
    const RegisteredKernel registered("fill");
    const auto fill = ok(kernel_of(context, registered.function<Fill>()));
    CHECK_FALSE(fill.is_of_library());
    auto memory = ok(DeviceBuffer<int>::allocate(context, 300));
    ok(fill.launch_covering(stream, memory.size(), memory, 7, memory.size()));
    ok(stream.synchronize());
    CHECK(ok(memory.to_vector()) == std::vector<int>(300, 7));
}

TEST_CASE("a symbol that is no kernel of the program is rejected with a reason",
          "[kernel][current]") {
    need_simulator("needs the simulator, which accepts kernels that no compiler registered");
    const Context context = context_after_restart("");
    const RegisteredKernel registered("fill");
    check_refused(kernel_of(context, static_cast<Fill *>(nullptr)), "the symbol is null");
    check_refused(kernel_of(Context(), registered.function<Fill>()), "the Context is empty");
    const auto unknown = kernel_of(context, +[](int) {});
    check_refused(unknown, "cudaErrorInvalidDeviceFunction", ErrorKind::status);
    check_refused(unknown, "link the program to the drop-in", ErrorKind::status);
    CHECK(runtime().cudaGetLastError() == cudaSuccess);
    if (driver_knows_parameters()) {
        check_refused(kernel_of(context, registered.function<void(int *)>()),
                      "3 in the kernel, but 1 in the signature");
    }
    const auto fill = ok(kernel_of(context, registered.function<Fill>()));
    static_assert(
        std::is_same_v<
            decltype(kernel_of(context, +[](int *) noexcept {})), Result<Kernel<void(int *)>>>);
    const Context other = ok(Context::create(ok(Device::get(0))));
    CHECK(refused(fill.check_context(other), ErrorKind::wrong_context));
}
#endif

TEST_CASE("a signature with another number of parameters is rejected with both numbers",
          "[kernel][W10]") {
    const auto [context, module, idle] = Loaded();
    if (!driver_knows_parameters()) {
        CHECK(module.kernel<void(int *)>("fill").has_value()); // not checked
        return;
    }
    check_refused(module.kernel<void(int *)>("fill"), "3 in the kernel, but 1 in the signature");
    check_refused(module.kernel<void(int *, int, unsigned int, int)>("fill"),
                  "3 in the kernel, but 4 in the signature");
    check_refused(module.kernel<void()>("fill"), "0 in the signature");
    CHECK(module.kernel<void()>("idle").has_value());
}

TEST_CASE("a signature with other parameter sizes is rejected with both sizes", "[kernel][W10]") {
    const auto [context, module, idle] = Loaded();
    if (!driver_knows_parameters()) {
        SKIP("needs information about parameters");
    }
    CHECK(refused(module.kernel<void(float *, float, unsigned int)>("line")));
    const auto library = ok(Library::load(device_code));
    CHECK(refused(library.kernel<void(int *, short, unsigned int)>("fill")));
}

TEST_CASE("using a module kernel in another context fails with wrong_context", "[kernel]") {
    const auto [context, module, kernel] = Loaded();
    const auto other = ok(Context::create(Device::from_native(0)));
    CHECK(refused(kernel.attributes(other), ErrorKind::wrong_context));
    CHECK(refused(kernel.function_in(other), ErrorKind::wrong_context));
    CHECK(refused(kernel.set_max_dynamic_shared_bytes(other, 1), ErrorKind::wrong_context));
    CHECK(ok(kernel.function_in(context)) == kernel.native());
}

TEST_CASE("moved and shared kernels keep their module loaded", "[kernel]") {
    auto [context, module, idle] = Loaded();
    auto first = ok(module.kernel<void()>("idle"));
    module.reset();
    Kernel<void()> second = first.share();
    first.reset();
    CHECK_FALSE(first);
    const Kernel<void()> third = std::move(second);
    CHECK_FALSE(second);
    const auto stream = ok(Stream::create(context));
    CHECK(third.launch(stream, {}).has_value());
    CHECK(stream.synchronize().has_value());
}

// --- occupancy

namespace {

std::size_t CUDA_CB four_bytes_each(int block_size) {
    return static_cast<std::size_t>(block_size) * 4;
}

Result<void> check_occupancy(const Context &context, const AnyKernel &kernel) {
    CUSHIM_TRY(const int small, max_active_blocks(context, kernel, 32));
    CUSHIM_TRY(const int large, max_active_blocks(context, kernel, 1024));
    CHECK(large >= 1);
    CHECK(small > large);
    CUSHIM_TRY_VOID(check_gives(max_active_blocks(context, kernel, 32, std::size_t(1) << 30), 0));
    CUSHIM_TRY(const BlockSuggestion best, suggest_block(context, kernel));
    CHECK(best.block_size >= 32);
    CHECK(best.min_grid_size >= 1);
    CUSHIM_TRY(const BlockSuggestion limited, suggest_block(context, kernel, 0, 64));
    CHECK(limited.block_size == 64);
    CUSHIM_TRY(const BlockSuggestion shared,
               suggest_block_by(context, kernel, four_bytes_each, 128));
    CHECK(shared.block_size == 128);
    CUSHIM_TRY(const std::size_t bytes, available_shared_bytes(context, kernel, large, 1024));
    CHECK(bytes > 0);
    return {};
}

} // namespace

SCENARIO_TEST("a module kernel reports its occupancy", "[occupancy]", (const Context &context)) {
    CUSHIM_TRY(const Module module, load_device_code(context));
    CUSHIM_TRY(const AnyKernel kernel, module.kernel("add"));
    return check_occupancy(context, kernel);
}

SCENARIO_TEST("a library kernel reports its occupancy", "[occupancy]",
              (Trial &trial, const Context &context)) {
    trial.needs_cuda(12, 0);
    CUSHIM_TRY(const Library library, Library::load(device_code));
    CUSHIM_TRY(const AnyKernel kernel, library.kernel("add"));
    return check_occupancy(context, kernel);
}

SCENARIO_TEST("the largest cluster and the number of active clusters are reported", "[occupancy]",
              (Trial &trial, const Context &context)) {
    trial.needs_driver(11, 7);
    CUSHIM_TRY(const Device device, context.device());
    CUSHIM_TRY(const ComputeCapability capability, device.compute_capability());
    if (capability < ComputeCapability{9, 0}) {
        trial.skip("the device has no clusters");
        return {};
    }
    // Older drivers report the same for every kernel.
    const bool knows = driver_version() >= Version::of(11, 8);
    CUSHIM_TRY(const Module module, Module::load(context, knows ? cluster_code : device_code));
    CUSHIM_TRY(const AnyKernel kernel, module.kernel("idle"));
    const LaunchConfig config{.grid = 4, .block = 64};
    CUSHIM_TRY(const int largest, max_cluster_size(context, kernel, config));
    CHECK(largest >= 2);
    LaunchConfig in_clusters = config;
    in_clusters.cluster = 2;
    CUSHIM_TRY(const int clusters, max_active_clusters(context, kernel, in_clusters));
    CHECK(clusters >= 1);
    return {};
}

TEST_CASE("invalid arguments of occupancy queries are rejected", "[occupancy]") {
    const auto context = context_after_restart("");
    const auto module = ok(load_device_code(context));
    const auto kernel = ok(module.kernel("idle"));
    CHECK(refused(available_shared_bytes(context, kernel, 1, -1)));
    CHECK(refused(max_active_blocks(context, AnyKernel(), 32)));
    CHECK(refused(max_active_blocks(Context(), kernel, 32)));
    const auto other = ok(Context::create(Device::from_native(0)));
    CHECK(refused(max_active_blocks(other, kernel, 32), ErrorKind::wrong_context));
}
