/* CUDA modules: code and variables that are loaded into one context. */
#ifndef CUSHIM_MODULE_HPP
#define CUSHIM_MODULE_HPP

#include <cushim/code.hpp>
#include <cushim/context.hpp>
#include <cushim/detail/variable.hpp>
#include <cushim/device_span.hpp>
#include <cushim/handle.hpp>
#include <cushim/kernel.hpp>

namespace cushim {

/* A CUDA module. Its kernels keep it loaded. Enqueued launches must have completed before the last
 * owner is destroyed.
 *
 * Threads: const functions may run on several threads at the same time.
 * Errors: the status of the CUDA call; for invalid PTX (CUDA_ERROR_INVALID_PTX, 218) the message
 * contains the compiler's output. */
class Module : public detail::Shared<Module, CUmodule> {
  public:
    Module() noexcept = default;

    // Loads code into the context; compiles PTX, which may take seconds. invalid_argument if the
    // image is truncated, or an option is out of its range. cuModuleLoadDataEx, cuModuleUnload.
    CUSHIM_API static Result<Module> load(const Context &context, const CodeImage &image,
                                          const JitOptions &options = {},
                                          JitLog *log = nullptr) noexcept;

    // Loads code from a file, which is read into memory. CUDA_ERROR_FILE_NOT_FOUND (301) if it
    // cannot be read.
    CUSHIM_API static Result<Module> load_file(const Context &context, const char *path,
                                               const JitOptions &options = {},
                                               JitLog *log = nullptr) noexcept;

    // Owns a module of that context. cuModuleUnload.
    CUSHIM_API static Result<Module> adopt(const Context &context, CUmodule module) noexcept;
    // Does not own; the lender must keep the module loaded.
    static Module borrow(CUmodule module) noexcept { return {module, nullptr}; }

    // The kernel with this mangled name; CUDA_ERROR_NOT_FOUND (500) if it does not exist.
    // cuModuleGetFunction.
    CUSHIM_API Result<AnyKernel> kernel(const char *name) const noexcept;
    // The kernel with its parameters, which are checked once, here: see AnyKernel::as().
    template <class Signature>
    Result<Kernel<Signature>> kernel(const char *name) const noexcept {
        CUSHIM_DETAIL_TRY(cushim_tried, const AnyKernel found, kernel(name));
        return detail::named("Module::kernel", found.as<Signature>());
    }

    // A view of a variable, for copies and kernels; valid as long as the module is loaded. A const
    // T gives a read-only view. Kernels must not write __constant__ variables. CUDA_ERROR_NOT_FOUND
    // (500) if it does not exist; invalid_argument unless its size is a multiple of sizeof(T).
    // cuModuleGetGlobal_v2.
    template <DeviceType T>
    Result<DeviceSpan<T>> global(const char *name) const noexcept {
        CUSHIM_DETAIL_TRY(cushim_tried, const detail::Variable found, variable(name));
        return detail::named("Module::global", found.as<T>(name));
    }

    // Whether code is loaded on first use: the default of newer drivers, unless the environment
    // says otherwise. cuModuleGetLoadingMode, since CUDA 11.7.
    CUSHIM_API static Result<bool> loads_lazily() noexcept;

  private:
    friend class Library;
    using Shared::Shared;

    CUSHIM_API Result<detail::Variable> variable(const char *name) const noexcept;
};

inline Text to_text(const Module &module) noexcept {
    return detail::text_of("Module", module);
}

} // namespace cushim

#endif
