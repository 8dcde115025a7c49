#include "harness/device_code.hpp"
#include "harness/scenario.hpp"
#include "harness/temporary_file.hpp"

#include <cstring>
#include <limits>
#include <string_view>

#include <catch2/matchers/catch_matchers_string.hpp>
#include <cushim/device_buffer.hpp>

using namespace api_test;
using namespace cushim;
using Catch::Matchers::ContainsSubstring;

namespace {

constexpr unsigned int count = 1000;

} // namespace

SCENARIO_TEST("a module kernel writes to memory", "[module]",
              (const Context &context, const StreamAside &aside)) {
    const Stream &stream = aside.stream;
    CUSHIM_TRY(const Module module, load_device_code(context));
    CUSHIM_TRY(const auto fill_kernel, module.kernel<Fill>("fill"));
    CUSHIM_TRY(auto buffer, DeviceBuffer<int>::allocate(context, count));
    CUSHIM_TRY_VOID(fill_kernel.launch(stream, LaunchConfig::covering(count), buffer, 7, count));
    CUSHIM_TRY_VOID(stream.synchronize());
    return check_filled(context, buffer, 7);
}

SCENARIO_TEST("a kernel keeps its module loaded and its context alive", "[module]", ()) {
    Kernel<Fill> kept;
    CUSHIM_TRY(const Device device, Device::get(0));
    CUSHIM_TRY(const Context context, Context::create(device));
    CUSHIM_TRY(const Stream stream, Stream::create(context));
    CUSHIM_TRY(auto buffer, DeviceBuffer<int>::allocate(context, count));
    {
        CUSHIM_TRY(const Module module, load_device_code(context));
        CUSHIM_TRY(kept, module.kernel<Fill>("fill"));
    }
    CUSHIM_TRY_VOID(kept.launch(stream, LaunchConfig::covering(count), buffer, 9, count));
    CUSHIM_TRY_VOID(stream.synchronize());
    return check_filled(context, buffer, 9);
}

SCENARIO_TEST("module variables are read and written", "[module]", (const Context &context)) {
    CUSHIM_TRY(const Module module, load_device_code(context));
    CUSHIM_TRY(const auto counter, module.global<unsigned int>("counter"));
    CHECK(counter.size() == 1);
    unsigned int value[1] = {};
    CUSHIM_TRY_VOID(copy(context, std::span(value), counter));
    CHECK(value[0] == 42);
    value[0] = 43;
    CUSHIM_TRY_VOID(copy(context, counter, std::span(value)));
    CUSHIM_TRY_VOID(copy(context, std::span(value), counter));
    CHECK(value[0] == 43);
    CUSHIM_TRY(const auto weights, module.global<const float>("weights"));
    std::vector<float> floats(4);
    REQUIRE(weights.size() == 4);
    CUSHIM_TRY_VOID(copy(context, std::span(floats), weights));
    CHECK(floats == std::vector<float>{1, 2, 3, 4});
    return {};
}

SCENARIO_TEST("a module is loaded from a file", "[module]", (const Context &context)) {
    const TemporaryFile file(device_code);
    CUSHIM_TRY(const Module module, Module::load_file(context, file.path()));
    CUSHIM_TRY(const AnyKernel kernel, module.kernel("idle"));
    CHECK(kernel);
    return {};
}

SCENARIO_TEST("PTX with an explicit size needs no NUL", "[module]", (const Context &context)) {
    const std::string_view text = device_code;
    std::vector<char> bytes(text.begin(), text.end());
    bytes.insert(bytes.end(), {'/', '/'}); // must not be read
    CUSHIM_TRY(const Module module, Module::load(context, {bytes.data(), text.size()}));
    CHECK(module);
    return {};
}

SCENARIO_TEST("modules are adopted and borrowed", "[module]",
              (const Context &context, const Stream &stream)) {
    CUSHIM_TRY(Module module, load_device_code(context));
    CUSHIM_TRY(Module adopted, Module::adopt(context, module.release()));
    CHECK_FALSE(module);
    const Module borrowed = Module::borrow(adopted.native());
    CUSHIM_TRY(const auto kernel, borrowed.kernel<void()>("idle"));
    CUSHIM_TRY_VOID(kernel.launch(stream, {}));
    CUSHIM_TRY_VOID(stream.synchronize());
    return adopted.close();
}

SCENARIO_TEST("the module loading mode is reported", "[module]", (Trial &trial)) {
    trial.needs_driver(11, 7);
    return Module::loads_lazily().transform([](bool) {});
}

