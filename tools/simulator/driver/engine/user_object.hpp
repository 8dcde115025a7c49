// User objects: reference-counted client resources, with references of the client and of graphs.
#pragma once

#include "engine/object.hpp"

#include <cstdint>
#include <map>
#include <memory>

struct CUuserObject_st;

namespace sim {

// The references to user objects that a graph, an executable graph or a running launch holds.
class References {
  public:
    References() = default;
    References(const References &other) : References() { add(other); } // all or none
    References &operator=(const References &) = delete;
    ~References();
    void swap(References &other) noexcept { counts_.swap(other.counts_); }
    void add(CUuserObject_st &object, unsigned int count);
    unsigned int count(CUuserObject_st &object) const;
    void remove(CUuserObject_st &object, unsigned int count); // no more than count(object)
    // Adds references to all objects of `other`.
    void add(const References &other);
    bool empty() const noexcept { return counts_.empty(); }
    // Drops all references without counting, for a reset.
    void forget() noexcept { counts_.clear(); }

  private:
    std::map<CUuserObject_st *, unsigned int> counts_;
};
// The pending destruction of a user object without references.
struct Destruction {
    CUhostFn function;
    void *pointer;
    Destruction *next = nullptr;
};
// Calls the destructors of user objects whose last reference was dropped, without the lock. Called
// where client functions may run.
void run_user_destructors();
void forget_user_destructors(); // for a reset

// Count references of any owner. Dropping the last one leaves the destructor to
// run_user_destructors().
void add_references(CUuserObject_st &object, std::uint64_t count);
void drop_references(CUuserObject_st &object, std::uint64_t count) noexcept;

} // namespace sim

struct CUuserObject_st final : sim::Object {
    CUuserObject_st(void *pointer, CUhostFn destructor, unsigned int references);
    static constexpr sim::Kind own_kind = sim::Kind::user_object;
    static bool is(sim::Kind kind) noexcept { return kind == own_kind; }

    std::unique_ptr<sim::Destruction> destruction;
    std::uint64_t owned; // references that the client owns
    std::uint64_t total; // all references, including those of graphs
};
