// cudaDeviceProp, filled from the driver's attributes. Fields are set by name, since the layout
// differs between versions.
#include "runtime/base/driver_api.hpp"
#include "runtime/base/driver_equivalents.hpp"

#include <cstring>

namespace sim::runtime {
namespace {

// The attributes of one device; an attribute that the driver does not know is 0.
class Attributes {
  public:
    explicit Attributes(int device) : device_(device) {}
    int operator[](CUdevice_attribute attribute) const {
        int value = 0;
        return CU_ANY(cuDeviceGetAttribute)(&value, attribute, device_) == cudaSuccess ? value : 0;
    }
    size_t size(CUdevice_attribute attribute) const {
        return static_cast<size_t>((*this)[attribute]);
    }

  private:
    int device_;
};

void fill_identity(cudaDeviceProp &prop, int device) {
    demand(CU_ANY(cuDeviceGetName)(prop.name, sizeof prop.name, device));
    demand(CU_ANY(cuDeviceGetUuid_v2)(&prop.uuid, device));
    demand(CU_ANY(cuDeviceTotalMem_v2)(&prop.totalGlobalMem, device));
#ifdef _WIN32
    (void)CU_ANY(cuDeviceGetLuid)(prop.luid, &prop.luidDeviceNodeMask, device);
#endif
}

void fill_limits(cudaDeviceProp &prop, const Attributes &of) {
    prop.sharedMemPerBlock = of.size(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK);
    prop.regsPerBlock = of[CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK];
    prop.warpSize = of[CU_DEVICE_ATTRIBUTE_WARP_SIZE];
    prop.memPitch = of.size(CU_DEVICE_ATTRIBUTE_MAX_PITCH);
    prop.maxThreadsPerBlock = of[CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK];
    prop.maxThreadsDim[0] = of[CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X];
    prop.maxThreadsDim[1] = of[CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y];
    prop.maxThreadsDim[2] = of[CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z];
    prop.maxGridSize[0] = of[CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X];
    prop.maxGridSize[1] = of[CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y];
    prop.maxGridSize[2] = of[CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z];
    prop.totalConstMem = of.size(CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY);
    prop.major = of[CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR];
    prop.minor = of[CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR];
    prop.multiProcessorCount = of[CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT];
    prop.maxThreadsPerMultiProcessor = of[CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR];
    prop.maxBlocksPerMultiProcessor = of[CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR];
    prop.sharedMemPerMultiprocessor =
        of.size(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR);
    prop.regsPerMultiprocessor = of[CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR];
    prop.sharedMemPerBlockOptin = of.size(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
    prop.reservedSharedMemPerBlock = of.size(CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK);
    prop.l2CacheSize = of[CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE];
    prop.persistingL2CacheMaxSize = of[CU_DEVICE_ATTRIBUTE_MAX_PERSISTING_L2_CACHE_SIZE];
    prop.accessPolicyMaxWindowSize = of[CU_DEVICE_ATTRIBUTE_MAX_ACCESS_POLICY_WINDOW_SIZE];
    prop.memoryBusWidth = of[CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH];
}

void fill_textures(cudaDeviceProp &prop, const Attributes &of) {
    prop.textureAlignment = of.size(CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT);
    prop.texturePitchAlignment = of.size(CU_DEVICE_ATTRIBUTE_TEXTURE_PITCH_ALIGNMENT);
    prop.maxTexture1D = of[CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_WIDTH];
    prop.maxTexture1DMipmap = of[CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_MIPMAPPED_WIDTH];
    prop.maxTexture2D[0] = of[CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_WIDTH];
    prop.maxTexture2D[1] = of[CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_HEIGHT];
    prop.maxTexture2DMipmap[0] = of[CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_MIPMAPPED_WIDTH];
    prop.maxTexture2DMipmap[1] = of[CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_MIPMAPPED_HEIGHT];
    prop.maxTexture2DLinear[0] = of[CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LINEAR_WIDTH];
    prop.maxTexture2DLinear[1] = of[CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LINEAR_HEIGHT];
    prop.maxTexture2DLinear[2] = of[CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LINEAR_PITCH];
    prop.maxTexture2DGather[0] = of[CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_GATHER_WIDTH];
    prop.maxTexture2DGather[1] = of[CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_GATHER_HEIGHT];
    prop.maxTexture3D[0] = of[CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_WIDTH];
    prop.maxTexture3D[1] = of[CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_HEIGHT];
    prop.maxTexture3D[2] = of[CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_DEPTH];
    prop.maxTexture3DAlt[0] = of[CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_WIDTH_ALTERNATE];
    prop.maxTexture3DAlt[1] = of[CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_HEIGHT_ALTERNATE];
    prop.maxTexture3DAlt[2] = of[CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_DEPTH_ALTERNATE];
    prop.maxTextureCubemap = of[CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURECUBEMAP_WIDTH];
    prop.maxTexture1DLayered[0] = of[CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LAYERED_WIDTH];
    prop.maxTexture1DLayered[1] = of[CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LAYERED_LAYERS];
    prop.maxTexture2DLayered[0] = of[CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LAYERED_WIDTH];
    prop.maxTexture2DLayered[1] = of[CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LAYERED_HEIGHT];
    prop.maxTexture2DLayered[2] = of[CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LAYERED_LAYERS];
    prop.maxTextureCubemapLayered[0] = of[CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURECUBEMAP_LAYERED_WIDTH];
    prop.maxTextureCubemapLayered[1] =
        of[CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURECUBEMAP_LAYERED_LAYERS];
}

void fill_surfaces(cudaDeviceProp &prop, const Attributes &of) {
    prop.surfaceAlignment = of.size(CU_DEVICE_ATTRIBUTE_SURFACE_ALIGNMENT);
    prop.maxSurface1D = of[CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE1D_WIDTH];
    prop.maxSurface2D[0] = of[CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE2D_WIDTH];
    prop.maxSurface2D[1] = of[CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE2D_HEIGHT];
    prop.maxSurface3D[0] = of[CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE3D_WIDTH];
    prop.maxSurface3D[1] = of[CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE3D_HEIGHT];
    prop.maxSurface3D[2] = of[CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE3D_DEPTH];
    prop.maxSurface1DLayered[0] = of[CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE1D_LAYERED_WIDTH];
    prop.maxSurface1DLayered[1] = of[CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE1D_LAYERED_LAYERS];
    prop.maxSurface2DLayered[0] = of[CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE2D_LAYERED_WIDTH];
    prop.maxSurface2DLayered[1] = of[CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE2D_LAYERED_HEIGHT];
    prop.maxSurface2DLayered[2] = of[CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE2D_LAYERED_LAYERS];
    prop.maxSurfaceCubemap = of[CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACECUBEMAP_WIDTH];
    prop.maxSurfaceCubemapLayered[0] = of[CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACECUBEMAP_LAYERED_WIDTH];
    prop.maxSurfaceCubemapLayered[1] =
        of[CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACECUBEMAP_LAYERED_LAYERS];
}

void fill_abilities(cudaDeviceProp &prop, const Attributes &of) {
    prop.integrated = of[CU_DEVICE_ATTRIBUTE_INTEGRATED];
    prop.canMapHostMemory = of[CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY];
    prop.concurrentKernels = of[CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS];
    prop.ECCEnabled = of[CU_DEVICE_ATTRIBUTE_ECC_ENABLED];
    prop.pciBusID = of[CU_DEVICE_ATTRIBUTE_PCI_BUS_ID];
    prop.pciDeviceID = of[CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID];
    prop.pciDomainID = of[CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID];
    prop.tccDriver = of[CU_DEVICE_ATTRIBUTE_TCC_DRIVER];
    prop.asyncEngineCount = of[CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT];
    prop.unifiedAddressing = of[CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING];
    prop.streamPrioritiesSupported = of[CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED];
    prop.globalL1CacheSupported = of[CU_DEVICE_ATTRIBUTE_GLOBAL_L1_CACHE_SUPPORTED];
    prop.localL1CacheSupported = of[CU_DEVICE_ATTRIBUTE_LOCAL_L1_CACHE_SUPPORTED];
    prop.managedMemory = of[CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY];
    prop.isMultiGpuBoard = of[CU_DEVICE_ATTRIBUTE_MULTI_GPU_BOARD];
    prop.multiGpuBoardGroupID = of[CU_DEVICE_ATTRIBUTE_MULTI_GPU_BOARD_GROUP_ID];
    prop.hostNativeAtomicSupported = of[CU_DEVICE_ATTRIBUTE_HOST_NATIVE_ATOMIC_SUPPORTED];
    prop.pageableMemoryAccess = of[CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS];
    prop.concurrentManagedAccess = of[CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS];
    prop.computePreemptionSupported = of[CU_DEVICE_ATTRIBUTE_COMPUTE_PREEMPTION_SUPPORTED];
    prop.canUseHostPointerForRegisteredMem =
        of[CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM];
    prop.cooperativeLaunch = of[CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH];
    prop.pageableMemoryAccessUsesHostPageTables =
        of[CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES];
    prop.directManagedMemAccessFromHost =
        of[CU_DEVICE_ATTRIBUTE_DIRECT_MANAGED_MEM_ACCESS_FROM_HOST];
}

// Fields that CUDA 13 no longer has.
void fill_removed([[maybe_unused]] cudaDeviceProp &prop, [[maybe_unused]] const Attributes &of) {
#if CUDART_VERSION < 13000
    prop.clockRate = of[CU_DEVICE_ATTRIBUTE_CLOCK_RATE];
    prop.memoryClockRate = of[CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE];
    prop.deviceOverlap = of[CU_DEVICE_ATTRIBUTE_GPU_OVERLAP];
    prop.kernelExecTimeoutEnabled = of[CU_DEVICE_ATTRIBUTE_KERNEL_EXEC_TIMEOUT];
    prop.computeMode = of[CU_DEVICE_ATTRIBUTE_COMPUTE_MODE];
    prop.maxTexture1DLinear = of[CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LINEAR_WIDTH];
    prop.singleToDoublePrecisionPerfRatio =
        of[CU_DEVICE_ATTRIBUTE_SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO];
    prop.cooperativeMultiDeviceLaunch = of[CU_DEVICE_ATTRIBUTE_COOPERATIVE_MULTI_DEVICE_LAUNCH];
#endif
}

// Fields that CUDA 12 and 13 added.
void fill_added([[maybe_unused]] cudaDeviceProp &prop, [[maybe_unused]] const Attributes &of) {
#if CUDART_VERSION >= 12000
    prop.hostRegisterSupported = of[CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED];
    prop.sparseCudaArraySupported = of[CU_DEVICE_ATTRIBUTE_SPARSE_CUDA_ARRAY_SUPPORTED];
    prop.hostRegisterReadOnlySupported = of[CU_DEVICE_ATTRIBUTE_READ_ONLY_HOST_REGISTER_SUPPORTED];
    prop.timelineSemaphoreInteropSupported =
        of[CU_DEVICE_ATTRIBUTE_TIMELINE_SEMAPHORE_INTEROP_SUPPORTED];
    prop.memoryPoolsSupported = of[CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED];
    prop.gpuDirectRDMASupported = of[CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_SUPPORTED];
    prop.gpuDirectRDMAFlushWritesOptions =
        static_cast<unsigned int>(of[CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_FLUSH_WRITES_OPTIONS]);
    prop.gpuDirectRDMAWritesOrdering = of[CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WRITES_ORDERING];
    prop.memoryPoolSupportedHandleTypes =
        static_cast<unsigned int>(of[CU_DEVICE_ATTRIBUTE_MEMPOOL_SUPPORTED_HANDLE_TYPES]);
    prop.deferredMappingCudaArraySupported =
        of[CU_DEVICE_ATTRIBUTE_DEFERRED_MAPPING_CUDA_ARRAY_SUPPORTED];
    prop.ipcEventSupported = of[CU_DEVICE_ATTRIBUTE_IPC_EVENT_SUPPORTED];
    prop.clusterLaunch = of[CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH];
    prop.unifiedFunctionPointers = of[CU_DEVICE_ATTRIBUTE_UNIFIED_FUNCTION_POINTERS];
#endif
#if CUDART_VERSION >= 13000
    prop.deviceNumaConfig = of[CU_DEVICE_ATTRIBUTE_NUMA_CONFIG];
    prop.deviceNumaId = of[CU_DEVICE_ATTRIBUTE_NUMA_ID];
    prop.mpsEnabled = of[CU_DEVICE_ATTRIBUTE_MPS_ENABLED];
    prop.hostNumaId = of[CU_DEVICE_ATTRIBUTE_HOST_NUMA_ID];
    prop.gpuPciDeviceID = static_cast<unsigned int>(of[CU_DEVICE_ATTRIBUTE_GPU_PCI_DEVICE_ID]);
    prop.gpuPciSubsystemID =
        static_cast<unsigned int>(of[CU_DEVICE_ATTRIBUTE_GPU_PCI_SUBSYSTEM_ID]);
    prop.hostNumaMultinodeIpcSupported = of[CU_DEVICE_ATTRIBUTE_HOST_NUMA_MULTINODE_IPC_SUPPORTED];
#endif
}

cudaDeviceProp properties_of(int device) {
    checked_device(device);
    cudaDeviceProp prop{};
    const Attributes of(device);
    fill_identity(prop, device);
    fill_limits(prop, of);
    fill_textures(prop, of);
    fill_surfaces(prop, of);
    fill_abilities(prop, of);
    fill_removed(prop, of);
    fill_added(prop, of);
    return prop;
}

// Whether a device meets the requested properties; only fields that are not 0 count.
bool serves(const cudaDeviceProp &wish, const cudaDeviceProp &found) {
    const bool capable =
        found.major > wish.major || (found.major == wish.major && found.minor >= wish.minor);
    return capable && found.totalGlobalMem >= wish.totalGlobalMem &&
           found.multiProcessorCount >= wish.multiProcessorCount;
}

} // namespace

#if CUDART_VERSION >= 12000 && CUDART_VERSION < 13000
// The function for clients built with CUDA 11's headers, whose structure ends where CUDA 12 appends
// fields.
EXPORT cudaError_t cudaGetDeviceProperties(OUT cudaDeviceProp *prop, int device) {
    require(prop != nullptr);
    const cudaDeviceProp found = properties_of(device);
    std::memcpy(static_cast<void *>(prop), &found, offsetof(cudaDeviceProp, hostRegisterSupported));
    return cudaSuccess;
}

EXPORT cudaError_t cudaGetDeviceProperties_v2(OUT cudaDeviceProp *prop, int device) {
#else
EXPORT cudaError_t cudaGetDeviceProperties(OUT cudaDeviceProp *prop, int device) {
#endif
    require(prop != nullptr);
    *prop = properties_of(device);
    return cudaSuccess;
}

EXPORT cudaError_t cudaChooseDevice(OUT int *device, const cudaDeviceProp *prop) {
    require(device != nullptr && prop != nullptr);
    // Recorded: a child of fork may choose a device too. Device properties are not available there.
    const int count = in_forked_child() ? 0 : device_count();
    for (int candidate = 0; candidate < count; ++candidate) {
        if (serves(*prop, properties_of(candidate))) {
            *device = candidate;
            return cudaSuccess;
        }
    }
    *device = 0; // the closest match
    return cudaSuccess;
}

} // namespace sim::runtime
