// One thread, started at the first need and running for the process's life. A child of a fork has
// none of its parent's threads: it starts its own, and leaves what the parent had queued.
//
// Nothing here is ever destroyed: the thread may outlive main().
#include "release_later.hpp"

#include <cushim/detail/loader.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <new>
#include <thread>

#include <cushim/driver_table.hpp>

#include "state.hpp"

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
    const unsigned int generation = cushim_fork_generation();

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

    // Until nothing is left, at most for so long; returns whether that is so. A closure that calls
    // exit() is on the thread itself, which cannot wait for its own end.
    bool wait_until_empty(std::chrono::milliseconds longest_wait) noexcept {
        std::unique_lock lock(mutex_);
        if (!runs_) {
            return true;
        }
        if (thread_ == std::this_thread::get_id()) {
            return false;
        }
        wanted_ = begun_ + 1; // what is not ready is asked at once
        changed_.notify_all();
        return changed_.wait_for(lock, longest_wait, [this] { return is_empty(); });
    }

  private:
    using Milliseconds = std::chrono::milliseconds;
    static constexpr Milliseconds shortest{1}, longest{32};

    // not_ready_ is the thread's alone while a pass is under way.
    bool is_empty() const noexcept {
        return handed_over_.empty() && begun_ == done_ && not_ready_.empty();
    }

    bool start_thread() noexcept {
        try {
            std::thread thread([this] { run(); });
            thread_ = thread.get_id();
            thread.detach();
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
    std::thread::id thread_;
};

constinit std::atomic<Queue *> current_queue{nullptr};

// The queue of this process, or null. A parent's may be locked by a thread that this process lacks.
Queue *existing_queue() noexcept {
    Queue *const queue = current_queue.load(std::memory_order_acquire);
    return queue != nullptr && queue->generation == cushim_fork_generation() ? queue : nullptr;
}

// The queue of this process; null if its allocation fails.
Queue *queue() noexcept {
    Queue *before = current_queue.load(std::memory_order_acquire);
    if (before != nullptr && before->generation == cushim_fork_generation()) {
        return before;
    }
    Queue *const made = new (std::nothrow) Queue;
    if (made == nullptr || current_queue.compare_exchange_strong(before, made)) {
        return made;
    }
    delete made;
    return before; // another thread of this process was faster
}

// How long a process's exit waits for what is not released yet.
constexpr std::chrono::seconds longest_exit{2};

void release_at_exit() {
    Queue *const own = existing_queue();
    // On Windows a DLL's handler runs when the thread is gone already.
    if (own == nullptr || cushim_exiting() != 0) {
        return;
    }
    if (!own->wait_until_empty(longest_exit)) {
        report_teardown({CUDA_ERROR_TIMEOUT, "wait_for_released_closures"});
    }
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
    if (Queue *const own = existing_queue()) {
        own->wait();
    }
}

void release_before_exit() noexcept {
    static constinit std::atomic<bool> is_registered{false};
    if (!is_registered.exchange(true)) {
        std::atexit(release_at_exit);
    }
}

} // namespace cushim::detail
