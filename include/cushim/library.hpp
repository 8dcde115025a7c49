/* CUDA libraries: code that belongs to no context, and gets into each where it is used. */
#ifndef CUSHIM_LIBRARY_HPP
#define CUSHIM_LIBRARY_HPP

#include <cushim/code.hpp>
#include <cushim/context.hpp>
#include <cushim/device_span.hpp>
#include <cushim/handle.hpp>
#include <cushim/kernel.hpp>
#include <cushim/module.hpp>

struct CUlib_st; // behind CUlibrary, which headers have since CUDA 12.0

namespace cushim {

/* A library. Its kernels, and the modules that it is in contexts, keep it loaded. Wait for queued
 * launches before the last owner goes.
 *
 * The driver may look at the code, and compile it, only when something of it is first used: what is
 * wrong with it then shows there, with the compiler's words in the message.
 *
 * Threads: the rules of handle.hpp; const functions may run on several threads at once. Needs no
 * current context and does not change it.
 * Errors: requires_newer_driver, requires_newer_headers, and what the calls answer.
 * Since CUDA 12.0 where nothing else is said. */
class Library : public detail::Shared<Library, CUlib_st *> {
  public:
    Library() noexcept = default;

    // Initialises the driver. invalid_argument where the image is cut short, or an option is out of its
    // range. cuLibraryLoadData, cuLibraryUnload.
    CUSHIM_API static Result<Library> load(const CodeImage &image, const JitOptions &options = {},
                                           JitLog *log = nullptr) noexcept;

    // The same from a file, which is read into memory for it. Status 301 where it cannot be read.
    CUSHIM_API static Result<Library> load_file(const char *path, const JitOptions &options = {},
                                                JitLog *log = nullptr) noexcept;

    // Takes over a library; cuLibraryUnload when the last owner goes.
    CUSHIM_API static Result<Library> adopt(CUlib_st *library) noexcept;
    // Does not own: the lender keeps it loaded.
    CUSHIM_API static Library borrow(CUlib_st *library) noexcept;

    // What the compiler has said by now, as far as load() was asked to keep it.
    CUSHIM_API JitLog jit_log() const noexcept;

    // Status 500 where there is none of that name, as the compiler mangled it. cuLibraryGetKernel.
    CUSHIM_API Result<AnyKernel> kernel(const char *name) const noexcept;
    // The same with its parameters, checked once, here: see AnyKernel::as().
    template <class Signature>
    Result<Kernel<Signature>> kernel(const char *name) const noexcept {
        CUSHIM_TRY(const AnyKernel found, kernel(name));
        return found.as<Signature>();
    }

    // cuLibraryGetKernelCount, since CUDA 12.4.
    CUSHIM_API Result<std::size_t> kernel_count() const noexcept;
    // Puts kernels into an array of `size`, as many as there are and fit; how many those are.
    // invalid_argument where the array is at address 0 and there is something to put in.
    // cuLibraryGetKernelCount, cuLibraryEnumerateKernels, since CUDA 12.4.
    CUSHIM_API Result<std::size_t> kernels(AnyKernel *into, std::size_t size) const noexcept;

    // A variable as it is in this context, for copies and kernels; valid as long as the library is
    // loaded. Errors as Module::global(). cuLibraryGetGlobal.
    template <DeviceType T>
    Result<DeviceSpan<T>> global(const Context &context, const char *name) const noexcept {
        CUSHIM_TRY(const detail::Variable found, variable(context, name));
        return found.as<T>(name);
    }

    // A managed variable, which is the same in all contexts, and which the host may access as managed
    // memory. Loads the library into this one, since before the first it is nowhere. Errors as
    // Module::global(). cuLibraryGetModule, cuLibraryGetManaged.
    template <DeviceType T>
    Result<DeviceSpan<T>> managed(const Context &context, const char *name) const noexcept {
        CUSHIM_TRY(const detail::Variable found, managed_variable(context, name));
        return found.as<T>(name);
    }

    // A function that exists once for all devices, for pointers to functions in device code.
    // cuLibraryGetUnifiedFunction.
    CUSHIM_API Result<void *> unified_function(const char *name) const noexcept;

    // What it is in this context; keeps the library loaded. cuLibraryGetModule.
    CUSHIM_API Result<Module> module(const Context &context) const noexcept;

  private:
    using Shared::Shared;

    CUSHIM_API Result<detail::Variable> variable(const Context &context,
                                                 const char *name) const noexcept;
    CUSHIM_API Result<detail::Variable> managed_variable(const Context &context,
                                                         const char *name) const noexcept;
};

inline Text to_text(const Library &library) noexcept {
    return detail::text_of("Library", library);
}

} // namespace cushim

#endif
