#include "harness/device_code.hpp"
#include "harness/scenario.hpp"

#include <catch2/matchers/catch_matchers_string.hpp>

using namespace api_test;
using namespace cushim;
using Catch::Matchers::ContainsSubstring;

namespace {

struct Incomplete;
struct Derived : Line {};
enum class Colour { red };
enum Plain { plain };

template <class Argument, class Parameter>
constexpr bool accepts = detail::KernelArgument<Argument, Parameter>;

// Numbers: only what always fits.
static_assert(accepts<int, int> && accepts<unsigned int, unsigned int> && accepts<float, float>);
static_assert(accepts<short, int> && accepts<int, long long> && accepts<float, double>);
static_assert(accepts<unsigned int, unsigned long long> && accepts<bool, int>);
static_assert(!accepts<int, unsigned int> && !accepts<unsigned int, int>);
static_assert(!accepts<long long, int> && !accepts<double, float> && !accepts<int, float>);
static_assert(!accepts<float, int> && !accepts<int, bool> && !accepts<Plain, int>);

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

// Everything else as it is.
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

Module any_module(Context &context) {
    context = context_after_restart("");
    return required(load_device_code(context));
}

// Of a module's kernel or a library's.
Result<void> check_parameters_of(const AnyKernel &kernel) {
    CHECK_GIVES(kernel.parameter_count(), 3);
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
    CHECK_GIVES(kernel.attribute(context, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES),
                32 * 1024);
    CHECK_GIVES(kernel.attribute(context, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT), 50);
    return {};
}

} // namespace

CONTEXT_SCENARIO_TEST("the parameters of a module's kernel are known", "[kernel]") {
    trial.needs_cuda(12, 4);
    CUSHIM_TRY(const Module module, load_device_code(context));
    CUSHIM_TRY(const AnyKernel kernel, module.kernel("line"));
    return check_parameters_of(kernel);
}

CONTEXT_SCENARIO_TEST("the parameters of a library's kernel are known", "[kernel]") {
    trial.needs_cuda(12, 4);
    // It is asked in the current context; where there is none, in one that is active.
    CUSHIM_TRY(const Library library, Library::load(device_code));
    CUSHIM_TRY(const AnyKernel kernel, library.kernel("line"));
    return check_parameters_of(kernel);
}

CONTEXT_SCENARIO_TEST("a module's kernel has attributes", "[kernel]") {
    CUSHIM_TRY(const Module module, load_device_code(context));
    CUSHIM_TRY(const AnyKernel kernel, module.kernel("add"));
    return check_attributes_of(kernel, context);
}

CONTEXT_SCENARIO_TEST("a library's kernel has attributes", "[kernel]") {
    trial.needs_cuda(12, 0);
    CUSHIM_TRY(const Library library, Library::load(device_code));
    CUSHIM_TRY(const AnyKernel kernel, library.kernel("add"));
    return check_attributes_of(kernel, context);
}

CONTEXT_SCENARIO_TEST("a kernel knows its name", "[kernel]") {
    trial.needs_cuda(12, 3);
    CUSHIM_TRY(const Module module, load_device_code(context));
    CUSHIM_TRY(const AnyKernel kernel, module.kernel("add"));
    CHECK_GIVES(kernel.name(), std::string_view("add"));
    CUSHIM_TRY(const Library library, Library::load(device_code));
    CUSHIM_TRY(const AnyKernel of_library, library.kernel("line"));
    CHECK_GIVES(of_library.name(), std::string_view("line"));
    return {};
}

CONTEXT_SCENARIO_TEST("a library's kernel is a function in a context", "[kernel]") {
    trial.needs_cuda(12, 0);
    CUSHIM_TRY(const Library library, Library::load(device_code));
    CUSHIM_TRY(const AnyKernel kernel, library.kernel("idle"));
    CUSHIM_TRY(const CUfunction function, kernel.function_in(context));
    CHECK(function != nullptr);
    CHECK(function != kernel.native());
    return {};
}

STREAM_SCENARIO_TEST("a module's kernels are borrowed", "[kernel]") {
    register_kernels();
    CUSHIM_TRY(const Module module, load_device_code(context));
    CUSHIM_TRY(const AnyKernel kernel, module.kernel("idle"));
    CUSHIM_TRY(const auto idle, AnyKernel::borrow(kernel.native()).as<void()>());
    CHECK_FALSE(idle.is_of_library());
    CUSHIM_TRY_VOID(idle.launch(stream, {}));
    return stream.synchronize();
}

