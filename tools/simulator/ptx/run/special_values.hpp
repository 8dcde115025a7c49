// Values of special registers.
#pragma once

#include "ptx/run/block.hpp"

namespace sim::ptx::inline SIM_PTX_FEATURES {

// Writes a special register's lanes; those that change while a kernel runs are steps of their own.
void fill_special(const Program::Special &special, Warp &warp, std::byte *to);
// Whether it differs among blocks: %ctaid.
bool is_of_block(std::uint32_t special) noexcept;
// The step that reads a register which changes while a kernel runs: %clock, %globaltimer. Null for
// others.
Run clock_step(std::uint32_t special) noexcept;

} // namespace sim::ptx::inline SIM_PTX_FEATURES
