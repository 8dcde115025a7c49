// Classic mistakes in programs that use CUDA. Each is a small program with a correct twin: the same
// program, which makes the mistake if `buggy`. README.md lists how a user learns of each mistake.
#pragma once

#include <map>
#include <string>

namespace bugs {

using Program = void (*)(bool buggy);
using Programs = std::map<std::string, Program>;

// The programs of each file of this folder.
void add_context_bugs(Programs &programs);
void add_copy_bugs(Programs &programs);
void add_error_bugs(Programs &programs);
void add_graph_bugs(Programs &programs);
void add_kernel_bugs(Programs &programs);
void add_leaks(Programs &programs);
void add_lifetime_bugs(Programs &programs);
void add_order_bugs(Programs &programs);
void add_process_bugs(Programs &programs);
void add_virtual_memory_bugs(Programs &programs);
void add_wrapper_bugs(Programs &programs);

} // namespace bugs
