// Graphs that have an owner in this process. The end of a capture may return one of them, which
// must be neither owned nor destroyed a second time.
#pragma once

#include <thread>

#include <cushim/driver_table.hpp>

#include "base/state.hpp"

namespace cushim::detail {

/* The entry of a Graph, inside its state. Threads: entries of different graphs can be used
 * concurrently. */
class GraphRegistryEntry {
  public:
    explicit GraphRegistryEntry(State &of) noexcept : state_(of) {}
    GraphRegistryEntry(const GraphRegistryEntry &) = delete;
    GraphRegistryEntry &operator=(const GraphRegistryEntry &) = delete;
    // A fork may copy a chain during a change, so the child keeps its parent's entries.
    ~GraphRegistryEntry() {
        if (graph_ != nullptr && state_.generation == cushim_fork_generation()) {
            forget();
        }
    }

    // Called once, when the graph exists.
    void know(CUgraph graph) noexcept;
    // Called before the graph is destroyed, since CUDA may reuse its handle at once. Not in a child
    // of fork, for an entry of its parent.
    void forget() noexcept;

    // A capture of this stream goes into the graph, which any code may own.
    void capture_begins(CUstream stream) noexcept;

  private:
    friend CUgraph capture_ends(CUstream stream) noexcept;
    friend State *find_state(CUgraph graph) noexcept;

    State &state_;
    CUgraph graph_ = nullptr; // null: not registered
    GraphRegistryEntry *next_ = nullptr;
    CUstream capturing_ = nullptr; // null: no capture
    std::thread::id capturing_in_; // for the per-thread default stream
};

// Returns and forgets the graph of this stream's capture that capture_begins() registered.
CUgraph capture_ends(CUstream stream) noexcept;

// Whether a Graph owns it.
bool is_owned(CUgraph graph) noexcept;

// The state of the Graph that owns it, or else of one that borrows it or that is inside another;
// null for an unknown graph.
State *find_state(CUgraph graph) noexcept;

} // namespace cushim::detail
