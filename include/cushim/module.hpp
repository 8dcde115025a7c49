/* CUDA modules: code and variables that are loaded into one context. */
#ifndef CUSHIM_MODULE_HPP
#define CUSHIM_MODULE_HPP

#include <cushim/code.hpp>
#include <cushim/context.hpp>
#include <cushim/device_span.hpp>
#include <cushim/handle.hpp>
#include <cushim/kernel.hpp>

namespace cushim {
namespace detail {

// The variable's elements, or invalid_argument where its bytes are not a number of them.
CUSHIM_API Result<std::size_t> elements_of(const char *name, std::size_t bytes,
                                           std::size_t element_size) noexcept;

struct Variable {
    CUdeviceptr address;
    std::size_t bytes;

    template <class T>
    Result<DeviceSpan<T>> as(const char *name) const noexcept {
        CUSHIM_TRY(const std::size_t size, elements_of(name, bytes, sizeof(T)));
        return DeviceSpan<T>(address, size);
    }
};

} // namespace detail

/* A module. Its kernels keep it loaded; what must not be running is what queued launches still need: wait
 * for them before the last owner goes.
 *
 * Threads: the rules of handle.hpp; const functions may run on several threads at once. Needs no
 * current context and does not change it.
 * Errors: what the calls answer; with invalid PTX (status 218) the message has the compiler's words.
 * Since CUDA 2.0 where nothing else is said. */
class Module : public detail::Shared<Module, CUmodule> {
  public:
    Module() noexcept = default;

    // Loads code into the context, and compiles it where it is PTX: that takes as long as a compiler
    // does. invalid_argument where the image is cut short, or an option is out of its range.
    // cuModuleLoadDataEx (CUDA 2.1), cuModuleUnload.
    CUSHIM_API static Result<Module> load(const Context &context, const CodeImage &image,
                                          const JitOptions &options = {},
                                          JitLog *log = nullptr) noexcept;

    // The same from a file, which is read into memory for it. Status 301 where it cannot be read.
    CUSHIM_API static Result<Module> load_file(const Context &context, const char *path,
                                               const JitOptions &options = {},
                                               JitLog *log = nullptr) noexcept;

    // Takes over a module of that context.
    CUSHIM_API static Result<Module> adopt(const Context &context, CUmodule module) noexcept;
    // Does not own: the lender keeps it loaded.
    CUSHIM_API static Module borrow(CUmodule module) noexcept;

    // Status 500 where there is none of that name, as the compiler mangled it. cuModuleGetFunction.
    CUSHIM_API Result<AnyKernel> kernel(const char *name) const noexcept;
    // The same with its parameters, checked once, here: see AnyKernel::as().
    template <class Signature>
    Result<Kernel<Signature>> kernel(const char *name) const noexcept {
        CUSHIM_TRY(const AnyKernel found, kernel(name));
        return found.as<Signature>();
    }

    // A variable, for copies and kernels; valid as long as the module is loaded. T const: as for
    // __constant__ ones. Status 500 where there is none of that name, invalid_argument where it is not a
    // number of T. cuModuleGetGlobal_v2.
    template <DeviceType T>
    Result<DeviceSpan<T>> global(const char *name) const noexcept {
        CUSHIM_TRY(const detail::Variable found, variable(name));
        return found.as<T>(name);
    }

    // Whether code is loaded when it is first needed: the default of newer drivers, which the
    // environment can change. cuModuleGetLoadingMode, since CUDA 11.7.
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
