// User objects: counted references that clients and graphs hold to something of the client's.
#include "call/misuse.hpp"
#include "call/runtime_calls.hpp"
#include "driver_functions.hpp"
#include "engine/graph.hpp"

#include <climits>
#include <memory>
#include <utility>

CUuserObject_st::CUuserObject_st(void *pointer, CUhostFn destructor, unsigned int references)
    : Object(own_kind), destruction(new sim::Destruction{destructor, pointer}), owned(references),
      total(references) {}

namespace sim {
namespace {

// Of objects without references, whose destructors have not run yet, oldest first. Each was made with its object:
// references go where nothing may fail.
struct Pending {
    Destruction *first = nullptr, *last = nullptr;
};
Pending pending;

void append(std::unique_ptr<Destruction> destruction) noexcept {
    Destruction *const added = destruction.release();
    (pending.last != nullptr ? pending.last->next : pending.first) = added;
    pending.last = added;
}

std::unique_ptr<Destruction> take_first() noexcept {
    std::unique_ptr<Destruction> taken(pending.first);
    if (taken != nullptr) {
        pending.first = taken->next;
        pending.last = taken->next != nullptr ? pending.last : nullptr;
    }
    return taken;
}

void gained(CUuserObject_st &object, std::uint64_t count) {
    object.total += count;
}

void lost(CUuserObject_st &object, std::uint64_t count) noexcept {
    object.total -= count;
    if (object.total == 0) {
        append(std::move(object.destruction));
        Registry::get().destroy(&object);
    }
}

CUuserObject_st &user_object(CUuserObject handle) {
    return checked(handle, CUDA_ERROR_INVALID_VALUE);
}

void check_count(unsigned int count) {
    require(count != 0 && count <= static_cast<unsigned int>(INT_MAX));
}

// Takes references away from the client. A leak is reported for as long as it has any.
void take_from_client(CUuserObject_st &object, unsigned int count) {
    if (count > object.owned) {
        misuse("release of " + std::to_string(count) + " references of a client that has " +
               std::to_string(object.owned) + ": " + object.describe());
        refuse(CUDA_ERROR_INVALID_VALUE);
    }
    object.owned -= count;
    object.counted = object.owned != 0;
}

} // namespace

References::~References() {
    for (const auto &[object, count] : counts_) {
        lost(*object, count);
    }
}

void References::add(CUuserObject_st &object, unsigned int count) {
    counts_[&object] += count;
    gained(object, count);
}

void References::add(const References &other) {
    for (const auto &[object, count] : other.counts_) {
        add(*object, count);
    }
}

unsigned int References::count(CUuserObject_st &object) const {
    const auto found = counts_.find(&object);
    return found == counts_.end() ? 0 : found->second;
}

void References::remove(CUuserObject_st &object, unsigned int count) {
    const auto found = counts_.find(&object);
    found->second -= count;
    if (found->second == 0) {
        counts_.erase(found);
    }
    lost(object, count);
}

void run_user_destructors() {
    while (const std::unique_ptr<Destruction> next = take_first()) {
        // Destructors must not call CUDA.
        const bool before = in_host_function();
        in_host_function() = true;
        {
            const ClientCode code;
            next->function(next->pointer);
        }
        in_host_function() = before;
    }
}

void forget_user_destructors() {
    while (take_first() != nullptr) {
    }
}

namespace driver {

CUresult cuUserObjectCreate(CUuserObject *object_out, void *ptr, CUhostFn destroy,
                            unsigned int initialRefcount, unsigned int flags) {
    require(object_out != nullptr);
    require(destroy != nullptr && flags == CU_USER_OBJECT_NO_DESTRUCTOR_SYNC);
    check_count(initialRefcount);
    *object_out = Registry::get().make<CUuserObject_st>(ptr, destroy, initialRefcount);
    return CUDA_SUCCESS;
}

CUresult cuUserObjectRetain(CUuserObject object, unsigned int count) {
    check_count(count);
    CUuserObject_st &target = user_object(object);
    target.owned += count;
    target.counted = true;
    gained(target, count);
    return CUDA_SUCCESS;
}

CUresult cuUserObjectRelease(CUuserObject object, unsigned int count) {
    check_count(count);
    CUuserObject_st &target = user_object(object);
    take_from_client(target, count);
    lost(target, count);
    run_user_destructors();
    return CUDA_SUCCESS;
}

CUresult cuGraphRetainUserObject(CUgraph graph, CUuserObject object, unsigned int count,
                                 unsigned int flags) {
    check_count(count);
    require((flags & ~static_cast<unsigned int>(CU_GRAPH_USER_OBJECT_MOVE)) == 0);
    Graph &owner = graph_of(graph);
    CUuserObject_st &target = user_object(object);
    const bool move = (flags & CU_GRAPH_USER_OBJECT_MOVE) != 0;
    if (move) {
        take_from_client(target, count);
    }
    owner.references.add(target, count);
    if (move) {
        lost(target, count); // the graph has as many now
    }
    return CUDA_SUCCESS;
}

CUresult cuGraphReleaseUserObject(CUgraph graph, CUuserObject object, unsigned int count) {
    check_count(count);
    Graph &owner = graph_of(graph);
    CUuserObject_st &target = user_object(object);
    const unsigned int held = owner.references.count(target);
    if (count > held) {
        misuse("release of " + std::to_string(count) + " references of a graph that has " +
               std::to_string(held) + ": " + owner.describe() + ", " + target.describe());
        // Measured: where it has none, the driver takes it for done. Where it has some, it crashes.
        require(held == 0);
        return CUDA_SUCCESS;
    }
    owner.references.remove(target, count);
    run_user_destructors();
    return CUDA_SUCCESS;
}

} // namespace driver
} // namespace sim
