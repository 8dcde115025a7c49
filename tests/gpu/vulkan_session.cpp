#include "vulkan_session.hpp"

#include "../support/ok.hpp"

#include <algorithm>
#include <string>

namespace gpu_test {

using namespace cushim;
using support::ok;

Interop::Interop() {
    const Device device = ok(Device::get(0));
    std::string why_not;
    vulkan = support::VulkanDevice::find(ok(device.uuid()), why_not);
    if (vulkan == nullptr) {
        SKIP(why_not);
    }
    context = ok(Context::primary(device));
}

VulkanHalf::VulkanHalf(const support::VulkanDevice &device, const Subject &subject,
                       unsigned int frames)
    : transfers_(device), noise_(subject.words, frames) {
    shared_ = subject.shape.level_count != 0 ? transfers_.shared_image(subject.shape)
                                             : transfers_.shared_buffer(subject.words);
    staging_ = transfers_.staging(subject.words);
    timeline_ = transfers_.timeline(true);
}

Exported VulkanHalf::exported() {
    return {.memory = transfers_.export_memory(shared_),
            .timeline = transfers_.export_timeline(timeline_),
            .memory_size = shared_.memory_size,
            .words = shared_.words,
            .shape = shared_.shape};
}

void VulkanHalf::take(unsigned int frame) {
    transfers_.download(shared_, staging_, {timeline_, given(frame)}, {timeline_, taken(frame)});
}

void VulkanHalf::check(unsigned int frame) {
    transfers_.await({timeline_, taken(frame)});
    require_frame(staging_.words, noise_.frame(frame), frame);
}

void VulkanHalf::give(unsigned int frame) {
    if (frame > 0) {
        transfers_.await({timeline_, taken(frame - 1)}); // the staging memory is free
    }
    std::ranges::copy(noise_.frame(frame), staging_.words.begin());
    transfers_.upload(staging_, shared_, {timeline_, begun(frame)}, {timeline_, given(frame)});
}

} // namespace gpu_test
