// Features of CUDA, and the driver version that each requires.
//
//     if (cushim::supports(cushim::driver_version(), cushim::Feature::green_contexts)) ...
//
// The driver version is necessary, not always sufficient: devices differ, see their attributes. A
// version is the first whose NVIDIA headers have the entry points or enumerators.
// Threads: any, at any time.
#ifndef CUSHIM_FEATURE_HPP
#define CUSHIM_FEATURE_HPP

#include <cushim/detail/cpp20.hpp>
#include <cushim/text.hpp>
#include <cushim/version.hpp>

namespace cushim {

// A feature of CUDA. The comments name entry points or constants that it adds.
enum class Feature : unsigned char {
    // --- Contexts, streams and events
    primary_contexts,           // cuDevicePrimaryCtxRetain
    host_functions,             // cuLaunchHostFunc
    stream_memory_operations,   // cuStreamWriteValue32, cuStreamWaitValue32, cuStreamBatchMemOp
    stream_memory_operations_2, // their second form: cuStreamWriteValue32_v2, ...
    object_ids,                 // cuCtxGetId, cuStreamGetId
    context_flags,              // cuCtxSetFlags
    green_contexts,             // cuGreenCtxCreate
    green_context_streams,      // cuGreenCtxStreamCreate
    context_events,             // cuCtxRecordEvent, cuCtxWaitEvent
    stream_device,              // cuStreamGetDevice
    context_operations,         // cuCtxSynchronize_v2, cuCtxGetDevice_v2: of a given context

    // --- Memory
    interprocess_memory,      // cuIpcGetMemHandle, and cuIpcGetEventHandle for events
    managed_memory,           // cuMemAllocManaged
    memory_advice,            // cuMemAdvise, cuMemPrefetchAsync
    memory_advice_locations,  // the same with a NUMA node as target: cuMemAdvise_v2
    virtual_memory,           // cuMemCreate, cuMemMap
    virtual_memory_retain,    // cuMemRetainAllocationHandle
    sparse_arrays,            // cuMemMapArrayAsync
    memory_pools,             // cuMemPoolCreate, cuMemAllocAsync
    memory_pools_by_location, // cuMemGetMemPool, cuMemGetDefaultMemPool
    address_range_handles,    // cuMemGetHandleForAddressRange: device memory as a dma-buf
    host_numa_memory,         // CU_MEM_LOCATION_TYPE_HOST_NUMA
    fabric_handles,           // CU_MEM_HANDLE_TYPE_FABRIC
    multicast,                // cuMulticastCreate
    batch_copies,             // cuMemcpyBatchAsync; its signature changed with 13.0
    batch_prefetch,           // cuMemPrefetchBatchAsync, cuMemDiscardBatchAsync

    // --- Memory and semaphores of other APIs
    external_memory,              // cuImportExternalMemory
    external_semaphores,          // cuImportExternalSemaphore
    external_direct3d11,          // CU_EXTERNAL_MEMORY_HANDLE_TYPE_D3D11_RESOURCE
    external_nvsci,               // CU_EXTERNAL_MEMORY_HANDLE_TYPE_NVSCIBUF
    external_timeline_semaphores, // CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_TIMELINE_SEMAPHORE_FD
    external_dma_buf,             // CU_EXTERNAL_MEMORY_HANDLE_TYPE_DMABUF_FD

    // --- Modules and kernels
    launch_attributes,     // cuLaunchKernelEx
    cluster_occupancy,     // cuOccupancyMaxActiveClusters
    loading_mode,          // cuModuleGetLoadingMode: whether kernels are loaded lazily
    library_loading,       // cuLibraryLoadData: kernels without a context
    tensor_maps,           // cuTensorMapEncodeTiled
    function_names,        // cuKernelGetName, cuFuncGetName
    kernel_parameter_info, // cuKernelGetParamInfo, cuFuncGetParamInfo
    kernel_enumeration,    // cuLibraryEnumerateKernels
    kernel_libraries,      // cuKernelGetLibrary

    // --- Graphs
    graphs,                         // cuGraphCreate, cuGraphLaunch
    stream_capture,                 // cuStreamBeginCapture
    stream_capture_modes,           // cuStreamBeginCapture_v2, cuThreadExchangeStreamCaptureMode
    graph_update,                   // cuGraphExecUpdate
    graph_update_2,                 // with both nodes that differ: cuGraphExecUpdate_v2
    graph_event_nodes,              // cuGraphAddEventRecordNode, cuGraphAddEventWaitNode
    graph_upload,                   // cuGraphUpload
    graph_external_semaphore_nodes, // cuGraphAddExternalSemaphoresSignalNode, ...WaitNode
    graph_user_objects,             // cuUserObjectCreate
    graph_debug_dot,                // cuGraphDebugDotPrint
    graph_memory_nodes,             // cuGraphAddMemAllocNode, cuGraphAddMemFreeNode
    graph_instantiate_flags,        // cuGraphInstantiateWithFlags
    graph_node_enable,              // cuGraphNodeSetEnabled
    graph_memory_operation_nodes,   // cuGraphAddBatchMemOpNode
    graph_node_priorities,          // CU_KERNEL_NODE_ATTRIBUTE_PRIORITY, ...FLAG_USE_NODE_PRIORITY
    graph_node_launch_attributes,   // other CU_LAUNCH_ATTRIBUTE_... of kernel nodes: clusters
    graph_instantiate_params,       // cuGraphInstantiateWithParams
    graph_device_launch,            // CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH
    graph_library_kernels,          // kernel nodes of library kernels: cuGraphAddKernelNode_v2
    graph_exec_flags,               // cuGraphExecGetFlags
    graph_generic_nodes,            // cuGraphAddNode, cuGraphNodeSetParams
    graph_edge_data,                // cuGraphAddNode_v2, cuGraphAddDependencies_v2
    graph_conditional_nodes,        // cuGraphConditionalHandleCreate; if and while
    graph_conditional_switch,       // switch nodes, and if nodes with an else body
    capture_to_graph,               // cuStreamBeginCaptureToGraph

    // --- Everything else
    entry_point_lookup, // cuGetProcAddress
    core_dumps,         // cuCoredumpGetAttribute
    checkpoints,        // cuCheckpointProcessLock
    error_logs          // cuLogsRegisterCallback
};
CUSHIM_API Text to_text(Feature feature) noexcept;

// The number of features; their values are 0 to feature_count - 1.
inline constexpr int feature_count = static_cast<int>(Feature::error_logs) + 1;

// The first CUDA version that has the feature; unknown for values that are not enumerators.
CUSHIM_API Version required_version(Feature feature) noexcept;

// Whether a driver of this version has the feature. An unknown version supports nothing.
CUSHIM_API bool supports(Version installed, Feature feature) noexcept;

// "green_contexts", the enumerator's own name; "unknown" for other values.
CUSHIM_API const char *name(Feature feature) noexcept;

} // namespace cushim

#endif
