// Misuses of CUDA by the client, kept for the report. Real drivers crash or stay silent here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "base/cuda_headers.hpp"

namespace sim {

// Records a misuse with the current call. Never throws; the caller decides whether the call fails.
void misuse(const std::string &text) noexcept;
// Records a misuse that crashes the process on the recorded driver, and fails the call.
[[noreturn]] void refuse_fatal(const std::string &text, CUresult status = CUDA_ERROR_INVALID_VALUE);

std::size_t misuse_count() noexcept;
// The number of misuses that the calling thread has recorded in total.
std::uint64_t misuses_of_thread() noexcept;
void for_each_misuse(const std::function<void(const std::string &)> &function);
void clear_misuses() noexcept;

} // namespace sim
