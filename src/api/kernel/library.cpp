#include <cushim/library.hpp>

#include <cushim/init.hpp>

#include <new>

#include "base/call.hpp"
#include "base/ranges.hpp"
#include "context/adopting.hpp"
#include "context/in_context.hpp"
#include "jit_session.hpp"
#include "loadable_code.hpp"
#include "lookup.hpp"

#if CUDA_VERSION >= 12000

namespace cushim {
namespace {

struct LibraryState final : detail::State {
    detail::Destroyed destroy() noexcept override {
        return CUSHIM_DESTROY(cuLibraryUnload, library, library);
    }
    CUlibrary library = nullptr;
    detail::JitSession jit; // the driver may write to it until the library is unloaded
};

// The library's module in one context, which is unloaded with the library.
struct LibraryModuleState final : detail::InContext {
    LibraryModuleState(const Context &in, const Library &of) noexcept
        : InContext(in), keep_library(of) {}
    detail::Destroyed destroy() noexcept override { return {}; }
    const detail::KeepAlive keep_library;
};

constexpr const char *empty = "the Library holds no library";

// Null if it is borrowed.
const LibraryState *state_of(const Library &library) noexcept {
    return static_cast<const LibraryState *>(detail::Access::state(library));
}

// The library may be compiled only now; the message then contains the compiler's errors.
Result<void> checked_use(const Library &library, CUresult status, const char *entry_point,
                         int introduced, const detail::Wanted &wanted) noexcept {
    const LibraryState *const state = state_of(library);
    if (state == nullptr || detail::may_be_the_name(status)) {
        return detail::checked_name(status, entry_point, introduced, wanted);
    }
    return state->jit.checked(status, entry_point, introduced);
}

// Like CUSHIM_DRIVER, with the compiler's errors, or with what was not found.
#define USE_LIBRARY(wanted, function, ...)                                                         \
    checked_use(*this, driver().function(__VA_ARGS__), entry::function::name,                      \
                entry::function::introduced, wanted)

constexpr detail::Wanted nothing_by_name = {"library", "", nullptr};
constexpr detail::Wanted wanted(const char *kind, const char *name) noexcept {
    return {"library", kind, name};
}

Result<void> require_both(const Library &library, const char *name) noexcept {
    CUSHIM_TRY_VOID(detail::require(library, empty));
    return detail::require_name(name);
}

} // namespace

Result<Library> Library::load(const CodeImage &image, const JitOptions &options,
                              JitLog *log) noexcept {
    CUSHIM_TRY(const auto code, detail::LoadableCode::of(image));
    CUSHIM_TRY_VOID(init());
    CUSHIM_TRY(auto state, detail::make_state<LibraryState>());
    detail::JitSession &jit = state->jit;
    CUSHIM_TRY_VOID(jit.prepare(options, log));
    const CUresult status =
        driver().cuLibraryLoadData(&state->library, code.data(), jit.options(), jit.values(),
                                   jit.count(), nullptr, nullptr, 0);
    if (log != nullptr) {
        *log = jit.log();
    }
    CUSHIM_TRY_VOID(
        jit.checked(status, entry::cuLibraryLoadData::name, entry::cuLibraryLoadData::introduced));
    const CUlibrary library = state->library;
    return Library(library, state.take());
}

Result<Library> Library::load_file(const char *path, const JitOptions &options,
                                   JitLog *log) noexcept {
    CUSHIM_TRY(const auto code, detail::LoadableCode::read(path));
    return CUSHIM_NAMED(load(CodeImage::unsized(code.data()), options, log));
}

Result<Library> Library::adopt(CUlib_st *library) noexcept {
    CUSHIM_TRY_VOID(detail::require_handle(library));
    CUSHIM_TRY(auto state, detail::make_state<LibraryState>());
    state->library = library;
    return Library(library, state.take());
}

Library Library::borrow(CUlib_st *library) noexcept {
    return Library(library, nullptr);
}

JitLog Library::jit_log() const noexcept {
    const LibraryState *const state = state_of(*this);
    return state != nullptr ? state->jit.log() : JitLog();
}

// --- kernels

Result<AnyKernel> Library::kernel(const char *name) const noexcept {
    CUSHIM_TRY_VOID(require_both(*this, name));
    CUkernel found = nullptr;
    CUSHIM_TRY_VOID(
        USE_LIBRARY(wanted("kernel", name), cuLibraryGetKernel, &found, native(), name));
    return AnyKernel({reinterpret_cast<CUfunction>(found), nullptr, true},
                     detail::Access::state(*this));
}

#if CUDA_VERSION >= 12040
Result<std::size_t> Library::kernel_count() const noexcept {
    CUSHIM_TRY_VOID(detail::require(*this, empty));
    unsigned int count = 0;
    CUSHIM_TRY_VOID(USE_LIBRARY(nothing_by_name, cuLibraryGetKernelCount, &count, native()));
    return std::size_t(count);
}

Result<std::size_t> Library::kernels(AnyKernel *into, std::size_t size) const noexcept {
    CUSHIM_TRY(const std::size_t all, kernel_count());
    const std::size_t count = size < all ? size : all;
    if (count == 0) {
        return count;
    }
    if (into == nullptr) {
        return CUSHIM_NAMED(
            detail::invalid_argument("the array is null, but its size is %zu", size));
    }
    auto *const found = new (std::nothrow) CUkernel[count];
    if (found == nullptr) {
        return CUSHIM_NAMED(detail::no_host_memory());
    }
    const Result<void> asked = USE_LIBRARY(nothing_by_name, cuLibraryEnumerateKernels, found,
                                           static_cast<unsigned int>(count), native());
    for (std::size_t i = 0; asked && i < count; ++i) {
        into[i] = AnyKernel({reinterpret_cast<CUfunction>(found[i]), nullptr, true},
                            detail::Access::state(*this));
    }
    delete[] found;
    CUSHIM_TRY_VOID(asked);
    return count;
}
#else
Result<std::size_t> Library::kernel_count() const noexcept {
    return CUSHIM_NAMED(
        Error::requires_newer_headers("cuLibraryGetKernelCount", Version::of(12, 4)));
}

Result<std::size_t> Library::kernels(AnyKernel *, std::size_t) const noexcept {
    return CUSHIM_NAMED(
        Error::requires_newer_headers("cuLibraryEnumerateKernels", Version::of(12, 4)));
}
#endif

// --- variables

Result<detail::Variable> Library::variable(const Context &context,
                                           const char *name) const noexcept {
    CUSHIM_TRY_VOID(require_both(*this, name));
    CUSHIM_TRY(const ContextScope scope, context.enter());
    detail::Variable found{};
    CUSHIM_TRY_VOID(USE_LIBRARY(wanted("variable", name), cuLibraryGetGlobal, &found.address,
                                &found.bytes, native(), name));
    return found;
}

Result<detail::Variable> Library::managed_variable(const Context &context,
                                                   const char *name) const noexcept {
    CUSHIM_TRY_VOID(require_both(*this, name));
    CUSHIM_TRY(const ContextScope scope, context.enter());
    CUmodule loaded = nullptr;
    CUSHIM_TRY_VOID(USE_LIBRARY(nothing_by_name, cuLibraryGetModule, &loaded, native()));
    detail::Variable found{};
    CUSHIM_TRY_VOID(USE_LIBRARY(wanted("managed variable", name), cuLibraryGetManaged,
                                &found.address, &found.bytes, native(), name));
    return found;
}

Result<void *> Library::unified_function(const char *name) const noexcept {
    CUSHIM_TRY_VOID(require_both(*this, name));
    void *found = nullptr;
    CUSHIM_TRY_VOID(USE_LIBRARY(wanted("unified function", name), cuLibraryGetUnifiedFunction,
                                &found, native(), name));
    return found;
}

Result<Module> Library::module(const Context &context) const noexcept {
    CUSHIM_TRY_VOID(detail::require(*this, empty));
    CUSHIM_TRY_VOID(detail::require(context, "the Context holds no context"));
    CUSHIM_TRY(auto state, detail::make_state<LibraryModuleState>(context, *this));
    CUSHIM_TRY(const ContextScope scope, state->enter());
    CUmodule module = nullptr;
    CUSHIM_TRY_VOID(USE_LIBRARY(nothing_by_name, cuLibraryGetModule, &module, native()));
    return Module(module, state.take());
}

} // namespace cushim

