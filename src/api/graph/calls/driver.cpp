// Graphs through the driver API: the oldest ABI that is sufficient.
#include "driver.hpp"

#include "graph.hpp"
