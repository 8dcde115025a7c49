// What clients did wrong, kept for the report. Real drivers crash or say nothing here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "base/cuda_headers.hpp"

namespace sim {

// Notes a misuse with the current call. Never throws, never refuses: that is the caller's.
void misuse(const std::string &text) noexcept;
// Refuses what ends a process of the measured driver, and notes it.
[[noreturn]] void refuse_fatal(const std::string &text, CUresult status = CUDA_ERROR_INVALID_VALUE);

std::size_t misuse_count() noexcept;
// How many the calling thread has ever noted.
std::uint64_t misuses_of_thread() noexcept;
void for_each_misuse(const std::function<void(const std::string &)> &function);
void clear_misuses() noexcept;

} // namespace sim
