// What both tables of graph functions say in the same words: their headers have the same numbers, and structs of
// the same members under other names.
#pragma once

#include <memory>
#include <new>

#include "api.hpp"
#include "context/requirements.hpp"

namespace cushim::detail {

// CU_GRAPH_INSTANTIATE_FLAG_..., cudaGraphInstantiateFlag...: older headers lack some.
inline unsigned long long instantiate_flags(const InstantiateOptions &options) noexcept {
    return (options.auto_free_on_launch ? 1ULL : 0) | (options.upload != nullptr ? 2ULL : 0) |
           (options.device_launch ? 4ULL : 0) | (options.use_node_priority ? 8ULL : 0);
}

// Flags that older drivers refuse without saying why, by their names in one API.
struct FlagNames {
    const char *device_launch;
    const char *use_node_priority;
};
inline Result<void> require_flags(const InstantiateOptions &options,
                                  const FlagNames &names) noexcept {
    if (options.device_launch) {
        CUSHIM_TRY_VOID(require_feature(Feature::graph_device_launch, names.device_launch));
    }
    if (options.use_node_priority) {
        CUSHIM_TRY_VOID(require_feature(Feature::graph_node_priorities, names.use_node_priority));
    }
    return {};
}

// Nodes of a type that an API, or its headers, have not: Why::error() says so.
template <class Why>
struct LackingCalls {
    static Result<void> add(const NodePlace &, const NodeParameters &) noexcept {
        return Why::error();
    }
    static Result<void> set(CUgraphNode, const NodeParameters &, CUcontext) noexcept {
        return Why::error();
    }
    static Result<void> exec_set(CUgraphExec, CUgraphNode, const NodeParameters &,
                                 CUcontext) noexcept {
        return Why::error();
    }
};

// Nodes that CUDA does not let anybody change.
struct UnchangeableCalls {
    static Result<void> set(CUgraphNode, const NodeParameters &, CUcontext) noexcept {
        return Error::unsupported_platform("nodes of memory cannot be changed");
    }
    static Result<void> exec_set(CUgraphExec, CUgraphNode node, const NodeParameters &parameters,
                                 CUcontext context) noexcept {
        return set(node, parameters, context);
    }
};

// --- edges with data, as CUgraphEdgeData or cudaGraphEdgeData

template <class Native>
using EdgeArray = std::unique_ptr<Native[]>;

template <class Native>
Result<EdgeArray<Native>> edge_array(std::size_t count) noexcept {
    EdgeArray<Native> data(new (std::nothrow) Native[count]());
    if (!data) {
        return no_host_memory();
    }
    return data;
}

// Null where no edge has data.
template <class Native>
Result<EdgeArray<Native>> native_edges(const EdgeList &edges) noexcept {
    if (edges.data == nullptr) {
        return EdgeArray<Native>();
    }
    CUSHIM_TRY(auto data, edge_array<Native>(edges.count));
    for (std::size_t index = 0; index < edges.count; ++index) {
        data[index].from_port = edges.data[index].from_port;
        data[index].to_port = edges.data[index].to_port;
        data[index].type = edges.data[index].type;
    }
    return data;
}

// Fills the room by read(data), where the edges are asked for with an array of their data.
template <class Native, class Read>
Result<void> read_edges(const EdgeRoom &room, const Read &read) noexcept {
    if (room.data == nullptr) {
        return read(nullptr);
    }
    CUSHIM_TRY(const auto data, edge_array<Native>(*room.count));
    CUSHIM_TRY_VOID(read(data.get()));
    for (std::size_t index = 0; index < *room.count; ++index) {
        room.data[index] = {data[index].from_port, data[index].to_port, data[index].type};
    }
    return {};
}

// The same for the nodes at one node's edges, whose data nobody wants: CUDA does not answer where an edge has
// data and there is no room for it.
template <class Native, class Read>
Result<void> read_neighbours(const NodeRoom &room, const Read &read) noexcept {
    if (room.nodes == nullptr) {
        return read(nullptr);
    }
    CUSHIM_TRY(const auto data, edge_array<Native>(*room.count));
    return read(data.get());
}

} // namespace cushim::detail
