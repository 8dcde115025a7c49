// Libraries: code that needs no context and is loaded into each context that uses it.
#include "driver_functions.hpp"
#include "engine/context.hpp"
#include "engine/memory.hpp"
#include "engine/work.hpp"
#include "image/jit_options.hpp"
#include "kernel/module.hpp"

#include <algorithm>

#if CUDA_VERSION >= 12000

namespace sim {
namespace {

void check_options(const CUlibraryOption *options, void *const *values, unsigned int count) {
    require(count == 0 || options != nullptr);
    for (unsigned int i = 0; i < count; ++i) {
        require(options[i] == CU_LIBRARY_BINARY_IS_PRESERVED ||
                (options[i] == CU_LIBRARY_HOST_UNIVERSAL_FUNCTION_AND_DATA_TABLE &&
                 values != nullptr && values[i] != nullptr));
    }
}

// Recorded: the load succeeds for an invalid image. The calls that need the image fail instead.
// With eager loading, the load itself needs it.
CUlibrary load(const void *bytes, std::optional<std::size_t> size, JitOptions options) {
    std::shared_ptr<const Image> image;
    CUresult problem = CUDA_SUCCESS;
    try {
        image = compile_image(bytes, size, options);
    } catch (const ImageProblem &found) {
        if (!loads_lazily()) {
            refuse_image(found.status);
        }
        problem = found.status;
        image = std::make_shared<const Image>();
    }
    auto *library = Registry::get().make<Library>(std::move(image));
    library->problem = problem;
    for (const ImageKernel &code : library->image->kernels) {
        library->kernels.push_back(Registry::get().make<Kernel>(*library, code));
    }
    return library;
}

// A library whose image is needed.
Library &with_image(CUlibrary handle) {
    Library &library = checked(handle);
    if (library.problem != CUDA_SUCCESS) {
        refuse_image(library.problem);
    }
    return library;
}

} // namespace
} // namespace sim

namespace sim::driver {

EXPORT CUresult cuLibraryLoadData(OUT CUlibrary *library, const void *code,
                                  CUjit_option *jitOptions, void **jitOptionsValues,
                                  unsigned int numJitOptions, CUlibraryOption *libraryOptions,
                                  void **libraryOptionValues, unsigned int numLibraryOptions) {
    require(library != nullptr);
    require(code != nullptr, "code cannot be NULL");
    check_options(libraryOptions, libraryOptionValues, numLibraryOptions);
    *library = load(code, {}, JitOptions(numJitOptions, jitOptions, jitOptionsValues));
    return CUDA_SUCCESS;
}

EXPORT CUresult cuLibraryLoadFromFile(OUT CUlibrary *library, const char *fileName,
                                      CUjit_option *jitOptions, void **jitOptionsValues,
                                      unsigned int numJitOptions, CUlibraryOption *libraryOptions,
                                      void **libraryOptionValues, unsigned int numLibraryOptions) {
    require(library != nullptr && fileName != nullptr);
    check_options(libraryOptions, libraryOptionValues, numLibraryOptions);
    const std::string bytes = read_file(fileName);
    *library =
        load(bytes.data(), bytes.size(), JitOptions(numJitOptions, jitOptions, jitOptionsValues));
    return CUDA_SUCCESS;
}

EXPORT CUresult cuLibraryUnload(CUlibrary handle) {
    require(handle != nullptr, CUDA_ERROR_INVALID_HANDLE, "library cannot be NULL");
    Library &library = checked(handle);
    while (!library.modules.empty()) {
        unload_module(*library.modules.begin()->second);
    }
    for (Kernel *kernel : library.kernels) {
        Registry::get().destroy(kernel);
    }
    Registry::get().destroy(&library);
    return CUDA_SUCCESS;
}

EXPORT CUresult cuLibraryGetKernel(OUT CUkernel *pKernel, CUlibrary library, const char *name) {
    require(pKernel != nullptr && name != nullptr);
    const Library &from = with_image(library);
    const auto place = from.image->place_of_kernel(name);
    if (!place) {
        refuse(CUDA_ERROR_NOT_FOUND, "Kernel (%s) cannot be found in library", name);
    }
    *pKernel = from.kernels[*place];
    return CUDA_SUCCESS;
}

#if CUDA_VERSION >= 12040
EXPORT CUresult cuLibraryGetKernelCount(OUT unsigned int *count, CUlibrary lib) {
    require(count != nullptr);
    *count = static_cast<unsigned int>(with_image(lib).kernels.size());
    return CUDA_SUCCESS;
}

EXPORT CUresult cuLibraryEnumerateKernels(CUkernel *kernels, unsigned int numKernels,
                                          CUlibrary lib) {
    require(kernels != nullptr);
    const Library &library = with_image(lib);
    std::copy_n(library.kernels.begin(), std::min<std::size_t>(numKernels, library.kernels.size()),
                kernels);
    return CUDA_SUCCESS;
}
#endif

EXPORT CUresult cuLibraryGetModule(OUT CUmodule *pMod, CUlibrary library) {
    require(pMod != nullptr);
    Library &from = with_image(library);
    *pMod = &library_module(from, current_context());
    return CUDA_SUCCESS;
}

EXPORT CUresult cuLibraryGetGlobal(OUT CUdeviceptr *dptr, OUT size_t *bytes, CUlibrary library,
                                   const char *name) {
    require((dptr != nullptr || bytes != nullptr) && name != nullptr);
    Library &from = with_image(library);
    const Module &module = library_module(from, current_context());
    const auto found = module.variables.find(std::string_view(name));
    require(found != module.variables.end(), CUDA_ERROR_NOT_FOUND);
    give_variable(found->second, dptr, bytes);
    return CUDA_SUCCESS;
}

EXPORT CUresult cuLibraryGetManaged(OUT CUdeviceptr *dptr, OUT size_t *bytes, CUlibrary library,
                                    const char *name) {
    require((dptr != nullptr || bytes != nullptr) && name != nullptr);
    Library &from = with_image(library);
    const ImageVariable *variable = from.image->variable(name);
    const bool found = variable != nullptr && variable->kind == ImageVariable::Kind::managed;
    // They exist only once the library is loaded into a context.
    if (!found || (from.managed.empty() && current_or_null() == nullptr)) {
        refuse(CUDA_ERROR_NOT_FOUND, "Managed variable (%s) cannot be found in library", name);
    }
    if (from.managed.empty()) {
        library_module(from, current_context());
    }
    give_variable(from.managed.find(std::string_view(name))->second, dptr, bytes);
    return CUDA_SUCCESS;
}

EXPORT CUresult cuLibraryGetUnifiedFunction(OUT void **fptr, CUlibrary library,
                                            const char *symbol) {
    require(fptr != nullptr && symbol != nullptr);
    checked(library);
    // Simulated code has none. It is also the status of a missing name.
    refuse(CUDA_ERROR_INVALID_VALUE, "library does not have unified functions/data");
}

} // namespace sim::driver

#endif
