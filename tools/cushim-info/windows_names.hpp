// The names of DLLs.
#pragma once

#include <string>
#include <string_view>

namespace cushim_info {

// Windows takes capital letters in file names for the small ones.
std::string lower_case(std::string_view text);

// Whether a DLL comes with Windows or with Microsoft's compilers: none of these needs CUDA, and
// none of them lies beside a program. By its file name alone.
bool is_of_windows(std::string_view file_name);

} // namespace cushim_info
