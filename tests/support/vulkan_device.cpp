#include "vulkan_device.hpp"

#ifndef _WIN32

#include <cstring>
#include <stdexcept>
#include <vector>

#include <dlfcn.h>

namespace support {
namespace {

using namespace vulkan;
using VoidFunction = void (*)();
using GetInstanceProcAddr = VoidFunction (*)(Instance, const char *);

constexpr const char *device_extensions[] = {"VK_KHR_external_memory_fd",
                                             "VK_KHR_external_semaphore_fd"};
constexpr std::uint32_t memory_extensions = 1; // of them, from the first on

// What Vulkan answers where a driver, a part of it or a capability is not there. All else is a
// failure.
constexpr Result initialization_failed = -3, extension_not_present = -7, feature_not_present = -8,
                 incompatible_driver = -9;

void require_lack(bool lack, const std::string &message) {
    if (!lack) {
        throw std::runtime_error(message);
    }
}

// Vulkan's loader, or where that is not installed, NVIDIA's implementation itself.
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
    VULKAN_DEVICE_FUNCTIONS(VULKAN_DECLARE)
#undef VULKAN_DECLARE
};

struct VulkanDevice::Owned {
    Instance instance = nullptr;
    PhysicalDevice physical = nullptr;
    Device device = nullptr;
    Queue queue = nullptr;
    std::uint32_t family = 0;
    CommandPool pool = 0;
    std::vector<Buffer> buffers;
    std::vector<DeviceMemory> memories;
    std::vector<Semaphore> semaphores;
};

VulkanDevice::VulkanDevice()
    : call_(std::make_unique<Functions>()), owned_(std::make_unique<Owned>()) {}

VulkanDevice::~VulkanDevice() {
    if (owned_->device != nullptr) {
        call_->DeviceWaitIdle(owned_->device);
        for (const Semaphore semaphore : owned_->semaphores) {
            call_->DestroySemaphore(owned_->device, semaphore, nullptr);
        }
        for (const Buffer buffer : owned_->buffers) {
            call_->DestroyBuffer(owned_->device, buffer, nullptr);
        }
        for (const DeviceMemory memory : owned_->memories) {
            call_->FreeMemory(owned_->device, memory, nullptr);
        }
        call_->DestroyCommandPool(owned_->device, owned_->pool, nullptr);
        call_->DestroyDevice(owned_->device, nullptr);
    }
    if (owned_->instance != nullptr && call_->DestroyInstance != nullptr) {
        call_->DestroyInstance(owned_->instance, nullptr);
    }
}

// --- finding the device

std::unique_ptr<VulkanDevice> VulkanDevice::find(const cushim::DeviceUuid &uuid,
                                                 std::string &why_not) {
    std::unique_ptr<VulkanDevice> device(new VulkanDevice);
    const bool found = device->load(why_not) && device->make_instance(why_not) &&
                       device->choose(&uuid, why_not) &&
                       device->make_device(std::size(device_extensions), why_not);
    return found ? std::move(device) : nullptr;
}

std::unique_ptr<VulkanDevice> VulkanDevice::any(std::string &why_not) {
    std::unique_ptr<VulkanDevice> device(new VulkanDevice);
    const bool found = device->load(why_not) && device->make_instance(why_not) &&
                       device->choose(nullptr, why_not) &&
                       device->make_device(memory_extensions, why_not);
    return found ? std::move(device) : nullptr;
}

VulkanDevice::Native VulkanDevice::native() const {
    return {owned_->physical, owned_->device, owned_->queue, owned_->family};
}

VulkanDevice::VoidFunction VulkanDevice::function(const char *name) const {
    return call_->get(owned_->instance, name);
}

bool VulkanDevice::load(std::string &why_not) {
    call_->get = entry_of_vulkan();
    why_not = "Vulkan is not installed: neither libvulkan.so.1 nor libGLX_nvidia.so.0 is there";
    return call_->get != nullptr;
}

bool VulkanDevice::make_instance(std::string &why_not) {
    using CreateInstance = Result (*)(const InstanceCreateInfo *, const void *, Instance *);
    const auto create = reinterpret_cast<CreateInstance>(call_->get(nullptr, "vkCreateInstance"));
    const ApplicationInfo application;
    InstanceCreateInfo info;
    info.application = &application;
    const Result made = create != nullptr ? create(&info, nullptr, &owned_->instance) : -1;
    if (made != 0) {
        why_not = "vkCreateInstance answers " + std::to_string(made);
        require_lack(made == incompatible_driver || made == initialization_failed, why_not);
        return false;
    }
    bool complete = true;
#define VULKAN_LOAD(type, name, parameters)                                                        \
    call_->name = reinterpret_cast<type(*) parameters>(call_->get(owned_->instance, "vk" #name));  \
    complete = complete && call_->name != nullptr;
    VULKAN_INSTANCE_FUNCTIONS(VULKAN_LOAD)
#undef VULKAN_LOAD
    why_not = "Vulkan is older than 1.1";
    return complete;
}

bool VulkanDevice::choose(const cushim::DeviceUuid *uuid, std::string &why_not) {
    std::uint32_t count = 0;
    call_->EnumeratePhysicalDevices(owned_->instance, &count, nullptr);
    std::vector<PhysicalDevice> devices(count);
    call_->EnumeratePhysicalDevices(owned_->instance, &count, devices.data());
    for (const PhysicalDevice device : devices) {
        IdProperties id;
        PhysicalDeviceProperties2 properties;
        properties.next = &id;
        call_->GetPhysicalDeviceProperties2(device, &properties);
        const bool wanted = uuid != nullptr
                                ? std::memcmp(id.device_uuid, uuid->bytes, sizeof uuid->bytes) == 0
                                : owned_->physical == nullptr;
        if (wanted) {
            owned_->physical = device;
        }
    }
    why_not = "none of Vulkan's " + std::to_string(count) + " devices is the CUDA device";
    return owned_->physical != nullptr;
}

bool VulkanDevice::make_device(std::uint32_t extension_count, std::string &why_not) {
    std::uint32_t count = 0;
    call_->GetPhysicalDeviceQueueFamilyProperties(owned_->physical, &count, nullptr);
    std::vector<QueueFamilyProperties> families(count);
    call_->GetPhysicalDeviceQueueFamilyProperties(owned_->physical, &count, families.data());
    constexpr Flags graphics_compute_or_transfer = 7; // each can copy
    while (owned_->family < count &&
           (families[owned_->family].flags & graphics_compute_or_transfer) == 0) {
        ++owned_->family;
    }
    const float priority = 1;
    QueueCreateInfo queue;
    queue.family = owned_->family;
    queue.priorities = &priority;
    TimelineFeatures timeline;
    DeviceCreateInfo info;
    info.next = &timeline;
    info.queues = &queue;
    info.extension_count = extension_count;
    info.extensions = device_extensions;
    const Result made = call_->CreateDevice(owned_->physical, &info, nullptr, &owned_->device);
    if (made != 0) {
        owned_->device = nullptr;
        why_not = "vkCreateDevice, with memory and semaphores as descriptors, answers " +
                  std::to_string(made);
        require_lack(made == extension_not_present || made == feature_not_present, why_not);
        return false;
    }
#define VULKAN_LOAD(type, name, parameters)                                                        \
    call_->name = reinterpret_cast<type(*) parameters>(call_->get(owned_->instance, "vk" #name));  \
    VULKAN_REQUIRE(call_->name != nullptr);
    VULKAN_DEVICE_FUNCTIONS(VULKAN_LOAD)
#undef VULKAN_LOAD
    call_->GetDeviceQueue(owned_->device, owned_->family, 0, &owned_->queue);
    CommandPoolCreateInfo pool;
    pool.family = owned_->family;
    VULKAN_REQUIRE(call_->CreateCommandPool(owned_->device, &pool, nullptr, &owned_->pool) == 0);
    return true;
}

// --- what is exported

std::uint32_t VulkanDevice::memory_type(std::uint32_t allowed) const {
    MemoryProperties properties;
    call_->GetPhysicalDeviceMemoryProperties(owned_->physical, &properties);
    for (std::uint32_t index = 0; index < properties.type_count; ++index) {
        if ((allowed >> index & 1) != 0 && (properties.types[index].flags & device_local) != 0) {
            return index;
        }
    }
    throw std::runtime_error("Vulkan has no memory of the device's for a buffer");
}

VulkanDevice::ExportedBuffer VulkanDevice::export_buffer(std::size_t size) {
    const ExternalMemoryBufferCreateInfo external;
    BufferCreateInfo info;
    info.next = &external;
    info.size = size;
    ExportedBuffer exported;
    VULKAN_REQUIRE(call_->CreateBuffer(owned_->device, &info, nullptr, &exported.buffer) == 0);
    owned_->buffers.push_back(exported.buffer);

    MemoryRequirements needed;
    call_->GetBufferMemoryRequirements(owned_->device, exported.buffer, &needed);
    DedicatedAllocateInfo dedicated;
    dedicated.buffer = exported.buffer;
    ExportMemoryAllocateInfo as_fd;
    as_fd.next = &dedicated;
    MemoryAllocateInfo allocation;
    allocation.next = &as_fd;
    allocation.size = needed.size;
    allocation.type_index = memory_type(needed.type_bits);
    DeviceMemory memory = 0;
    VULKAN_REQUIRE(call_->AllocateMemory(owned_->device, &allocation, nullptr, &memory) == 0);
    owned_->memories.push_back(memory);
    VULKAN_REQUIRE(call_->BindBufferMemory(owned_->device, exported.buffer, memory, 0) == 0);

    MemoryGetFdInfo which;
    which.memory = memory;
    int fd = -1;
    VULKAN_REQUIRE(call_->GetMemoryFdKHR(owned_->device, &which, &fd) == 0);
    exported.memory_size = needed.size;
    exported.fd.reset(fd);
    return exported;
}

VulkanDevice::ExportedSemaphore VulkanDevice::export_semaphore(bool timeline) {
    SemaphoreTypeCreateInfo kind;
    kind.timeline = timeline ? 1 : 0;
    ExportSemaphoreCreateInfo as_fd;
    as_fd.next = &kind;
    SemaphoreCreateInfo info;
    info.next = &as_fd;
    ExportedSemaphore exported;
    VULKAN_REQUIRE(call_->CreateSemaphore(owned_->device, &info, nullptr, &exported.semaphore) ==
                   0);
    owned_->semaphores.push_back(exported.semaphore);
    SemaphoreGetFdInfo which;
    which.semaphore = exported.semaphore;
    int fd = -1;
    VULKAN_REQUIRE(call_->GetSemaphoreFdKHR(owned_->device, &which, &fd) == 0);
    exported.fd.reset(fd);
    return exported;
}

VulkanDevice::ExportedSemaphore VulkanDevice::export_binary() {
    return export_semaphore(false);
}

VulkanDevice::ExportedSemaphore VulkanDevice::export_timeline() {
    return export_semaphore(true);
}

// --- work

CommandBuffer VulkanDevice::begin() {
    CommandBufferAllocateInfo info;
    info.pool = owned_->pool;
    CommandBuffer commands = nullptr;
    VULKAN_REQUIRE(call_->AllocateCommandBuffers(owned_->device, &info, &commands) == 0);
    const CommandBufferBeginInfo once;
    VULKAN_REQUIRE(call_->BeginCommandBuffer(commands, &once) == 0);
    return commands;
}

void VulkanDevice::submit(CommandBuffer commands, std::optional<At> wait, At signal) {
    VULKAN_REQUIRE(call_->EndCommandBuffer(commands) == 0);
    const At before = wait.value_or(At{});
    TimelineSubmitInfo values; // not looked at where a semaphore is a binary one
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
    VULKAN_REQUIRE(call_->QueueSubmit(owned_->queue, 1, &info, 0) == 0);
}

void VulkanDevice::fill(Buffer buffer, std::size_t size, unsigned int value, std::optional<At> wait,
                        At signal) {
    const CommandBuffer commands = begin();
    call_->CmdFillBuffer(commands, buffer, 0, size, value);
    submit(commands, wait, signal);
}

void VulkanDevice::copy(Buffer buffer, const BufferCopy &part, std::optional<At> wait, At signal) {
    const CommandBuffer commands = begin();
    call_->CmdCopyBuffer(commands, buffer, buffer, 1, &part);
    submit(commands, wait, signal);
}

void VulkanDevice::wait_idle() {
    VULKAN_REQUIRE(call_->DeviceWaitIdle(owned_->device) == 0);
}

} // namespace support

#endif
