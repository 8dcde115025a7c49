#include <cushim/library.hpp>

#include <cushim/init.hpp>

#include <new>
#include <utility>

#include "base/call.hpp"
#include "base/missing_entries.hpp"
#include "base/ranges.hpp"
#include "context/adopting.hpp"
#include "context/in_context.hpp"
#include "jit_session.hpp"
#include "loadable_code.hpp"
#include "lookup.hpp"

namespace cushim {

using namespace detail;

namespace {

struct LibraryState final : State {
    Destroyed destroy() noexcept override {
        return {call<entry::cuLibraryUnload>(library), library};
    }
    CUlib_st *library = nullptr;
    JitSession jit; // the driver may write to it until the library is unloaded
};

// The library's module in one context, which is unloaded with the library.
struct LibraryModuleState final : InContext {
    LibraryModuleState(const Context &in, const Library &of) noexcept
        : InContext(in), keep_library(of) {}
    Destroyed destroy() noexcept override { return {}; }
    const KeepAlive keep_library;
};

constexpr const char *empty = "the Library is empty";

// Null if it is borrowed.
const LibraryState *state_of(const Library &library) noexcept {
    return static_cast<const LibraryState *>(Access::state(library));
}

// The result of a call that uses the library. It may be compiled only now; the message then
// contains the compiler's errors, or else what was not found.
Result<void> used(const Library &library, const Wanted &wanted, Result<void> &&called) noexcept {
    const LibraryState *const state = state_of(library);
    if (called || state == nullptr || may_be_the_name(called.error())) {
        return looked_up(wanted, std::move(called));
    }
    return state->jit.with_log(std::move(called));
}

constexpr Wanted nothing_by_name = {"library", "", nullptr};
constexpr Wanted wanted(const char *kind, const char *name) noexcept {
    return {"library", kind, name};
}

Result<void> require_both(const Library &library, const char *name) noexcept {
    CUSHIM_TRY_VOID(require(library, empty));
    return require_name(name);
}

} // namespace

Result<Library> Library::load(const CodeImage &image, const JitOptions &options,
                              JitLog *log) noexcept {
    return named("Library::load", [&]() -> Result<Library> {
        CUSHIM_TRY(const auto code, LoadableCode::of(image));
        CUSHIM_TRY_VOID(init());
        CUSHIM_TRY(auto state, make_state<LibraryState>());
        JitSession &jit = state->jit;
        CUSHIM_TRY_VOID(jit.prepare(options, log));
        Result<void> loaded =
            call<entry::cuLibraryLoadData>(&state->library, code.data(), jit.options(),
                                           jit.values(), jit.count(), nullptr, nullptr, 0);
        if (log != nullptr) {
            *log = jit.log();
        }
        CUSHIM_TRY_VOID(jit.with_log(std::move(loaded)));
        CUlib_st *const library = state->library;
        return Library(library, state.take());
    });
}

Result<Library> Library::load_file(const char *path, const JitOptions &options,
                                   JitLog *log) noexcept {
    return named("Library::load_file", [&]() -> Result<Library> {
        CUSHIM_TRY(const auto code, LoadableCode::read(path));
        return load(CodeImage::unsized(code.data()), options, log);
    });
}

Result<Library> Library::adopt(CUlib_st *library) noexcept {
    return named("Library::adopt", [&]() -> Result<Library> {
        CUSHIM_TRY_VOID(require_handle(library));
        CUSHIM_TRY_VOID(require_headers<entry::cuLibraryUnload>());
        CUSHIM_TRY(auto state, make_state<LibraryState>());
        state->library = library;
        return Library(library, state.take());
    });
}

JitLog Library::jit_log() const noexcept {
    const LibraryState *const state = state_of(*this);
    return state != nullptr ? state->jit.log() : JitLog();
}

// --- kernels

Result<AnyKernel> Library::kernel(const char *name) const noexcept {
    return named("Library::kernel", [&]() -> Result<AnyKernel> {
        CUSHIM_TRY_VOID(require_both(*this, name));
        CUkern_st *found = nullptr;
        CUSHIM_TRY_VOID(used(*this, wanted("kernel", name),
                             call<entry::cuLibraryGetKernel>(&found, native(), name)));
        return AnyKernel({reinterpret_cast<CUfunction>(found), nullptr, true},
                         Access::state(*this));
    });
}

Result<std::size_t> Library::kernel_count() const noexcept {
    return named("Library::kernel_count", [&]() -> Result<std::size_t> {
        CUSHIM_TRY_VOID(require(*this, empty));
        unsigned int count = 0;
        CUSHIM_TRY_VOID(
            used(*this, nothing_by_name, call<entry::cuLibraryGetKernelCount>(&count, native())));
        return std::size_t(count);
    });
}

Result<std::size_t> Library::kernels(AnyKernel *into, std::size_t size) const noexcept {
    return named("Library::kernels", [&]() -> Result<std::size_t> {
        CUSHIM_TRY(const std::size_t all, kernel_count());
        const std::size_t count = size < all ? size : all;
        if (count == 0) {
            return count;
        }
        if (into == nullptr) {
            return invalid_argument("the array is null, but its size is %zu", size);
        }
        auto *const found = new (std::nothrow) CUkern_st *[count];
        if (found == nullptr) {
            return no_host_memory();
        }
        const Result<void> asked = used(*this, nothing_by_name,
                                        call<entry::cuLibraryEnumerateKernels>(
                                            found, static_cast<unsigned int>(count), native()));
        for (std::size_t i = 0; asked && i < count; ++i) {
            into[i] = AnyKernel({reinterpret_cast<CUfunction>(found[i]), nullptr, true},
                                Access::state(*this));
        }
        delete[] found;
        CUSHIM_TRY_VOID(asked);
        return count;
    });
}

// --- variables

Result<Variable> Library::variable(const Context &context, const char *name) const noexcept {
    return named("Library::global", [&]() -> Result<Variable> {
        CUSHIM_TRY_VOID(require_both(*this, name));
        CUSHIM_TRY(const ContextScope scope, context.enter());
        Variable found{};
        CUSHIM_TRY_VOID(
            used(*this, wanted("variable", name),
                 call<entry::cuLibraryGetGlobal>(&found.address, &found.bytes, native(), name)));
        return found;
    });
}

Result<Variable> Library::managed_variable(const Context &context,
                                           const char *name) const noexcept {
    return named("Library::managed", [&]() -> Result<Variable> {
        CUSHIM_TRY_VOID(require_both(*this, name));
        CUSHIM_TRY(const ContextScope scope, context.enter());
        CUmodule loaded = nullptr;
        CUSHIM_TRY_VOID(
            used(*this, nothing_by_name, call<entry::cuLibraryGetModule>(&loaded, native())));
        Variable found{};
        CUSHIM_TRY_VOID(
            used(*this, wanted("managed variable", name),
                 call<entry::cuLibraryGetManaged>(&found.address, &found.bytes, native(), name)));
        return found;
    });
}

Result<void *> Library::unified_function(const char *name) const noexcept {
    return named("Library::unified_function", [&]() -> Result<void *> {
        CUSHIM_TRY_VOID(require_both(*this, name));
        void *found = nullptr;
        CUSHIM_TRY_VOID(used(*this, wanted("unified function", name),
                             call<entry::cuLibraryGetUnifiedFunction>(&found, native(), name)));
        return found;
    });
}

Result<Module> Library::module(const Context &context) const noexcept {
    return named("Library::module", [&]() -> Result<Module> {
        CUSHIM_TRY_VOID(require(*this, empty));
        CUSHIM_TRY_VOID(require(context, "the Context is empty"));
        CUSHIM_TRY(auto state, make_state<LibraryModuleState>(context, *this));
        CUSHIM_TRY(const ContextScope scope, state->enter());
        CUmodule module = nullptr;
        CUSHIM_TRY_VOID(
            used(*this, nothing_by_name, call<entry::cuLibraryGetModule>(&module, native())));
        return Module(module, state.take());
    });
}

} // namespace cushim