SCENARIO_TEST("the compiler receives the JIT options", "[module]", (const Context &context)) {
    JitLog log;
    const JitOptions options{
        .max_registers = 24, .optimization_level = 2, .line_info = true, .verbose = true};
    CUSHIM_TRY(const Module module, Module::load(context, device_code, options, &log));
    CUSHIM_TRY(const AnyKernel kernel, module.kernel("add"));
    CUSHIM_TRY(const KernelAttributes attributes, kernel.attributes(context));
    CHECK(attributes.registers <= 24);
    CHECK(std::string_view(log.error()).empty());
    if (simulator() != nullptr) { // a real driver may use its cache
        CHECK_THAT(log.info(), ContainsSubstring("Compiling entry function 'add'"));
    }
    return {};
}

TEST_CASE("broken PTX fails with the compiler's text in the message and the log", "[module]") {
    const Context context = context_after_restart("");
    JitLog log;
    const Error module = error_of(Module::load(context, broken_code, {}, &log));
    CHECK(module.status() == CUDA_ERROR_INVALID_PTX);
    REQUIRE_FALSE(std::string_view(log.error()).empty());
    const std::string_view first_line =
        std::string_view(log.error()).substr(0, std::strcspn(log.error(), "\n"));
    CHECK_THAT(module.message(), ContainsSubstring(std::string(first_line)));
    // The message has it without a log, too.
    CHECK_THAT(Module::load(context, broken_code).error().message(),
               ContainsSubstring(std::string(first_line)));
    // A later load without errors clears the log.
    CHECK(Module::load(context, device_code, {}, &log).has_value());
    CHECK(std::string_view(log.error()).empty());
}

TEST_CASE("a log is truncated to its size", "[module]") {
    const Context context = context_after_restart("");
    JitLog log;
    const auto module = Module::load(context, broken_code, {.error_log_size = 16}, &log);
    CHECK(module.error().status() == CUDA_ERROR_INVALID_PTX);
    CHECK(std::string_view(log.error()).size() <= 16);
    const auto silent = Module::load(context, broken_code, {.error_log_size = 0}, &log);
    CHECK(silent.error().status() == CUDA_ERROR_INVALID_PTX);
    CHECK(std::string_view(log.error()).empty());
}

TEST_CASE("invalid images are rejected", "[module]") {
    const Context context = context_after_restart("");
    CHECK(Module::load(context, "garbage").error().status() == CUDA_ERROR_INVALID_IMAGE);
    CHECK(Module::load(context, "").error().status() == CUDA_ERROR_INVALID_IMAGE);
    CHECK(refused(Module::load(context, CodeImage::unsized(nullptr))));
}

TEST_CASE("a truncated image is rejected with both sizes", "[module]") {
    const Context context = context_after_restart("");
    unsigned char cubin[128] = {0x7f, 'E', 'L', 'F', 2, 1, 1};
    cubin[40] = 100; // two section headers of 64 bytes at offset 100
    cubin[58] = 64;
    cubin[60] = 2;
    const auto cut = Module::load(context, {cubin, sizeof cubin});
    CHECK(cut.error().kind() == ErrorKind::invalid_argument);
    CHECK_THAT(cut.error().message(), ContainsSubstring("228") && ContainsSubstring("128"));

    unsigned char fatbin[16] = {0x50, 0xed, 0x55, 0xba, 1, 0, 16, 0, 100};
    check_refused(Module::load(context, {fatbin, sizeof fatbin}), "116");
    std::memset(fatbin + 8, 0xff, 8); // beyond the address space
    CHECK(refused(Module::load(context, {fatbin, sizeof fatbin})));

    const TemporaryFile file(std::string_view(reinterpret_cast<const char *>(cubin), sizeof cubin));
    check_refused(Module::load_file(context, file.path()), "228");
}

TEST_CASE("a long file is read completely", "[module]") {
    const Context context = context_after_restart("");
    const TemporaryFile file(device_code + ("// " + std::string(200000, 'x') + "\n") +
                             ".visible .entry last() { ret; }\n");
    const auto module = ok(Module::load_file(context, file.path()));
    CHECK(module.kernel("last").has_value());
}

TEST_CASE("the size of a variable is in elements of the requested type", "[module]") {
    const Context context = context_after_restart("");
    const auto module = ok(load_device_code(context));
    CHECK(ok(module.global<char>("odd")).size() == 10);
}

TEST_CASE("JIT targets out of range are rejected", "[module]") {
    const Context context = context_after_restart("");
    constexpr int largest = std::numeric_limits<int>::max(); // CUDA receives ten times the major
    for (const ComputeCapability target :
         {ComputeCapability{-1, 0}, {largest, 9}, {largest / 10 + 1, 0}}) {
        CHECK(refused(Module::load(context, device_code, {.target = target})));
    }
}
