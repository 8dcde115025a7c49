// The other API of the tests on a real GPU: Vulkan without a window, loaded where it is found.
#pragma once

#ifndef _WIN32

#include <cushim/cushim.hpp>

#include <memory>
#include <optional>
#include <string>

#include "vulkan_api.hpp"

namespace support {

// Vulkan's view of a CUDA device. Each function throws where Vulkan refuses.
class VulkanDevice {
  public:
    // Null where Vulkan is not there, or knows no such device, or cannot export what the tests
    // need: and then says why. Whatever else goes wrong is thrown.
    static std::unique_ptr<VulkanDevice> find(const cushim::DeviceUuid &uuid, std::string &why_not);
    // The first device there is, whatever it is, which may not be able to export semaphores: for
    // what Vulkan does by itself.
    static std::unique_ptr<VulkanDevice> any(std::string &why_not);
    ~VulkanDevice();
    VulkanDevice(const VulkanDevice &) = delete;
    VulkanDevice &operator=(const VulkanDevice &) = delete;

    // For work of other kinds than the functions below do. They are valid as long as this is.
    struct Native {
        vulkan::PhysicalDevice physical = nullptr;
        vulkan::Device device = nullptr;
        vulkan::Queue queue = nullptr;
        std::uint32_t family = 0;
    };
    Native native() const;
    // Null where there is no function of that name.
    using VoidFunction = void (*)();
    VoidFunction function(const char *name) const;

    struct ExportedBuffer {
        vulkan::Buffer buffer = 0;
        std::size_t memory_size = 0; // of the memory object, in bytes
        cushim::UniqueFd fd;
    };
    // In memory of the device's, allocated for it alone.
    ExportedBuffer export_buffer(std::size_t size);

    struct ExportedSemaphore {
        vulkan::Semaphore semaphore = 0;
        cushim::UniqueFd fd;
    };
    ExportedSemaphore export_binary();
    ExportedSemaphore export_timeline();

    // A semaphore, and where it is a timeline, the value.
    struct At {
        vulkan::Semaphore semaphore;
        std::uint64_t value = 0;
    };
    // Work that begins after `wait` and ends with `signal`; queued, as CUDA's in a stream.
    void fill(vulkan::Buffer buffer, std::size_t size, unsigned int value, std::optional<At> wait,
              At signal);
    void copy(vulkan::Buffer buffer, const vulkan::BufferCopy &part, std::optional<At> wait,
              At signal);
    void wait_idle();

  private:
    struct Functions;
    struct Owned;
    VulkanDevice();

    bool load(std::string &why_not);
    bool make_instance(std::string &why_not);
    // With this UUID, or the first one where there is none.
    bool choose(const cushim::DeviceUuid *uuid, std::string &why_not);
    bool make_device(std::uint32_t extension_count, std::string &why_not);
    ExportedSemaphore export_semaphore(bool timeline);
    std::uint32_t memory_type(std::uint32_t allowed) const;
    vulkan::CommandBuffer begin();
    void submit(vulkan::CommandBuffer commands, std::optional<At> wait, At signal);

    std::unique_ptr<Functions> call_;
    std::unique_ptr<Owned> owned_;
};

} // namespace support

#endif
