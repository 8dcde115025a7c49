#include <cushim/module.hpp>

#include <cushim/init.hpp>

#include <utility>

#include "base/call.hpp"
#include "base/ranges.hpp"
#include "context/adopting.hpp"
#include "context/in_context.hpp"
#include "jit_session.hpp"
#include "loadable_code.hpp"
#include "lookup.hpp"

namespace cushim {

using namespace detail;

namespace {

struct ModuleState final : InContext {
    using InContext::InContext;
    Destroyed destroy() noexcept override { return {call<entry::cuModuleUnload>(module), module}; }
    CUmodule module = nullptr;
};

constexpr const char *empty = "the Module is empty";

constexpr Wanted wanted(const char *kind, const char *name) noexcept {
    return {"module", kind, name};
}

// The loaded image has no code for the device, and no PTX that the driver can compile.
Error not_loaded(const Error &error, const Context &context) noexcept {
    if (error.status() != CUDA_ERROR_NO_BINARY_FOR_GPU) {
        return error;
    }
    const auto device = context.device();
    const auto capability =
        device ? device->compute_capability() : Result<ComputeCapability>(ComputeCapability{});
    if (!device || !capability) {
        return error;
    }
    return explained(
        error, "the image has neither code nor PTX for compute capability %d.%d, that of device %d",
        capability->major_version, capability->minor_version, device->native());
}

} // namespace

Result<Module> Module::load(const Context &context, const CodeImage &image,
                            const JitOptions &options, JitLog *log) noexcept {
    return named("Module::load", [&]() -> Result<Module> {
        CUSHIM_TRY_VOID(require(context, "the Context is empty"));
        CUSHIM_TRY(const auto code, LoadableCode::of(image));
        JitSession jit;
        CUSHIM_TRY_VOID(jit.prepare(options, log));
        CUSHIM_TRY(auto state, make_state<ModuleState>(context));
        CUSHIM_TRY(const ContextScope scope, state->enter());
        Result<void> loaded = call<entry::cuModuleLoadDataEx>(
            &state->module, code.data(), jit.count(), jit.options(), jit.values());
        if (log != nullptr) {
            *log = jit.log();
        }
        loaded = jit.with_log(std::move(loaded));
        if (!loaded) {
            return not_loaded(loaded.error(), context);
        }
        const CUmodule module = state->module;
        return Module(module, state.take());
    });
}

Result<Module> Module::load_file(const Context &context, const char *path,
                                 const JitOptions &options, JitLog *log) noexcept {
    return named("Module::load_file", [&]() -> Result<Module> {
        CUSHIM_TRY(const auto code, LoadableCode::read(path));
        return load(context, CodeImage::unsized(code.data()), options, log);
    });
}

Result<Module> Module::adopt(const Context &context, CUmodule module) noexcept {
    return named("Module::adopt", [&]() -> Result<Module> {
        CUSHIM_TRY_VOID(require_handle_in(context, module));
        CUSHIM_TRY(auto state, make_state<ModuleState>(context));
        state->module = module;
        return Module(module, state.take());
    });
}

Result<AnyKernel> Module::kernel(const char *name) const noexcept {
    return named("Module::kernel", [&]() -> Result<AnyKernel> {
        CUSHIM_TRY_VOID(require(*this, empty));
        CUSHIM_TRY_VOID(require_name(name));
        State *const state = Access::state(*this);
        KernelHandle found;
        // The state of every module derives from InContext.
        found.context = state != nullptr ? static_cast<InContext *>(state)->context : nullptr;
        CUSHIM_TRY_VOID(looked_up(wanted("kernel", name),
                                  call<entry::cuModuleGetFunction>(&found.native, native(), name)));
        return AnyKernel(found, state);
    });
}

Result<Variable> Module::variable(const char *name) const noexcept {
    return named("Module::global", [&]() -> Result<Variable> {
        CUSHIM_TRY_VOID(require(*this, empty));
        CUSHIM_TRY_VOID(require_name(name));
        Variable found{};
        CUSHIM_TRY_VOID(looked_up(
            wanted("variable", name),
            call<entry::cuModuleGetGlobal>(&found.address, &found.bytes, native(), name)));
        return found;
    });
}

Result<bool> Module::loads_lazily() noexcept {
#if CUDA_VERSION >= 11070
    return named("Module::loads_lazily", [&]() -> Result<bool> {
        CUSHIM_TRY_VOID(init());
        CUmoduleLoadingMode mode = CU_MODULE_EAGER_LOADING;
        CUSHIM_TRY_VOID(call<entry::cuModuleGetLoadingMode>(&mode));
        return mode == CU_MODULE_LAZY_LOADING;
    });
#else
    return named("Module::loads_lazily",
                 Error::requires_newer_headers("cuModuleGetLoadingMode", Version::of(11, 7)));
#endif
}

Result<std::size_t> detail::elements_of(const char *name, std::size_t bytes,
                                        std::size_t element_size) noexcept {
    if (bytes % element_size != 0) {
        return invalid_argument(
            "variable \"%.250s\" has %zu bytes, not a multiple of the element size of %zu bytes",
            name, bytes, element_size);
    }
    return bytes / element_size;
}

} // namespace cushim
