// Formats lines of text output.
#pragma once

#include <string>
#include <string_view>

namespace cushim_info {

// Replaces control characters: paths and device names are untrusted and must not control the
// terminal.
std::string printable(std::string_view text);

// A label and a value in two columns.
void add_line(std::string &out, std::string_view label, std::string_view value);

// A paragraph, wrapped at spaces; its first line begins with "  - ".
void add_item(std::string &out, std::string_view item);

} // namespace cushim_info
