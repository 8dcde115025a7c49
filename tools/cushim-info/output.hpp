// What cushim-info prints.
#pragma once

#include <string>

#include "model.hpp"

namespace cushim_info {

// For a person.
std::string report_as_text(const Info &info);

// Every entry point of both libraries, one a line, in aligned columns.
std::string symbols_as_text(const Info &info);

// One object; with_symbols adds an array of every entry point to each library.
std::string report_as_json(const Info &info, bool with_symbols);

} // namespace cushim_info
