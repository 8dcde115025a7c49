// Frames from CUDA to Vulkan and back in one process, through memory and a timeline that Vulkan
// exports.
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>

#include "../support/child_process.hpp"
#include "figure.hpp"
#include "vulkan_session.hpp"

#include <chrono>

using namespace gpu_test;

namespace {

constexpr unsigned int warm_up_frames = 2;
constexpr unsigned int all_frames = 1000;

void run(const Interop &both, const Subject &subject, Way way, unsigned int frames) {
    VulkanHalf vulkan(*both.vulkan, subject, frames);
    CudaPartner cuda(both.context, vulkan.exported(), frames);
    const Noise noise(subject.words, frames);
    for (unsigned int frame = 0; frame < frames; ++frame) {
        if (way == Way::cuda_to_vulkan) {
            cuda.give(frame);
            vulkan.take(frame);
            vulkan.check(frame);
        } else {
            vulkan.give(frame);
            cuda.take(frame);
            require_frame(cuda.taken_words(), noise.frame(frame), frame);
        }
    }
}

} // namespace

TEST_CASE("each of 1,000 frames arrives unchanged", "[gpu][vulkan]") {
    const Subject &subject = GENERATE(from_range(std::begin(subjects), std::end(subjects)));
    const Way way = GENERATE(Way::cuda_to_vulkan, Way::vulkan_to_cuda);
    INFO(subject.name << ", " << name(way));
    const Interop both;
    run(both, subject, way, warm_up_frames); // opens the descriptors that the drivers keep
    const std::size_t descriptors = support::open_descriptors();
    const auto begin = std::chrono::steady_clock::now();
    run(both, subject, way, all_frames);
    const std::chrono::duration<double, std::micro> passed =
        std::chrono::steady_clock::now() - begin;
    CHECK(support::open_descriptors() == descriptors);
    figure(std::string("Vulkan interop, ") + name(way) + ", " + subject.name,
           passed.count() / all_frames, "us per frame");
}

TEST_CASE("a frame can be enqueued after the other API waits for it", "[gpu][vulkan]") {
    const Way way = GENERATE(Way::cuda_to_vulkan, Way::vulkan_to_cuda);
    const Interop both;
    const Subject &subject = subjects[1];
    constexpr unsigned int frames = 100;
    VulkanHalf vulkan(*both.vulkan, subject, frames);
    CudaPartner cuda(both.context, vulkan.exported(), frames);
    const Noise noise(subject.words, frames);
    for (unsigned int frame = 0; frame < frames; ++frame) {
        if (way == Way::cuda_to_vulkan) {
            vulkan.take(frame);
            cuda.give(frame);
            vulkan.check(frame);
        } else {
            cuda.take(frame);
            vulkan.give(frame);
            require_frame(cuda.taken_words(), noise.frame(frame), frame);
        }
    }
}
