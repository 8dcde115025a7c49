// Modules: loading images into the current context, and looking up their contents.
#include "call/misuse.hpp"
#include "driver_functions.hpp"
#include "engine/capture.hpp"
#include "engine/context.hpp"
#include "engine/memory.hpp"
#include "image/jit_options.hpp"
#include "kernel/module.hpp"
#include "kernel/texture.hpp"

#include <algorithm>

namespace sim {
namespace {

void check_target(const Image &image, CUctx_st &context, JitOptions &options) {
    const int cc = compute_capability(context.device);
    if (!image.fits(cc)) {
        options.error(
            image.minimum_cc > cc
                ? "ptxas fatal   : SM version specified by .target is higher than default "
                  "SM version assumed"
                : "no machine code for this device");
        options.write_outputs();
        refuse(CUDA_ERROR_NO_BINARY_FOR_GPU);
    }
}

CUmodule load(const void *bytes, std::optional<std::size_t> size, JitOptions options) {
    Context &context = current_context();
    auto image = load_image(bytes, size, options);
    check_target(*image, context, options);
    return &load_module(context, std::move(image), nullptr);
}

// A named member of a module.
template <class Map>
auto &member(Map &map, const char *name) {
    require(name != nullptr);
    const auto found = map.find(std::string_view(name));
    require(found != map.end(), CUDA_ERROR_NOT_FOUND);
    return found->second;
}

} // namespace

Module &module_of(CUmodule handle) {
    return checked(handle, CUDA_ERROR_INVALID_HANDLE, CUDA_ERROR_INVALID_HANDLE);
}

void give_variable(std::uintptr_t address, CUdeviceptr *dptr, std::size_t *bytes) {
    const Range *range = AddressSpace::get().find_base(address);
    require(range != nullptr, CUDA_ERROR_NOT_FOUND);
    if (dptr != nullptr) {
        *dptr = static_cast<CUdeviceptr>(address);
    }
    if (bytes != nullptr) {
        *bytes = range->size;
    }
}

} // namespace sim

namespace sim::driver {

EXPORT CUresult cuModuleLoad(OUT CUmodule *module, const char *fname) {
    require(module != nullptr && fname != nullptr);
    current_context();
    const std::string bytes = read_file(fname);
    *module = load(bytes.data(), bytes.size(), {});
    return CUDA_SUCCESS;
}

EXPORT CUresult cuModuleLoadData(OUT CUmodule *module, const void *image) {
    require(module != nullptr);
    *module = load(image, {}, {});
    return CUDA_SUCCESS;
}

EXPORT CUresult cuModuleLoadDataEx(OUT CUmodule *module, const void *image, unsigned int numOptions,
                                   CUjit_option *options, void **optionValues) {
    require(module != nullptr);
    current_context();
    *module = load(image, {}, JitOptions(numOptions, options, optionValues));
    return CUDA_SUCCESS;
}

EXPORT CUresult cuModuleLoadFatBinary(OUT CUmodule *module, const void *fatCubin) {
    require(module != nullptr);
    *module = load(fatCubin, {}, {});
    return CUDA_SUCCESS;
}

EXPORT CUresult cuModuleUnload(CUmodule hmod) {
    Module &module = module_of(hmod);
    require(module.library == nullptr, CUDA_ERROR_NOT_PERMITTED);
    check_usable(*module.context);
    unload_module(module);
    return CUDA_SUCCESS;
}

EXPORT CUresult cuModuleGetLoadingMode(OUT CUmoduleLoadingMode *mode) {
    if (mode == nullptr) {
        refuse_fatal("cuModuleGetLoadingMode into a null pointer");
    }
    *mode = loads_lazily() ? CU_MODULE_LAZY_LOADING : CU_MODULE_EAGER_LOADING;
    return CUDA_SUCCESS;
}

EXPORT CUresult cuModuleGetFunction(OUT CUfunction *hfunc, CUmodule hmod, const char *name) {
    Module &module = checked(hmod);
    require(hfunc != nullptr);
    require(name != nullptr, "name cannot be NULL");
    require(*name != '\0', "name cannot be empty");
    check_usable(*module.context);
    const auto place = module.image->place_of_kernel(name);
    require(place.has_value(), CUDA_ERROR_NOT_FOUND);
    Function *function = module.functions[*place];
    function->loaded = true;
    *hfunc = function;
    return CUDA_SUCCESS;
}

#if CUDA_VERSION >= 12040
EXPORT CUresult cuModuleGetFunctionCount(OUT unsigned int *count, CUmodule mod) {
    require(count != nullptr);
    *count = static_cast<unsigned int>(checked(mod).functions.size());
    return CUDA_SUCCESS;
}

EXPORT CUresult cuModuleEnumerateFunctions(CUfunction *functions, unsigned int numFunctions,
                                           CUmodule mod) {
    require(functions != nullptr);
    const Module &module = module_of(mod);
    std::copy_n(module.functions.begin(),
                std::min<std::size_t>(numFunctions, module.functions.size()), functions);
    return CUDA_SUCCESS;
}
#endif

EXPORT CUresult cuModuleGetGlobal_v2(OUT CUdeviceptr *dptr, OUT size_t *bytes, CUmodule hmod,
                                     const char *name) {
    Module &module = module_of(hmod);
    require(dptr != nullptr || bytes != nullptr, "dptr and bytes cannot be NULL");
    require(name != nullptr);
    check_usable(*module.context);
    give_variable(member(module.variables, name), dptr, bytes);
    return CUDA_SUCCESS;
}

EXPORT CUresult cuModuleGetTexRef(OUT CUtexref *pTexRef, CUmodule hmod, const char *name) {
    const Module &module = module_of(hmod);
    require(pTexRef != nullptr);
    *pTexRef = member(module.textures, name);
    return CUDA_SUCCESS;
}

EXPORT CUresult cuModuleGetSurfRef(OUT CUsurfref *pSurfRef, CUmodule hmod, const char *name) {
    const Module &module = module_of(hmod);
    require(pSurfRef != nullptr);
    *pSurfRef = member(module.surfaces, name);
    return CUDA_SUCCESS;
}

} // namespace sim::driver
