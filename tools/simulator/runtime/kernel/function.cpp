// Attributes of kernels.
#include "runtime/base/driver_api.hpp"
#include "runtime/base/driver_equivalents.hpp"
#include "runtime/kernel/symbol.hpp"

namespace sim::runtime {
namespace {

int attribute(CUfunction function, CUfunction_attribute attribute) {
    int value = 0;
    demand(CU(cuFuncGetAttribute)(&value, attribute, function));
    return value;
}

// For attributes that older drivers do not know.
[[maybe_unused]] int attribute_or_0(CUfunction function, CUfunction_attribute attribute) {
    int value = 0;
    return CU(cuFuncGetAttribute)(&value, attribute, function) == cudaSuccess ? value : 0;
}

// The runtime checks whether an attribute can be set before it checks the kernel.
CUfunction_attribute settable(cudaFuncAttribute attribute) {
    require(attribute >= cudaFuncAttributeMaxDynamicSharedMemorySize &&
            attribute < cudaFuncAttributeMax);
    return same<CUfunction_attribute>(attribute);
}

} // namespace

EXPORT cudaError_t cudaFuncGetAttributes(OUT cudaFuncAttributes *attr, const void *func) {
    require(attr != nullptr);
    const CUfunction function = function_of(func);
    const auto size = [&](CUfunction_attribute of) {
        return static_cast<size_t>(attribute(function, of));
    };
    cudaFuncAttributes found{};
    found.sharedSizeBytes = size(CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
    found.constSizeBytes = size(CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES);
    found.localSizeBytes = size(CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES);
    found.maxThreadsPerBlock = attribute(function, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
    found.numRegs = attribute(function, CU_FUNC_ATTRIBUTE_NUM_REGS);
    found.ptxVersion = attribute(function, CU_FUNC_ATTRIBUTE_PTX_VERSION);
    found.binaryVersion = attribute(function, CU_FUNC_ATTRIBUTE_BINARY_VERSION);
    found.cacheModeCA = attribute(function, CU_FUNC_ATTRIBUTE_CACHE_MODE_CA);
    found.maxDynamicSharedSizeBytes =
        attribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
    found.preferredShmemCarveout =
        attribute(function, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT);
#if CUDART_VERSION >= 12000
    found.clusterDimMustBeSet =
        attribute_or_0(function, CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET);
    found.requiredClusterWidth = attribute_or_0(function, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH);
    found.requiredClusterHeight =
        attribute_or_0(function, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT);
    found.requiredClusterDepth = attribute_or_0(function, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH);
    found.nonPortableClusterSizeAllowed =
        attribute_or_0(function, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED);
    found.clusterSchedulingPolicyPreference =
        attribute_or_0(function, CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE);
#endif
    *attr = found;
    return cudaSuccess;
}

EXPORT cudaError_t cudaFuncSetAttribute(const void *func, cudaFuncAttribute attr, int value) {
    const CUfunction_attribute which = settable(attr);
    return CU(cuFuncSetAttribute)(function_of(func), which, value);
}

#if CUDART_VERSION >= 12030
EXPORT cudaError_t cudaFuncGetName(const char **name, const void *func) {
    require(name != nullptr);
    return CU(cuKernelGetName)(name, kernel_of(func));
}
#endif

#if CUDART_VERSION >= 12080
EXPORT cudaError_t cudaKernelSetAttributeForDevice(cudaKernel_t kernel, cudaFuncAttribute attr,
                                                   int value, int device) {
    return CU(cuKernelSetAttribute)(settable(attr), value, kernel, checked_device(device, "dev"));
}
#endif

} // namespace sim::runtime
