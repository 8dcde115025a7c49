// The output of cushim-info.
#pragma once

#include <string>

#include "model.hpp"

namespace cushim_info {

// As text.
std::string report_as_text(const Info &info);

// Every entry point of both libraries, one a line, in aligned columns.
std::string symbols_as_text(const Info &info);

// One JSON object; with_symbols adds an array of all entry points to each library.
std::string report_as_json(const Info &info, bool with_symbols);

} // namespace cushim_info
