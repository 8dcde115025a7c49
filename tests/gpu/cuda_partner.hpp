// CUDA's half of frames that it shares with Vulkan. Frame n begins at 2 n on their timeline;
// whoever gives it goes on to 2 n + 1, and who takes it to 2 n + 2.
#pragma once

#include "../support/image_shape.hpp"
#include "noise.hpp"

#include <cushim/cushim.hpp>

#include <span>

namespace gpu_test {

using support::ImageLevel;
using support::ImageShape;

constexpr unsigned long long given(unsigned int frame) {
    return 2ull * frame + 1;
}
constexpr unsigned long long taken(unsigned int frame) {
    return 2ull * frame + 2;
}
constexpr unsigned long long begun(unsigned int frame) {
    return 2ull * frame;
}

// What Vulkan exports, and must say of it.
struct Exported {
    cushim::UniqueFd memory;
    cushim::UniqueFd timeline;
    std::size_t memory_size = 0; // bytes
    std::size_t words = 0;
    ImageShape shape; // without levels: it is a buffer
};

// Each function fails the test case where CUDA refuses.
class CudaPartner {
  public:
    CudaPartner(const cushim::Context &context, Exported &&exported, unsigned int frames);

    // Queued: gives a frame, filled by a kernel where its number is even, else by a copy.
    void give(unsigned int frame);
    // Queued: takes a frame into the host's memory.
    void take(unsigned int frame);
    // Waits for what is queued; then what was taken last is the host's to look at.
    std::span<const unsigned int> taken_words();

  private:
    void copy_to_image(); // from the linear memory
    void copy_to_host();  // of what is shared
    void copy_level(const ImageLevel &level, unsigned int index, bool to_image);

    ImageShape shape_;
    cushim::Context context_;
    cushim::Stream stream_;
    cushim::ExternalMemory memory_;
    cushim::ExternalBuffer buffer_;
    cushim::ExternalMipmappedArray image_;
    cushim::TimelineSemaphore timeline_;
    cushim::DeviceSpan<unsigned int> shared_; // of a buffer
    cushim::PinnedBuffer<unsigned int> noise_;
    cushim::PinnedBuffer<unsigned int> taken_;
    cushim::DeviceBuffer<unsigned int> linear_; // an image's words, level after level
    cushim::Module module_;
    cushim::Kernel<WriteNoise> write_noise_;
};

// Fails where they differ, and says which word.
void require_frame(std::span<const unsigned int> found, std::span<const unsigned int> expected,
                   unsigned int frame);

} // namespace gpu_test
