// A vector add on the device, through the table, compiled once per stream mode.
#pragma once

#include <cstddef>

// Adds `count` pairs with the default stream of the calling file's mode; the number of wrong sums.
// A status that is not success ends the program's test with an exception.
std::size_t wrong_sums_legacy(unsigned int count);
std::size_t wrong_sums_per_thread(unsigned int count);
