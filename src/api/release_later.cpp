// One thread, started at the first need and running for the process's life. A child of a fork has none of
// its parent's threads: it starts its own, and leaves what the parent had queued.
//
// Nothing here is ever destroyed: the thread may outlive main().
#include "release_later.hpp"

#include <cushim/loader.h>

#include <condition_variable>
#include <exception>
#include <mutex>
#include <new>
#include <thread>

namespace cushim::detail {
namespace {

struct Queue {
    std::mutex mutex;
    std::condition_variable changed;
    Released *first = nullptr;
    Released **last = &first;
    unsigned long long queued = 0;
    unsigned long long deleted = 0;
    bool runs = false;

    [[noreturn]] void run() {
        std::unique_lock lock(mutex);
        for (;;) {
            changed.wait(lock, [this] { return first != nullptr; });
            Released *released = first;
            first = nullptr;
            last = &first;
            lock.unlock();
            const unsigned long long count = delete_all(released);
            lock.lock();
            deleted += count;
            changed.notify_all();
        }
    }

    static unsigned long long delete_all(Released *released) {
        unsigned long long count = 0;
        while (released != nullptr) {
            Released *const next = released->next;
            delete released;
            released = next;
            ++count;
        }
        return count;
    }
};

// The queue of this process: another one in the child of a fork, whose parent's may be locked for ever.
// Null where there is no memory for it.
Queue *queue() noexcept {
    struct Slot {
        std::mutex mutex;
        Queue *queue = nullptr;
        unsigned int generation = 0;
    };
    alignas(Slot) static unsigned char place[sizeof(Slot)];
    static Slot *const slot = new (place) Slot;
    const std::lock_guard lock(slot->mutex);
    if (slot->queue == nullptr || slot->generation != cushim_fork_generation()) {
        slot->queue = new (std::nothrow) Queue;
        slot->generation = cushim_fork_generation();
    }
    return slot->queue;
}

bool start(Queue &queue) noexcept {
    try {
        std::thread([&queue] { queue.run(); }).detach();
        return true;
    } catch (const std::exception &) { // system_error, bad_alloc
        return false;
    }
}

} // namespace

bool prepare_release() noexcept {
    Queue *const own = queue();
    if (own == nullptr) {
        return false;
    }
    const std::lock_guard lock(own->mutex);
    own->runs = own->runs || start(*own);
    return own->runs;
}

void release_later(Released *released) noexcept {
    Queue *const own = queue();
    if (own == nullptr) {
        return; // the child of a fork, and the object is its parent's
    }
    const std::lock_guard lock(own->mutex);
    released->next = nullptr;
    *own->last = released;
    own->last = &released->next;
    ++own->queued;
    own->changed.notify_all();
}

void wait_for_released() noexcept {
    Queue *const own = queue();
    if (own == nullptr) {
        return;
    }
    std::unique_lock lock(own->mutex);
    if (own->runs) {
        const unsigned long long until = own->queued;
        own->changed.wait(lock, [&] { return own->deleted >= until; });
    }
}

} // namespace cushim::detail
