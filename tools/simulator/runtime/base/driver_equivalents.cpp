// Checks the assumption of driver_equivalents.hpp: equal enumerators in both libraries.
#include "runtime/base/driver_equivalents.hpp"

namespace sim::runtime {
namespace {

template <auto Driver, auto Runtime>
constexpr bool agree = static_cast<long long>(Driver) == static_cast<long long>(Runtime);

static_assert(agree<CU_LIMIT_STACK_SIZE, cudaLimitStackSize>);
static_assert(agree<CU_LIMIT_PERSISTING_L2_CACHE_SIZE, cudaLimitPersistingL2CacheSize>);
static_assert(agree<CU_FUNC_CACHE_PREFER_EQUAL, cudaFuncCachePreferEqual>);
static_assert(agree<CU_SHARED_MEM_CONFIG_EIGHT_BYTE_BANK_SIZE, cudaSharedMemBankSizeEightByte>);
static_assert(agree<CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, cudaDevAttrMaxThreadsPerBlock>);
static_assert(
    agree<CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, cudaDevAttrComputeCapabilityMajor>);
static_assert(agree<CU_DEVICE_ATTRIBUTE_MEMPOOL_SUPPORTED_HANDLE_TYPES,
                    cudaDevAttrMemoryPoolSupportedHandleTypes>);
static_assert(agree<CU_DEVICE_P2P_ATTRIBUTE_CUDA_ARRAY_ACCESS_SUPPORTED,
                    cudaDevP2PAttrCudaArrayAccessSupported>);
static_assert(agree<CU_STREAM_CAPTURE_STATUS_INVALIDATED, cudaStreamCaptureStatusInvalidated>);
static_assert(agree<CU_STREAM_CAPTURE_MODE_RELAXED, cudaStreamCaptureModeRelaxed>);
static_assert(agree<CU_STREAM_NON_BLOCKING, cudaStreamNonBlocking>);
static_assert(agree<CU_EVENT_INTERPROCESS, cudaEventInterprocess>);
static_assert(agree<CU_CTX_SCHED_BLOCKING_SYNC, cudaDeviceScheduleBlockingSync>);
static_assert(agree<CU_CTX_MAP_HOST, cudaDeviceMapHost>);
static_assert(agree<CU_MEMHOSTALLOC_WRITECOMBINED, cudaHostAllocWriteCombined>);
static_assert(agree<CU_MEMHOSTREGISTER_READ_ONLY, cudaHostRegisterReadOnly>);
static_assert(agree<CU_MEM_ATTACH_SINGLE, cudaMemAttachSingle>);
static_assert(agree<CU_MEM_ADVISE_UNSET_ACCESSED_BY, cudaMemAdviseUnsetAccessedBy>);
static_assert(agree<CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION,
                    cudaMemRangeAttributeLastPrefetchLocation>);
static_assert(agree<CU_MEMPOOL_ATTR_USED_MEM_HIGH, cudaMemPoolAttrUsedMemHigh>);
static_assert(agree<CU_MEM_LOCATION_TYPE_DEVICE, cudaMemLocationTypeDevice>);
static_assert(agree<CU_MEM_ACCESS_FLAGS_PROT_READWRITE, cudaMemAccessFlagsProtReadWrite>);
static_assert(
    agree<CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, cudaMemHandleTypePosixFileDescriptor>);
static_assert(agree<CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH, cudaGraphMemAttrReservedMemHigh>);
static_assert(agree<CU_EXTERNAL_MEMORY_HANDLE_TYPE_NVSCIBUF, cudaExternalMemoryHandleTypeNvSciBuf>);
static_assert(agree<CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_TIMELINE_SEMAPHORE_FD,
                    cudaExternalSemaphoreHandleTypeTimelineSemaphoreFd>);
static_assert(agree<CUDA_EXTERNAL_MEMORY_DEDICATED, cudaExternalMemoryDedicated>);
static_assert(agree<CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT,
                    cudaFuncAttributePreferredSharedMemoryCarveout>);
static_assert(agree<CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                    cudaFuncAttributeMaxDynamicSharedMemorySize>);
static_assert(agree<CU_GRAPH_NODE_TYPE_KERNEL, cudaGraphNodeTypeKernel>);
static_assert(agree<CU_GRAPH_NODE_TYPE_MEM_FREE, cudaGraphNodeTypeMemFree>);
static_assert(agree<CU_GRAPH_EXEC_UPDATE_ERROR_ATTRIBUTES_CHANGED,
                    cudaGraphExecUpdateErrorAttributesChanged>);
static_assert(agree<CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH,
                    cudaGraphInstantiateFlagAutoFreeOnLaunch>);
static_assert(agree<CU_RESOURCE_TYPE_PITCH2D, cudaResourceTypePitch2D>);
static_assert(agree<CU_RES_VIEW_FORMAT_UNSIGNED_BC7, cudaResViewFormatUnsignedBlockCompressed7>);
static_assert(agree<CUDA_ARRAY3D_LAYERED, cudaArrayLayered>);
static_assert(agree<CUDA_ARRAY3D_SURFACE_LDST, cudaArraySurfaceLoadStore>);
static_assert(agree<CUDA_ARRAY3D_CUBEMAP, cudaArrayCubemap>);
static_assert(agree<CUDA_ARRAY3D_TEXTURE_GATHER, cudaArrayTextureGather>);
static_assert(
    agree<CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM, cudaEnablePerThreadDefaultStream>);
static_assert(agree<CU_USER_OBJECT_NO_DESTRUCTOR_SYNC, cudaUserObjectNoDestructorSync>);
static_assert(agree<CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TO_ALL_DEVICES,
                    cudaFlushGPUDirectRDMAWritesToAllDevices>);
static_assert(agree<CU_LAUNCH_ATTRIBUTE_PRIORITY, cudaLaunchAttributePriority>);
static_assert(agree<CU_LAUNCH_ATTRIBUTE_COOPERATIVE, cudaLaunchAttributeCooperative>);
#if CUDART_VERSION >= 12030
static_assert(agree<CU_GRAPH_NODE_TYPE_CONDITIONAL, cudaGraphNodeTypeConditional>);
static_assert(agree<CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC, cudaGraphDependencyTypeProgrammatic>);
static_assert(agree<CU_GRAPH_COND_TYPE_WHILE, cudaGraphCondTypeWhile>);
static_assert(agree<CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT, cudaMemLocationTypeHostNumaCurrent>);
#endif
static_assert(CUDA_IPC_HANDLE_SIZE == CU_IPC_HANDLE_SIZE);

} // namespace
} // namespace sim::runtime
