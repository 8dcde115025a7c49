// Which graphs Graphs of this process have: what ends a capture may be one of them, and must be
// neither owned nor destroyed a second time.
#pragma once

#include <thread>

#include <cushim/driver_table.hpp>

#include "base/state.hpp"

namespace cushim::detail {

/* The entry of one Graph, inside its state. Threads: entries of different graphs, any. */
class GraphRegistryEntry {
  public:
    explicit GraphRegistryEntry(const State &of) noexcept : state_(of) {}
    GraphRegistryEntry(const GraphRegistryEntry &) = delete;
    GraphRegistryEntry &operator=(const GraphRegistryEntry &) = delete;
    ~GraphRegistryEntry() { forget(); }

    // Once, when the graph is there.
    void know(CUgraph graph) noexcept;
    // Before it is destroyed: CUDA may give its handle again at once.
    void forget() noexcept;

    // A capture of this stream goes into the graph, whoever owns it.
    void capture_begins(CUstream stream) noexcept;

  private:
    friend CUgraph capture_ends(CUstream stream) noexcept;
    friend bool is_owned(CUgraph graph) noexcept;

    const State &state_;
    CUgraph graph_ = nullptr; // null: not in the registry
    GraphRegistryEntry *next_ = nullptr;
    CUstream capturing_ = nullptr; // null: none
    std::thread::id capturing_in_; // for the stream that each thread has of its own
};

// The graph that the capture of this stream went into, where capture_begins() told; forgets that.
CUgraph capture_ends(CUstream stream) noexcept;

// Whether some Graph is going to destroy it.
bool is_owned(CUgraph graph) noexcept;

} // namespace cushim::detail
