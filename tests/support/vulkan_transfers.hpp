// The Vulkan side of the frames that it shares with CUDA: exported memory, an exported timeline,
// and copies between that memory and host-visible memory.
#pragma once

#include "image_shape.hpp"
#include "vulkan_device.hpp"

#include <memory>
#include <span>

namespace support {

// Each function throws on failure. Destroys everything that it created.
class VulkanTransfers {
  public:
    using At = VulkanDevice::At;

    explicit VulkanTransfers(const VulkanDevice &device);

    // In host memory.
    struct Staging {
        vulkan::Buffer buffer = 0;
        std::span<unsigned int> words;
    };
    Staging staging(std::size_t words);

    // In exported device memory with a dedicated allocation.
    struct Shared {
        vulkan::Buffer buffer = 0; // or an image
        vulkan::Image image = 0;
        ImageShape shape;
        std::size_t words = 0;
        std::size_t memory_size = 0; // bytes
        vulkan::DeviceMemory memory = 0;
    };
    Shared shared_buffer(std::size_t words);
    Shared shared_image(const ImageShape &shape);
    // Returns a new descriptor each time.
    cushim::UniqueFd export_memory(const Shared &shared);

    // A timeline whose value is 0.
    vulkan::Semaphore timeline(bool exportable);
    cushim::UniqueFd export_timeline(vulkan::Semaphore timeline);

    // Enqueued: begin after `wait`, end with `signal`.
    void upload(const Staging &from, const Shared &to, At wait, At signal);
    void download(const Shared &from, const Staging &to, At wait, At signal);
    // Blocks the host. All enqueued work must end before this moment.
    void await(At at);

  private:
    void acquire(vulkan::CommandBuffer commands, const Shared &shared);
    void release(vulkan::CommandBuffer commands, const Shared &shared);
    void hand_over(vulkan::CommandBuffer commands, const Shared &shared, std::uint32_t from,
                   std::uint32_t to);
    void lay_out(const Shared &shared);

    std::unique_ptr<VulkanObjects> objects_;
    vulkan::Device device_;
};

} // namespace support
