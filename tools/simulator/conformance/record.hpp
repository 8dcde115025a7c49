// Prints a driver's results line by line, to compare the simulator with the recording of a real
// driver. Each section runs in its own process.
#pragma once

#include <cushim/table.hpp>

#include <cstdint>
#include <string>

// Driver questions are compiled twice: normally, and with a per-thread default stream, where names
// refer to the _ptsz and _ptds variants.
#ifdef CUDA_API_PER_THREAD_DEFAULT_STREAM
#define QUESTIONS per_thread
#else
#define QUESTIONS legacy
#endif

namespace record {

inline const auto d = cushim::driver();

// Prints a line with the question and the status.
void ask(const char *question, CUresult status);
// Prints a line with another observation, a number or a text.
void note(const char *what, long long value);
void note(const char *what, const char *text);

// Makes device 0's primary context current; false without a device.
bool start();
CUcontext context();

struct Section {
    const char *name;
    void (*run)();
};
struct Sections {
    const char *prefix; // prefix of their names
    const Section *first;
    unsigned int count;
};

// Call every entry point of a table with zero arguments.
void driver_zeros();
void runtime_zeros();

namespace legacy {
extern const Sections all;
}
namespace per_thread {
extern const Sections all;
}

} // namespace record

namespace record::QUESTIONS {

// PTX with a kernel `add(out, n)` and others.
extern const char ptx[];

void process();
void devices();
void attributes();
void contexts();
void primary_context();
void memory();
void host_memory();
void copies();
void virtual_memory();
void descriptors();
void ipc();
void pools();
void streams();
void events();
void capture();
void graphs();
void graph_updates();
void modules();
void launches();
void resolution();
void no_context();
void limits();

void arrays();
void array_copies();
void textures();
void texture_references();
void tensor_maps();
void stream_copies();
void memsets();
void batch_copies();
void managed();
void location_pools();
void functions();
void legacy_launches();
void libraries();
void linking();
void occupancy();
void device_queries();
void context_queries();
void green_contexts();
void stream_values();
void stream_details();
void capture_details();
void graph_nodes();
void graphs_without_context();
void graph_event_contexts();
void child_graph_nodes();
void grandchild_graph_nodes();
void body_nodes();
void inner_graphs_set_anew();
void bodies_copied();
void pool_export_order();
void graph_edges();
void graph_memory_nodes();
void generic_nodes();
void older_contexts();
void older_objects();
void older_managed();
void older_batches();
void older_captures();
void older_graphs();
void ipc_processes();
void places_of_plain_events();
void places_of_made_events();
void places_of_exported_events();
void places_of_opened_events();
void event_of_killed_maker();
void ordered_memory_and_captures();
void ordered_memory_and_resets();
void ipc_memory_in_two_contexts();
void copies_elsewhere();
void at_exit();
void names_at_exit();
void graphs_after_reset();
void before_init();
void rarely_failing();
void external_arrays();
void external_semaphores();
void dma_buffers();

} // namespace record::QUESTIONS
