// The same frames between two processes: Vulkan in this one, CUDA in a second one, which is this
// program running a hidden test case.
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>

#include "../support/child_process.hpp"
#include "../support/ok.hpp"
#include "vulkan_session.hpp"

using namespace cushim;
using namespace gpu_test;
using support::Channel;
using support::Child;
using support::ok;

namespace {

// One session of the child. Two descriptors follow, for the memory and the timeline.
struct Plan {
    unsigned int frames; // 0 ends the child
    Way way;
    std::size_t memory_size;
    std::size_t words;
    ImageShape shape;
};

void run_session(Channel &child, const Interop &both, const Subject &subject, Way way,
                 unsigned int frames) {
    VulkanHalf vulkan(*both.vulkan, subject, frames);
    {
        const Exported exported = vulkan.exported();
        child.send(Plan{frames, way, exported.memory_size, exported.words, exported.shape});
        child.send_fd(exported.memory.get());
        child.send_fd(exported.timeline.get());
    }
    child.await(); // the child has imported both
    for (unsigned int frame = 0; frame < frames; ++frame) {
        if (way == Way::cuda_to_vulkan) {
            vulkan.take(frame);
            vulkan.check(frame);
        } else {
            vulkan.give(frame);
        }
    }
    child.await(); // the child has released both
}

void follow(Channel &parent, const Context &context, const Plan &plan) {
    Exported exported;
    exported.memory.reset(parent.receive_fd());
    exported.timeline.reset(parent.receive_fd());
    exported.memory_size = plan.memory_size;
    exported.words = plan.words;
    exported.shape = plan.shape;
    CudaPartner cuda(context, std::move(exported), plan.frames);
    parent.signal();
    const Noise noise(plan.words, plan.frames);
    for (unsigned int frame = 0; frame < plan.frames; ++frame) {
        if (plan.way == Way::cuda_to_vulkan) {
            cuda.give(frame);
            cuda.taken_words(); // at most one frame ahead
        } else {
            cuda.take(frame);
            require_frame(cuda.taken_words(), noise.frame(frame), frame);
        }
    }
}

} // namespace

TEST_CASE("child: the CUDA side of frames shared with another process", "[.]") {
    Channel parent = Channel::of_parent();
    const Context context = ok(Context::primary(ok(Device::get(0))));
    for (auto plan = parent.receive<Plan>(); plan.frames != 0; plan = parent.receive<Plan>()) {
        follow(parent, context, plan);
        parent.signal();
        parent.send(support::open_descriptors());
    }
}

TEST_CASE("each of 1,000 frames arrives unchanged in another process", "[gpu][vulkan]") {
    const Subject &subject = GENERATE(from_range(std::begin(subjects), std::end(subjects)));
    const Way way = GENERATE(Way::cuda_to_vulkan, Way::vulkan_to_cuda);
    INFO(subject.name << ", " << name(way));
    const Interop both;
    Child child("child: the CUDA side of frames shared with another process");
    std::size_t there = 0, here = 0;
    // The first session is short and opens the descriptors that the drivers keep.
    for (const unsigned int frames : {2u, 1000u}) {
        run_session(child.channel(), both, subject, way, frames);
        const auto open_there = child.channel().receive<std::size_t>();
        const std::size_t open_here = support::open_descriptors();
        CHECK((there == 0 || there == open_there));
        CHECK((here == 0 || here == open_here));
        there = open_there;
        here = open_here;
    }
    child.channel().send(Plan{});
    CHECK(child.passed());
}
