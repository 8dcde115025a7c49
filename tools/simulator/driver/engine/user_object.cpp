#include "engine/user_object.hpp"
#include "call/runtime_calls.hpp"

#include <utility>

CUuserObject_st::CUuserObject_st(void *pointer, CUhostFn destructor, unsigned int references)
    : Object(own_kind), destruction(new sim::Destruction{destructor, pointer}), owned(references),
      total(references) {}

namespace sim {
namespace {

// A pending destructor of an object without references, oldest first. It is allocated with its
// object, so that dropping a reference cannot fail.
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

} // namespace

void add_references(CUuserObject_st &object, std::uint64_t count) {
    object.total += count;
}

void drop_references(CUuserObject_st &object, std::uint64_t count) noexcept {
    object.total -= count;
    if (object.total == 0) {
        append(std::move(object.destruction));
        Registry::get().destroy(&object);
    }
}

References::~References() {
    for (const auto &[object, count] : counts_) {
        drop_references(*object, count);
    }
}

void References::add(CUuserObject_st &object, unsigned int count) {
    counts_[&object] += count;
    add_references(object, count);
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
    drop_references(object, count);
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

} // namespace sim
