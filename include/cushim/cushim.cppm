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

using cushim::AccessFlags;
using cushim::AccessGrant;
using cushim::AddressRange;
using cushim::AddressRangeOptions;
using cushim::AllocatableType;
using cushim::AnyKernel;
using cushim::Api;
using cushim::BinarySemaphore;
using cushim::BlockSuggestion;
using cushim::CaptureMode;
using cushim::CaptureStatus;
using cushim::CodeImage;
using cushim::ComputeCapability;
using cushim::ConditionalNodeParams;
using cushim::Context;
using cushim::ContextScope;
using cushim::Device;
using cushim::DeviceBuffer;
using cushim::DeviceName;
using cushim::DevicePitchedSpan;
using cushim::DeviceSpan;
using cushim::DeviceText;
using cushim::DeviceType;
using cushim::DeviceUuid;
using cushim::Dim3;
using cushim::DriverLog;
using cushim::DriverTable;
using cushim::Error;
using cushim::ErrorKind;
using cushim::ErrorParts;
using cushim::ErrorText;
using cushim::Event;
using cushim::EventOptions;
using cushim::Exception;
using cushim::ExportKinds;
using cushim::Extent;
using cushim::ExternalBuffer;
using cushim::ExternalMemory;
using cushim::ExternalMemoryOptions;
using cushim::ExternalMemorySource;
using cushim::ExternalMipmappedArray;
using cushim::FabricHandle;
using cushim::Feature;
using cushim::FillableDeviceType;
using cushim::Granularity;
using cushim::Graph;
using cushim::GraphAllocation;
using cushim::GraphBody;
using cushim::GraphBranches;
using cushim::GraphCases;
using cushim::GraphCondition;
using cushim::GraphConditionOptions;
using cushim::GraphConditionalType;
using cushim::GraphDependencies;
using cushim::GraphEdge;
using cushim::GraphEdgeData;
using cushim::GraphExec;
using cushim::GraphMemoryUsage;
using cushim::GraphNode;
using cushim::GraphNodeType;
using cushim::GraphUpdate;
using cushim::GraphUpdateResult;
using cushim::GrowableBuffer;
using cushim::GrowableBufferOptions;
using cushim::HostMappedBuffer;
using cushim::HostNodeParams;
using cushim::HostPitchedSpan;
using cushim::HostRegistration;
using cushim::InstantiateFailure;
using cushim::InstantiateOptions;
using cushim::InstantiateResult;
using cushim::IpcEventHandle;
using cushim::IpcEventTag;
using cushim::IpcExport;
using cushim::IpcMemHandle;
using cushim::IpcMemTag;
using cushim::IpcMemory;
using cushim::JitLog;
using cushim::JitOptions;
using cushim::Kernel;
using cushim::KernelAttributes;
using cushim::KernelNodeParams;
using cushim::KernelParameter;
using cushim::KeyedMutex;
using cushim::LaunchAttributes;
using cushim::LaunchConfig;
using cushim::LaunchPriority;
using cushim::Library;
using cushim::LibraryReport;
using cushim::LoadReport;
using cushim::ManagedAttachment;
using cushim::ManagedBuffer;
using cushim::ManagedLocation;
using cushim::ManagedOptions;
using cushim::MappedRange;
using cushim::MemAllocNodeParams;
using cushim::MemcpyNodeParams;
using cushim::MemoryInfo;
using cushim::MemoryPool;
using cushim::MemoryPoolOptions;
using cushim::MemsetNodeParams;
using cushim::Module;
using cushim::NvSciOptions;
using cushim::NvSciSemaphore;
using cushim::PciBusId;
using cushim::PhysicalMemory;
using cushim::PhysicalMemoryOptions;
using cushim::PhysicalMemoryProperties;
using cushim::PinnedBuffer;
using cushim::PinnedOptions;
using cushim::Pitch;
using cushim::PitchedBuffer;
using cushim::PoolBuffer;
using cushim::PoolPointer;
using cushim::PoolReuse;
using cushim::PoolUsage;
using cushim::Position;
using cushim::RegistrationOptions;
using cushim::Result;
using cushim::RuntimeTable;
using cushim::ScopedOverride;
using cushim::SemaphoreNodeParams;
using cushim::SemaphoreSignal;
using cushim::SemaphoreWait;
using cushim::Settings;
using cushim::SourceSpan;
using cushim::Stream;
using cushim::StreamOptions;
using cushim::StreamPriorities;
using cushim::TeardownFailure;
using cushim::TeardownSink;
using cushim::TeardownSinkSetting;
using cushim::Text;
using cushim::TimelineSemaphore;
using cushim::UniqueFd;
using cushim::Version;
using cushim::VersionText;
using cushim::Win32Handle;
using cushim::WritableDeviceType;
using cushim::allocation_alignment;
using cushim::available_shared_bytes;
using cushim::configure;
using cushim::copy;
using cushim::driver;
using cushim::driver_version;
using cushim::export_event;
using cushim::feature_count;
using cushim::fill;
using cushim::graph_memory_usage;
using cushim::headers_version;
using cushim::in_place;
using cushim::in_place_t;
using cushim::init;
using cushim::introduced_in;
using cushim::is_available;
using cushim::last_driver_log;
using cushim::load;
using cushim::load_driver;
using cushim::load_report;
using cushim::load_runtime;
using cushim::max_active_blocks;
using cushim::max_active_clusters;
using cushim::max_cluster_size;
using cushim::name;
using cushim::open_event;
using cushim::receive_fd;
using cushim::reload;
using cushim::report;
using cushim::required_version;
using cushim::reset_graph_memory_high_marks;
using cushim::resolve_all;
using cushim::runtime;
using cushim::runtime_version;
using cushim::send_fd;
using cushim::set_teardown_sink;
using cushim::signal_semaphores;
using cushim::suggest_block;
using cushim::suggest_block_by;
using cushim::supports;
using cushim::to_text;
using cushim::trim_graph_memory;
using cushim::try_driver;
using cushim::try_runtime;
using cushim::wait_for_released_closures;
using cushim::wait_semaphores;

} // namespace cushim

// Captures and graphs of the runtime API.
export namespace cushim::rt {

using cushim::rt::adopt_exec;
using cushim::rt::adopt_graph;
using cushim::rt::begin_capture;
using cushim::rt::borrow_exec;
using cushim::rt::borrow_graph;
using cushim::rt::capture;
using cushim::rt::create_graph;
using cushim::rt::end_capture;

} // namespace cushim::rt

// A tag for each function of the tables.
export namespace cushim::entry {

#include "cushim/detail/entry_names.inc"

} // namespace cushim::entry
