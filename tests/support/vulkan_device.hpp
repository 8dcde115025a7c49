// The other API of the tests on a real GPU: Vulkan without a window, loaded where it is found.
#pragma once

#ifndef _WIN32

#include <cushim/cushim.hpp>

#include <memory>
#include <string>

#include "vulkan_objects.hpp"

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

    // For work of other kinds than the functions below do. Valid as long as this is.
    std::unique_ptr<VulkanObjects> objects() const;

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

    using At = VulkanMoment;
    // Work that begins after `wait` and ends with `signal`; queued, as CUDA's in a stream.
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
    // With this UUID, or the first one where there is none.
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
