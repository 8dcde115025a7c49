// The versions that features require. All other code queries them here.
#include <cushim/feature.hpp>

namespace cushim {
namespace {

struct Row {
    Feature feature;
    Version required;
    const char *name;
};

#define CUSHIM_FEATURE(feature, major, minor)                                                      \
    {Feature::feature, Version::of(major, minor), #feature}

constexpr Row rows[] = {
    CUSHIM_FEATURE(primary_contexts, 7, 0),
    CUSHIM_FEATURE(host_functions, 10, 0),
    CUSHIM_FEATURE(stream_memory_operations, 8, 0),
    CUSHIM_FEATURE(stream_memory_operations_2, 11, 7),
    CUSHIM_FEATURE(object_ids, 12, 0),
    CUSHIM_FEATURE(context_flags, 12, 1),
    CUSHIM_FEATURE(green_contexts, 12, 4),
    CUSHIM_FEATURE(green_context_streams, 12, 5),
    CUSHIM_FEATURE(context_events, 12, 5),
    CUSHIM_FEATURE(stream_device, 12, 8),
    CUSHIM_FEATURE(context_operations, 13, 0),

    CUSHIM_FEATURE(interprocess_memory, 4, 1),
    CUSHIM_FEATURE(managed_memory, 6, 0),
    CUSHIM_FEATURE(memory_advice, 8, 0),
    CUSHIM_FEATURE(memory_advice_locations, 12, 2),
    CUSHIM_FEATURE(virtual_memory, 10, 2),
    CUSHIM_FEATURE(virtual_memory_retain, 11, 0),
    CUSHIM_FEATURE(sparse_arrays, 11, 1),
    CUSHIM_FEATURE(memory_pools, 11, 2),
    CUSHIM_FEATURE(memory_pools_by_location, 13, 0),
    CUSHIM_FEATURE(address_range_handles, 11, 7),
    CUSHIM_FEATURE(host_numa_memory, 12, 2),
    CUSHIM_FEATURE(fabric_handles, 12, 3),
    CUSHIM_FEATURE(multicast, 12, 1),
    CUSHIM_FEATURE(batch_copies, 12, 8),
    CUSHIM_FEATURE(batch_prefetch, 13, 0),

    CUSHIM_FEATURE(external_memory, 10, 0),
    CUSHIM_FEATURE(external_semaphores, 10, 0),
    CUSHIM_FEATURE(external_direct3d11, 10, 2),
    CUSHIM_FEATURE(external_nvsci, 10, 2),
    CUSHIM_FEATURE(external_timeline_semaphores, 11, 2),
    CUSHIM_FEATURE(external_dma_buf, 13, 0),

    CUSHIM_FEATURE(launch_attributes, 11, 6),
    CUSHIM_FEATURE(cluster_occupancy, 11, 7),
    CUSHIM_FEATURE(loading_mode, 11, 7),
    CUSHIM_FEATURE(library_loading, 12, 0),
    CUSHIM_FEATURE(tensor_maps, 12, 0),
    CUSHIM_FEATURE(function_names, 12, 3),
    CUSHIM_FEATURE(kernel_parameter_info, 12, 4),
    CUSHIM_FEATURE(kernel_enumeration, 12, 4),
    CUSHIM_FEATURE(kernel_libraries, 12, 5),

    CUSHIM_FEATURE(graphs, 10, 0),
    CUSHIM_FEATURE(stream_capture, 10, 0),
    CUSHIM_FEATURE(stream_capture_modes, 10, 1),
    CUSHIM_FEATURE(graph_update, 10, 2),
    CUSHIM_FEATURE(graph_update_2, 12, 0),
    CUSHIM_FEATURE(graph_event_nodes, 11, 1),
    CUSHIM_FEATURE(graph_upload, 11, 1),
    CUSHIM_FEATURE(graph_external_semaphore_nodes, 11, 2),
    CUSHIM_FEATURE(graph_user_objects, 11, 3),
    CUSHIM_FEATURE(graph_debug_dot, 11, 3),
    CUSHIM_FEATURE(graph_memory_nodes, 11, 4),
    CUSHIM_FEATURE(graph_instantiate_flags, 11, 4),
    CUSHIM_FEATURE(graph_node_enable, 11, 6),
    CUSHIM_FEATURE(graph_memory_operation_nodes, 11, 7),
    CUSHIM_FEATURE(graph_node_priorities, 11, 7),
    CUSHIM_FEATURE(graph_node_launch_attributes, 11, 8),
    CUSHIM_FEATURE(graph_instantiate_params, 12, 0),
    CUSHIM_FEATURE(graph_device_launch, 12, 0),
    CUSHIM_FEATURE(graph_library_kernels, 12, 0),
    CUSHIM_FEATURE(graph_exec_flags, 12, 0),
    CUSHIM_FEATURE(graph_generic_nodes, 12, 2),
    CUSHIM_FEATURE(graph_edge_data, 12, 3),
    CUSHIM_FEATURE(graph_conditional_nodes, 12, 3),
    CUSHIM_FEATURE(graph_conditional_switch, 12, 8),
    CUSHIM_FEATURE(capture_to_graph, 12, 3),

    CUSHIM_FEATURE(entry_point_lookup, 11, 3),
    CUSHIM_FEATURE(core_dumps, 12, 1),
    CUSHIM_FEATURE(checkpoints, 12, 8),
    CUSHIM_FEATURE(error_logs, 12, 9),
};

#undef CUSHIM_FEATURE

constexpr bool in_order() {
    int expected = 0;
    for (const Row &row : rows) {
        if (static_cast<int>(row.feature) != expected++ || !row.required) {
            return false;
        }
    }
    return expected == feature_count;
}

static_assert(in_order(), "one row for each feature, in the order of the enumeration");

const Row *find(Feature feature) {
    const int index = static_cast<int>(feature);
    return index < feature_count ? &rows[index] : nullptr;
}

} // namespace

Version required_version(Feature feature) noexcept {
    const Row *row = find(feature);
    return row != nullptr ? row->required : Version();
}

bool supports(Version installed, Feature feature) noexcept {
    const Row *row = find(feature);
    return row != nullptr && installed >= row->required;
}

const char *name(Feature feature) noexcept {
    const Row *row = find(feature);
    return row != nullptr ? row->name : "unknown";
}

} // namespace cushim
