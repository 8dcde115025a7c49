#include "vulkan_objects.hpp"

namespace support {

using namespace vulkan;

VulkanObjects::VulkanObjects(const VulkanQueue &queue,
                             const std::function<VoidFunction(const char *)> &find)
    : on(queue) {
#define VULKAN_LOAD(type, name, parameters)                                                        \
    name = reinterpret_cast<type(*) parameters>(find("vk" #name));                                 \
    VULKAN_REQUIRE(name != nullptr);
    VULKAN_DEVICE_FUNCTIONS(VULKAN_LOAD)
    VULKAN_TRANSFER_FUNCTIONS(VULKAN_LOAD)
#undef VULKAN_LOAD
    CommandPoolCreateInfo pool;
    pool.family = on.family;
    VULKAN_REQUIRE(CreateCommandPool(on.device, &pool, nullptr, &pool_) == 0);
}

VulkanObjects::~VulkanObjects() {
    DeviceWaitIdle(on.device);
    for (const Semaphore semaphore : semaphores_) {
        DestroySemaphore(on.device, semaphore, nullptr);
    }
    for (const Image image : images_) {
        DestroyImage(on.device, image, nullptr);
    }
    for (const Buffer buffer : buffers_) {
        DestroyBuffer(on.device, buffer, nullptr);
    }
    for (const DeviceMemory memory : memories_) {
        FreeMemory(on.device, memory, nullptr);
    }
    DestroyCommandPool(on.device, pool_, nullptr);
}

std::uint32_t VulkanObjects::memory_type(std::uint32_t allowed, Flags flags) const {
    MemoryProperties properties;
    GetPhysicalDeviceMemoryProperties(on.physical, &properties);
    for (std::uint32_t index = 0; index < properties.type_count; ++index) {
        if ((allowed >> index & 1) != 0 && (properties.types[index].flags & flags) == flags) {
            return index;
        }
    }
    return ~0u;
}

DeviceMemory VulkanObjects::allocate(const MemoryRequirements &needed, Flags flags,
                                     const void *extension) {
    MemoryAllocateInfo info;
    info.next = extension;
    info.size = needed.size;
    info.type_index = memory_type(needed.type_bits, flags);
    VULKAN_REQUIRE(info.type_index != ~0u);
    DeviceMemory memory = 0;
    VULKAN_REQUIRE(AllocateMemory(on.device, &info, nullptr, &memory) == 0);
    return memories_.emplace_back(memory);
}

DeviceMemory VulkanObjects::allocate_shared(const MemoryRequirements &needed, Buffer buffer,
                                            Image image) {
    DedicatedAllocateInfo dedicated;
    dedicated.buffer = buffer;
    dedicated.image = image;
    ExportMemoryAllocateInfo as_fd;
    as_fd.next = &dedicated;
    return allocate(needed, device_local, &as_fd);
}

Buffer VulkanObjects::make_buffer(std::size_t size, bool is_shared) {
    const ExternalMemoryBufferCreateInfo external;
    BufferCreateInfo info;
    info.next = is_shared ? &external : nullptr;
    info.size = size;
    Buffer buffer = 0;
    VULKAN_REQUIRE(CreateBuffer(on.device, &info, nullptr, &buffer) == 0);
    return buffers_.emplace_back(buffer);
}

MemoryRequirements VulkanObjects::needs_of(Buffer buffer) const {
    MemoryRequirements needed;
    GetBufferMemoryRequirements(on.device, buffer, &needed);
    return needed;
}

Image VulkanObjects::make_image(const ImageCreateInfo &info) {
    Image image = 0;
    VULKAN_REQUIRE(CreateImage(on.device, &info, nullptr, &image) == 0);
    return images_.emplace_back(image);
}

Semaphore VulkanObjects::make_semaphore(bool is_timeline, bool is_shared) {
    SemaphoreTypeCreateInfo kind;
    kind.timeline = is_timeline ? 1 : 0;
    ExportSemaphoreCreateInfo as_fd;
    as_fd.next = &kind;
    SemaphoreCreateInfo info;
    info.next = is_shared ? static_cast<const void *>(&as_fd) : &kind;
    Semaphore semaphore = 0;
    VULKAN_REQUIRE(CreateSemaphore(on.device, &info, nullptr, &semaphore) == 0);
    return semaphores_.emplace_back(semaphore);
}

cushim::UniqueFd VulkanObjects::export_memory(DeviceMemory memory) const {
    MemoryGetFdInfo which;
    which.memory = memory;
    int fd = -1;
    VULKAN_REQUIRE(GetMemoryFdKHR(on.device, &which, &fd) == 0);
    return cushim::UniqueFd(fd);
}

cushim::UniqueFd VulkanObjects::export_semaphore(Semaphore semaphore) const {
    SemaphoreGetFdInfo which;
    which.semaphore = semaphore;
    int fd = -1;
    VULKAN_REQUIRE(GetSemaphoreFdKHR(on.device, &which, &fd) == 0);
    return cushim::UniqueFd(fd);
}

CommandBuffer VulkanObjects::begin() {
    CommandBufferAllocateInfo info;
    info.pool = pool_;
    CommandBuffer commands = nullptr;
    VULKAN_REQUIRE(AllocateCommandBuffers(on.device, &info, &commands) == 0);
    recorded_.push_back(commands);
    const CommandBufferBeginInfo once;
    VULKAN_REQUIRE(BeginCommandBuffer(commands, &once) == 0);
    return commands;
}

void VulkanObjects::submit(CommandBuffer commands, std::optional<VulkanMoment> wait,
                           VulkanMoment signal) const {
    VULKAN_REQUIRE(EndCommandBuffer(commands) == 0);
    const VulkanMoment before = wait.value_or(VulkanMoment{});
    TimelineSubmitInfo values; // ignored for a binary semaphore
    values.wait_count = wait ? 1 : 0;
    values.wait_values = &before.value;
    values.signal_values = &signal.value;
    SubmitInfo info;
    info.next = &values;
    info.wait_count = values.wait_count;
    info.waits = &before.semaphore;
    info.wait_stages = &at_transfer;
    info.command_buffers = &commands;
    info.signals = &signal.semaphore;
    VULKAN_REQUIRE(QueueSubmit(on.queue, 1, &info, 0) == 0);
}

void VulkanObjects::await(VulkanMoment moment) {
    constexpr std::uint64_t patience_ns = 20'000'000'000;
    SemaphoreWaitInfo info;
    info.semaphores = &moment.semaphore;
    info.values = &moment.value;
    VULKAN_REQUIRE(WaitSemaphores(on.device, &info, patience_ns) == 0);
    FreeCommandBuffers(on.device, pool_, static_cast<std::uint32_t>(recorded_.size()),
                       recorded_.data());
    recorded_.clear();
    VULKAN_REQUIRE(ResetCommandPool(on.device, pool_, 0) == 0);
}

} // namespace support
