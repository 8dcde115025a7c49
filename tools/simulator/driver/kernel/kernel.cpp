// Attributes, names, parameters and owners of kernels and functions.
#include "call/settings.hpp"
#include "driver_functions.hpp"
#include "engine/context.hpp"
#include "engine/device.hpp"
#include "kernel/module.hpp"

#include <numeric>

namespace sim {
namespace {

// Attributes that older headers lack.
enum : int {
    cluster_must_be_set = 10,
    cluster_width = 11,
    cluster_depth = 13,
    non_portable_cluster = 14,
    cluster_policy = 15,
    attribute_end = 16,
};

constexpr char unknown_attribute[] = "Invalid CUfunction_attribute value %d";

int constants_of(const ImageKernel &code, const Image &image) {
    return std::accumulate(image.variables.begin(), image.variables.end(), code.constant,
                           [](int sum, const ImageVariable &variable) {
                               return variable.kind == ImageVariable::Kind::constant
                                          ? sum + static_cast<int>(variable.size)
                                          : sum;
                           });
}

int attribute_of(const ImageKernel &code, const Image &image, const FunctionSettings &settings,
                 CUdevice device, CUfunction_attribute attribute) {
    const int id = static_cast<int>(attribute);
    switch (id) {
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
        return max_threads_of(code, device);
    case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
        return code.shared;
    case CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES:
        return constants_of(code, image);
    case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES:
        return code.local;
    case CU_FUNC_ATTRIBUTE_NUM_REGS:
        return code.registers;
    case CU_FUNC_ATTRIBUTE_PTX_VERSION:
        return code.ptx_version ? code.ptx_version : compute_capability(device);
    case CU_FUNC_ATTRIBUTE_BINARY_VERSION:
        return code.binary_version ? code.binary_version : compute_capability(device);
    case CU_FUNC_ATTRIBUTE_CACHE_MODE_CA:
        return 0;
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
        return max_dynamic_shared_of(code, settings, device);
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
        return settings.carveout;
    case cluster_must_be_set:
        return code.cluster_must_be_set || code.cluster[0] != 0 || settings.cluster[0] != 0;
    case cluster_width:
    case cluster_width + 1:
    case cluster_depth: {
        const int dimension = id - cluster_width;
        return code.cluster[dimension] ? static_cast<int>(code.cluster[dimension])
                                       : settings.cluster[dimension];
    }
    case non_portable_cluster:
        return settings.non_portable_cluster;
    case cluster_policy:
        return settings.cluster_policy;
    default:
        refuse(CUDA_ERROR_INVALID_VALUE, unknown_attribute, id);
    }
}

void set_attribute(const ImageKernel &code, FunctionSettings &settings, CUdevice device,
                   CUfunction_attribute attribute, int value) {
    const int id = static_cast<int>(attribute);
    switch (id) {
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES: {
        const int most =
            attribute_or(device, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 48 << 10);
        require(value >= 0 && value <= most - code.shared,
                "Requested dynamic shared memory size is larger than limit");
        settings.max_dynamic_shared = value;
        return;
    }
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
        require(value >= -1 && value <= 100);
        settings.carveout = value;
        return;
    case cluster_width:
    case cluster_width + 1:
    case cluster_depth:
        require(code.cluster[0] == 0, CUDA_ERROR_NOT_PERMITTED);
        require(value >= 0);
        settings.cluster[id - cluster_width] = value;
        return;
    case non_portable_cluster:
        require(value == 0 || value == 1);
        settings.non_portable_cluster = value != 0;
        return;
    case cluster_policy:
        require(value >= 0 && value <= 2);
        settings.cluster_policy = value;
        return;
    default: // read-only or unknown
        refuse(CUDA_ERROR_INVALID_VALUE, unknown_attribute, id);
    }
}

// The function's own settings, for cuFuncSet…; from the first change on they replace the kernel's.
FunctionSettings &own_settings(Function &function) {
    if (!function.own_settings) {
        function.settings = settings_of(function);
        function.own_settings = true;
    }
    return function.settings;
}

[[maybe_unused]] void give_parameter(const ImageKernel &code, std::size_t index,
                                     std::size_t &offset, std::size_t *size) {
    if (index >= code.parameters.size()) {
        refuse(CUDA_ERROR_INVALID_VALUE, "paramIndex %zu outside of kernel parameter count %zu",
               index, code.parameters.size());
    }
    offset = code.parameters[index].offset;
    if (size != nullptr) {
        *size = code.parameters[index].size;
    }
}

void check_cache_config(int config) {
    if (config < CU_FUNC_CACHE_PREFER_NONE || config > CU_FUNC_CACHE_PREFER_EQUAL) {
        refuse(CUDA_ERROR_INVALID_VALUE, "Invalid CUfunc_cache value %d", config);
    }
}

} // namespace
} // namespace sim

