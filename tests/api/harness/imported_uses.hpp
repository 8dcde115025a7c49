// Uses of objects that another API exports: Vulkan on a GPU, the simulator's own without one.
#pragma once

#ifndef _WIN32

#include "uses.hpp"

#include <cushim/external_memory.hpp>

namespace api_test {

// Signals the two values after `last`: one in a stream, one in a graph.
cushim::Result<void> use_timeline(const Workplace &place, cushim::UniqueFd exported,
                                  unsigned long long last);

// The semaphore is unsignalled before and afterwards.
cushim::Result<void> use_binary(const Workplace &place, cushim::UniqueFd exported);

// An image of 32-bit words; its first level is written and read.
struct SharedImage {
    cushim::ExternalMemorySource source;
    std::size_t memory_size = 0; // bytes
    unsigned int width = 0;
    unsigned int height = 0;
    unsigned int levels = 0;
};
cushim::Result<void> use_image(const Workplace &place, SharedImage &&shared);

} // namespace api_test

#endif
