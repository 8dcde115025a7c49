/* Stream capture: work enqueued in a stream becomes a graph instead of running.
 *
 *     CUSHIM_TRY(const Graph graph, stream.capture([&]() -> Result<void> {
 *         CUSHIM_TRY_VOID(copy(stream, device, host));
 *         return kernel.launch(stream, config, device, n);
 *     }));
 *
 * Another stream joins the capture when it waits for an event that was recorded in it (fork). The
 * captured stream must wait for every such stream before the capture ends (join).
 *
 * Lifetime: captured work keeps nothing alive except closures of Stream::launch_host_function().
 * Keep everything else alive with Graph::keep_alive() or an owner that outlives the graph.
 *
 * Threads: see handle.hpp. A capture must end on the thread where it began, unless its mode is
 * relaxed. On another thread it ends with CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD (908), and the
 * captured work is lost.
 * Errors: functions that end a capture end it even if they fail. Ending a capture of
 * begin_capture_to() with end_capture(), or with a different graph, is invalid_argument.
 * Other code: for a capture that cuStreamBeginCapture, cuStreamBeginCaptureToGraph or another copy
 * of cushim began, end_capture() returns a Graph that borrows the graph, since CUDA does not
 * report whether it is new. Pass a new one to Graph::adopt().
 *
 * cuStreamBeginCapture_v2, cuStreamEndCapture, cuStreamIsCapturing, cuStreamGetCaptureInfo_v2,
 * cuStreamBeginCaptureToGraph (CUDA 12.3).
 */
#ifndef CUSHIM_CAPTURE_HPP
#define CUSHIM_CAPTURE_HPP

#include <cushim/capture_mode.hpp>
#include <cushim/detail/capture.hpp>
#include <cushim/graph.hpp>
#include <cushim/stream.hpp>

#endif
