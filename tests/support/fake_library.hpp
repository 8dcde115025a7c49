// Finds the control of a fake library that the program under test loads by itself.
#pragma once

#include "fake_control.h"

#include <string>

namespace support {

// A function that the library in this file exports. The library is loaded if it was not, and stays
// loaded. Throws std::runtime_error where that fails.
void (*function_of(const std::string &path, const char *name))();

// The control of the fake library in this file, likewise.
const fake_control *fake_control_of(const std::string &path);

// A variable that the build sets for a test. Throws std::runtime_error where it is not set.
std::string required_variable(const char *name);

// Sets a variable for this process and those that it starts.
void set_variable(const char *name, const std::string &value);

} // namespace support
