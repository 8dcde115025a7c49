/* CUDA libraries: code that belongs to no context, and is loaded into each context that uses it. */
#ifndef CUSHIM_LIBRARY_HPP
#define CUSHIM_LIBRARY_HPP

#include <cushim/code.hpp>
#include <cushim/context.hpp>
#include <cushim/device_span.hpp>
#include <cushim/handle.hpp>
#include <cushim/kernel.hpp>
#include <cushim/module.hpp>

struct CUlib_st; // behind CUlibrary, which headers before CUDA 12.0 lack

namespace cushim {

/* A CUDA library. Its kernels and modules keep it loaded. Enqueued launches must have completed
 * before the last owner is destroyed.
 *
 * The driver may read and compile the code when it is first used. An error in the code is then
 * returned there, with the compiler's output in the message.
 *
 * Threads: const functions may run on several threads at the same time.
 * Errors: requires_newer_driver, requires_newer_headers; the status of the CUDA call.
 * Requires CUDA 12.0 unless stated otherwise. */
class Library : public detail::Shared<Library, CUlib_st *> {
  public:
    Library() noexcept = default;

    // Loads code; initialises the driver. invalid_argument if the image is truncated, or an option
    // is out of its range. cuLibraryLoadData, cuLibraryUnload.
    CUSHIM_API static Result<Library> load(const CodeImage &image, const JitOptions &options = {},
                                           JitLog *log = nullptr) noexcept;

    // Loads code from a file, which is read into memory. CUDA_ERROR_FILE_NOT_FOUND (301) if it
    // cannot be read.
    CUSHIM_API static Result<Library> load_file(const char *path, const JitOptions &options = {},
                                                JitLog *log = nullptr) noexcept;

    // Owns a library. cuLibraryUnload.
    CUSHIM_API static Result<Library> adopt(CUlib_st *library) noexcept;
    // Does not own; the lender must keep the library loaded.
    static Library borrow(CUlib_st *library) noexcept { return {library, nullptr}; }

    // The output of the compiler so far: the logs that the options of load() requested. Empty if
    // the library was adopted or borrowed.
    CUSHIM_API JitLog jit_log() const noexcept;

    // The kernel with this mangled name; CUDA_ERROR_NOT_FOUND (500) if it does not exist.
    // cuLibraryGetKernel.
    CUSHIM_API Result<AnyKernel> kernel(const char *name) const noexcept;
    // The kernel with its parameters, which are checked once, here: see AnyKernel::as().
    template <class Signature>
    Result<Kernel<Signature>> kernel(const char *name) const noexcept {
        CUSHIM_DETAIL_TRY(cushim_tried, const AnyKernel found, kernel(name));
        return detail::named("Library::kernel", found.as<Signature>());
    }

    // The number of kernels. cuLibraryGetKernelCount, since CUDA 12.4.
    CUSHIM_API Result<std::size_t> kernel_count() const noexcept;
    // Writes kernels to an array of `size` elements, as many as fit, and returns their number.
    // invalid_argument for a null array if there are kernels to write. cuLibraryGetKernelCount,
    // cuLibraryEnumerateKernels, since CUDA 12.4.
    CUSHIM_API Result<std::size_t> kernels(AnyKernel *into, std::size_t size) const noexcept;

    // A view of a variable in this context, for copies and kernels; valid as long as the library is
    // loaded. Errors: see Module::global(). cuLibraryGetGlobal.
    template <DeviceType T>
    Result<DeviceSpan<T>> global(const Context &context, const char *name) const noexcept {
        CUSHIM_DETAIL_TRY(cushim_tried, const detail::Variable found, variable(context, name));
        return detail::named("Library::global", found.as<T>(name));
    }

    // A view of a managed variable, which all contexts and the host share. Loads the library into
    // this context, because the variable exists only once the library is loaded. Errors: see
    // Module::global(). cuLibraryGetModule, cuLibraryGetManaged.
    template <DeviceType T>
    Result<DeviceSpan<T>> managed(const Context &context, const char *name) const noexcept {
        CUSHIM_DETAIL_TRY(cushim_tried, const detail::Variable found,
                          managed_variable(context, name));
        return detail::named("Library::managed", found.as<T>(name));
    }

    // The address of a function that exists once for all devices, for function pointers in device
    // code; valid as long as the library is loaded.
    // cuLibraryGetUnifiedFunction.
    CUSHIM_API Result<void *> unified_function(const char *name) const noexcept;

    // The library's module in this context; keeps the library loaded. cuLibraryGetModule.
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
