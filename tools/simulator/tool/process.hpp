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

} // namespace cushim_sim_tool
