// The rules of stream capture, and how a capturing stream records work.
#include "engine/capture.hpp"
#include "base/immortal.hpp"
#include "call/call.hpp"
#include "engine/graph.hpp"
#include "engine/graph_memory.hpp"
#include "engine/open_calls.hpp"
#include "engine/stream.hpp"

#include <algorithm>
#include <cstdio>
#include <utility>

namespace sim {
namespace {

// By Capture::id.
using Captures = std::map<std::uint64_t, std::shared_ptr<Capture>>;

Captures &all_captures() {
    static Immortal<Captures> captures;
    return *captures;
}

bool is_dead(const Capture &capture) {
    return Registry::get().find(capture.origin) != capture.origin;
}

void invalidate(Capture &capture) {
    capture.invalidated = true;
}

// Captures in progress. A context may have been destroyed together with the streams of some.
const Captures &captures() {
    auto &all = all_captures();
    for (auto next = all.begin(); next != all.end();) {
        Capture &capture = *(next++)->second;
        if (is_dead(capture)) {
            invalidate(capture);
            close_capture(capture);
        }
    }
    return all;
}

void merge(std::vector<Edge> &into, const std::vector<Edge> &edges) {
    for (const Edge &edge : edges) {
        const bool known = std::any_of(into.begin(), into.end(),
                                       [&](const Edge &other) { return other.node == edge.node; });
        if (!known) {
            into.push_back(edge);
        }
    }
}

// Whether the legacy stream would have to wait for a stream of this capture.
bool hinders_legacy(const Capture &capture, const CUctx_st *context) {
    return std::any_of(capture.frontiers.begin(), capture.frontiers.end(), [&](const auto &entry) {
        const Stream *stream = entry.first;
        return Registry::get().find(stream) == stream && &context_of(*stream) == context &&
               stream->blocking();
    });
}

// The stream's work in the form of a graph node.
NodeContent content_of(Stream &stream, Work &work) {
    NodeContent content;
    if (work.type == CU_GRAPH_NODE_TYPE_MEM_FREE) {
        return free_node(*stream.capture->graph, std::any_cast<CUdeviceptr>(work.parameters));
    }
    content.work = std::move(work);
    if (content.work.type == CU_GRAPH_NODE_TYPE_KERNEL ||
        content.work.type == CU_GRAPH_NODE_TYPE_MEMSET) {
        content.home = &context_of(stream);
    }
    if (content.work.type == CU_GRAPH_NODE_TYPE_MEMCPY ||
        content.work.type == CU_GRAPH_NODE_TYPE_MEMSET) {
        content.context = stream.context;
    } else if (const auto *event = std::any_cast<CUevent>(&content.work.parameters)) {
        content.context = (*event)->context;
    }
    return content;
}

constexpr char ended_capture[] =
    "Event is not valid. This can be related to a graph capture that is no longer running";

void check_valid(const Capture &capture) {
    require(capture.active(), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
}

} // namespace

void refuse_invalidated(const Stream &stream) {
    if (stream.capture) {
        check_valid(*stream.capture);
    }
}

void open_capture(std::shared_ptr<Capture> capture, std::vector<Edge> first) {
    static std::uint64_t last_id = 0;
    capture->id = ++last_id;
    if (const Call *call = Call::current()) {
        capture->begun_by = call->name();
        capture->begun_in = call->number();
    }
    capture->graph->counted = capture->graph->counted && !capture->own_graph;
    capture->frontiers[capture->origin] = std::move(first);
    all_captures().emplace(capture->id, capture);
    capture->graph->capturing = true;
    Stream &origin = *capture->origin;
    origin.capture = std::move(capture);
}

CUgraph close_capture(Capture &ending) {
    const auto found = all_captures().find(ending.id);
    const std::shared_ptr<Capture> capture = found->second;
    all_captures().erase(found);
    for (const auto &[stream, frontier] : capture->frontiers) {
        if (Registry::get().find(stream) == stream) {
            stream->capture = nullptr;
        }
    }
    capture->frontiers.clear();
    capture->events.clear();
    Graph *graph = std::exchange(capture->graph, nullptr);
    graph->capturing = false;
    graph->counted = graph->counted || capture->own_graph;
    if (capture->own_graph && capture->invalidated) {
        destroy_graph(*graph);
        return nullptr;
    }
    return graph;
}

bool is_joined(const Capture &capture) {
    std::vector<const Node *> open;
    for (const Edge &edge : capture.frontiers.at(capture.origin)) {
        open.push_back(edge.node);
    }
    std::vector<bool> reached(capture.graph->next_number);
    while (!open.empty()) {
        const Node *node = open.back();
        open.pop_back();
        if (!reached[node->number]) {
            reached[node->number] = true;
            for (const Edge &edge : node->dependencies) {
                open.push_back(edge.node);
            }
        }
    }
    const auto all_reached = [&](const std::vector<Edge> &last) {
        return std::all_of(last.begin(), last.end(),
                           [&](const Edge &edge) { return reached[edge.node->number]; });
    };
    return all_reached(capture.abandoned) &&
           std::all_of(capture.frontiers.begin(), capture.frontiers.end(),
                       [&](const auto &entry) { return all_reached(entry.second); });
}

Node &capture_node(Stream &stream, NodeContent content) {
    Capture &capture = *stream.capture;
    check_valid(capture);
    if (Call *call = Call::current()) {
        content.work.fault = call->take_async_fault(); // applies when the graph runs
    }
    std::vector<Edge> &frontier = capture.frontiers[&stream];
    Node &node = add_node(*capture.graph, std::move(content), frontier);
    frontier.assign(1, {&node, {}});
    return node;
}

bool captured(Stream &stream, Work &work) {
    refuse_implicit(stream);
    if (!stream.capture) {
        return false;
    }
    check_valid(*stream.capture);
    try {
        capture_node(stream, content_of(stream, work));
    } catch (...) {
        invalidate(*stream.capture);
        throw;
    }
    return true;
}

bool capture_event_record(Stream &stream, Event &event) {
    refuse_implicit(stream);
    if (!stream.capture) {
        event.captured_in = nullptr;
        event.captured_node = nullptr;
        return false;
    }
    check_valid(*stream.capture);
    const std::vector<Edge> &frontier = stream.capture->frontiers[&stream];
    event.captured_in = stream.capture;
    event.captured_node = frontier.empty() ? nullptr : frontier.front().node;
    stream.capture->events[&event] = frontier;
    return true;
}

bool capture_event_wait(Stream &stream, Event &event) {
    refuse_implicit(stream);
    const std::shared_ptr<Capture> from = event.captured_in, into = stream.capture;
    if (!from && !into) {
        return false;
    }
    if (into) {
        check_valid(*into);
    }
    if (!from && !event.recorded) {
        return true; // never recorded
    }
    if (!from || from->graph == nullptr) { // recorded outside a capture, or in one that has ended
        if (into) {
            invalidate(*into);
        }
        require(!from, ended_capture);
        refuse(CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
    }
    check_valid(*from);
    if (into && into != from) {
        invalidate(*into);
        invalidate(*from);
        refuse(CUDA_ERROR_STREAM_CAPTURE_MERGE);
    }
    if (!into && stream.legacy) {
        invalidate(*from);
        refuse(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    }
    stream.capture = from;
    merge(from->frontiers[&stream], from->events[&event]);
    return true;
}

void refuse_captured(Event &event) {
    if (const auto &capture = event.captured_in) {
        // Recorded: 907 only while the capture is valid.
        require(capture->graph != nullptr && !capture->invalidated, ended_capture);
        invalidate(*capture);
        refuse(CUDA_ERROR_CAPTURED_EVENT, "Recorded event not allowed on stream");
    }
}

void refuse_implicit(Stream &stream) {
    if (!stream.legacy || all_captures().empty()) {
        return;
    }
    bool any = false;
    for (const auto &[id, capture] : captures()) {
        if (hinders_legacy(*capture, &context_of(stream))) {
            invalidate(*capture);
            any = true;
        }
    }
    require(!any, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, legacy_captures);
}

bool legacy_is_hindered(const Stream &stream) {
    return stream.legacy &&
           std::any_of(captures().begin(), captures().end(), [&](const auto &entry) {
               return hinders_legacy(*entry.second, &context_of(stream));
           });
}

void refuse_capturing(Stream &stream) {
    refuse_implicit(stream);
    if (stream.capture) {
        invalidate(*stream.capture);
        refuse(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    }
}

void refuse_capturing(CUctx_st &context) {
    bool any = false;
    for (const auto &[id, capture] : captures()) {
        for (const auto &[stream, frontier] : capture->frontiers) {
            if (Registry::get().find(stream) == stream && &context_of(*stream) == &context) {
                invalidate(*capture);
                any = true;
            }
        }
    }
    require(!any, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
}

void leave_capture(Stream &stream) {
    const std::shared_ptr<Capture> capture = stream.capture;
    if (!capture) {
        return;
    }
    if (capture->origin == &stream && capture->active()) {
        note_left(*capture, stream.context);
    }
    if (capture->origin == &stream) {
        invalidate(*capture);
        close_capture(*capture);
    } else {
        merge(capture->abandoned, capture->frontiers[&stream]);
        capture->frontiers.erase(&stream);
        stream.capture = nullptr;
    }
}

void leave_captures(CUctx_st &context) {
    std::vector<Stream *> origins;
    for_each_capture([&](const Capture &capture) {
        if (capture.origin->context == &context) {
            origins.push_back(capture.origin);
        }
    });
    for (Stream *origin : origins) {
        leave_capture(*origin);
    }
}

void for_each_capture(const std::function<void(const Capture &)> &function) {
    for (const auto &[id, capture] : captures()) {
        function(*capture);
    }
}

std::string Capture::describe() const {
    char text[160];
    std::snprintf(text, sizeof text, "capture of stream %p begun by %s in call %llu",
                  static_cast<const void *>(origin), begun_by,
                  static_cast<unsigned long long>(begun_in));
    return text;
}

CUstreamCaptureMode &thread_capture_mode() {
    struct Mode {
        unsigned int generation;
        CUstreamCaptureMode mode;
    };
    static thread_local Mode mode = {0, CU_STREAM_CAPTURE_MODE_GLOBAL};
    if (mode.generation !=
        capture_generation()) { // after a reset, the mode is that of a new thread
        mode = {capture_generation(), CU_STREAM_CAPTURE_MODE_GLOBAL};
    }
    return mode.mode;
}

void potentially_unsafe_call() {
    if (all_captures().empty() || thread_capture_mode() == CU_STREAM_CAPTURE_MODE_RELAXED) {
        return;
    }
    bool any = false, any_own = false;
    for (const auto &[id, capture] : captures()) {
        const bool own = capture->thread == std::this_thread::get_id();
        const bool forbids = own ? capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED
                                 : capture->mode == CU_STREAM_CAPTURE_MODE_GLOBAL &&
                                       thread_capture_mode() == CU_STREAM_CAPTURE_MODE_GLOBAL;
        if (forbids) {
            invalidate(*capture);
            any = true;
            any_own = any_own || own;
        }
    }
    if (any) {
        refuse(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
               "API call conflicts with a stream capture sequence initiated from %s thread",
               any_own ? "the calling" : "another");
    }
}

unsigned int &capture_generation() {
    static unsigned int generation = 0;
    return generation;
}

void restart_captures() {
    all_captures().clear();
    ++capture_generation();
}

} // namespace sim
