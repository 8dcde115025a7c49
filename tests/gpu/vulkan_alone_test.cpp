// The Vulkan side of the frames without a partner, on any Vulkan device, even a CPU: a failure here
// is not a failure of CUDA.
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>

#include "../support/child_process.hpp"
#include "vulkan_session.hpp"

#include <algorithm>

using namespace gpu_test;

namespace {

void go_round(const support::VulkanDevice &device, const Subject &subject, unsigned int frames) {
    VulkanTransfers vulkan(device);
    const auto shared = subject.shape.level_count != 0 ? vulkan.shared_image(subject.shape)
                                                       : vulkan.shared_buffer(subject.words);
    const auto from = vulkan.staging(subject.words);
    const auto to = vulkan.staging(subject.words);
    const auto timeline = vulkan.timeline(false);
    const Noise noise(subject.words, frames);
    const cushim::UniqueFd exported = vulkan.export_memory(shared);
    CHECK(exported);
    for (unsigned int frame = 0; frame < frames; ++frame) {
        std::ranges::copy(noise.frame(frame), from.words.begin());
        vulkan.upload(from, shared, {timeline, begun(frame)}, {timeline, given(frame)});
        vulkan.download(shared, to, {timeline, given(frame)}, {timeline, taken(frame)});
        vulkan.await({timeline, taken(frame)});
        require_frame(to.words, noise.frame(frame), frame);
    }
}

} // namespace

TEST_CASE("frames pass through Vulkan memory unchanged", "[vulkan][alone]") {
    const Subject &subject = GENERATE(from_range(std::begin(subjects), std::end(subjects)));
    INFO(subject.name);
    std::string why_not;
    const auto device = support::VulkanDevice::any(why_not);
    if (device == nullptr) {
        SKIP(why_not);
    }
    go_round(*device, subject, 1); // opens the descriptors that the driver keeps
    const std::size_t descriptors = support::open_descriptors();
    go_round(*device, subject, 10);
    CHECK(support::open_descriptors() == descriptors);
}
