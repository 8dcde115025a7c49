// The part of Vulkan that the tests use, declared as in its specification, so that no Vulkan header
// is needed. Names are Vulkan's names without their prefix; non-dispatchable handles are numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>

// Throws if the call fails, so that programs without test cases can use it, too.
#define VULKAN_REQUIRE(condition)                                                                  \
    (static_cast<bool>(condition) ? void()                                                         \
                                  : throw std::runtime_error("Vulkan: not so: " #condition))

namespace vulkan {

using Instance = struct InstanceHandle *;
using PhysicalDevice = struct PhysicalDeviceHandle *;
using Device = struct DeviceHandle *;
using Queue = struct QueueHandle *;
using CommandBuffer = struct CommandBufferHandle *;
using DeviceMemory = std::uint64_t;
using Buffer = std::uint64_t;
using Semaphore = std::uint64_t;
using CommandPool = std::uint64_t;

using Result = std::int32_t; // 0: success
using Flags = std::uint32_t;

enum StructureType : std::uint32_t {
    application_info = 0,
    instance_create_info = 1,
    device_queue_create_info = 2,
    device_create_info = 3,
    submit_info = 4,
    memory_allocate_info = 5,
    semaphore_create_info = 9,
    buffer_create_info = 12,
    command_pool_create_info = 39,
    command_buffer_allocate_info = 40,
    command_buffer_begin_info = 42,
    physical_device_properties_2 = 1000059001,
    physical_device_id_properties = 1000071004,
    external_memory_buffer_create_info = 1000072000,
    export_memory_allocate_info = 1000072002,
    memory_get_fd_info = 1000074002,
    export_semaphore_create_info = 1000077000,
    semaphore_get_fd_info = 1000079001,
    memory_dedicated_allocate_info = 1000127001,
    timeline_semaphore_features = 1000207000,
    semaphore_type_create_info = 1000207002,
    timeline_semaphore_submit_info = 1000207003,
};

constexpr Flags opaque_fd = 1;            // for external memory and semaphores
constexpr Flags transfer_source = 1;      // for buffers
constexpr Flags transfer_destination = 2; // for buffers
constexpr Flags device_local = 1;         // for memory
constexpr Flags at_transfer = 0x1000;     // a pipeline stage
constexpr std::uint32_t version_1_2 = (1u << 22) | (2u << 12);

// The first members of most structures: type and extension chain.
template <StructureType Type>
struct Chained {
    StructureType type = Type;
    const void *next = nullptr;
};
static_assert(sizeof(Chained<application_info>) ==
              16); // no tail padding that a derived structure could reuse

// The handle types for export.
template <StructureType Type>
struct Exportable : Chained<Type> {
    Flags handle_types = opaque_fd;
};

struct ApplicationInfo : Chained<application_info> {
    const char *name = nullptr;
    std::uint32_t version = 0;
    const char *engine = nullptr;
    std::uint32_t engine_version = 0;
    std::uint32_t api_version = version_1_2;
};

struct InstanceCreateInfo : Chained<instance_create_info> {
    Flags flags = 0;
    const ApplicationInfo *application = nullptr;
    std::uint32_t layer_count = 0;
    const char *const *layers = nullptr;
    std::uint32_t extension_count = 0;
    const char *const *extensions = nullptr;
};

struct IdProperties : Chained<physical_device_id_properties> {
    std::uint8_t device_uuid[16] = {};
    std::uint8_t driver_uuid[16] = {};
    std::uint8_t device_luid[8] = {};
    std::uint32_t device_node_mask = 0;
    std::uint32_t device_luid_valid = 0;
};

struct PhysicalDeviceProperties2 : Chained<physical_device_properties_2> {
    alignas(8) std::byte properties[824] = {};
};

struct QueueFamilyProperties {
    Flags flags = 0;
    std::uint32_t queue_count = 0;
    std::uint32_t timestamp_bits = 0;
    std::uint32_t granularity[3] = {};
};

struct MemoryProperties {
    std::uint32_t type_count = 0;
    struct {
        Flags flags;
        std::uint32_t heap;
    } types[32] = {};
    std::uint32_t heap_count = 0;
    struct {
        std::uint64_t size;
        Flags flags;
    } heaps[16] = {};
};

struct QueueCreateInfo : Chained<device_queue_create_info> {
    Flags flags = 0;
    std::uint32_t family = 0;
    std::uint32_t count = 1;
    const float *priorities = nullptr;
};

struct TimelineFeatures : Chained<timeline_semaphore_features> {
    std::uint32_t timeline = 1;
};

struct DeviceCreateInfo : Chained<device_create_info> {
    Flags flags = 0;
    std::uint32_t queue_count = 1;
    const QueueCreateInfo *queues = nullptr;
    std::uint32_t layer_count = 0;
    const char *const *layers = nullptr;
    std::uint32_t extension_count = 0;
    const char *const *extensions = nullptr;
    const void *features = nullptr;
};

using ExternalMemoryBufferCreateInfo = Exportable<external_memory_buffer_create_info>;

struct BufferCreateInfo : Chained<buffer_create_info> {
    Flags flags = 0;
    std::uint64_t size = 0;
    Flags usage = transfer_source | transfer_destination;
    std::uint32_t sharing_mode = 0;
    std::uint32_t family_count = 0;
    const std::uint32_t *families = nullptr;
};

struct MemoryRequirements {
    std::uint64_t size = 0;
    std::uint64_t alignment = 0;
    std::uint32_t type_bits = 0;
};

using ExportMemoryAllocateInfo = Exportable<export_memory_allocate_info>;

struct DedicatedAllocateInfo : Chained<memory_dedicated_allocate_info> {
    std::uint64_t image = 0;
    Buffer buffer = 0;
};

struct MemoryAllocateInfo : Chained<memory_allocate_info> {
    std::uint64_t size = 0;
    std::uint32_t type_index = 0;
};

struct MemoryGetFdInfo : Chained<memory_get_fd_info> {
    DeviceMemory memory = 0;
    Flags handle_type = opaque_fd;
};

struct SemaphoreTypeCreateInfo : Chained<semaphore_type_create_info> {
    std::uint32_t timeline = 0; // 0: binary, 1: timeline
    std::uint64_t initial = 0;
};

using ExportSemaphoreCreateInfo = Exportable<export_semaphore_create_info>;

struct SemaphoreCreateInfo : Chained<semaphore_create_info> {
    Flags flags = 0;
};

struct SemaphoreGetFdInfo : Chained<semaphore_get_fd_info> {
    Semaphore semaphore = 0;
    Flags handle_type = opaque_fd;
};

struct CommandPoolCreateInfo : Chained<command_pool_create_info> {
    Flags flags = 0;
    std::uint32_t family = 0;
};

struct CommandBufferAllocateInfo : Chained<command_buffer_allocate_info> {
    CommandPool pool = 0;
    std::uint32_t level = 0;
    std::uint32_t count = 1;
};

struct CommandBufferBeginInfo : Chained<command_buffer_begin_info> {
    Flags flags = 1; // submit once
    const void *inheritance = nullptr;
};

struct BufferCopy {
    std::uint64_t from = 0;
    std::uint64_t to = 0;
    std::uint64_t size = 0;
};

struct TimelineSubmitInfo : Chained<timeline_semaphore_submit_info> {
    std::uint32_t wait_count = 1;
    const std::uint64_t *wait_values = nullptr;
    std::uint32_t signal_count = 1;
    const std::uint64_t *signal_values = nullptr;
};

struct SubmitInfo : Chained<submit_info> {
    std::uint32_t wait_count = 1;
    const Semaphore *waits = nullptr;
    const Flags *wait_stages = nullptr;
    std::uint32_t command_buffer_count = 1;
    const CommandBuffer *command_buffers = nullptr;
    std::uint32_t signal_count = 1;
    const Semaphore *signals = nullptr;
};

// The sizes that the specification's declarations have on 64-bit systems.
static_assert(sizeof(ApplicationInfo) == 48);
static_assert(sizeof(InstanceCreateInfo) == 64);
static_assert(sizeof(IdProperties) == 64);
static_assert(sizeof(PhysicalDeviceProperties2) == 840);
static_assert(sizeof(QueueCreateInfo) == 40);
static_assert(sizeof(TimelineFeatures) == 24);
static_assert(sizeof(DeviceCreateInfo) == 72);
static_assert(sizeof(ExternalMemoryBufferCreateInfo) == 24);
static_assert(sizeof(BufferCreateInfo) == 56);
static_assert(sizeof(DedicatedAllocateInfo) == 32);
static_assert(sizeof(MemoryAllocateInfo) == 32);
static_assert(sizeof(MemoryGetFdInfo) == 32);
static_assert(sizeof(SemaphoreTypeCreateInfo) == 32);
static_assert(sizeof(SemaphoreCreateInfo) == 24);
static_assert(sizeof(SemaphoreGetFdInfo) == 32);
static_assert(sizeof(CommandPoolCreateInfo) == 24);
static_assert(sizeof(CommandBufferAllocateInfo) == 32);
static_assert(sizeof(CommandBufferBeginInfo) == 32);
static_assert(sizeof(TimelineSubmitInfo) == 48);
static_assert(sizeof(SubmitInfo) == 72);

// Every function that the tests call: X(return type, name without "vk", parameters).
#define VULKAN_INSTANCE_FUNCTIONS(X)                                                               \
    X(Result, EnumeratePhysicalDevices, (Instance, std::uint32_t *, PhysicalDevice *))             \
    X(void, GetPhysicalDeviceProperties2, (PhysicalDevice, PhysicalDeviceProperties2 *))           \
    X(void, GetPhysicalDeviceQueueFamilyProperties,                                                \
      (PhysicalDevice, std::uint32_t *, QueueFamilyProperties *))                                  \
    X(void, GetPhysicalDeviceMemoryProperties, (PhysicalDevice, MemoryProperties *))               \
    X(Result, CreateDevice, (PhysicalDevice, const DeviceCreateInfo *, const void *, Device *))    \
    X(void, GetDeviceQueue, (Device, std::uint32_t, std::uint32_t, Queue *))                       \
    X(void, DestroyDevice, (Device, const void *))                                                 \
    X(void, DestroyInstance, (Instance, const void *))

#define VULKAN_DEVICE_FUNCTIONS(X)                                                                 \
    X(Result, DeviceWaitIdle, (Device))                                                            \
    X(Result, CreateBuffer, (Device, const BufferCreateInfo *, const void *, Buffer *))            \
    X(void, DestroyBuffer, (Device, Buffer, const void *))                                         \
    X(void, GetBufferMemoryRequirements, (Device, Buffer, MemoryRequirements *))                   \
    X(Result, AllocateMemory, (Device, const MemoryAllocateInfo *, const void *, DeviceMemory *))  \
    X(void, FreeMemory, (Device, DeviceMemory, const void *))                                      \
    X(Result, BindBufferMemory, (Device, Buffer, DeviceMemory, std::uint64_t))                     \
    X(Result, GetMemoryFdKHR, (Device, const MemoryGetFdInfo *, int *))                            \
    X(Result, CreateSemaphore, (Device, const SemaphoreCreateInfo *, const void *, Semaphore *))   \
    X(void, DestroySemaphore, (Device, Semaphore, const void *))                                   \
    X(Result, GetSemaphoreFdKHR, (Device, const SemaphoreGetFdInfo *, int *))                      \
    X(Result, CreateCommandPool,                                                                   \
      (Device, const CommandPoolCreateInfo *, const void *, CommandPool *))                        \
    X(void, DestroyCommandPool, (Device, CommandPool, const void *))                               \
    X(Result, AllocateCommandBuffers,                                                              \
      (Device, const CommandBufferAllocateInfo *, CommandBuffer *))                                \
    X(Result, BeginCommandBuffer, (CommandBuffer, const CommandBufferBeginInfo *))                 \
    X(void, CmdFillBuffer, (CommandBuffer, Buffer, std::uint64_t, std::uint64_t, std::uint32_t))   \
    X(void, CmdCopyBuffer, (CommandBuffer, Buffer, Buffer, std::uint32_t, const BufferCopy *))     \
    X(Result, EndCommandBuffer, (CommandBuffer))                                                   \
    X(Result, QueueSubmit, (Queue, std::uint32_t, const SubmitInfo *, std::uint64_t))

} // namespace vulkan
