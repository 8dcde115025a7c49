// Formats of array elements: conversion between a runtime channel description and the driver's
// format and number of channels.
#pragma once

#include "runtime/base/failure.hpp"

#include <cstddef>

namespace sim::runtime {

struct Format {
    CUarray_format format;
    unsigned int channels;
};

// Fails with InvalidChannelDescriptor (20) if it is not a valid format.
Format format_of(const cudaChannelFormatDesc &description);
cudaChannelFormatDesc channel_of(const Format &format);
// Bytes of one element.
std::size_t element_size(const Format &format);

// The descriptor of a live array.
CUDA_ARRAY3D_DESCRIPTOR descriptor_of(CUarray array);
std::size_t element_size(CUarray array);

} // namespace sim::runtime
