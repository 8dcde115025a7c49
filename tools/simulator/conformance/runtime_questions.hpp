// The questions about the runtime API, beside record.hpp's. They, too, are compiled twice: where a
// call has a variant for the per-thread default stream, it is the one that is asked the second
// time.
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

// Device 0 chosen and in use; false where there is none.
bool begin();
// A kernel of `ptx`, as the runtime takes it for a function; null where its headers know no
// kernels.
void *kernel(const char *name);
// Runs in a child, whose end is waited for.
void in_child(void (*body)());
// Physical memory of the driver's and a descriptor of it, which imports as another API's would; -1:
// none.
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
