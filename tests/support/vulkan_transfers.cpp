#include "vulkan_transfers.hpp"

namespace support {

using namespace vulkan;

namespace {

constexpr std::uint64_t patience_ns = 20'000'000'000;

std::vector<BufferImageCopy> parts_of(const ImageShape &shape) {
    std::vector<BufferImageCopy> parts;
    for (const ImageLevel &level : shape.levels()) {
        BufferImageCopy part;
        part.offset = level.first_word * sizeof(unsigned int);
        part.level = static_cast<std::uint32_t>(parts.size());
        part.extent = {level.width, level.height, 1};
        parts.push_back(part);
    }
    return parts;
}

} // namespace

struct VulkanTransfers::Functions {
#define VULKAN_DECLARE(type, name, parameters) type(*name) parameters = nullptr;
    VULKAN_DEVICE_FUNCTIONS(VULKAN_DECLARE)
    VULKAN_TRANSFER_FUNCTIONS(VULKAN_DECLARE)
#undef VULKAN_DECLARE
};

VulkanTransfers::VulkanTransfers(const VulkanDevice &device)
    : call_(std::make_unique<Functions>()), on_(device.native()) {
#define VULKAN_LOAD(type, name, parameters)                                                        \
    call_->name = reinterpret_cast<type(*) parameters>(device.function("vk" #name));               \
    VULKAN_REQUIRE(call_->name != nullptr);
    VULKAN_DEVICE_FUNCTIONS(VULKAN_LOAD)
    VULKAN_TRANSFER_FUNCTIONS(VULKAN_LOAD)
#undef VULKAN_LOAD
    CommandPoolCreateInfo pool;
    pool.family = on_.family;
    VULKAN_REQUIRE(call_->CreateCommandPool(on_.device, &pool, nullptr, &pool_) == 0);
}

VulkanTransfers::~VulkanTransfers() {
    call_->DeviceWaitIdle(on_.device);
    for (const Semaphore semaphore : semaphores_) {
        call_->DestroySemaphore(on_.device, semaphore, nullptr);
    }
    for (const Image image : images_) {
        call_->DestroyImage(on_.device, image, nullptr);
    }
    for (const Buffer buffer : buffers_) {
        call_->DestroyBuffer(on_.device, buffer, nullptr);
    }
    for (const DeviceMemory memory : memories_) {
        call_->FreeMemory(on_.device, memory, nullptr);
    }
    call_->DestroyCommandPool(on_.device, pool_, nullptr);
}

// --- memory

// ~0 where there is none.
std::uint32_t VulkanTransfers::memory_type(std::uint32_t allowed, Flags flags) const {
    MemoryProperties properties;
    call_->GetPhysicalDeviceMemoryProperties(on_.physical, &properties);
    for (std::uint32_t index = 0; index < properties.type_count; ++index) {
        if ((allowed >> index & 1) != 0 && (properties.types[index].flags & flags) == flags) {
            return index;
        }
    }
    return ~0u;
}

DeviceMemory VulkanTransfers::allocate(const MemoryRequirements &needed, Flags flags,
                                       const void *extension) {
    MemoryAllocateInfo info;
    info.next = extension;
    info.size = needed.size;
    info.type_index = memory_type(needed.type_bits, flags);
    VULKAN_REQUIRE(info.type_index != ~0u);
    DeviceMemory memory = 0;
    VULKAN_REQUIRE(call_->AllocateMemory(on_.device, &info, nullptr, &memory) == 0);
    memories_.push_back(memory);
    return memory;
}

// For this buffer or image alone, and to be exported.
DeviceMemory VulkanTransfers::allocate_shared(Shared &shared, const MemoryRequirements &needed) {
    DedicatedAllocateInfo dedicated;
    dedicated.buffer = shared.buffer;
    dedicated.image = shared.image;
    ExportMemoryAllocateInfo as_fd;
    as_fd.next = &dedicated;
    shared.memory_size = needed.size;
    shared.memory = allocate(needed, device_local, &as_fd);
    return shared.memory;
}

Buffer VulkanTransfers::make_buffer(std::size_t size, const void *extension) {
    BufferCreateInfo info;
    info.next = extension;
    info.size = size;
    Buffer buffer = 0;
    VULKAN_REQUIRE(call_->CreateBuffer(on_.device, &info, nullptr, &buffer) == 0);
    buffers_.push_back(buffer);
    return buffer;
}

VulkanTransfers::Staging VulkanTransfers::staging(std::size_t words) {
    const std::size_t size = words * sizeof(unsigned int);
    Staging made;
    made.buffer = make_buffer(size, nullptr);
    MemoryRequirements needed;
    call_->GetBufferMemoryRequirements(on_.device, made.buffer, &needed);
    // The host reads memory that is not cached a hundred times more slowly.
    Flags flags = host_visible | host_coherent | host_cached;
    if (memory_type(needed.type_bits, flags) == ~0u) {
        flags = host_visible | host_coherent;
    }
    const DeviceMemory memory = allocate(needed, flags, nullptr);
    VULKAN_REQUIRE(call_->BindBufferMemory(on_.device, made.buffer, memory, 0) == 0);
    void *address = nullptr;
    VULKAN_REQUIRE(call_->MapMemory(on_.device, memory, 0, size, 0, &address) == 0);
    made.words = {static_cast<unsigned int *>(address), words};
    return made;
}

VulkanTransfers::Shared VulkanTransfers::shared_buffer(std::size_t words) {
    const ExternalMemoryBufferCreateInfo external;
    Shared shared;
    shared.words = words;
    shared.buffer = make_buffer(words * sizeof(unsigned int), &external);
    MemoryRequirements needed;
    call_->GetBufferMemoryRequirements(on_.device, shared.buffer, &needed);
    const DeviceMemory memory = allocate_shared(shared, needed);
    VULKAN_REQUIRE(call_->BindBufferMemory(on_.device, shared.buffer, memory, 0) == 0);
    return shared;
}

VulkanTransfers::Shared VulkanTransfers::shared_image(const ImageShape &shape) {
    const ExternalMemoryImageCreateInfo external;
    ImageCreateInfo info;
    info.next = &external;
    info.extent = {shape.width, shape.height, 1};
    info.levels = shape.level_count;
    Shared shared;
    shared.shape = shape;
    shared.words = shape.words();
    VULKAN_REQUIRE(call_->CreateImage(on_.device, &info, nullptr, &shared.image) == 0);
    images_.push_back(shared.image);
    MemoryRequirements needed;
    call_->GetImageMemoryRequirements(on_.device, shared.image, &needed);
    const DeviceMemory memory = allocate_shared(shared, needed);
    VULKAN_REQUIRE(call_->BindImageMemory(on_.device, shared.image, memory, 0) == 0);
    lay_out(shared);
    return shared;
}

cushim::UniqueFd VulkanTransfers::export_memory(const Shared &shared) {
    MemoryGetFdInfo which;
    which.memory = shared.memory;
    int fd = -1;
    VULKAN_REQUIRE(call_->GetMemoryFdKHR(on_.device, &which, &fd) == 0);
    return cushim::UniqueFd(fd);
}

// --- timelines

Semaphore VulkanTransfers::timeline(bool exportable) {
    SemaphoreTypeCreateInfo kind;
    kind.timeline = 1;
    ExportSemaphoreCreateInfo as_fd;
    as_fd.next = &kind;
    SemaphoreCreateInfo info;
    info.next = exportable ? static_cast<const void *>(&as_fd) : &kind;
    Semaphore semaphore = 0;
    VULKAN_REQUIRE(call_->CreateSemaphore(on_.device, &info, nullptr, &semaphore) == 0);
    semaphores_.push_back(semaphore);
    return semaphore;
}

cushim::UniqueFd VulkanTransfers::export_timeline(Semaphore timeline) {
    SemaphoreGetFdInfo which;
    which.semaphore = timeline;
    int fd = -1;
    VULKAN_REQUIRE(call_->GetSemaphoreFdKHR(on_.device, &which, &fd) == 0);
    return cushim::UniqueFd(fd);
}

void VulkanTransfers::await(At at) {
    SemaphoreWaitInfo info;
    info.semaphores = &at.semaphore;
    info.values = &at.value;
    VULKAN_REQUIRE(call_->WaitSemaphores(on_.device, &info, patience_ns) == 0);
    call_->FreeCommandBuffers(on_.device, pool_, static_cast<std::uint32_t>(recorded_.size()),
                              recorded_.data());
    recorded_.clear();
    VULKAN_REQUIRE(call_->ResetCommandPool(on_.device, pool_, 0) == 0);
}

// --- work

CommandBuffer VulkanTransfers::begin() {
    CommandBufferAllocateInfo info;
    info.pool = pool_;
    CommandBuffer commands = nullptr;
    VULKAN_REQUIRE(call_->AllocateCommandBuffers(on_.device, &info, &commands) == 0);
    recorded_.push_back(commands);
    const CommandBufferBeginInfo once;
    VULKAN_REQUIRE(call_->BeginCommandBuffer(commands, &once) == 0);
    return commands;
}

void VulkanTransfers::submit(CommandBuffer commands, const At *wait, At signal) {
    VULKAN_REQUIRE(call_->EndCommandBuffer(commands) == 0);
    TimelineSubmitInfo values;
    values.wait_count = wait != nullptr ? 1 : 0;
    values.wait_values = wait != nullptr ? &wait->value : nullptr;
    values.signal_values = &signal.value;
    SubmitInfo info;
    info.next = &values;
    info.wait_count = values.wait_count;
    info.waits = wait != nullptr ? &wait->semaphore : nullptr;
    info.wait_stages = &at_transfer;
    info.command_buffers = &commands;
    info.signals = &signal.semaphore;
    VULKAN_REQUIRE(call_->QueueSubmit(on_.queue, 1, &info, 0) == 0);
}

// The memory's content goes from one family of queues to another one; CUDA counts as a family.
void VulkanTransfers::hand_over(CommandBuffer commands, const Shared &shared, std::uint32_t from,
                                std::uint32_t to) {
    constexpr Flags all = transfer_read | transfer_write;
    const Flags before = from == family_external ? 0 : all;
    const Flags after = to == family_external ? 0 : all;
    if (shared.image != 0) {
        ImageMemoryBarrier barrier;
        barrier.before = before;
        barrier.after = after;
        barrier.from_family = from;
        barrier.to_family = to;
        barrier.image = shared.image;
        call_->CmdPipelineBarrier(commands, at_transfer, at_transfer, 0, 0, nullptr, 0, nullptr, 1,
                                  &barrier);
        return;
    }
    BufferMemoryBarrier barrier;
    barrier.before = before;
    barrier.after = after;
    barrier.from_family = from;
    barrier.to_family = to;
    barrier.buffer = shared.buffer;
    call_->CmdPipelineBarrier(commands, at_transfer, at_transfer, 0, 0, nullptr, 1, &barrier, 0,
                              nullptr);
}

void VulkanTransfers::acquire(CommandBuffer commands, const Shared &shared) {
    hand_over(commands, shared, family_external, on_.family);
}
void VulkanTransfers::release(CommandBuffer commands, const Shared &shared) {
    hand_over(commands, shared, on_.family, family_external);
}

// An image is in no layout at first. Waits.
void VulkanTransfers::lay_out(const Shared &shared) {
    const At done{timeline(false), 1};
    const CommandBuffer commands = begin();
    ImageMemoryBarrier barrier;
    barrier.after = transfer_read | transfer_write;
    barrier.old_layout = layout_undefined;
    barrier.image = shared.image;
    call_->CmdPipelineBarrier(commands, at_transfer, at_transfer, 0, 0, nullptr, 0, nullptr, 1,
                              &barrier);
    release(commands, shared);
    submit(commands, nullptr, done);
    await(done);
}

void VulkanTransfers::upload(const Staging &from, const Shared &to, At wait, At signal) {
    const CommandBuffer commands = begin();
    acquire(commands, to);
    if (to.image != 0) {
        const auto parts = parts_of(to.shape);
        call_->CmdCopyBufferToImage(commands, from.buffer, to.image, layout_general,
                                    static_cast<std::uint32_t>(parts.size()), parts.data());
    } else {
        const BufferCopy whole{.size = to.words * sizeof(unsigned int)};
        call_->CmdCopyBuffer(commands, from.buffer, to.buffer, 1, &whole);
    }
    release(commands, to);
    submit(commands, &wait, signal);
}

void VulkanTransfers::download(const Shared &from, const Staging &to, At wait, At signal) {
    const CommandBuffer commands = begin();
    acquire(commands, from);
    if (from.image != 0) {
        const auto parts = parts_of(from.shape);
        call_->CmdCopyImageToBuffer(commands, from.image, layout_general, to.buffer,
                                    static_cast<std::uint32_t>(parts.size()), parts.data());
    } else {
        const BufferCopy whole{.size = from.words * sizeof(unsigned int)};
        call_->CmdCopyBuffer(commands, from.buffer, to.buffer, 1, &whole);
    }
    MemoryBarrier for_host;
    for_host.before = transfer_write;
    for_host.after = host_read;
    call_->CmdPipelineBarrier(commands, at_transfer, at_host, 0, 1, &for_host, 0, nullptr, 0,
                              nullptr);
    release(commands, from);
    submit(commands, &wait, signal);
}

} // namespace support
