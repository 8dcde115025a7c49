// Uses of what another API exports: of Vulkan's on a GPU, of the simulator's own where that is the
// driver.
#pragma once

#ifndef _WIN32

#include "uses.hpp"

namespace api_test {

// In a stream and in a graph. Signals the two values after `last`.
cushim::Result<void> use_timeline(const Workplace &place, cushim::UniqueFd exported,
                                  unsigned long long last);

// Unsignalled before and afterwards.
cushim::Result<void> use_binary(const Workplace &place, cushim::UniqueFd exported);

// Of 32-bit words. Its first level is written and read.
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
