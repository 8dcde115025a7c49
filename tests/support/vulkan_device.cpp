#include "vulkan_device.hpp"

#ifndef _WIN32

#include <cstring>
#include <stdexcept>

#include <dlfcn.h>

namespace support {
namespace {

using namespace vulkan;
using VoidFunction = void (*)();
using GetInstanceProcAddr = VoidFunction (*)(Instance, const char *);

constexpr const char *device_extensions[] = {"VK_KHR_external_memory_fd",
                                             "VK_KHR_external_semaphore_fd"};
constexpr std::uint32_t memory_extensions = 1; // the first of them

// The statuses of vkCreateInstance and vkCreateDevice if the driver, an extension or a feature is
// missing. Any other failure is an error.
constexpr Result initialization_failed = -3, extension_not_present = -7, feature_not_present = -8,
                 incompatible_driver = -9;

void require_lack(bool lack, const std::string &message) {
    if (!lack) {
        throw std::runtime_error(message);
    }
}

// Vulkan's loader or, if it is not installed, NVIDIA's implementation.
GetInstanceProcAddr entry_of_vulkan() {
    if (void *loader = dlopen("libvulkan.so.1", RTLD_NOW | RTLD_LOCAL)) {
        return reinterpret_cast<GetInstanceProcAddr>(dlsym(loader, "vkGetInstanceProcAddr"));
    }
    void *const driver = dlopen("libGLX_nvidia.so.0", RTLD_NOW | RTLD_LOCAL);
    if (driver == nullptr) {
        return nullptr;
    }
    using Negotiate = Result (*)(std::uint32_t *);
    const auto negotiate =
        reinterpret_cast<Negotiate>(dlsym(driver, "vk_icdNegotiateLoaderICDInterfaceVersion"));
    std::uint32_t version = 5;
    if (negotiate != nullptr && negotiate(&version) != 0) {
        return nullptr;
    }
    return reinterpret_cast<GetInstanceProcAddr>(dlsym(driver, "vk_icdGetInstanceProcAddr"));
}

} // namespace

struct VulkanDevice::Functions {
    GetInstanceProcAddr get = nullptr;
#define VULKAN_DECLARE(type, name, parameters) type(*name) parameters = nullptr;
    VULKAN_INSTANCE_FUNCTIONS(VULKAN_DECLARE)
#undef VULKAN_DECLARE
};

VulkanDevice::VulkanDevice() : call_(std::make_unique<Functions>()) {}

VulkanDevice::~VulkanDevice() {
    objects_.reset();
    if (on_.device != nullptr) {
        call_->DestroyDevice(on_.device, nullptr);
    }
    if (instance_ != nullptr && call_->DestroyInstance != nullptr) {
        call_->DestroyInstance(instance_, nullptr);
    }
}

std::unique_ptr<VulkanObjects> VulkanDevice::objects() const {
    return std::make_unique<VulkanObjects>(
        on_, [this](const char *name) { return call_->get(instance_, name); });
}

// --- finding the device

std::unique_ptr<VulkanDevice> VulkanDevice::make(const cushim::DeviceUuid *uuid,
                                                 std::uint32_t extension_count,
                                                 std::string &why_not) {
    std::unique_ptr<VulkanDevice> device(new VulkanDevice);
    const bool made = device->load(why_not) && device->make_instance(why_not) &&
                      device->choose(uuid, why_not) &&
                      device->make_device(extension_count, why_not);
    return made ? std::move(device) : nullptr;
}

std::unique_ptr<VulkanDevice> VulkanDevice::find(const cushim::DeviceUuid &uuid,
                                                 std::string &why_not) {
    return make(&uuid, std::size(device_extensions), why_not);
}

std::unique_ptr<VulkanDevice> VulkanDevice::any(std::string &why_not) {
    return make(nullptr, memory_extensions, why_not);
}

bool VulkanDevice::load(std::string &why_not) {
    call_->get = entry_of_vulkan();
    why_not = "Vulkan is not installed: neither libvulkan.so.1 nor libGLX_nvidia.so.0 was found";
    return call_->get != nullptr;
}

bool VulkanDevice::make_instance(std::string &why_not) {
    using CreateInstance = Result (*)(const InstanceCreateInfo *, const void *, Instance *);
    const auto create = reinterpret_cast<CreateInstance>(call_->get(nullptr, "vkCreateInstance"));
    const ApplicationInfo application;
    InstanceCreateInfo info;
    info.application = &application;
    const Result made = create != nullptr ? create(&info, nullptr, &instance_) : -1;
    if (made != 0) {
        why_not = "vkCreateInstance returns " + std::to_string(made);
        require_lack(made == incompatible_driver || made == initialization_failed, why_not);
        return false;
    }
    bool complete = true;
#define VULKAN_LOAD(type, name, parameters)                                                        \
    call_->name = reinterpret_cast<type(*) parameters>(call_->get(instance_, "vk" #name));         \
    complete = complete && call_->name != nullptr;
    VULKAN_INSTANCE_FUNCTIONS(VULKAN_LOAD)
#undef VULKAN_LOAD
    why_not = "Vulkan is older than 1.1";
    return complete;
}

bool VulkanDevice::choose(const cushim::DeviceUuid *uuid, std::string &why_not) {
    std::uint32_t count = 0;
    call_->EnumeratePhysicalDevices(instance_, &count, nullptr);
    std::vector<PhysicalDevice> devices(count);
    call_->EnumeratePhysicalDevices(instance_, &count, devices.data());
    for (const PhysicalDevice device : devices) {
        IdProperties id;
        PhysicalDeviceProperties2 properties;
        properties.next = &id;
        call_->GetPhysicalDeviceProperties2(device, &properties);
        const bool wanted = uuid != nullptr
                                ? std::memcmp(id.device_uuid, uuid->bytes, sizeof uuid->bytes) == 0
                                : on_.physical == nullptr;
        if (wanted) {
            on_.physical = device;
        }
    }
    why_not = "none of the " + std::to_string(count) + " Vulkan devices is the CUDA device";
    return on_.physical != nullptr;
}

bool VulkanDevice::make_device(std::uint32_t extension_count, std::string &why_not) {
    std::uint32_t count = 0;
    call_->GetPhysicalDeviceQueueFamilyProperties(on_.physical, &count, nullptr);
    std::vector<QueueFamilyProperties> families(count);
    call_->GetPhysicalDeviceQueueFamilyProperties(on_.physical, &count, families.data());
    constexpr Flags graphics_compute_or_transfer = 7; // each supports copies
    while (on_.family < count && (families[on_.family].flags & graphics_compute_or_transfer) == 0) {
        ++on_.family;
    }
    const float priority = 1;
    QueueCreateInfo queue;
    queue.family = on_.family;
    queue.priorities = &priority;
    TimelineFeatures timeline;
    DeviceCreateInfo info;
    info.next = &timeline;
    info.queues = &queue;
    info.extension_count = extension_count;
    info.extensions = device_extensions;
    const Result made = call_->CreateDevice(on_.physical, &info, nullptr, &on_.device);
    if (made != 0) {
        on_.device = nullptr;
        why_not =
            "vkCreateDevice with export of memory and semaphores returns " + std::to_string(made);
        require_lack(made == extension_not_present || made == feature_not_present, why_not);
        return false;
    }
    call_->GetDeviceQueue(on_.device, on_.family, 0, &on_.queue);
    objects_ = objects();
    return true;
}

// --- exports

VulkanDevice::ExportedBuffer VulkanDevice::export_buffer(std::size_t size) {
    ExportedBuffer exported;
    exported.buffer = objects_->make_buffer(size, true);
    const MemoryRequirements needed = objects_->needs_of(exported.buffer);
    const DeviceMemory memory = objects_->allocate_shared(needed, exported.buffer, 0);
    VULKAN_REQUIRE(objects_->BindBufferMemory(on_.device, exported.buffer, memory, 0) == 0);
    exported.memory_size = needed.size;
    exported.fd = objects_->export_memory(memory);
    return exported;
}

VulkanDevice::ExportedSemaphore VulkanDevice::export_semaphore(bool timeline) {
    const Semaphore semaphore = objects_->make_semaphore(timeline, true);
    return {semaphore, objects_->export_semaphore(semaphore)};
}

VulkanDevice::ExportedSemaphore VulkanDevice::export_binary() {
    return export_semaphore(false);
}

VulkanDevice::ExportedSemaphore VulkanDevice::export_timeline() {
    return export_semaphore(true);
}

// --- work

void VulkanDevice::fill(Buffer buffer, std::size_t size, unsigned int value, std::optional<At> wait,
                        At signal) {
    const CommandBuffer commands = objects_->begin();
    objects_->CmdFillBuffer(commands, buffer, 0, size, value);
    objects_->submit(commands, wait, signal);
}

void VulkanDevice::copy(Buffer buffer, const BufferCopy &part, std::optional<At> wait, At signal) {
    const CommandBuffer commands = objects_->begin();
    objects_->CmdCopyBuffer(commands, buffer, buffer, 1, &part);
    objects_->submit(commands, wait, signal);
}

void VulkanDevice::wait_idle() {
    VULKAN_REQUIRE(objects_->DeviceWaitIdle(on_.device) == 0);
}

} // namespace support

#endif
