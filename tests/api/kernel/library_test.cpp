#include "harness/device_code.hpp"
#include "harness/scenario.hpp"
#include "harness/temporary_file.hpp"
#include "support/failing_allocation.hpp"

#include <cushim/device_buffer.hpp>
#include <cushim/feature.hpp>
#include <cushim/library.hpp>
#include <cushim/override.hpp>

#include <algorithm>
#include <string_view>

using namespace api_test;
using namespace cushim;

namespace {

constexpr unsigned int count = 1000;

Result<Library> load_library() {
    register_kernels();
    return Library::load(device_code);
}

// Launches the kernel in a context and checks the result.
Result<void> fill_in(const Context &context, const Kernel<Fill> &kernel, int value) {
    CUSHIM_TRY(const Stream stream, Stream::create(context));
    CUSHIM_TRY(auto buffer, DeviceBuffer<int>::allocate(context, count));
    CUSHIM_TRY_VOID(kernel.launch(stream, LaunchConfig::covering(count), buffer, value, count));
    CUSHIM_TRY_VOID(stream.synchronize());
    return check_filled(context, buffer, value);
}

// Scenarios test the errors of older drivers and headers.
Context context_with_libraries() {
    Context context = context_after_restart("");
    if (CUDA_VERSION < 12000 || !supports(driver_version(), Feature::library_loading)) {
        SKIP("needs CUDA 12.0");
    }
    return context;
}

} // namespace

SCENARIO_TEST("a library kernel runs in every context", "[library]", (Trial &trial)) {
    trial.needs_cuda(12, 0);
    CUSHIM_TRY(const Device device, Device::get(0));
    CUSHIM_TRY(const Context first, Context::primary(device));
    CUSHIM_TRY(const Context second, Context::create(device));
    CUSHIM_TRY(const Library library, load_library());
    CUSHIM_TRY(const auto kernel, library.kernel<Fill>("fill"));
    CHECK(kernel.is_of_library());
    CUSHIM_TRY_VOID(fill_in(first, kernel, 1));
    return fill_in(second, kernel, 2);
}

SCENARIO_TEST("a kernel keeps its library loaded", "[library]",
              (Trial &trial, const Context &context)) {
    trial.needs_cuda(12, 0);
    Kernel<Fill> kept;
    {
        CUSHIM_TRY(const Library library, load_library());
        CUSHIM_TRY(const auto kernel, library.kernel<Fill>("fill"));
        kept = kernel.share();
    }
    return fill_in(context, kept, 3);
}

SCENARIO_TEST("a library outlives the file it was loaded from", "[library]",
              (Trial &trial, const Context &context)) {
    trial.needs_cuda(12, 0);
    register_kernels();
    Library library;
    {
        const TemporaryFile file(device_code);
        CUSHIM_TRY(library, Library::load_file(file.path()));
    }
    CUSHIM_TRY(const auto kernel, library.kernel<Fill>("fill"));
    return fill_in(context, kernel, 6);
}

SCENARIO_TEST("a library needs no context", "[library]", (Trial &trial)) {
    trial.needs_cuda(12, 0);
    CUSHIM_TRY(const Library library, load_library());
    CUSHIM_TRY(const AnyKernel kernel, library.kernel("idle"));
    CHECK(kernel);
    return {};
}

SCENARIO_TEST("a library counts and lists its kernels", "[library]", (Trial &trial)) {
    trial.needs_cuda(12, 4);
    CUSHIM_TRY(const Library library, load_library());
    CUSHIM_TRY(const std::size_t all, library.kernel_count());
    CHECK(all == device_code_kernels);
    std::vector<AnyKernel> kernels(all + 1);
    CUSHIM_TRY(const std::size_t found, library.kernels(kernels.data(), kernels.size()));
    REQUIRE(found == all);
    std::vector<std::string> names;
    for (std::size_t i = 0; i < found; ++i) {
        CUSHIM_TRY(const char *const name, kernels[i].name());
        names.emplace_back(name);
    }
    std::sort(names.begin(), names.end());
    CHECK(names == std::vector<std::string>{"add", "fill", "idle", "line"});
    CHECK_FALSE(kernels[found]);
    CUSHIM_TRY_VOID(check_gives(library.kernels(nullptr, 0), 0));
    return check_gives(library.kernels(kernels.data(), 1), 1);
}

SCENARIO_TEST("library variables are separate in each context", "[library]", (Trial &trial)) {
    trial.needs_cuda(12, 0);
    CUSHIM_TRY(const Device device, Device::get(0));
    CUSHIM_TRY(const Context first, Context::primary(device));
    CUSHIM_TRY(const Context second, Context::create(device));
    CUSHIM_TRY(const Library library, load_library());
    CUSHIM_TRY(const auto in_first, library.global<unsigned int>(first, "counter"));
    CUSHIM_TRY(const auto in_second, library.global<unsigned int>(second, "counter"));
    CHECK(in_first.native() != in_second.native());
    unsigned int value[1] = {7};
    CUSHIM_TRY_VOID(copy(first, in_first, std::span(value)));
    CUSHIM_TRY_VOID(copy(second, std::span(value), in_second));
    CHECK(value[0] == 42);
    return {};
}

