// Finds the control of a fake library that the program under test loads.
#pragma once

#include "fake_control.h"

#include <string>

namespace support {

// A function that the library in this file exports. Loads the library if necessary and keeps it
// loaded. Throws std::runtime_error on failure.
void (*function_of(const std::string &path, const char *name))();

// The control of the fake library in this file; otherwise as function_of().
const fake_control *fake_control_of(const std::string &path);

// A variable that the build sets for a test. Throws std::runtime_error if it is not set.
std::string required_variable(const char *name);

// Sets a variable for this process and its children.
void set_variable(const char *name, const std::string &value);

} // namespace support
