// What a user should know of a run that is no fault of his program, kept for the report.
#pragma once

#include <string>
#include <vector>

namespace sim {

void note(std::string text) noexcept;
const std::vector<std::string> &notes() noexcept;
void clear_notes() noexcept;

} // namespace sim