STREAM_SCENARIO_TEST("a library's kernels are borrowed", "[kernel]") {
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

TEST_CASE("a signature with another number of parameters is refused with both", "[kernel][W10]") {
    Context context;
    const Module module = any_module(context);
    if (!driver_knows_parameters()) {
        CHECK(module.kernel<void(int *)>("fill").has_value()); // nobody can tell
        return;
    }
    const auto fewer = module.kernel<void(int *)>("fill");
    CHECK(fewer.error().kind() == ErrorKind::invalid_argument);
    CHECK_THAT(fewer.error().message(),
               ContainsSubstring("3 in the kernel, but 1 in the signature"));
    const auto more = module.kernel<void(int *, int, unsigned int, int)>("fill");
    CHECK_THAT(more.error().message(),
               ContainsSubstring("3 in the kernel, but 4 in the signature"));
    CHECK_THAT(module.kernel<void()>("fill").error().message(),
               ContainsSubstring("0 in the signature"));
    CHECK(module.kernel<void()>("idle").has_value());
}

TEST_CASE("a parameter that there is not is refused with its number", "[kernel]") {
    Context context;
    const Module module = any_module(context);
    if (!driver_knows_parameters()) {
        SKIP("needs information about parameters");
    }
    const auto kernel = module.kernel("line");
    REQUIRE(kernel.has_value());
    const auto beyond = kernel->parameter(3);
    CHECK(beyond.error().kind() == ErrorKind::invalid_argument);
    CHECK_THAT(beyond.error().message(), ContainsSubstring("no parameter 3"));
}

TEST_CASE("a signature with other sizes is refused with both", "[kernel][W10]") {
    Context context;
    const Module module = any_module(context);
    if (!driver_knows_parameters()) {
        SKIP("needs information about parameters");
    }
    const auto wider = module.kernel<void(int *, long long, unsigned int)>("fill");
    CHECK(wider.error().kind() == ErrorKind::invalid_argument);
    CHECK_THAT(wider.error().message(),
               ContainsSubstring("size of parameter 1: 4 in the kernel, but 8 in the signature"));
    CHECK(refused(module.kernel<void(float *, float, unsigned int)>("line")));
    const auto library = required(Library::load(device_code));
    CHECK(refused(library.kernel<void(int *, short, unsigned int)>("fill")));
}

TEST_CASE("a module's kernel is used only in its own context", "[kernel]") {
    Context context;
    const Module module = any_module(context);
    const auto kernel = module.kernel("idle");
    REQUIRE(kernel.has_value());
    const auto other = required(Context::create(Device::from_native(0)));
    CHECK(refused(kernel->attributes(other), ErrorKind::wrong_context));
    CHECK(refused(kernel->function_in(other), ErrorKind::wrong_context));
    CHECK(refused(kernel->set_max_dynamic_shared_bytes(other, 1), ErrorKind::wrong_context));
    CHECK(kernel->function_in(context).value() == kernel->native());
}

TEST_CASE("numbers that no kernel can take are refused", "[kernel]") {
    Context context;
    const Module module = any_module(context);
    const auto kernel = module.kernel("idle");
    REQUIRE(kernel.has_value());
    const auto large = kernel->set_max_dynamic_shared_bytes(context, std::size_t(1) << 40);
    CHECK_THAT(large.error().message(), ContainsSubstring("1099511627776"));
    CHECK_THAT(kernel->set_shared_memory_carveout(context, 101).error().message(),
               ContainsSubstring("101"));
    CHECK(refused(kernel->set_shared_memory_carveout(context, -2)));
}

TEST_CASE("an empty kernel is refused", "[kernel]") {
    const auto context = context_after_restart("");
    const AnyKernel empty;
    CHECK_FALSE(empty);
    CHECK(refused(empty.attributes(context)));
    CHECK(refused(empty.function_in(context)));
    CHECK(refused(empty.as<void()>()));
    if (knows_parameters()) {
        CHECK(refused(empty.name()));
        CHECK(refused(empty.parameter_count()));
    }
    CHECK(refused(Kernel<void()>().launch(Stream::legacy(), {})));
}

TEST_CASE("kernels move and share as owners do", "[kernel]") {
    Context context;
    Module module = any_module(context);
    auto first = required(module.kernel<void()>("idle"));
    module.reset();
    Kernel<void()> second = first.share();
    first.reset();
    CHECK_FALSE(first);
    const Kernel<void()> third = std::move(second);
    CHECK_FALSE(second);
    const auto stream = required(Stream::create(context));
    CHECK(third.launch(stream, {}).has_value());
    CHECK(stream.synchronize().has_value());
}
