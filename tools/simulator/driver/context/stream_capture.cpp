// Stream capture: begin, end, status and dependencies.
#include "call/misuse.hpp"
#include "driver_functions.hpp"
#include "engine/capture.hpp"
#include "engine/stream.hpp"

#include <algorithm>
#include <cstring>

namespace sim::driver {
namespace {

constexpr char not_capturing[] = "Stream is not actively capturing";

void check_mode(CUstreamCaptureMode mode) {
    require(mode == CU_STREAM_CAPTURE_MODE_GLOBAL || mode == CU_STREAM_CAPTURE_MODE_THREAD_LOCAL ||
            mode == CU_STREAM_CAPTURE_MODE_RELAXED);
}

// `graph` is a graph of the client, or null for a new one.
void begin(CUstream handle, CUstreamCaptureMode mode, Graph *graph, std::vector<Edge> first) {
    Stream &stream = stream_of(handle);
    check_mode(mode);
    require(!stream.legacy, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    require(!stream.capture, CUDA_ERROR_ILLEGAL_STATE);
    auto capture = std::make_shared<Capture>();
    capture->origin = &stream;
    capture->mode = mode;
    capture->thread = std::this_thread::get_id();
    capture->own_graph = graph == nullptr;
    capture->graph = graph != nullptr ? graph : &make_graph();
    open_capture(std::move(capture), std::move(first));
}

// The stream of a status query, which is permitted even if the legacy stream may not be used.
Stream &queried_stream(CUstream handle) {
    Stream &stream = stream_of(handle);
    require(!legacy_is_hindered(stream), CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, legacy_captures);
    return stream;
}

CUstreamCaptureStatus status_of(const Stream &stream) {
    if (!stream.capture) {
        return CU_STREAM_CAPTURE_STATUS_NONE;
    }
    return stream.capture->active() ? CU_STREAM_CAPTURE_STATUS_ACTIVE
                                    : CU_STREAM_CAPTURE_STATUS_INVALIDATED;
}

// The requested outputs; null if not requested.
struct Wanted {
    cuuint64_t *id = nullptr;
    CUgraph *graph = nullptr;
    const CUgraphNode **nodes = nullptr;
    const EdgeData **edges = nullptr;
    size_t *count = nullptr;
};

void show(Stream &stream, const Wanted &wanted) {
    Capture &capture = *stream.capture;
    const std::vector<Edge> &frontier = capture.frontiers[&stream];
    capture.shown_nodes.clear();
    capture.shown_edges.clear();
    for (const Edge &edge : frontier) {
        capture.shown_nodes.push_back(edge.node);
        capture.shown_edges.push_back(edge.data);
    }
    const auto put = [](auto *where, const auto &value) {
        if (where != nullptr) {
            *where = value;
        }
    };
    put(wanted.id, capture.id);
    put(wanted.graph, capture.graph);
    put(wanted.nodes, capture.shown_nodes.data());
    put(wanted.edges, capture.shown_edges.data());
    put(wanted.count, frontier.size());
}

void info(CUstream handle, CUstreamCaptureStatus *status, const Wanted &wanted) {
    require(status != nullptr);
    Stream &stream = queried_stream(handle);
    const CUstreamCaptureStatus found = status_of(stream);
    if (found == CU_STREAM_CAPTURE_STATUS_ACTIVE) {
        require(wanted.edges == nullptr || wanted.nodes != nullptr);
#if CUDA_VERSION >= 12030
        const std::vector<Edge> &frontier = stream.capture->frontiers[&stream];
        require(wanted.nodes == nullptr || wanted.edges != nullptr ||
                    std::all_of(frontier.begin(), frontier.end(),
                                [](const Edge &edge) { return edge.data == EdgeData(); }),
                CUDA_ERROR_LOSSY_QUERY);
#endif
        show(stream, wanted);
    }
    *status = found;
}

void update_dependencies(CUstream handle, const CUgraphNode *nodes, const void *data,
                         std::size_t count, unsigned int flags) {
    Stream &stream = stream_of(handle);
    require(flags == CU_STREAM_ADD_CAPTURE_DEPENDENCIES ||
            flags == CU_STREAM_SET_CAPTURE_DEPENDENCIES);
    require(stream.capture != nullptr, CUDA_ERROR_ILLEGAL_STATE, not_capturing);
    require(stream.capture->active(), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    const std::vector<Edge> edges = edges_of(*stream.capture->graph, nodes, count, data);
    std::vector<Edge> &frontier = stream.capture->frontiers[&stream];
    if (flags == CU_STREAM_SET_CAPTURE_DEPENDENCIES) {
        frontier.clear();
    }
    for (const Edge &edge : edges) {
        std::erase_if(frontier, [&](const Edge &old) { return old.node == edge.node; });
        frontier.push_back(edge);
    }
}

} // namespace

EXPORT CUresult cuStreamBeginCapture_v2(CUstream hStream, CUstreamCaptureMode mode) {
    begin(hStream, mode, nullptr, {});
    return CUDA_SUCCESS;
}

// The version of CUDA 10.0, which had the global mode only.
EXPORT CUresult cuStreamBeginCapture(CUstream hStream) {
    begin(hStream, CU_STREAM_CAPTURE_MODE_GLOBAL, nullptr, {});
    return CUDA_SUCCESS;
}

#if CUDA_VERSION >= 12030
EXPORT CUresult cuStreamBeginCaptureToGraph(CUstream hStream, CUgraph hGraph,
                                            const CUgraphNode *dependencies,
                                            const CUgraphEdgeData *dependencyData,
                                            size_t numDependencies, CUstreamCaptureMode mode) {
    Graph &graph = graph_of(hGraph);
    require(!graph.capturing);
    begin(hStream, mode, &graph, edges_of(graph, dependencies, numDependencies, dependencyData));
    return CUDA_SUCCESS;
}
#endif

EXPORT CUresult cuStreamEndCapture(CUstream hStream, CUgraph *phGraph) {
    if (phGraph != nullptr) { // recorded: every failure sets it
        *phGraph = nullptr;
    }
    Stream &stream = stream_of(hStream);
    const std::shared_ptr<Capture> capture = stream.capture;
    require(capture != nullptr, CUDA_ERROR_ILLEGAL_STATE, not_capturing);
    if (capture->origin != &stream) {
        capture->invalidated = true;
        refuse(CUDA_ERROR_STREAM_CAPTURE_UNMATCHED, "Capture was not initiated on hStream");
    }
    CUresult status = CUDA_SUCCESS;
    if (capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED &&
        capture->thread != std::this_thread::get_id()) { // recorded: this ends the capture too
        capture->invalidated = true;
        status = CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
        explain("CU_STREAM_CAPTURE_MODE_RELAXED is required to begin and end the capture on "
                "different threads");
    } else if (capture->invalidated) {
        status = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
        explain("Capture was invalidated by a prior API call");
    } else if (!is_joined(*capture)) {
        capture->invalidated = true;
        status = CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
        explain("Capture sequence contains a fork that was not joined to the primary stream");
    }
    const CUgraph graph = close_capture(*capture);
    if (phGraph != nullptr && status == CUDA_SUCCESS) {
        *phGraph = graph;
    }
    run_user_destructors();
    return status;
}

EXPORT CUresult cuStreamIsCapturing(CUstream hStream, OUT CUstreamCaptureStatus *captureStatus) {
    require(captureStatus != nullptr);
    *captureStatus = status_of(queried_stream(hStream));
    return CUDA_SUCCESS;
}

EXPORT CUresult cuStreamGetCaptureInfo(CUstream hStream,
                                       OUT CUstreamCaptureStatus *captureStatus_out,
                                       OUT cuuint64_t *id_out) {
    info(hStream, captureStatus_out, {id_out});
    return CUDA_SUCCESS;
}

EXPORT CUresult cuStreamGetCaptureInfo_v2(CUstream hStream,
                                          OUT CUstreamCaptureStatus *captureStatus_out,
                                          OUT cuuint64_t *id_out, OUT CUgraph *graph_out,
                                          const CUgraphNode **dependencies_out,
                                          OUT size_t *numDependencies_out) {
    info(hStream, captureStatus_out,
         {id_out, graph_out, dependencies_out, nullptr, numDependencies_out});
    return CUDA_SUCCESS;
}

EXPORT CUresult cuStreamUpdateCaptureDependencies(CUstream hStream, CUgraphNode *dependencies,
                                                  size_t numDependencies, unsigned int flags) {
    update_dependencies(hStream, dependencies, nullptr, numDependencies, flags);
    return CUDA_SUCCESS;
}

#if CUDA_VERSION >= 12030
EXPORT CUresult cuStreamGetCaptureInfo_v3(CUstream hStream,
                                          OUT CUstreamCaptureStatus *captureStatus_out,
                                          OUT cuuint64_t *id_out, OUT CUgraph *graph_out,
                                          const CUgraphNode **dependencies_out,
                                          const CUgraphEdgeData **edgeData_out,
                                          OUT size_t *numDependencies_out) {
    const EdgeData *edges = nullptr;
    info(hStream, captureStatus_out,
         {id_out, graph_out, dependencies_out, edgeData_out != nullptr ? &edges : nullptr,
          numDependencies_out});
    if (edges != nullptr) {
        *edgeData_out = reinterpret_cast<const CUgraphEdgeData *>(edges);
    }
    return CUDA_SUCCESS;
}

EXPORT CUresult cuStreamUpdateCaptureDependencies_v2(CUstream hStream, CUgraphNode *dependencies,
                                                     const CUgraphEdgeData *dependencyData,
                                                     size_t numDependencies, unsigned int flags) {
    update_dependencies(hStream, dependencies, dependencyData, numDependencies, flags);
    return CUDA_SUCCESS;
}
#endif

EXPORT CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode) {
    if (mode == nullptr) {
        refuse_fatal("cuThreadExchangeStreamCaptureMode of a null mode");
    }
    // Recorded: the mode may be any number.
    std::swap(*mode, thread_capture_mode());
    return CUDA_SUCCESS;
}

} // namespace sim::driver
