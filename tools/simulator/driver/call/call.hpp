// One call of an entry point, from its export to its status: life cycle, faults, log, lock.
#pragma once

#include "base/argument.hpp"
#include "base/cuda_headers.hpp"
#include "base/export.hpp"
#include "base/planned_fault.hpp"
#include "base/refusal.hpp"

#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace sim {

// A row of the tables.
struct Row {
    const char *name;    // exported
    const char *base;    // without _v2 and _ptsz
    const void *address; // of the export
    int introduced;      // CUDA version, 0 where it is not known
    unsigned short abi;  // 1, 2, 3, …
    char per_thread;     // 0, 'd' (_ptds), 'z' (_ptsz)
    bool simulated;
    bool any_time;       // may be called before cuInit, after exit has begun, in a child of fork
    unsigned int number; // its index, plus that of the driver's rows for a row of the runtime
};
extern const Row driver_rows[];
extern const unsigned int driver_row_count;

// The lock of the whole simulator. Every entry point runs under it; what blocks or calls back into
// the client gives it up for so long (Unlocked).
class Lock {
  public:
    static std::mutex &mutex();
    static std::condition_variable &changed(); // notified whenever queued work may go on
    // Takes it in a handler of the process's exit, however long the thread that has it goes on.
    // False where that one may never give it back, and did not for a while: see there.
    static bool take_at_exit();
};

// Gives up the lock of the calling thread for a scope.
class Unlocked {
  public:
    Unlocked() { Lock::mutex().unlock(); }
    ~Unlocked() { Lock::mutex().lock(); }
    Unlocked(const Unlocked &) = delete;
    Unlocked &operator=(const Unlocked &) = delete;
};

// The call that the calling thread is in.
class Call {
  public:
    // Runs one entry point: the body only where nothing forbids it.
    template <class Body>
    static CUresult run(const Row &row, const Argument *arguments, unsigned int count,
                        Body body) noexcept {
        Call call(row, arguments, count);
        CUresult status = call.enter();
        if (status == CUDA_SUCCESS && !call.answered_) {
            status = call.guarded(body);
        }
        return call.leave(status);
    }

    // Numbers begin at 1 again.
    static void restart() noexcept;
    // Of a call that begins. With the lock held.
    static std::uint64_t next_number() noexcept;

    // Null outside any call, as in a worker thread of the simulator.
    static Call *current() noexcept;

    // As the client made it: within a call of the runtime, that one's name and number.
    const char *name() const noexcept { return name_; }
    std::uint64_t number() const noexcept { return number_; }
    // Whether a null stream stands for the calling thread's own stream.
    bool per_thread_stream() const noexcept { return row_.per_thread != 0; }
    // What work that this call queues has to fail with; CUDA_SUCCESS where no fault is planned.
    CUresult take_async_fault() noexcept;

    Call(const Call &) = delete;
    Call &operator=(const Call &) = delete;

  private:
    Call(const Row &row, const Argument *arguments, unsigned int count) noexcept
        : row_(row), arguments_(arguments), count_(count) {}

    // Takes the lock; says with what the call is refused before it begins.
    CUresult enter() noexcept;
    // Notes the status and gives up the lock.
    CUresult leave(CUresult status) noexcept;
    template <class Body>
    CUresult guarded(Body &body) noexcept {
        try {
            return body();
        } catch (const Refusal &refusal) {
            return refusal.status;
        } catch (...) {
            return CUDA_ERROR_OUT_OF_MEMORY;
        }
    }

    const Row &row_;
    const Argument *arguments_;
    unsigned int count_;
    const char *name_ = row_.name;
    std::uint64_t number_ = 0;
    bool answered_ = false; // before the body
    PlannedFault fault_;
    Call *outer_ = nullptr;
};

// Whether the calling thread runs a host function or a callback of a stream: calls of the API from
// there answer NOT_PERMITTED.
bool &in_host_function() noexcept;

} // namespace sim
