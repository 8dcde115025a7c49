// The log of client calls, for tests that check exact call sequences.
#pragma once

#include "../../cushim_sim.h"
#include "call/call.hpp"

#include <string>

namespace sim {

bool log_enabled() noexcept;
void enable_log(bool on) noexcept;
void log_call(std::uint64_t number, const Row &row, const Argument *arguments, unsigned int count,
              int status) noexcept;
// "0x7f0000001000, 4096"
std::string text_of(const Argument *arguments, unsigned int count);
std::size_t logged_calls() noexcept;
bool logged_call(std::size_t index, cushim_sim_call &call);
void clear_log() noexcept;
// Numbers threads from 1 again, as in a new process.
void restart_log() noexcept;

} // namespace sim
