// The names of DLLs.
#pragma once

#include <string>
#include <string_view>

namespace cushim_info {

// File names on Windows are case-insensitive.
std::string lower_case(std::string_view text);

// Whether a DLL belongs to Windows or to Microsoft's compilers, by its file name. None of these
// needs CUDA, and none is in a program's folder.
bool is_of_windows(std::string_view file_name);

} // namespace cushim_info
