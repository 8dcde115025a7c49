// The parts that the runtime's table of graph functions is put together from.
#pragma once

#include "api.hpp"
#include "base/runtime_call.hpp"

namespace cushim::detail {

const NodeCalls &runtime_node_calls(GraphNodeType type) noexcept; // graph_runtime_nodes.cpp
extern const GraphReading runtime_reading;                        // graph_runtime_reading.cpp
extern const GraphRunning runtime_running;                        // graph_runtime_running.cpp
extern const GraphCapture runtime_capture;                        // likewise

inline Error lacks_batch_mem_ops() noexcept {
    return Error::unsupported_platform(
        "the runtime API has no nodes of memory operations: use a graph of the driver API");
}

} // namespace cushim::detail

// A function with edge data, by the name that CUDA 13 gave it, which is that of the one without before.
#if CUDART_VERSION >= 13000
#define CUSHIM_RUNTIME_EDGES(function, ...) CUSHIM_RUNTIME(function, __VA_ARGS__)
#elif CUDART_VERSION >= 12030
#define CUSHIM_RUNTIME_EDGES(function, ...)                                                        \
    CUSHIM_RUNTIME_NEEDS(::cushim::Feature::graph_edge_data, function##_v2, __VA_ARGS__)
#endif
