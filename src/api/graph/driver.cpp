// Graphs by the driver API: the oldest ABI that does the job.
#include "driver.hpp"

#include "native_graph.hpp"
