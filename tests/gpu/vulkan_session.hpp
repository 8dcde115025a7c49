// Vulkan and CUDA on one GPU, and frames that are passed from one to the other.
#pragma once

#include "../support/vulkan_transfers.hpp"
#include "cuda_partner.hpp"

#include <memory>

namespace gpu_test {

using support::ImageShape;
using support::VulkanTransfers;

// The Vulkan device that is CUDA device 0. Skips the test case if it is missing.
struct Interop {
    Interop();

    std::unique_ptr<support::VulkanDevice> vulkan; // destroyed last
    cushim::Context context;
};

// The direction of the frames.
enum class Way { cuda_to_vulkan, vulkan_to_cuda };
constexpr const char *name(Way way) {
    return way == Way::cuda_to_vulkan ? "CUDA to Vulkan" : "Vulkan to CUDA";
}

// The shared object: an image, or a buffer if it has no levels.
struct Subject {
    const char *name;
    std::size_t words;
    ImageShape shape;

    static Subject buffer(const char *name, std::size_t words) { return {name, words, {}}; }
    static Subject image(const char *name, const ImageShape &shape) {
        return {name, shape.words(), shape};
    }
};
inline const Subject subjects[] = {
    Subject::buffer("4 KiB", 1 << 10),
    Subject::buffer("1 MiB + 4 B", (1 << 18) + 1),
    Subject::buffer("16 MiB", 1 << 22),
    Subject::image("image of 256 x 256, 9 levels", {256, 256, 9}),
    Subject::image("image of 333 x 77, 9 levels", {333, 77, 9}),
    Subject::image("image of 1024 x 1024", {1024, 1024, 1}),
};

// The Vulkan side of a session: the shared objects, and Vulkan's part of each frame.
class VulkanHalf {
  public:
    VulkanHalf(const support::VulkanDevice &device, const Subject &subject, unsigned int frames);

    // Returns new descriptors each time.
    Exported exported();

    // Enqueued: takes a frame from CUDA.
    void take(unsigned int frame);
    // Waits for the taken frame and compares every byte.
    void check(unsigned int frame);
    // Enqueued: writes a frame.
    void give(unsigned int frame);

  private:
    VulkanTransfers transfers_;
    VulkanTransfers::Shared shared_;
    VulkanTransfers::Staging staging_;
    vulkan::Semaphore timeline_;
    Noise noise_;
};

} // namespace gpu_test
