#include <cushim/module.hpp>

#include <cushim/init.hpp>

#include "base/call.hpp"
#include "base/ranges.hpp"
#include "context/adopting.hpp"
#include "context/in_context.hpp"
#include "jit_session.hpp"
#include "loadable_code.hpp"
#include "lookup.hpp"

namespace cushim {
namespace {

struct ModuleState final : detail::InContext {
    using InContext::InContext;
    detail::Destroyed destroy() noexcept override {
        return CUSHIM_DESTROY(cuModuleUnload, module, module);
    }
    CUmodule module = nullptr;
};

constexpr const char *empty = "the Module holds no module";

constexpr detail::Wanted wanted(const char *kind, const char *name) noexcept {
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
    return detail::explained(
        error, "the image has neither code nor PTX for compute capability %d.%d, that of device %d",
        capability->major_version, capability->minor_version, device->native());
}

} // namespace

Result<Module> Module::load(const Context &context, const CodeImage &image,
                            const JitOptions &options, JitLog *log) noexcept {
    CUSHIM_TRY_VOID(detail::require(context, "the Context holds no context"));
    CUSHIM_TRY(const auto code, detail::LoadableCode::of(image));
    detail::JitSession jit;
    CUSHIM_TRY_VOID(jit.prepare(options, log));
    CUSHIM_TRY(auto state, detail::make_state<ModuleState>(context));
    CUSHIM_TRY(const ContextScope scope, state->enter());
    const CUresult status = driver().cuModuleLoadDataEx(&state->module, code.data(), jit.count(),
                                                        jit.options(), jit.values());
    if (log != nullptr) {
        *log = jit.log();
    }
    const Result<void> loaded =
        jit.checked(status, entry::cuModuleLoadDataEx::name, entry::cuModuleLoadDataEx::introduced);
    if (!loaded) {
        return CUSHIM_NAMED(not_loaded(loaded.error(), context));
    }
    const CUmodule module = state->module;
    return Module(module, state.take());
}

Result<Module> Module::load_file(const Context &context, const char *path,
                                 const JitOptions &options, JitLog *log) noexcept {
    CUSHIM_TRY(const auto code, detail::LoadableCode::read(path));
    return CUSHIM_NAMED(load(context, CodeImage::unsized(code.data()), options, log));
}

Result<Module> Module::adopt(const Context &context, CUmodule module) noexcept {
    CUSHIM_TRY_VOID(detail::require_handle_in(context, module));
    CUSHIM_TRY(auto state, detail::make_state<ModuleState>(context));
    state->module = module;
    return Module(module, state.take());
}

Module Module::borrow(CUmodule module) noexcept {
    return Module(module, nullptr);
}

Result<AnyKernel> Module::kernel(const char *name) const noexcept {
    CUSHIM_TRY_VOID(detail::require(*this, empty));
    CUSHIM_TRY_VOID(detail::require_name(name));
    detail::State *const state = detail::Access::state(*this);
    detail::KernelHandle found;
    // The state of every module derives from InContext.
    found.context = state != nullptr ? static_cast<detail::InContext *>(state)->context : nullptr;
    CUSHIM_TRY_VOID(
        CUSHIM_LOOKUP(wanted("kernel", name), cuModuleGetFunction, &found.native, native(), name));
    return AnyKernel(found, state);
}

Result<detail::Variable> Module::variable(const char *name) const noexcept {
    CUSHIM_TRY_VOID(detail::require(*this, empty));
    CUSHIM_TRY_VOID(detail::require_name(name));
    detail::Variable found{};
    CUSHIM_TRY_VOID(CUSHIM_LOOKUP(wanted("variable", name), cuModuleGetGlobal, &found.address,
                                  &found.bytes, native(), name));
    return found;
}

Result<bool> Module::loads_lazily() noexcept {
#if CUDA_VERSION >= 11070
    CUSHIM_TRY_VOID(init());
    CUmoduleLoadingMode mode = CU_MODULE_EAGER_LOADING;
    CUSHIM_TRY_VOID(CUSHIM_DRIVER(cuModuleGetLoadingMode, &mode));
    return mode == CU_MODULE_LAZY_LOADING;
#else
    return CUSHIM_NAMED(
        Error::requires_newer_headers("cuModuleGetLoadingMode", Version::of(11, 7)));
#endif
}

Result<std::size_t> detail::elements_of(const char *name, std::size_t bytes,
                                        std::size_t element_size) noexcept {
    if (bytes % element_size != 0) {
        return invalid_argument(
            "variable \"%.250s\" has %zu bytes, not a multiple of the element size, %zu bytes",
            name, bytes, element_size);
    }
    return bytes / element_size;
}

} // namespace cushim
