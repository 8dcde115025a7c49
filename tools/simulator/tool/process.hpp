// Operating system services for the tool: process_posix.cpp, process_windows.cpp.
#pragma once

#include <string>
#include <vector>

namespace cushim_sim_tool {

// The path of the running program, or "".
std::string own_file();
// The value of an environment variable, or "".
std::string variable(const char *name);
void set_variable(const char *name, const std::string &value);
// A function of a library by its exported name, or null.
void (*function_of(const std::string &library, const char *name))();
// Replaces this process with the program, or waits for it and returns its exit status.
int run_program(const std::vector<std::string> &program);
// Waits for the program and returns its exit status. A signal that ends it ends this process, too.
int run_and_wait(const std::vector<std::string> &program);
// Whether processes of the simulator tell their ancestors which planned faults have fired.
extern const bool ancestors_are_told;

} // namespace cushim_sim_tool