SCENARIO_TEST("a managed library variable is accessible on the host", "[library]",
              (Trial &trial, const Context &context)) {
    trial.needs_cuda(12, 0);
    CUSHIM_TRY(const Library library, Library::load(managed_code));
    CUSHIM_TRY(const auto shared, library.managed<int>(context, "shared_value"));
    REQUIRE(shared.size() == 1);
    CHECK(*shared.data() == 5);
    return {};
}

SCENARIO_TEST("module() returns the library's module in a context", "[library]",
              (Trial &trial, const Context &context)) {
    trial.needs_cuda(12, 0);
    Module module;
    {
        CUSHIM_TRY(const Library library, load_library());
        CUSHIM_TRY(module, library.module(context));
    }
    CUSHIM_TRY(const auto kernel, module.kernel<Fill>("fill"));
    CHECK_FALSE(kernel.is_of_library());
    CUSHIM_TRY_VOID(fill_in(context, kernel, 4));
    return module.close();
}

SCENARIO_TEST("libraries are adopted and borrowed", "[library]", (Trial &trial)) {
    trial.needs_cuda(12, 0);
    CUSHIM_TRY(Library library, load_library());
    CUSHIM_TRY(Library adopted, Library::adopt(library.release()));
    const Library borrowed = Library::borrow(adopted.native());
    CUSHIM_TRY(const AnyKernel kernel, borrowed.kernel("idle"));
    CHECK(kernel);
    CHECK(std::string_view(borrowed.jit_log().error()).empty());
    return adopted.close();
}

TEST_CASE("an invalid library fails with the compiler's message", "[library]") {
    const Context context = context_with_libraries();
    JitLog log;
    const auto library = Library::load(broken_code, {}, &log);
    if (library.has_value()) { // with lazy loading, its use fails
        const auto module = library->module(context);
        CHECK(error_of(module).status() == CUDA_ERROR_INVALID_PTX);
        if (simulator() != nullptr) {
            check_refused(module, "frobnicate", ErrorKind::status);
        }
        return;
    }
    CHECK(library.error().status() == CUDA_ERROR_INVALID_PTX);
    REQUIRE_FALSE(std::string_view(log.error()).empty());
    check_refused(library, "frobnicate", ErrorKind::status);
}

#if CUDA_VERSION >= 12000
namespace {

// Stands in for a driver that keeps the log buffer and compiles after the library is loaded.
struct LateCompiler {
    static inline char *log = nullptr;

    LateCompiler() {
        restart("");
        log = nullptr;
    }

    const ScopedOverride<entry::cuLibraryLoadData> load{
        [](CUlibrary *made, const void *, CUjit_option *options, void **values, unsigned int number,
           CUlibraryOption *, void **, unsigned int) -> CUresult {
            for (unsigned int i = 0; i < number; ++i) {
                if (options[i] == CU_JIT_ERROR_LOG_BUFFER) {
                    log = static_cast<char *>(values[i]);
                }
            }
            *made = reinterpret_cast<CUlibrary>(16);
            return CUDA_SUCCESS;
        }};
    const ScopedOverride<entry::cuLibraryUnload> unload{
        [](CUlibrary) -> CUresult { return CUDA_SUCCESS; }};
};

} // namespace

TEST_CASE("the log buffer of a library outlives its loading", "[library]") {
    const LateCompiler compiler;
    const ScopedOverride<entry::cuLibraryGetKernel> get(
        [](CUkernel *, CUlibrary, const char *) -> CUresult {
            std::copy_n("late words\n", 12, LateCompiler::log);
            return CUDA_ERROR_INVALID_PTX;
        });
    const auto library = ok(Library::load(device_code));
    REQUIRE(LateCompiler::log != nullptr);
    const auto kernel = library.kernel("idle");
    CHECK(kernel.error().status() == CUDA_ERROR_INVALID_PTX);
    check_refused(kernel, "late words", ErrorKind::status);
    CHECK(std::string_view(library.jit_log().error()) == "late words\n");
}

#ifdef API_TEST_ALLOCATIONS_FAIL
TEST_CASE("copying a log is safe while the compiler writes to it", "[library]") {
    const LateCompiler compiler;
    const auto library = ok(Library::load(device_code));
    REQUIRE(LateCompiler::log != nullptr);
    // The copy allocates its memory after it has measured the texts.
    const support::AtAllocation late([] { std::copy_n("late words\n", 12, LateCompiler::log); });
    const JitLog log = library.jit_log();
    REQUIRE(std::string_view(LateCompiler::log) == "late words\n");
    CHECK(log.error()[0] == '\0'); // the measured length
}
#endif
#endif
