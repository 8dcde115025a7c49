// Graphs through the driver API: the oldest ABI that is sufficient.
#include "driver.hpp"

#include "native_graph.hpp"
