// Stream capture: what a stream does instead of working while it captures, and what is forbidden
// meanwhile.
#pragma once

#include "engine/graph.hpp"
#include "engine/work.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <thread>
#include <vector>

struct CUstream_st;
struct CUevent_st;

namespace sim {

// One capture sequence, from begin to end. Every stream that takes part shares it
// (CUstream_st::capture).
struct Capture {
    std::uint64_t id = 0;
    CUstream_st *origin = nullptr; // where it began and has to end
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
    std::thread::id thread;      // that began it
    CUgraph_st *graph = nullptr; // null once it is over
    bool own_graph = true;       // false: begun by cuStreamBeginCaptureToGraph
    bool invalidated = false;
    // What the next node of each stream depends on.
    std::map<CUstream_st *, std::vector<Edge>> frontiers;
    // What a wait for an event means that was recorded here.
    std::map<CUevent_st *, std::vector<Edge>> events;
    // What cuStreamGetCaptureInfo shows, until the next call.
    std::vector<CUgraphNode> shown_nodes;
    std::vector<EdgeData> shown_edges;

    bool active() const noexcept { return graph != nullptr && !invalidated; }
};

// For submit(): where the stream captures, makes the work a node and returns true. Refuses with 901
// where the capture is invalidated, with 906 where the stream is the legacy one and a blocking
// stream captures.
bool captured(CUstream_st &stream, Work &work);

// The same for a node as the graph holds it.
Node &capture_node(CUstream_st &stream, NodeContent content);
// Refuses with 906 the legacy stream while a blocking stream of its context captures.
void refuse_implicit(CUstream_st &stream);

// Refuses with 901 a stream whose capture is invalidated: what looks at its stream before anything
// else.
void refuse_invalidated(const CUstream_st &stream);

// For cuEventRecord without CU_EVENT_RECORD_EXTERNAL: where the stream captures, notes what the
// event stands for and returns true. Where it does not, forgets what the event stood for.
bool capture_event_record(CUstream_st &stream, CUevent_st &event);
// For cuStreamWaitEvent without CU_EVENT_WAIT_EXTERNAL: true where that made a dependency of a
// capture, which the stream may have joined by it. Refuses a merge 902, a wait across the border of
// a capture 905, an event of a capture that is over 1.
bool capture_event_wait(CUstream_st &stream, CUevent_st &event);

// For cuEventQuery and cuEventElapsedTime (907), cuEventSynchronize: refuses an event that was last
// recorded in a capture, and invalidates that.
void refuse_captured(CUevent_st &event);
// For cuStreamQuery, cuStreamSynchronize and others that a capturing stream cannot do: refuses with
// 900 and invalidates its capture. The legacy stream is refused with 906 while a blocking stream
// captures.
void refuse_capturing(CUstream_st &stream);
// For cuCtxSynchronize: the same for any stream of the context.
void refuse_capturing(CUctx_st &context);

// Whether the stream is a legacy one that cannot be used since a blocking stream captures.
bool legacy_is_hindered(const CUstream_st &stream);

// Begins one, whose origin, mode, thread and graph are set.
void open_capture(std::shared_ptr<Capture> capture, std::vector<Edge> first);
// Ends one; returns its graph, or null where that went with it.
CUgraph_st *close_capture(Capture &capture);
// Whether all that other streams captured comes before the end of the origin's work.
bool is_joined(const Capture &capture);

// Of the calling thread: see cuThreadExchangeStreamCaptureMode.
CUstreamCaptureMode &thread_capture_mode();
unsigned int &capture_generation(); // grows with every reset
void restart_captures();

// A stream dies: its capture with it where that began there, else it is invalidated.
void leave_capture(CUstream_st &stream);

} // namespace sim
