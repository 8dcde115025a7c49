/* The module `cushim`: what cushim/cushim.hpp, entry.hpp and override.hpp declare, for
 * `import cushim;`.
 *
 * Tested with clang 16, 19 and 22. Not tried with GCC 14 and MSVC; older clang and GCC reject the
 * import or find no names. Programs compile this file themselves, with their own flags, since no
 * compiler reads the compiled modules of another one. With CMake 3.28 and Ninja:
 *
 *     find_package(cushim REQUIRED)
 *     find_file(CUSHIM_MODULE cushim/cushim.cppm REQUIRED)
 *     cmake_path(GET CUSHIM_MODULE PARENT_PATH folder)
 *     add_executable(app app.cpp)
 *     target_sources(app PRIVATE FILE_SET cushim TYPE CXX_MODULES
 *         BASE_DIRS ${folder} FILES ${CUSHIM_MODULE})
 *     target_link_libraries(app PRIVATE cushim::cushim)
 *
 * A module exports no macros: include <cushim/try.hpp> for CUSHIM_TRY, before `import cushim;`. Nor
 * does it export CUDA's own names and the C API: include <cuda.h>, <cuda_runtime_api.h> and
 * <cushim/loader.h> for these. */
module;

#include <cushim/cushim.hpp>
#include <cushim/entry.hpp>
#include <cushim/override.hpp>

export module cushim;

export namespace cushim {

using cushim::AccessFlags, cushim::AccessGrant, cushim::AddressRange, cushim::AddressRangeOptions,
    cushim::AllocatableType, cushim::AnyKernel, cushim::Api, cushim::BinarySemaphore,
    cushim::BlockSuggestion, cushim::CaptureMode, cushim::CaptureStatus, cushim::CodeImage,
    cushim::ComputeCapability, cushim::ConditionalNodeParams, cushim::Context, cushim::ContextScope,
    cushim::Device, cushim::DeviceBuffer, cushim::DeviceName, cushim::DevicePitchedSpan,
    cushim::DeviceSpan, cushim::DeviceText, cushim::DeviceType, cushim::DeviceUuid, cushim::Dim3,
    cushim::DriverLog, cushim::DriverTable, cushim::Error, cushim::ErrorHook,
    cushim::ErrorHookSetting, cushim::ErrorKind, cushim::ErrorParts, cushim::ErrorText,
    cushim::Event, cushim::EventOptions, cushim::Exception, cushim::ExportKinds, cushim::Extent,
    cushim::ExternalBuffer, cushim::ExternalMemory, cushim::ExternalMemoryOptions,
    cushim::ExternalMemorySource, cushim::ExternalMipmappedArray, cushim::FabricHandle,
    cushim::Feature, cushim::FillableDeviceType, cushim::Granularity, cushim::Graph,
    cushim::GraphAllocation, cushim::GraphBody, cushim::GraphBranches, cushim::GraphCases,
    cushim::GraphCondition, cushim::GraphConditionOptions, cushim::GraphConditionalType,
    cushim::GraphDependencies, cushim::GraphEdge, cushim::GraphEdgeData, cushim::GraphExec,
    cushim::GraphMemoryUsage, cushim::GraphNode, cushim::GraphNodeType, cushim::GraphUpdate,
    cushim::GraphUpdateResult, cushim::GrowableBuffer, cushim::GrowableBufferOptions,
    cushim::HostMappedBuffer, cushim::HostNodeParams, cushim::HostPitchedSpan,
    cushim::HostRegistration, cushim::InstantiateFailure, cushim::InstantiateOptions,
    cushim::InstantiateResult, cushim::IpcEventHandle, cushim::IpcEventTag, cushim::IpcExport,
    cushim::IpcMemHandle, cushim::IpcMemTag, cushim::IpcMemory, cushim::JitLog, cushim::JitOptions,
    cushim::Kernel, cushim::KernelAttributes, cushim::KernelNodeParams, cushim::KernelParameter,
    cushim::KeyedMutex, cushim::LaunchConfig, cushim::Library, cushim::LibraryReport,
    cushim::LoadReport, cushim::ManagedAttachment, cushim::ManagedBuffer, cushim::ManagedLocation,
    cushim::ManagedBufferOptions, cushim::MappedRange, cushim::MemAllocNodeParams,
    cushim::MemcpyNodeParams, cushim::MemoryInfo, cushim::MemoryPool, cushim::MemoryPoolOptions,
    cushim::MemsetNodeParams, cushim::Module, cushim::NvSciOptions, cushim::NvSciSemaphore,
    cushim::PciBusId, cushim::PhysicalMemory, cushim::PhysicalMemoryOptions,
    cushim::PhysicalMemoryProperties, cushim::PinnedBuffer, cushim::PinnedBufferOptions,
    cushim::Pitch, cushim::PitchedBuffer, cushim::PoolBuffer, cushim::PoolPointer,
    cushim::PoolReuse, cushim::PoolUsage, cushim::Position, cushim::HostRegistrationOptions,
    cushim::Result, cushim::RuntimeTable, cushim::ScopedOverride, cushim::SemaphoreNodeParams,
    cushim::SemaphoreSignal, cushim::SemaphoreWait, cushim::Settings, cushim::Stream,
    cushim::StreamOptions, cushim::StreamPriorities, cushim::TeardownFailure, cushim::TeardownSink,
    cushim::TeardownSinkSetting, cushim::Text, cushim::TimelineSemaphore, cushim::TypedBuffer,
    cushim::UniqueFd, cushim::Version, cushim::VersionText, cushim::Win32Handle,
    cushim::WritableDeviceType, cushim::allocation_alignment, cushim::available_shared_bytes,
    cushim::configure, cushim::copy, cushim::driver, cushim::driver_version, cushim::export_event,
    cushim::feature_count, cushim::fill, cushim::graph_memory_usage, cushim::headers_version,
    cushim::init, cushim::introduced_in, cushim::is_available, cushim::kernel_of,
    cushim::last_driver_log,
    cushim::load, cushim::load_driver, cushim::load_report, cushim::load_runtime,
    cushim::max_active_blocks, cushim::max_active_clusters, cushim::max_cluster_size, cushim::name,
    cushim::open_event, cushim::receive_fd, cushim::reload, cushim::report,
    cushim::required_version, cushim::reset_graph_memory_high_marks, cushim::resolve_all,
    cushim::runtime, cushim::runtime_version, cushim::send_fd, cushim::set_error_hook,
    cushim::set_teardown_sink, cushim::signal_semaphores, cushim::suggest_block,
    cushim::suggest_block_by, cushim::supports, cushim::to_text, cushim::trim_graph_memory,
    cushim::try_driver, cushim::try_runtime, cushim::wait_for_released_closures,
    cushim::wait_semaphores;

} // namespace cushim

// Captures and graphs of the runtime API.
export namespace cushim::rt {

using cushim::rt::adopt_exec, cushim::rt::adopt_graph, cushim::rt::begin_capture,
    cushim::rt::borrow_exec, cushim::rt::borrow_graph, cushim::rt::capture,
    cushim::rt::create_graph, cushim::rt::end_capture;

} // namespace cushim::rt

// A tag for each function of the tables.
export namespace cushim::entry {

#include "cushim/detail/entry_names.inc"

} // namespace cushim::entry