namespace sim::driver {

EXPORT CUresult cuFuncGetAttribute(OUT int *pi, CUfunction_attribute attrib, CUfunction hfunc) {
    require(pi != nullptr);
    const Function &function = function_of(hfunc);
    check_usable(*function.context);
    *pi = attribute_of(function.code, *function.image, settings_of(function),
                       function.context->device, attrib);
    return CUDA_SUCCESS;
}

EXPORT CUresult cuFuncSetAttribute(CUfunction hfunc, CUfunction_attribute attrib, int value) {
    Function &function = function_of(hfunc);
    check_usable(*function.context);
    FunctionSettings changed = settings_of(function);
    set_attribute(function.code, changed, function.context->device, attrib, value);
    own_settings(function) = changed;
    return CUDA_SUCCESS;
}

EXPORT CUresult cuFuncSetCacheConfig(CUfunction hfunc, CUfunc_cache config) {
    check_cache_config(config);
    own_settings(function_of(hfunc)).cache_config = config;
    return CUDA_SUCCESS;
}

EXPORT CUresult cuFuncSetSharedMemConfig(CUfunction hfunc, CUsharedconfig config) {
    const int value = static_cast<int>(config);
    if (value < CU_SHARED_MEM_CONFIG_DEFAULT_BANK_SIZE ||
        value > CU_SHARED_MEM_CONFIG_EIGHT_BYTE_BANK_SIZE) {
        refuse(CUDA_ERROR_INVALID_VALUE, "Invalid CUsharedconfig value %d", value);
    }
    own_settings(function_of(hfunc)).shared_config = config;
    return CUDA_SUCCESS;
}

EXPORT CUresult cuFuncGetModule(OUT CUmodule *hmod, CUfunction hfunc) {
    require(hmod != nullptr && hfunc != nullptr);
    *hmod = function_of(hfunc).module;
    return CUDA_SUCCESS;
}

#if CUDA_VERSION >= 12030
EXPORT CUresult cuFuncGetName(const char **name, CUfunction hfunc) {
    require(name != nullptr, "name cannot be NULL");
    require(hfunc != nullptr, "hfunc cannot be NULL");
    *name = code_of(callable(hfunc)).name.c_str();
    return CUDA_SUCCESS;
}

EXPORT CUresult cuKernelGetName(const char **name, CUkernel hfunc) {
    require(name != nullptr && hfunc != nullptr);
    *name = checked(hfunc).code.name.c_str();
    return CUDA_SUCCESS;
}
#endif

#if CUDA_VERSION >= 12040
EXPORT CUresult cuFuncGetParamInfo(CUfunction func, size_t paramIndex, size_t *paramOffset,
                                   size_t *paramSize) {
    require(func != nullptr && paramOffset != nullptr);
    give_parameter(code_of(callable(func)), paramIndex, *paramOffset, paramSize);
    return CUDA_SUCCESS;
}

EXPORT CUresult cuKernelGetParamInfo(CUkernel kernel, size_t paramIndex, size_t *paramOffset,
                                     size_t *paramSize) {
    current_context();
    require(kernel != nullptr && paramOffset != nullptr);
    give_parameter(checked(kernel).code, paramIndex, *paramOffset, paramSize);
    return CUDA_SUCCESS;
}

EXPORT CUresult cuFuncIsLoaded(OUT CUfunctionLoadingState *state, CUfunction function) {
    require(state != nullptr);
    const Function &queried = function_of(function);
    *state = queried.loaded || !loads_lazily() ? CU_FUNCTION_LOADING_STATE_LOADED
                                               : CU_FUNCTION_LOADING_STATE_UNLOADED;
    return CUDA_SUCCESS;
}

EXPORT CUresult cuFuncLoad(CUfunction function) {
    function_of(function).loaded = true;
    return CUDA_SUCCESS;
}
#endif

#if CUDA_VERSION >= 12000
EXPORT CUresult cuKernelGetFunction(OUT CUfunction *pFunc, CUkernel kernel) {
    require(pFunc != nullptr);
    Function &function = function_in(checked(kernel), current_context());
    function.loaded = true;
    *pFunc = &function;
    return CUDA_SUCCESS;
}

EXPORT CUresult cuKernelGetAttribute(OUT int *pi, CUfunction_attribute attrib, CUkernel kernel,
                                     CUdevice dev) {
    Kernel &queried = checked(kernel);
    require(pi != nullptr);
    device(dev, "dev");
    *pi = attribute_of(queried.code, *queried.image, settings_of(queried, dev), dev, attrib);
    return CUDA_SUCCESS;
}

EXPORT CUresult cuKernelSetAttribute(CUfunction_attribute attrib, int val, CUkernel kernel,
                                     CUdevice dev) {
    Kernel &changed = checked(kernel);
    device(dev, "dev");
    if (static_cast<int>(attrib) < CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES) {
        refuse(CUDA_ERROR_INVALID_VALUE, "Kernel attribute %d cannot be modified",
               static_cast<int>(attrib));
    }
    set_attribute(changed.code, settings_of(changed, dev), dev, attrib, val);
    return CUDA_SUCCESS;
}

EXPORT CUresult cuKernelSetCacheConfig(CUkernel kernel, CUfunc_cache config, CUdevice dev) {
    Kernel &changed = checked(kernel);
    device(dev, "dev");
    check_cache_config(config);
    settings_of(changed, dev).cache_config = config;
    return CUDA_SUCCESS;
}
#endif

#if CUDA_VERSION >= 12050
EXPORT CUresult cuKernelGetLibrary(OUT CUlibrary *pLib, CUkernel kernel) {
    require(pLib != nullptr);
    *pLib = checked(kernel).library;
    return CUDA_SUCCESS;
}
#endif

} // namespace sim::driver
