// User objects: counted references that clients and graphs hold to something of the client's.
#pragma once

#include "engine/object.hpp"

#include <cstdint>
#include <map>
#include <memory>

struct CUuserObject_st;

namespace sim {

// References to user objects that a graph, an executable graph or a launch in flight holds.
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
    // Takes copies of all of another's.
    void add(const References &other);
    bool empty() const noexcept { return counts_.empty(); }
    // Lets go without counting: for a reset.
    void forget() noexcept { counts_.clear(); }

  private:
    std::map<CUuserObject_st *, unsigned int> counts_;
};
// What is left to do for a user object without references.
struct Destruction {
    CUhostFn function;
    void *pointer;
    Destruction *next = nullptr;
};
// Calls the destructors of user objects whose last reference went, with the lock given up. To be
// called where the client's functions may run.
void run_user_destructors();
void forget_user_destructors(); // for a reset

// Counts references, of whomever. The last one that goes leaves the destructor to
// run_user_destructors().
void add_references(CUuserObject_st &object, std::uint64_t count);
void drop_references(CUuserObject_st &object, std::uint64_t count) noexcept;

} // namespace sim

struct CUuserObject_st final : sim::Object {
    CUuserObject_st(void *pointer, CUhostFn destructor, unsigned int references);
    static constexpr sim::Kind own_kind = sim::Kind::user_object;
    static bool is(sim::Kind kind) noexcept { return kind == own_kind; }

    std::unique_ptr<sim::Destruction> destruction;
    std::uint64_t owned; // references of the client
    std::uint64_t total; // and those of graphs
};
