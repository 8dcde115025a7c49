#include "vulkan_transfers.hpp"

#include <vector>

namespace support {

using namespace vulkan;

namespace {

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

VulkanTransfers::VulkanTransfers(const VulkanDevice &device)
    : objects_(device.objects()), device_(objects_->on.device) {}

VulkanTransfers::Staging VulkanTransfers::staging(std::size_t words) {
    const std::size_t size = words * sizeof(unsigned int);
    Staging made;
    made.buffer = objects_->make_buffer(size, false);
    const MemoryRequirements needed = objects_->needs_of(made.buffer);
    // Host reads of uncached memory are a hundred times slower.
    Flags flags = host_visible | host_coherent | host_cached;
    if (objects_->memory_type(needed.type_bits, flags) == ~0u) {
        flags = host_visible | host_coherent;
    }
    const DeviceMemory memory = objects_->allocate(needed, flags);
    VULKAN_REQUIRE(objects_->BindBufferMemory(device_, made.buffer, memory, 0) == 0);
    void *address = nullptr;
    VULKAN_REQUIRE(objects_->MapMemory(device_, memory, 0, size, 0, &address) == 0);
    made.words = {static_cast<unsigned int *>(address), words};
    return made;
}

VulkanTransfers::Shared VulkanTransfers::shared_buffer(std::size_t words) {
    Shared shared;
    shared.words = words;
    shared.buffer = objects_->make_buffer(words * sizeof(unsigned int), true);
    const MemoryRequirements needed = objects_->needs_of(shared.buffer);
    shared.memory_size = needed.size;
    shared.memory = objects_->allocate_shared(needed, shared.buffer, 0);
    VULKAN_REQUIRE(objects_->BindBufferMemory(device_, shared.buffer, shared.memory, 0) == 0);
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
    shared.image = objects_->make_image(info);
    MemoryRequirements needed;
    objects_->GetImageMemoryRequirements(device_, shared.image, &needed);
    shared.memory_size = needed.size;
    shared.memory = objects_->allocate_shared(needed, 0, shared.image);
    VULKAN_REQUIRE(objects_->BindImageMemory(device_, shared.image, shared.memory, 0) == 0);
    lay_out(shared);
    return shared;
}

cushim::UniqueFd VulkanTransfers::export_memory(const Shared &shared) {
    return objects_->export_memory(shared.memory);
}

Semaphore VulkanTransfers::timeline(bool exportable) {
    return objects_->make_semaphore(true, exportable);
}

cushim::UniqueFd VulkanTransfers::export_timeline(Semaphore timeline) {
    return objects_->export_semaphore(timeline);
}

void VulkanTransfers::await(At at) {
    objects_->await(at);
}

// --- work

// Transfers ownership from one queue family to another; CUDA counts as an external family.
void VulkanTransfers::hand_over(CommandBuffer commands, const Shared &shared, std::uint32_t from,
                                std::uint32_t to) {
    constexpr Flags all = transfer_read | transfer_write;
    const auto describe = [from, to](auto &barrier) {
        barrier.before = from == family_external ? 0 : all;
        barrier.after = to == family_external ? 0 : all;
        barrier.from_family = from;
        barrier.to_family = to;
    };
    ImageMemoryBarrier of_image;
    of_image.image = shared.image;
    describe(of_image);
    BufferMemoryBarrier of_buffer;
    of_buffer.buffer = shared.buffer;
    describe(of_buffer);
    objects_->CmdPipelineBarrier(commands, at_transfer, at_transfer, 0, 0, nullptr,
                                 shared.buffer != 0 ? 1 : 0, &of_buffer, shared.image != 0 ? 1 : 0,
                                 &of_image);
}

void VulkanTransfers::acquire(CommandBuffer commands, const Shared &shared) {
    hand_over(commands, shared, family_external, objects_->on.family);
}
void VulkanTransfers::release(CommandBuffer commands, const Shared &shared) {
    hand_over(commands, shared, objects_->on.family, family_external);
}

// Gives a new image its layout, and waits for that.
void VulkanTransfers::lay_out(const Shared &shared) {
    const At done{timeline(false), 1};
    const CommandBuffer commands = objects_->begin();
    ImageMemoryBarrier barrier;
    barrier.after = transfer_read | transfer_write;
    barrier.old_layout = layout_undefined;
    barrier.image = shared.image;
    objects_->CmdPipelineBarrier(commands, at_transfer, at_transfer, 0, 0, nullptr, 0, nullptr, 1,
                                 &barrier);
    release(commands, shared);
    objects_->submit(commands, {}, done);
    await(done);
}

void VulkanTransfers::upload(const Staging &from, const Shared &to, At wait, At signal) {
    const CommandBuffer commands = objects_->begin();
    acquire(commands, to);
    if (to.image != 0) {
        const auto parts = parts_of(to.shape);
        objects_->CmdCopyBufferToImage(commands, from.buffer, to.image, layout_general,
                                       static_cast<std::uint32_t>(parts.size()), parts.data());
    } else {
        const BufferCopy whole{.size = to.words * sizeof(unsigned int)};
        objects_->CmdCopyBuffer(commands, from.buffer, to.buffer, 1, &whole);
    }
    release(commands, to);
    objects_->submit(commands, wait, signal);
}

void VulkanTransfers::download(const Shared &from, const Staging &to, At wait, At signal) {
    const CommandBuffer commands = objects_->begin();
    acquire(commands, from);
    if (from.image != 0) {
        const auto parts = parts_of(from.shape);
        objects_->CmdCopyImageToBuffer(commands, from.image, layout_general, to.buffer,
                                       static_cast<std::uint32_t>(parts.size()), parts.data());
    } else {
        const BufferCopy whole{.size = from.words * sizeof(unsigned int)};
        objects_->CmdCopyBuffer(commands, from.buffer, to.buffer, 1, &whole);
    }
    MemoryBarrier for_host;
    for_host.before = transfer_write;
    for_host.after = host_read;
    objects_->CmdPipelineBarrier(commands, at_transfer, at_host, 0, 1, &for_host, 0, nullptr, 0,
                                 nullptr);
    release(commands, from);
    objects_->submit(commands, wait, signal);
}

} // namespace support
