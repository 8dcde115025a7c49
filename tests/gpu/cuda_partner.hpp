// The CUDA side of frames that it shares with Vulkan. On their timeline, frame n begins at 2 n, has
// been written at 2 n + 1, and has been taken at 2 n + 2.
#pragma once

#include "../support/image_shape.hpp"
#include "noise.hpp"

#include <cushim/context.hpp>
#include <cushim/device_buffer.hpp>
#include <cushim/external_memory.hpp>
#include <cushim/external_semaphore.hpp>
#include <cushim/module.hpp>
#include <cushim/pinned_buffer.hpp>
#include <cushim/stream.hpp>

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

// The memory and the timeline that Vulkan exports, and their description.
struct Exported {
    cushim::UniqueFd memory;
    cushim::UniqueFd timeline;
    std::size_t memory_size = 0; // bytes
    std::size_t words = 0;
    ImageShape shape; // a buffer if it has no levels
};

// Each function fails the test case if a CUDA call fails.
class CudaPartner {
  public:
    CudaPartner(const cushim::Context &context, Exported &&exported, unsigned int frames);

    // Enqueued: writes a frame, by a kernel if its number is even, otherwise by a copy.
    void give(unsigned int frame);
    // Enqueued: copies a frame to host memory.
    void take(unsigned int frame);
    // Waits for all enqueued work; then the host may read the last taken frame.
    std::span<const unsigned int> taken_words();

  private:
    void copy_to_image(); // from linear memory
    void copy_to_host();  // of the shared memory
    void copy_level(const ImageLevel &level, unsigned int index, bool to_image);

    ImageShape shape_;
    cushim::Context context_;
    cushim::Stream stream_;
    cushim::ExternalMemory memory_;
    cushim::ExternalBuffer buffer_;
    cushim::ExternalMipmappedArray image_;
    cushim::TimelineSemaphore timeline_;
    cushim::DeviceSpan<unsigned int> shared_; // if a buffer is shared
    cushim::PinnedBuffer<unsigned int> noise_;
    cushim::PinnedBuffer<unsigned int> taken_;
    cushim::DeviceBuffer<unsigned int> linear_; // the words of an image, level by level
    cushim::Module module_;
    cushim::Kernel<WriteNoise> write_noise_;
};

// Fails if they differ, and reports the word.
void require_frame(std::span<const unsigned int> found, std::span<const unsigned int> expected,
                   unsigned int frame);

} // namespace gpu_test
