#include "cuda_partner.hpp"

#include "../support/ok.hpp"

#include <algorithm>
#include <cstring>

namespace gpu_test {

using namespace cushim;
using support::ok;

namespace {

CUDA_ARRAY3D_DESCRIPTOR description_of(const ImageShape &shape) {
    CUDA_ARRAY3D_DESCRIPTOR description{};
    description.Width = shape.width;
    description.Height = shape.height;
    description.Format = CU_AD_FORMAT_UNSIGNED_INT32;
    description.NumChannels = 1;
    return description;
}

} // namespace

CudaPartner::CudaPartner(const Context &context, Exported &&exported, unsigned int frames)
    : shape_(exported.shape), context_(context.share()),
      stream_(ok(Stream::create(context, {.non_blocking = true}))) {
    memory_ = ok(ExternalMemory::import_from(
        context, ExternalMemorySource::opaque_fd(std::move(exported.memory), {.dedicated = true}),
        exported.memory_size));
    timeline_ = ok(TimelineSemaphore::import_fd(context, std::move(exported.timeline)));
    if (shape_.level_count != 0) {
        image_ = ok(memory_.map_mipmapped(0, description_of(shape_), shape_.level_count));
    } else {
        buffer_ = ok(memory_.map_buffer(0, exported.words * sizeof(unsigned int)));
        shared_ = ok(buffer_.as<unsigned int>());
    }
    linear_ = ok(DeviceBuffer<unsigned int>::allocate(context, exported.words));
    taken_ = ok(PinnedBuffer<unsigned int>::allocate(context, exported.words));
    const Noise noise(exported.words, frames);
    noise_ = ok(PinnedBuffer<unsigned int>::copy_of(context, noise.all()));
    module_ = ok(Module::load(context, noise_ptx));
    write_noise_ = ok(module_.kernel<WriteNoise>("write_noise"));
}

void CudaPartner::give(unsigned int frame) {
    const auto words = static_cast<unsigned int>(linear_.size());
    ok(timeline_.wait(stream_, begun(frame)));
    const bool by_kernel = frame % 2 == 0;
    const DeviceSpan<unsigned int> to = shape_.level_count != 0 ? linear_.span() : shared_;
    if (by_kernel) {
        ok(write_noise_.launch(stream_, LaunchConfig::covering(words), to, words, frame));
    } else {
        ok(copy(stream_, to, noise_.span().subspan(frame, words)));
    }
    if (shape_.level_count != 0) {
        copy_to_image();
    }
    ok(timeline_.signal(stream_, given(frame)));
}

void CudaPartner::take(unsigned int frame) {
    ok(timeline_.wait(stream_, given(frame)));
    copy_to_host();
    ok(timeline_.signal(stream_, taken(frame)));
}

std::span<const unsigned int> CudaPartner::taken_words() {
    return ok(taken_.synchronized_span(stream_));
}

void CudaPartner::copy_to_image() {
    unsigned int index = 0;
    for (const ImageLevel &level : shape_.levels()) {
        copy_level(level, index++, true);
    }
}

void CudaPartner::copy_to_host() {
    if (shape_.level_count == 0) {
        ok(copy(stream_, taken_.span(), shared_));
        return;
    }
    unsigned int index = 0;
    for (const ImageLevel &level : shape_.levels()) {
        copy_level(level, index++, false);
    }
    ok(copy(stream_, taken_.span(), linear_.span()));
}

void CudaPartner::copy_level(const ImageLevel &level, unsigned int index, bool to_image) {
    const CUarray array = ok(image_.level(index));
    const CUdeviceptr linear = linear_.native() + level.first_word * sizeof(unsigned int);
    CUDA_MEMCPY2D copy{};
    copy.WidthInBytes = level.width * sizeof(unsigned int);
    copy.Height = level.height;
    if (to_image) {
        copy.srcMemoryType = CU_MEMORYTYPE_DEVICE;
        copy.srcDevice = linear;
        copy.srcPitch = copy.WidthInBytes;
        copy.dstMemoryType = CU_MEMORYTYPE_ARRAY;
        copy.dstArray = array;
    } else {
        copy.srcMemoryType = CU_MEMORYTYPE_ARRAY;
        copy.srcArray = array;
        copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
        copy.dstDevice = linear;
        copy.dstPitch = copy.WidthInBytes;
    }
    const ContextScope scope = ok(context_.enter());
    ok(driver().cuMemcpy2DAsync(&copy, stream_.native()));
}

void require_frame(std::span<const unsigned int> found, std::span<const unsigned int> expected,
                   unsigned int frame) {
    REQUIRE(found.size() == expected.size());
    if (std::memcmp(found.data(), expected.data(), expected.size_bytes()) != 0) {
        const auto differs = std::mismatch(found.begin(), found.end(), expected.begin());
        FAIL("frame " << frame << ", word " << differs.first - found.begin() << " of "
                      << found.size() << ": " << *differs.first << ", not " << *differs.second);
    }
}

} // namespace gpu_test
