// One thread, started at the first need and running for the process's life. A child of a fork has none of
// its parent's threads: it starts its own, and leaves what the parent had queued.
//
// Nothing here is ever destroyed: the thread may outlive main().
#include "release_later.hpp"

#include <cushim/loader.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <new>
#include <thread>

namespace cushim::detail {
namespace {

// A singly linked list that one appends to.
class List {
  public:
    List() noexcept = default;
    List(const List &) = delete;
    List &operator=(const List &) = delete;

    bool empty() const noexcept { return first_ == nullptr; }

    void append(Released *released) noexcept {
        released->next = nullptr;
        *last_ = released;
        last_ = &released->next;
    }
    Released *take_all() noexcept {
        Released *const all = first_;
        first_ = nullptr;
        last_ = &first_;
        return all;
    }

  private:
    Released *first_ = nullptr;
    Released **last_ = &first_;
};

class Queue {
  public:
    bool start() noexcept {
        const std::lock_guard lock(mutex_);
        runs_ = runs_ || start_thread();
        return runs_;
    }

    void add(Released *released) noexcept {
        const std::lock_guard lock(mutex_);
        handed_over_.append(released);
        changed_.notify_all();
    }

    // Until all that is there now was asked once, and deleted if it was ready.
    void wait() noexcept {
        std::unique_lock lock(mutex_);
        if (!runs_) {
            return;
        }
        do { // what goes may hand over more
            const unsigned long long pass = begun_ + 1;
            wanted_ = pass;
            changed_.notify_all();
            changed_.wait(lock, [&] { return done_ >= pass; });
        } while (!handed_over_.empty());
    }

  private:
    using Milliseconds = std::chrono::milliseconds;
    static constexpr Milliseconds shortest{1}, longest{32};

    bool start_thread() noexcept {
        try {
            std::thread([this] { run(); }).detach();
            return true;
        } catch (const std::exception &) { // system_error, bad_alloc
            return false;
        }
    }

    [[noreturn]] void run() {
        std::unique_lock lock(mutex_);
        Milliseconds pause = shortest;
        for (;;) {
            const auto is_wanted = [this] { return !handed_over_.empty() || wanted_ > begun_; };
            if (not_ready_.empty()) {
                changed_.wait(lock, is_wanted);
            }
            // What is not ready gets ready unheard.
            if (!not_ready_.empty() && !changed_.wait_for(lock, pause, is_wanted)) {
                pause = std::min(2 * pause, longest);
            } else {
                pause = shortest;
            }
            pass(lock);
        }
    }

    void pass(std::unique_lock<std::mutex> &lock) {
        const unsigned long long number = ++begun_;
        Released *const aside = not_ready_.take_all();
        Released *const added = handed_over_.take_all();
        lock.unlock();
        delete_ready(aside);
        delete_ready(added);
        lock.lock();
        done_ = number;
        changed_.notify_all();
    }

    // On the thread alone, as not_ready_ is.
    void delete_ready(Released *each) {
        while (each != nullptr) {
            Released *const next = each->next;
            if (each->is_ready()) {
                delete each;
            } else {
                not_ready_.append(each);
            }
            each = next;
        }
    }

    std::mutex mutex_;
    std::condition_variable changed_;
    List handed_over_;
    List not_ready_;
    unsigned long long begun_ = 0, done_ = 0, wanted_ = 0; // passes over the lists
    bool runs_ = false;
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

} // namespace

bool prepare_release() noexcept {
    Queue *const own = queue();
    return own != nullptr && own->start();
}

void release_later(Released *released) noexcept {
    // None in the child of a fork that has no memory, and then the object is its parent's.
    if (Queue *const own = queue()) {
        own->add(released);
    }
}

// In a list that nobody reads, so that a leak checker finds it.
void release_never(Released *released) noexcept {
    static std::atomic<Released *> kept{nullptr};
    if (released != nullptr) {
        released->next = kept.load(std::memory_order_relaxed);
        while (!kept.compare_exchange_weak(released->next, released)) {
        }
    }
}

void wait_for_released() noexcept {
    if (Queue *const own = queue()) {
        own->wait();
    }
}

} // namespace cushim::detail
