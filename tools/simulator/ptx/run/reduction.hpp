// Barriers that combine a predicate of all threads.
#pragma once

#include "ptx/run/program.hpp"

namespace sim::ptx::inline SIM_PTX_FEATURES {

// What a thread gets from it: Step::value.
enum class Reduction : std::uint64_t { none, all, any, count };

// What the threads brought.
struct Votes {
    bool all = true, any = false;
    unsigned int count = 0;
};

// Writes the result for these lanes.
void write_reduction(const Step &step, std::byte *registers, Mask lanes, const Votes &votes);

} // namespace sim::ptx::inline SIM_PTX_FEATURES
