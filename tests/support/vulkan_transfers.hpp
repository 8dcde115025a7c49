// Vulkan's half of the frames that it shares with CUDA: memory and a timeline that are exported,
// and copies between that memory and some that the host sees.
#pragma once

#include "image_shape.hpp"
#include "vulkan_device.hpp"

#include <memory>
#include <span>

namespace support {

// Each function throws where Vulkan refuses. What it makes goes with it: the device is left as it
// was before.
class VulkanTransfers {
  public:
    using At = VulkanDevice::At;

    explicit VulkanTransfers(const VulkanDevice &device);

    // In memory of the host's.
    struct Staging {
        vulkan::Buffer buffer = 0;
        std::span<unsigned int> words;
    };
    Staging staging(std::size_t words);

    // In memory of the device's, which is exported and holds nothing else.
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
    // A new descriptor each time.
    cushim::UniqueFd export_memory(const Shared &shared);

    // A timeline at 0.
    vulkan::Semaphore timeline(bool exportable);
    cushim::UniqueFd export_timeline(vulkan::Semaphore timeline);

    // Queued: begin after `wait`, end with `signal`.
    void upload(const Staging &from, const Shared &to, At wait, At signal);
    void download(const Shared &from, const Staging &to, At wait, At signal);
    // The host waits, and nothing may be queued that does not end before that.
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
