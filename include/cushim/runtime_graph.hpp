/* Graphs made by the runtime API, with the libcudart of the headers' major version: for programs that share
 * them with code that calls cudaGraph... functions. They are Graphs like others: graph.hpp.
 *
 * Threads: as of the functions of the driver API that each is said to be like.
 * Errors: library_not_found where there is no such libcudart; requires_newer_driver where the driver is of an older
 * major version than it.
 * Since CUDA 11.4, the oldest headers. Entry points: cudaGraphCreate, cudaStreamBeginCapture, cudaStreamEndCapture.
 */
#ifndef CUSHIM_RUNTIME_GRAPH_HPP
#define CUSHIM_RUNTIME_GRAPH_HPP

#include <cushim/capture.hpp>

namespace cushim::rt {

// As Graph::create().
CUSHIM_API Result<Graph> create_graph(const Context &context) noexcept;
// As Graph::adopt() and Graph::borrow(): a cudaGraph_t is the same type.
CUSHIM_API Result<Graph> adopt_graph(const Context &context, CUgraph graph) noexcept;
CUSHIM_API Result<Graph> borrow_graph(const Context &context, CUgraph graph) noexcept;
// As GraphExec::adopt() and GraphExec::borrow(), for cudaGraphExec_t, which is a CUgraphExec: graphs of the
// runtime API can update it then.
CUSHIM_API Result<GraphExec> adopt_exec(const Context &context, CUgraphExec exec) noexcept;
CUSHIM_API Result<GraphExec> borrow_exec(const Context &context, CUgraphExec exec) noexcept;

// As Stream::begin_capture() and Stream::end_capture(): which API ends a capture says whose the graph is.
CUSHIM_API Result<void> begin_capture(const Stream &stream,
                                      CaptureMode mode = CaptureMode::per_thread) noexcept;
CUSHIM_API Result<Graph> end_capture(const Stream &stream) noexcept;

// As Stream::capture().
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
