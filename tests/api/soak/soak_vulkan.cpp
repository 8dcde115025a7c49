#include "soak.hpp"

#include "../../support/vulkan_transfers.hpp"
#include "../harness/imported_uses.hpp"

#include <exception>
#include <memory>
#include <string>

namespace gpu_test {

using namespace cushim;
using api_test::Workplace;
using support::ImageShape;
using support::VulkanDevice;
using support::VulkanTransfers;

namespace {

constexpr ImageShape shape{256, 128, 9};

// Objects that Vulkan makes once, and CUDA imports in each round.
struct Things {
    std::unique_ptr<VulkanDevice> device; // destroyed last
    std::unique_ptr<VulkanTransfers> transfers;
    VulkanTransfers::Shared image;
    UniqueFd timeline;
    UniqueFd binary;
    unsigned long long last = 0; // the timeline's value
};
std::unique_ptr<Things> things;
std::string why_not;

void make_things(const DeviceUuid &uuid) {
    auto made = std::make_unique<Things>();
    made->device = VulkanDevice::find(uuid, why_not);
    if (made->device != nullptr) {
        made->transfers = std::make_unique<VulkanTransfers>(*made->device);
        made->image = made->transfers->shared_image(shape);
        made->timeline = made->device->export_timeline().fd;
        made->binary = made->device->export_binary().fd;
        things = std::move(made);
    }
}

// Makes the objects in the first round.
Result<void> need_things(const Workplace &place) {
    if (things == nullptr && why_not.empty()) {
        CUSHIM_TRY(const DeviceUuid uuid, place.device.uuid());
        try {
            make_things(uuid);
        } catch (const std::exception &refusal) {
            return Error::invalid_argument(refusal.what());
        }
    }
    return things != nullptr ? Result<void>() : Error::unsupported_platform(why_not.c_str());
}

Result<void> use_vulkan_timeline(const Workplace &place) {
    CUSHIM_TRY_VOID(need_things(place));
    CUSHIM_TRY(auto fd, things->timeline.duplicate());
    CUSHIM_TRY_VOID(api_test::use_timeline(place, std::move(fd), things->last));
    things->last += 2;
    return {};
}

Result<void> use_vulkan_binary(const Workplace &place) {
    CUSHIM_TRY_VOID(need_things(place));
    CUSHIM_TRY(auto fd, things->binary.duplicate());
    return api_test::use_binary(place, std::move(fd));
}

Result<void> use_vulkan_image(const Workplace &place) {
    CUSHIM_TRY_VOID(need_things(place));
    auto fd = things->transfers->export_memory(things->image);
    return api_test::use_image(
        place, {.source = ExternalMemorySource::opaque_fd(std::move(fd), {.dedicated = true}),
                .memory_size = things->image.memory_size,
                .width = shape.width,
                .height = shape.height,
                .levels = shape.level_count});
}

constexpr api_test::Use uses[] = {
    {"timelines of Vulkan", use_vulkan_timeline},
    {"binary semaphores of Vulkan", use_vulkan_binary},
    {"images of Vulkan", use_vulkan_image},
};

} // namespace

std::span<const api_test::Use> vulkan_uses() {
    return uses;
}

void close_vulkan() {
    things.reset();
}

} // namespace gpu_test
