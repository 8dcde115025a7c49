// The objects that tests create with a Vulkan device: buffers, images, memory, semaphores and
// command buffers. All are destroyed together. The device is not changed.
#pragma once

#include "vulkan_transfer_api.hpp"

#include <cushim/unique_fd.hpp>

#include <functional>
#include <optional>
#include <vector>

namespace vulkan {

struct DeviceFunctions {
#define VULKAN_DECLARE(type, name, parameters) type(*name) parameters = nullptr;
    VULKAN_DEVICE_FUNCTIONS(VULKAN_DECLARE)
    VULKAN_TRANSFER_FUNCTIONS(VULKAN_DECLARE)
#undef VULKAN_DECLARE
};

} // namespace vulkan

namespace support {

// A device and the queue for all work.
struct VulkanQueue {
    vulkan::PhysicalDevice physical = nullptr;
    vulkan::Device device = nullptr;
    vulkan::Queue queue = nullptr;
    std::uint32_t family = 0;
};

// A semaphore, with the value if it is a timeline.
struct VulkanMoment {
    vulkan::Semaphore semaphore;
    std::uint64_t value = 0;
};

// Each function throws on failure.
class VulkanObjects : public vulkan::DeviceFunctions {
  public:
    using VoidFunction = void (*)();

    VulkanObjects(const VulkanQueue &on, const std::function<VoidFunction(const char *)> &find);
    ~VulkanObjects();
    VulkanObjects(const VulkanObjects &) = delete;
    VulkanObjects &operator=(const VulkanObjects &) = delete;

    // ~0 if the device has no such memory.
    std::uint32_t memory_type(std::uint32_t allowed, vulkan::Flags flags) const;
    vulkan::DeviceMemory allocate(const vulkan::MemoryRequirements &needed, vulkan::Flags flags,
                                  const void *extension = nullptr);
    // Exportable device memory with a dedicated allocation for this buffer or image.
    vulkan::DeviceMemory allocate_shared(const vulkan::MemoryRequirements &needed,
                                         vulkan::Buffer buffer, vulkan::Image image);
    vulkan::Buffer make_buffer(std::size_t size, bool is_shared);
    vulkan::MemoryRequirements needs_of(vulkan::Buffer buffer) const;
    vulkan::Image make_image(const vulkan::ImageCreateInfo &info);
    vulkan::Semaphore make_semaphore(bool is_timeline, bool is_shared);
    // Returns a new descriptor each time.
    cushim::UniqueFd export_memory(vulkan::DeviceMemory memory) const;
    cushim::UniqueFd export_semaphore(vulkan::Semaphore semaphore) const;

    // Records work, which begins after `wait` and ends with `signal`.
    vulkan::CommandBuffer begin();
    void submit(vulkan::CommandBuffer commands, std::optional<VulkanMoment> wait,
                VulkanMoment signal) const;
    // Blocks the host. All enqueued work must end before this moment.
    void await(VulkanMoment moment);

    const VulkanQueue on;

  private:
    vulkan::CommandPool pool_ = 0;
    std::vector<vulkan::CommandBuffer> recorded_;
    std::vector<vulkan::Buffer> buffers_;
    std::vector<vulkan::Image> images_;
    std::vector<vulkan::DeviceMemory> memories_;
    std::vector<vulkan::Semaphore> semaphores_;
};

} // namespace support
