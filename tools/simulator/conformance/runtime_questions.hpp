// Questions about the runtime API; see also record.hpp. They are compiled twice too: the second
// time, calls with a variant for the per-thread default stream use it.
#pragma once

#include "record.hpp"

namespace record {

inline const auto r = cushim::runtime();

void ask(const char *question, cudaError_t status);

namespace legacy {
extern const Sections all_of_runtime;
}
namespace per_thread {
extern const Sections all_of_runtime;
}

} // namespace record

namespace record::QUESTIONS::runtime {

// Chooses and initializes device 0; false without a device.
bool begin();
// A kernel of `ptx` in the form of a runtime function; null if the headers lack cudaKernel_t.
void *kernel(const char *name);
// Runs in a child and waits for its exit.
void in_child(void (*body)());
// A descriptor of physical memory from the driver, which imports like that of another API; -1 on
// failure.
int shared_descriptor(std::size_t &size);

void process();
void at_the_end();
void errors();
void order_of_errors();
void devices();
void limits();
void peers();
void resets();
void memory();
void host_memory();
void copies();
void block_copies();
void batches();
void memsets();
void arrays();
void mipmapped_arrays();
void array_copies();
void textures();
void symbols();
void managed();
void pools();
void pool_sharing();
void stream_memory();
void streams();
void events();
void capture();
void ipc();
void external();
void external_arrays();
void semaphores();
void libraries();
void functions();
void launches();
void occupancy();
void graphs();
void graph_nodes();
void graph_kernels();
void graph_memory();
void graph_symbols();
void generic_nodes();
void graph_changes();
void inner_graph_nodes();
void inner_body_nodes();
void graph_updates();
void graph_launches();
void semaphore_nodes();
void user_objects();
void entry_points();
void services();
void logs();
void forked();
void failed();
void rarely_failing();
void several_mistakes();

} // namespace record::QUESTIONS::runtime
