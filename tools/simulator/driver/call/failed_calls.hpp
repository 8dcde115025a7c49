// Calls that failed and whose status the program did not look at, for report=errors. A program
// looks at a status if it asks for its name or text, for the thread's last error (runtime calls),
// or for the error log, or if it exits with a status other than 0.
#pragma once

#include "call/call.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

namespace sim {

// For each call of the client.
void note_status(const Row &row, std::uint64_t number, const Argument *arguments,
                 unsigned int count, int status) noexcept;
// The process exits.
void note_exit_status(int status) noexcept;
// Returns the number of lines.
std::size_t for_each_failed_call(const std::function<void(const std::string &)> &line);
void clear_failed_calls() noexcept;

} // namespace sim
