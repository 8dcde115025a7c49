// Sections about the driver, in the order of a recording.
#include "record.hpp"

namespace record::QUESTIONS {

namespace {

const Section sections[] = {
#ifndef CUDA_API_PER_THREAD_DEFAULT_STREAM
    // Calls without per-thread variants, or whose variants behave the same.
    {"process", process},
    {"devices", devices},
    {"attributes", attributes},
    {"contexts", contexts},
    {"primary_context", primary_context},
    {"limits", limits},
#endif
    {"memory", memory},
    {"host_memory", host_memory},
    {"copies", copies},
    {"virtual_memory", virtual_memory},
#ifndef CUDA_API_PER_THREAD_DEFAULT_STREAM
    {"descriptors", descriptors},
    {"ipc", ipc},
#endif
    {"pools", pools},
    {"streams", streams},
    {"events", events},
    {"no_context", no_context},
    {"capture", capture},
    {"graphs", graphs},
#ifndef CUDA_API_PER_THREAD_DEFAULT_STREAM
    {"graph_updates", graph_updates},
    {"modules", modules},
#endif
    {"launches", launches},
    {"array_copies", array_copies},
    {"stream_copies", stream_copies},
    {"memsets", memsets},
    {"batch_copies", batch_copies},
    {"managed", managed},
    {"stream_values", stream_values},
    {"stream_details", stream_details},
    {"capture_details", capture_details},
    {"graph_edges", graph_edges},
#ifndef CUDA_API_PER_THREAD_DEFAULT_STREAM
    {"resolution", resolution},
    {"before_init", before_init},
    {"rarely_failing", rarely_failing},
    {"device_queries", device_queries},
    {"context_queries", context_queries},
    {"green_contexts", green_contexts},
    {"arrays", arrays},
    {"textures", textures},
    {"texture_references", texture_references},
    {"tensor_maps", tensor_maps},
    {"location_pools", location_pools},
    {"graphs_without_context", graphs_without_context},
    {"graph_event_contexts", graph_event_contexts},
    {"functions", functions},
    {"libraries", libraries},
    {"linking", linking},
    {"occupancy", occupancy},
    {"legacy_launches", legacy_launches},
    {"graph_nodes", graph_nodes},
    {"graph_memory_nodes", graph_memory_nodes},
    {"generic_nodes", generic_nodes},
    {"child_graph_nodes", child_graph_nodes},
    {"grandchild_graph_nodes", grandchild_graph_nodes},
    {"body_nodes", body_nodes},
    {"inner_graphs_set_anew", inner_graphs_set_anew},
    {"bodies_copied", bodies_copied},
    {"pool_export_order", pool_export_order},
    {"external_arrays", external_arrays},
    {"external_semaphores", external_semaphores},
    {"dma_buffers", dma_buffers},
    {"ipc_processes", ipc_processes},
    {"places_of_plain_events", places_of_plain_events},
    {"places_of_made_events", places_of_made_events},
    {"places_of_exported_events", places_of_exported_events},
    {"places_of_opened_events", places_of_opened_events},
    {"event_of_killed_maker", event_of_killed_maker},
    {"ordered_memory_and_captures", ordered_memory_and_captures},
    {"ordered_memory_and_resets", ordered_memory_and_resets},
    {"ipc_memory_in_two_contexts", ipc_memory_in_two_contexts},
    {"copies_elsewhere", copies_elsewhere},
    {"at_exit", at_exit},
    {"names_at_exit", names_at_exit},
    {"graphs_after_reset", graphs_after_reset},
    {"older_contexts", older_contexts},
    {"older_objects", older_objects},
    {"older_managed", older_managed},
    {"older_batches", older_batches},
    {"older_captures", older_captures},
    {"older_graphs", older_graphs},
    {"driver_zeros", driver_zeros},
    {"runtime_zeros", runtime_zeros},
#endif
};

} // namespace

#ifdef CUDA_API_PER_THREAD_DEFAULT_STREAM
const Sections all = {"per-thread ", sections, sizeof sections / sizeof *sections};
#else
const Sections all = {"", sections, sizeof sections / sizeof *sections};
#endif

} // namespace record::QUESTIONS
