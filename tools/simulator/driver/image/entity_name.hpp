// Names of kernels and variables in images, and the shorter ones that tests write for them.
//
// nvcc mangles C++ names, and adds an identifier of the source file to names with internal linkage.
// It contains a hash of the source path, so it differs in another checkout:
//
//   _ZN34_GLOBAL__N__5ecc6ff5_7_main_cu_man4anonEPi        (anonymous namespace)::anon(int*)
//   _ZN32_INTERNAL_5ecc6ff5_7_main_cu_man34_GLOBAL__N__5ecc6ff5_7_main_cu_man6factorE
//                                                          (anonymous namespace)::factor
//   __nv_static_23__5ecc6ff5_7_main_cu_man__Z4statPif      stat(int*, float), compiled with -rdc
#pragma once

#include <array>
#include <string>
#include <string_view>

namespace sim {

// The forms of a name, from the most specific to the least.
enum NameForm : unsigned char {
    exact_name,
    name_without_hash, // mangled, with the hash of the path replaced by zeros
    signature,         // "temp<int>(int*)": demangled, without the return type and "void"
    name_without_parameters,
    name_without_arguments, // and without template arguments
    name_forms,
};
using NameForms = std::array<std::string, name_forms>;

// Spaces that C++ does not need, "(anonymous namespace)::" and the identifier of the file are left
// out from `signature` on. A name that is not mangled may already be one of these forms.
NameForms forms_of(std::string_view name);
// The name as c++filt prints it, without a return type and the identifier of the file. A name that
// is not mangled is returned unchanged.
std::string readable_name(std::string_view name);

} // namespace sim
