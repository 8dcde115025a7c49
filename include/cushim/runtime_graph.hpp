/* Graphs made by the runtime API, with the libcudart of the headers' major version: for programs
 * that share them with code that calls cudaGraph... functions. See graph.hpp.
 *
 * Threads: see the corresponding functions of the driver API.
 * Errors: library_not_found if that libcudart is missing; requires_newer_driver if the driver has
 * an older major version.
 * cudaGraphCreate, cudaStreamBeginCapture, cudaStreamEndCapture. Requires CUDA 11.4, the oldest
 * supported headers.
 */
#ifndef CUSHIM_RUNTIME_GRAPH_HPP
#define CUSHIM_RUNTIME_GRAPH_HPP

#include <cushim/capture.hpp>

namespace cushim::rt {

// Creates a graph of the runtime API, without nodes: see Graph::create().
CUSHIM_API Result<Graph> create_graph(const Context &context) noexcept;
// Own or borrow a cudaGraph_t, which is a CUgraph: see Graph::adopt() and Graph::borrow().
CUSHIM_API Result<Graph> adopt_graph(const Context &context, CUgraph graph) noexcept;
CUSHIM_API Result<Graph> borrow_graph(const Context &context, CUgraph graph) noexcept;
// Own or borrow a cudaGraphExec_t, which is a CUgraphExec, so that graphs of the runtime API can
// update it: see GraphExec::adopt() and GraphExec::borrow().
CUSHIM_API Result<GraphExec> adopt_exec(const Context &context, CUgraphExec exec) noexcept;
CUSHIM_API Result<GraphExec> borrow_exec(const Context &context, CUgraphExec exec) noexcept;

// Begin and end a capture: see Stream::begin_capture() and Stream::end_capture(). The API that ends
// a capture determines the API of the graph.
CUSHIM_API Result<void> begin_capture(const Stream &stream,
                                      CaptureMode mode = CaptureMode::per_thread) noexcept;
CUSHIM_API Result<Graph> end_capture(const Stream &stream) noexcept;

// Captures the work that f() enqueues into a graph of the runtime API: see Stream::capture().
template <class F>
Result<Graph> capture(const Stream &stream, CaptureMode mode, F &&f) {
    return detail::capture(Api::runtime, stream, mode, f);
}
template <class F>
Result<Graph> capture(const Stream &stream, F &&f) {
    return detail::capture(Api::runtime, stream, CaptureMode::per_thread, f);
}

} // namespace cushim::rt

#endif
