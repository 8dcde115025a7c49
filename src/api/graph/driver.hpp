// The parts that the driver's table of graph functions is put together from.
#pragma once

#include "api.hpp"

namespace cushim::detail {

const NodeCalls &driver_node_calls(GraphNodeType type) noexcept; // graph_driver_nodes.cpp
extern const GraphReading driver_reading;                        // graph_driver_reading.cpp
extern const GraphRunning driver_running;                        // graph_driver_running.cpp
extern const GraphCapture driver_capture;                        // likewise

// Not in the table: closures that either API captures are kept by the driver's functions.
Result<void> captured_graph(CUstream stream, CUgraph *graph) noexcept; // graph_driver_running.cpp

} // namespace cushim::detail
