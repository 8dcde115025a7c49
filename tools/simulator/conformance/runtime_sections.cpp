// Sections about the runtime, in the order of a recording.
#include "runtime_questions.hpp"

namespace record::QUESTIONS {

namespace {

const Section sections[] = {
#ifndef CUDA_API_PER_THREAD_DEFAULT_STREAM
    // Calls without per-thread variants, or whose variants behave the same.
    {"process", runtime::process},
    {"errors", runtime::errors},
    {"order_of_errors", runtime::order_of_errors},
    {"devices", runtime::devices},
    {"limits", runtime::limits},
    {"peers", runtime::peers},
    {"resets", runtime::resets},
    {"memory", runtime::memory},
    {"host_memory", runtime::host_memory},
#endif
    {"copies", runtime::copies},
    {"block_copies", runtime::block_copies},
    {"batches", runtime::batches},
    {"memsets", runtime::memsets},
#ifndef CUDA_API_PER_THREAD_DEFAULT_STREAM
    {"arrays", runtime::arrays},
    {"mipmapped_arrays", runtime::mipmapped_arrays},
#endif
    {"array_copies", runtime::array_copies},
#ifndef CUDA_API_PER_THREAD_DEFAULT_STREAM
    {"textures", runtime::textures},
#endif
    {"symbols", runtime::symbols},
    {"managed", runtime::managed},
#ifndef CUDA_API_PER_THREAD_DEFAULT_STREAM
    {"pools", runtime::pools},
    {"pool_sharing", runtime::pool_sharing},
#endif
    {"stream_memory", runtime::stream_memory},
    {"streams", runtime::streams},
    {"events", runtime::events},
    {"capture", runtime::capture},
#ifndef CUDA_API_PER_THREAD_DEFAULT_STREAM
    {"ipc", runtime::ipc},
    {"external", runtime::external},
    {"external_arrays", runtime::external_arrays},
#endif
    {"semaphores", runtime::semaphores},
#ifndef CUDA_API_PER_THREAD_DEFAULT_STREAM
    {"libraries", runtime::libraries},
    {"functions", runtime::functions},
#endif
    {"launches", runtime::launches},
#ifndef CUDA_API_PER_THREAD_DEFAULT_STREAM
    {"occupancy", runtime::occupancy},
    {"graphs", runtime::graphs},
    {"graph_nodes", runtime::graph_nodes},
    {"graph_kernels", runtime::graph_kernels},
    {"graph_memory", runtime::graph_memory},
    {"graph_symbols", runtime::graph_symbols},
    {"generic_nodes", runtime::generic_nodes},
    {"graph_changes", runtime::graph_changes},
    {"inner_graph_nodes", runtime::inner_graph_nodes},
    {"inner_body_nodes", runtime::inner_body_nodes},
    {"graph_updates", runtime::graph_updates},
#endif
    {"graph_launches", runtime::graph_launches},
#ifndef CUDA_API_PER_THREAD_DEFAULT_STREAM
    {"semaphore_nodes", runtime::semaphore_nodes},
    {"user_objects", runtime::user_objects},
#endif
    {"entry_points", runtime::entry_points},
#ifndef CUDA_API_PER_THREAD_DEFAULT_STREAM
    {"services", runtime::services},
    {"logs", runtime::logs},
#endif
    {"forked", runtime::forked},
#ifndef CUDA_API_PER_THREAD_DEFAULT_STREAM
    {"failed", runtime::failed},
    {"rarely_failing", runtime::rarely_failing},
    {"several_mistakes", runtime::several_mistakes},
    {"at_the_end", runtime::at_the_end},
#endif
};

} // namespace

#ifdef CUDA_API_PER_THREAD_DEFAULT_STREAM
const Sections all_of_runtime = {"per-thread runtime ", sections,
                                 sizeof sections / sizeof *sections};
#else
const Sections all_of_runtime = {"runtime ", sections, sizeof sections / sizeof *sections};
#endif

} // namespace record::QUESTIONS
