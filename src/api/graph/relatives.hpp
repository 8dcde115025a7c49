// Graphs that were cloned from one another, by a clone or by a child node, are relatives, and
// drivers keep lists of them that they do not lock: where one thread destroys a graph while another
// destroys, clones or instantiates a relative, or destroys a node of it, driver 580 corrupts its
// memory (4 to 6 of 6 processes ended by a signal; none with a lock). cushim destroys what graphs
// kept on a thread of its own, so it holds this for each of these calls, for child nodes, and for
// finding a node in a clone. Measured to be safe without it: launching, updating and destroying
// executable graphs, and adding and reading nodes.
#pragma once

#include <chrono>
#include <optional>
#include <thread>

#include "../../loader/fork_lock.hpp"

namespace cushim::detail {

// Instantiating may take long.
inline void sleep_shortly() noexcept {
    std::this_thread::sleep_for(std::chrono::microseconds(20));
}

inline constinit ForkLock relatives_lock;

// Recursive: a test's replacement of cuGraphDestroy may destroy another graph.
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

} // namespace cushim::detail
