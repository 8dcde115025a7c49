// Captures in progress. CUDA gives each a number that no other capture of the process has. This
// copy of cushim knows the numbers of those that it began; a graph of any other capture may belong
// to other code, so it is never destroyed here.
#pragma once

#include <cushim/stream.hpp>

#include "base/call.hpp"

namespace cushim::detail {

struct GraphState;

struct CaptureInProgress {
    CUgraph graph = nullptr;   // null: the stream is not captured
    unsigned long long id = 0; // 0: unknown
};
Result<CaptureInProgress> capture_in(CUstream stream) noexcept;

// The graph of a capture.
struct CaptureTarget {
    enum class Kind { unknown, made_by_capture, of_graph } kind = Kind::unknown;
    GraphState *graph = nullptr; // of begin_capture_to(); null if that Graph is destroyed
};

// To call after begin_capture(), with null, or begin_capture_to(). Replaces what is known of
// earlier captures of the stream, which other code may have ended.
Result<void> note_capture(CUstream stream, CUcontext context, GraphState *into) noexcept;
CaptureTarget target_of(const CaptureInProgress &capture) noexcept;
// The capture has ended with its graph.
void forget_capture(const CaptureInProgress &capture) noexcept;
// The Graph is destroyed.
void forget_target(const GraphState &graph) noexcept;

} // namespace cushim::detail
