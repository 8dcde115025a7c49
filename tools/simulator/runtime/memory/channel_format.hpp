// The formats of array elements: a channel description of the runtime is a format and a number of
// channels of the driver.
#pragma once

#include "runtime/base/failure.hpp"

#include <cstddef>

namespace sim::runtime {

struct Format {
    CUarray_format format;
    unsigned int channels;
};

// Refuses with InvalidChannelDescriptor (20) what is no format.
Format format_of(const cudaChannelFormatDesc &description);
cudaChannelFormatDesc channel_of(const Format &format);
// Bytes of one element.
std::size_t element_size(const Format &format);

// Of an array that lives.
CUDA_ARRAY3D_DESCRIPTOR descriptor_of(CUarray array);
std::size_t element_size(CUarray array);

} // namespace sim::runtime
