// Lines of text for a person.
#pragma once

#include <string>
#include <string_view>

namespace cushim_info {

// Paths and device names come from outside: nothing in them may move the terminal's cursor.
std::string printable(std::string_view text);

// A label and a value in two columns.
void add_line(std::string &out, std::string_view label, std::string_view value);

// A paragraph, broken at spaces; its first line begins with "  - ".
void add_item(std::string &out, std::string_view item);

} // namespace cushim_info
