// What clients did wrong, kept for the report. Real drivers crash or say nothing here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

namespace sim {

// Notes a misuse with the current call. Never throws, never refuses: that is the caller's.
void misuse(const std::string &text) noexcept;

std::size_t misuse_count() noexcept;
// How many the calling thread has ever noted.
std::uint64_t misuses_of_thread() noexcept;
void for_each_misuse(const std::function<void(const std::string &)> &function);
void clear_misuses() noexcept;

} // namespace sim
