// The part of Vulkan beyond vulkan_api.hpp that transfers use: images, host-visible memory,
// barriers.
#pragma once

#include "vulkan_api.hpp"

namespace vulkan {

using Image = std::uint64_t;

constexpr auto image_create_info = static_cast<StructureType>(14);
constexpr auto buffer_memory_barrier = static_cast<StructureType>(44);
constexpr auto image_memory_barrier = static_cast<StructureType>(45);
constexpr auto memory_barrier = static_cast<StructureType>(46);
constexpr auto external_memory_image_create_info = static_cast<StructureType>(1000072001);
constexpr auto semaphore_wait_info = static_cast<StructureType>(1000207004);

constexpr Flags host_visible = 2; // for memory
constexpr Flags host_coherent = 4;
constexpr Flags host_cached = 8;
constexpr Flags sampled = 4; // for images; transfer_source and transfer_destination as for buffers
constexpr Flags color = 1;   // the aspect of an image that is copied
constexpr Flags at_host = 0x4000;
constexpr Flags transfer_read = 0x800; // for barriers
constexpr Flags transfer_write = 0x1000;
constexpr Flags host_read = 0x2000;
constexpr std::uint32_t format_r32_uint = 98;
constexpr std::uint32_t layout_undefined = 0;
constexpr std::uint32_t layout_general = 1;
constexpr std::uint32_t family_external = ~1u; // the queues of another API on the same device
constexpr std::uint32_t family_ignored = ~0u;

struct Extent {
    std::uint32_t width = 0;
    std::uint32_t height = 0;
    std::uint32_t depth = 1;
};

using ExternalMemoryImageCreateInfo = Exportable<external_memory_image_create_info>;

struct ImageCreateInfo : Chained<image_create_info> {
    Flags flags = 0;
    std::uint32_t image_type = 1; // two-dimensional
    std::uint32_t format = format_r32_uint;
    Extent extent;
    std::uint32_t levels = 1;
    std::uint32_t layers = 1;
    std::uint32_t samples = 1;
    std::uint32_t tiling = 0; // optimal
    Flags usage = transfer_source | transfer_destination | sampled;
    std::uint32_t sharing_mode = 0;
    std::uint32_t family_count = 0;
    const std::uint32_t *families = nullptr;
    std::uint32_t layout = layout_undefined;
};

struct BufferImageCopy {
    std::uint64_t offset = 0; // bytes, in the buffer
    std::uint32_t row_length = 0;
    std::uint32_t image_height = 0;
    Flags aspect = color;
    std::uint32_t level = 0;
    std::uint32_t first_layer = 0;
    std::uint32_t layer_count = 1;
    std::int32_t image_offset[3] = {};
    Extent extent;
};

struct MemoryBarrier : Chained<memory_barrier> {
    Flags before = 0;
    Flags after = 0;
};

struct BufferMemoryBarrier : Chained<buffer_memory_barrier> {
    Flags before = 0;
    Flags after = 0;
    std::uint32_t from_family = family_ignored;
    std::uint32_t to_family = family_ignored;
    Buffer buffer = 0;
    std::uint64_t offset = 0;
    std::uint64_t size = ~0ull;
};

struct ImageMemoryBarrier : Chained<image_memory_barrier> {
    Flags before = 0;
    Flags after = 0;
    std::uint32_t old_layout = layout_general;
    std::uint32_t new_layout = layout_general;
    std::uint32_t from_family = family_ignored;
    std::uint32_t to_family = family_ignored;
    Image image = 0;
    Flags aspect = color;
    std::uint32_t first_level = 0;
    std::uint32_t level_count = ~0u;
    std::uint32_t first_layer = 0;
    std::uint32_t layer_count = 1;
};

struct SemaphoreWaitInfo : Chained<semaphore_wait_info> {
    Flags flags = 0;
    std::uint32_t count = 1;
    const Semaphore *semaphores = nullptr;
    const std::uint64_t *values = nullptr;
};

static_assert(sizeof(ExternalMemoryImageCreateInfo) == 24);
static_assert(sizeof(ImageCreateInfo) == 88);
static_assert(sizeof(BufferImageCopy) == 56);
static_assert(sizeof(MemoryBarrier) == 24);
static_assert(sizeof(BufferMemoryBarrier) == 56);
static_assert(sizeof(ImageMemoryBarrier) == 72);
static_assert(sizeof(SemaphoreWaitInfo) == 40);

#define VULKAN_TRANSFER_FUNCTIONS(X)                                                               \
    X(void, GetPhysicalDeviceMemoryProperties, (PhysicalDevice, MemoryProperties *))               \
    X(Result, MapMemory, (Device, DeviceMemory, std::uint64_t, std::uint64_t, Flags, void **))     \
    X(Result, CreateImage, (Device, const ImageCreateInfo *, const void *, Image *))               \
    X(void, DestroyImage, (Device, Image, const void *))                                           \
    X(void, GetImageMemoryRequirements, (Device, Image, MemoryRequirements *))                     \
    X(Result, BindImageMemory, (Device, Image, DeviceMemory, std::uint64_t))                       \
    X(Result, ResetCommandPool, (Device, CommandPool, Flags))                                      \
    X(void, FreeCommandBuffers, (Device, CommandPool, std::uint32_t, const CommandBuffer *))       \
    X(Result, WaitSemaphores, (Device, const SemaphoreWaitInfo *, std::uint64_t))                  \
    X(void, CmdCopyBufferToImage,                                                                  \
      (CommandBuffer, Buffer, Image, std::uint32_t, std::uint32_t, const BufferImageCopy *))       \
    X(void, CmdCopyImageToBuffer,                                                                  \
      (CommandBuffer, Image, std::uint32_t, Buffer, std::uint32_t, const BufferImageCopy *))       \
    X(void, CmdPipelineBarrier,                                                                    \
      (CommandBuffer, Flags, Flags, Flags, std::uint32_t, const MemoryBarrier *, std::uint32_t,    \
       const BufferMemoryBarrier *, std::uint32_t, const ImageMemoryBarrier *))

} // namespace vulkan