#else // missing from older headers

namespace cushim {
namespace {

Error no_libraries(const char *entry_point) noexcept {
    return Error::requires_newer_headers(entry_point, Version::of(12, 0));
}

} // namespace

Result<Library> Library::load(const CodeImage &, const JitOptions &, JitLog *) noexcept {
    return CUSHIM_NAMED(no_libraries("cuLibraryLoadData"));
}
Result<Library> Library::load_file(const char *, const JitOptions &, JitLog *) noexcept {
    return CUSHIM_NAMED(no_libraries("cuLibraryLoadData"));
}
Result<Library> Library::adopt(CUlib_st *) noexcept {
    return CUSHIM_NAMED(no_libraries("cuLibraryUnload"));
}
Library Library::borrow(CUlib_st *library) noexcept {
    return Library(library, nullptr);
}
JitLog Library::jit_log() const noexcept {
    return {};
}
Result<AnyKernel> Library::kernel(const char *) const noexcept {
    return CUSHIM_NAMED(no_libraries("cuLibraryGetKernel"));
}
Result<std::size_t> Library::kernel_count() const noexcept {
    return CUSHIM_NAMED(
        Error::requires_newer_headers("cuLibraryGetKernelCount", Version::of(12, 4)));
}
Result<std::size_t> Library::kernels(AnyKernel *, std::size_t) const noexcept {
    return CUSHIM_NAMED(
        Error::requires_newer_headers("cuLibraryEnumerateKernels", Version::of(12, 4)));
}
Result<detail::Variable> Library::variable(const Context &, const char *) const noexcept {
    return CUSHIM_NAMED(no_libraries("cuLibraryGetGlobal"));
}
Result<detail::Variable> Library::managed_variable(const Context &, const char *) const noexcept {
    return CUSHIM_NAMED(no_libraries("cuLibraryGetManaged"));
}
Result<void *> Library::unified_function(const char *) const noexcept {
    return CUSHIM_NAMED(no_libraries("cuLibraryGetUnifiedFunction"));
}
Result<Module> Library::module(const Context &) const noexcept {
    return CUSHIM_NAMED(no_libraries("cuLibraryGetModule"));
}

} // namespace cushim

#endif
