// Notes for the report: information about a run that is not an error of the program.
#pragma once

#include <string>
#include <vector>

namespace sim {

void note(std::string text) noexcept;
// Ignores a text that has been noted.
void note_once(const std::string &text) noexcept;
const std::vector<std::string> &notes() noexcept;
void clear_notes() noexcept;

} // namespace sim
