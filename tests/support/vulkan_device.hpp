// Vulkan without a window, loaded at run time: the other API of the tests on a real GPU.
#pragma once

#ifndef _WIN32

#include <cushim/device.hpp>
#include <cushim/unique_fd.hpp>

#include <memory>
#include <string>

#include "vulkan_objects.hpp"

namespace support {

// The Vulkan device that is a CUDA device. Each function throws on failure.
class VulkanDevice {
  public:
    // Returns null and sets why_not if Vulkan is missing, does not list this device, or cannot
    // export what the tests need. Throws on any other failure.
    static std::unique_ptr<VulkanDevice> find(const cushim::DeviceUuid &uuid, std::string &why_not);
    // The first device, which may be unable to export semaphores, for tests of Vulkan alone.
    static std::unique_ptr<VulkanDevice> any(std::string &why_not);
    ~VulkanDevice();
    VulkanDevice(const VulkanDevice &) = delete;
    VulkanDevice &operator=(const VulkanDevice &) = delete;

    // For other kinds of work than the functions below. Valid during the lifetime of this object.
    std::unique_ptr<VulkanObjects> objects() const;

    struct ExportedBuffer {
        vulkan::Buffer buffer = 0;
        std::size_t memory_size = 0; // bytes of the memory object
        cushim::UniqueFd fd;
    };
    // In device memory with a dedicated allocation.
    ExportedBuffer export_buffer(std::size_t size);

    struct ExportedSemaphore {
        vulkan::Semaphore semaphore = 0;
        cushim::UniqueFd fd;
    };
    ExportedSemaphore export_binary();
    ExportedSemaphore export_timeline();

    using At = VulkanMoment;
    // Enqueues work that begins after `wait` and ends with `signal`.
    void fill(vulkan::Buffer buffer, std::size_t size, unsigned int value, std::optional<At> wait,
              At signal);
    void copy(vulkan::Buffer buffer, const vulkan::BufferCopy &part, std::optional<At> wait,
              At signal);
    void wait_idle();

  private:
    struct Functions;
    VulkanDevice();

    static std::unique_ptr<VulkanDevice> make(const cushim::DeviceUuid *uuid,
                                              std::uint32_t extension_count, std::string &why_not);
    bool load(std::string &why_not);
    bool make_instance(std::string &why_not);
    // Selects the device with this UUID, or the first one if null.
    bool choose(const cushim::DeviceUuid *uuid, std::string &why_not);
    bool make_device(std::uint32_t extension_count, std::string &why_not);
    ExportedSemaphore export_semaphore(bool timeline);

    std::unique_ptr<Functions> call_;
    vulkan::Instance instance_ = nullptr;
    VulkanQueue on_;
    std::unique_ptr<VulkanObjects> objects_;
};

} // namespace support

#endif
