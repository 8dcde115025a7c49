// One thread, started on first use, that runs until the process ends. A child of fork lacks its
// parent's threads: it starts its own and ignores what the parent had queued.
//
// Nothing here is ever destroyed, since the thread may outlive main().
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

// A singly linked list with append.
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

    // Blocks until every current entry was checked once, and deleted if it was ready.
    void wait() noexcept {
        std::unique_lock lock(mutex_);
        if (!runs_) {
            return;
        }
        do { // deleting an entry may add more
            const unsigned long long pass = begun_ + 1;
            wanted_ = pass;
            changed_.notify_all();
            changed_.wait(lock, [&] { return done_ >= pass; });
        } while (!handed_over_.empty());
    }

    // Blocks until nothing is left, at most for the given time; returns whether it is empty. A
    // closure that calls exit() runs on this very thread, which cannot wait for itself.
    bool wait_until_empty(std::chrono::milliseconds longest_wait) noexcept {
        std::unique_lock lock(mutex_);
        if (!runs_) {
            return true;
        }
        if (thread_ == std::this_thread::get_id()) {
            return false;
        }
        wanted_ = begun_ + 1; // entries that are not ready are checked immediately
        changed_.notify_all();
        return changed_.wait_for(lock, longest_wait, [this] { return is_empty(); });
    }

  private:
    using Milliseconds = std::chrono::milliseconds;
    static constexpr Milliseconds shortest{1}, longest{32};

    // During a pass, only the thread uses not_ready_.
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
            // Nothing signals that an entry becomes ready, so this polls.
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

    // Only on the thread, like not_ready_.
    void delete_ready(Released *each) {
        while (each != nullptr) {
            Released *const next = each->next;
            if (each->is_ready()) {
                delete each;
            } else if (each->is_lost()) {
                release_never(each);
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

// In static storage: ThreadSanitizer sees how memory is allocated even by a library that is not
// instrumented, but not the atomic through which other threads get the address.
alignas(Queue) unsigned char first_storage[sizeof(Queue)];
// 0, or the generation of the process that uses first_storage, plus one.
constinit std::atomic<unsigned int> first_user{0};

bool is_current(const Queue *queue) noexcept {
    return queue != nullptr && queue->generation == cushim_fork_generation();
}

// The queue of this process, or null. A parent's may be locked by a thread that this process lacks.
Queue *existing_queue() noexcept {
    Queue *const queue = current_queue.load(std::memory_order_acquire);
    return is_current(queue) ? queue : nullptr;
}

// Null if another process of the chain of forks uses first_storage.
Queue *first_queue() noexcept {
    const unsigned int own = cushim_fork_generation() + 1;
    unsigned int user = 0;
    if (first_user.compare_exchange_strong(user, own)) {
        current_queue.store(::new (first_storage) Queue);
        return existing_queue();
    }
    while (user == own && existing_queue() == nullptr) {
        std::this_thread::yield(); // until the thread that was first has stored it
    }
    return existing_queue();
}

// The queue of this process; null if its allocation fails.
Queue *queue() noexcept {
    if (Queue *const existing = existing_queue()) {
        return existing;
    }
    if (Queue *const first = first_queue()) {
        return first;
    }
    Queue *before = current_queue.load(std::memory_order_acquire);
    if (is_current(before)) {
        return before;
    }
    Queue *const made = new (std::nothrow) Queue;
    if (made == nullptr || current_queue.compare_exchange_strong(before, made)) {
        return made;
    }
    delete made;
    return before; // another thread of this process was first
}

// How long process exit waits for entries that are not released yet.
constexpr std::chrono::seconds longest_exit{2};

void release_at_exit() {
    Queue *const own = existing_queue();
    // On Windows, a DLL's exit handler runs after the thread has ended.
    if (own == nullptr || cushim_exiting() != 0) {
        return;
    }
    if (!own->wait_until_empty(longest_exit)) {
        report_teardown({Error::make({.status = CUDA_ERROR_TIMEOUT,
                                      .entry_point = "wait_for_released_closures"}),
                         0});
    }
}

} // namespace

bool prepare_release() noexcept {
    Queue *const own = queue();
    return own != nullptr && own->start();
}

void release_later(Released *released) noexcept {
    // Null only in a child of fork without memory, where the object belongs to the parent.
    if (Queue *const own = queue()) {
        own->add(released);
    }
}

// Adds it to a list that is never read, so that leak checkers find it.
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

void wait_at_exit(Api api) noexcept {
    if (!waits_at_exit[api == Api::runtime].exchange(true)) {
        std::atexit(release_at_exit);
    }
}

} // namespace cushim::detail
