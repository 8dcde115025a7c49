// A lock for graphs that were cloned from one another, by a clone or a child node, and for their
// executable graphs. Drivers keep lists of such relatives without locking them. If one thread
// destroys a graph or an executable graph while another destroys, clones or instantiates a
// relative, or destroys one of its nodes, driver 580 corrupts memory: 8 of 8 processes crashed or
// hung within 25 seconds, and none with the lock. cushim destroys resources of graphs on its own
// thread, so it holds this lock for each of these calls, for child nodes, and for finding a node in
// a clone. Found to be safe without it: launching and updating executable graphs, and adding and
// reading nodes.
#pragma once

#include <chrono>
#include <optional>
#include <thread>

#include "base/call.hpp"
#include "base/fork_guard.hpp"
#include "base/state.hpp"

namespace cushim::detail {

// Instantiation may take long.
inline void sleep_shortly() noexcept {
    std::this_thread::sleep_for(std::chrono::microseconds(20));
}

inline constinit ForkLock relatives_lock = {};

// Recursive, since an override of cuGraphDestroy in a test may destroy another graph.
class RelativesGuard {
  public:
    RelativesGuard() noexcept {
        if (depth_++ == 0) {
            guard_.emplace(relatives_lock);
        }
    }
    ~RelativesGuard() { --depth_; }
    RelativesGuard(const RelativesGuard &) = delete;
    RelativesGuard &operator=(const RelativesGuard &) = delete;

  private:
    static inline thread_local int depth_ = 0;
    std::optional<ForkGuard<sleep_shortly>> guard_;
};

// Destroys a graph or an executable graph. The teardown sink is called without the guard.
template <class Entry, class Handle>
Destroyed destroy_guarded(Handle handle) noexcept {
    const RelativesGuard guard;
    return {call<Entry>(handle), handle};
}

} // namespace cushim::detail
