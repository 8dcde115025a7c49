// Questions about the runtime API; see also record.hpp. They are compiled twice too: the second
// time, calls with a variant for the per-thread default stream use it.
#pragma once

#include "record.hpp"

namespace record::QUESTIONS::runtime {

constexpr char section_prefix[] = PER_THREAD "runtime ";
// Chooses and initializes device 0; false without a device.
bool begin();
// A kernel of `ptx` in the form of a runtime function; null if the headers lack cudaKernel_t.
void *kernel(const char *name);
// Runs in a child and waits for its exit.
void in_child(void (*body)());
// A descriptor of physical memory from the driver, which imports like that of another API; -1 on
// failure.
int shared_descriptor(std::size_t &size);

} // namespace record::QUESTIONS::runtime
