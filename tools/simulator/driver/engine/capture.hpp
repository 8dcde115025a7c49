// Stream capture: how a capturing stream records work, and the calls that are not permitted
// meanwhile.
#pragma once

#include "engine/graph.hpp"
#include "engine/work.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

struct CUstream_st;
struct CUevent_st;

namespace sim {

// A capture sequence, from begin to end. All participating streams share it (CUstream_st::capture).
struct Capture {
    std::uint64_t id = 0;
    CUstream_st *origin = nullptr; // where it began and must end
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
    std::thread::id thread;      // the thread that began it
    CUgraph_st *graph = nullptr; // null once it has ended
    bool own_graph = true;       // false: begun by cuStreamBeginCaptureToGraph
    bool invalidated = false;
    // The dependencies of each stream's next node.
    std::map<CUstream_st *, std::vector<Edge>> frontiers;
    // The last nodes of streams that were destroyed. They must be joined, too.
    std::vector<Edge> abandoned;
    // The dependencies that a wait for an event recorded in this capture adds.
    std::map<CUevent_st *, std::vector<Edge>> events;
    // Storage for the result of cuStreamGetCaptureInfo, until the next call.
    std::vector<CUgraphNode> shown_nodes;
    std::vector<EdgeData> shown_edges;

    const char *begun_by = "";  // entry point
    std::uint64_t begun_in = 0; // number of that call

    bool active() const noexcept { return graph != nullptr && !invalidated; }
    std::string describe() const; // "capture of stream 0x… begun by cuStreamBeginCapture in call 7"
};

// For submit(): if the stream captures, adds the work as a node and returns true. Fails with 901 if
// the capture is invalidated, and with 906 if this is the legacy stream and a blocking stream
// captures.
bool captured(CUstream_st &stream, Work &work);

// The same for a complete node.
Node &capture_node(CUstream_st &stream, NodeContent content);
constexpr char legacy_captures[] = "Call cannot be made against CU_STREAM_LEGACY while a blocking "
                                   "stream in the same context is capturing";
// Fails with 906 for the legacy stream while a blocking stream of its context captures.
void refuse_implicit(CUstream_st &stream);

// Fails with 901 if the stream's capture is invalidated, for calls that check their stream first.
void refuse_invalidated(const CUstream_st &stream);

// For cuEventRecord without CU_EVENT_RECORD_EXTERNAL: if the stream captures, stores the event's
// dependencies and returns true. Otherwise discards the event's earlier dependencies.
bool capture_event_record(CUstream_st &stream, CUevent_st &event);
// For cuStreamWaitEvent without CU_EVENT_WAIT_EXTERNAL: returns true if the wait became a
// dependency in a capture, which the stream may have joined. Fails with 902 for a merge of two
// captures, with 905 for a wait across the border of a capture, and with 1 for an event of an ended
// capture.
bool capture_event_wait(CUstream_st &stream, CUevent_st &event);

// For cuEventQuery and cuEventElapsedTime (907) and cuEventSynchronize: fails for an event that was
// last recorded in a capture, and invalidates that capture.
void refuse_captured(CUevent_st &event);
// For cuStreamQuery, cuStreamSynchronize and other calls that a capturing stream does not permit:
// fails with 900 and invalidates the capture. Fails with 906 for the legacy stream while a blocking
// stream captures.
void refuse_capturing(CUstream_st &stream);
// For cuCtxSynchronize: the same for any stream of the context.
void refuse_capturing(CUctx_st &context);

// For calls that are potentially unsafe during a capture (see cuStreamBeginCapture): if the mode of
// a capture forbids them to this thread, fails with 900 and invalidates it. The exports of the
// entry points in unsafe_in_captures.txt call it.
void potentially_unsafe_call();

// Whether this is a legacy stream that cannot be used because a blocking stream captures.
bool legacy_is_hindered(const CUstream_st &stream);

// Begins a capture whose origin, mode, thread and graph are set.
void open_capture(std::shared_ptr<Capture> capture, std::vector<Edge> first);
// Ends a capture. Returns its graph, or null if the graph was destroyed.
CUgraph_st *close_capture(Capture &capture);
// Whether the captured work of all other streams precedes the last work of the origin.
bool is_joined(const Capture &capture);

// Of the calling thread; see cuThreadExchangeStreamCaptureMode.
CUstreamCaptureMode &thread_capture_mode();
unsigned int &capture_generation(); // incremented by every reset
void restart_captures();

// A stream is destroyed: ends the capture that began in it, and leaves the one that it joined.
void leave_capture(CUstream_st &stream);
// The same for all streams of a context in which captures began.
void leave_captures(CUctx_st &context);
// Calls function(capture) for every capture in progress.
void for_each_capture(const std::function<void(const Capture &)> &function);

} // namespace sim
