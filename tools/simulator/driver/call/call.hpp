// A call of an entry point, from its export to its status: life cycle, faults, log, lock.
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

// A row of the entry-point tables.
struct Row {
    const char *name;    // exported name
    const char *base;    // without _v2 and _ptsz
    const void *address; // address of the export
    int introduced;      // CUDA version, 0 if unknown
    unsigned short abi;  // 1, 2, 3, …
    char per_thread;     // 0, 'd' (_ptds), 'z' (_ptsz)
    bool simulated;
    bool any_time;       // may be called before cuInit, during exit and in a child of fork
    unsigned int number; // index; runtime rows follow the driver's rows
};
extern const Row driver_rows[];
extern const unsigned int driver_row_count;

// The lock of the whole simulator. Every entry point runs under it. Code that blocks or calls the
// client releases it meanwhile (Unlocked).
class Lock {
  public:
    static std::mutex &mutex();
    static std::condition_variable &changed(); // notified when enqueued work may be able to run
    // Takes the lock in an exit handler, however long its owner keeps it. Returns false if the
    // owner may never release it and has not done so for a while: see call.cpp.
    static bool take_at_exit();
};

// Releases the calling thread's lock for a scope.
class Unlocked {
  public:
    Unlocked() { Lock::mutex().unlock(); }
    ~Unlocked() { Lock::mutex().lock(); }
    Unlocked(const Unlocked &) = delete;
    Unlocked &operator=(const Unlocked &) = delete;
};

// The calling thread's current call.
class Call {
  public:
    // Runs one entry point. The body runs unless the call fails before it begins.
    template <class Body>
    static CUresult run(const Row &row, const Argument *arguments, unsigned int count,
                        Body body) noexcept {
        Call call(row, arguments, count);
        CUresult status = call.enter();
        if (status == CUDA_SUCCESS && !call.has_status_) {
            status = call.guarded(body);
        }
        return call.leave(status);
    }

    // The next call gets number 1.
    static void restart() noexcept;
    // The number of a call that begins. The caller holds the lock.
    static std::uint64_t next_number() noexcept;

    // Null outside any call, as in a worker thread of the simulator.
    static Call *current() noexcept;

    // The client's call: inside a runtime call, the name and number of the runtime call.
    const char *name() const noexcept { return name_; }
    std::uint64_t number() const noexcept { return number_; }
    // The entry point that runs, without _v2 and _ptsz.
    const char *base() const noexcept { return row_.base; }
    // Whether a null stream means the per-thread default stream.
    bool per_thread_stream() const noexcept { return row_.per_thread != 0; }
    // The status that work enqueued by this call must fail with; CUDA_SUCCESS without such a fault.
    CUresult take_async_fault() noexcept;

    Call(const Call &) = delete;
    Call &operator=(const Call &) = delete;

  private:
    Call(const Row &row, const Argument *arguments, unsigned int count) noexcept
        : row_(row), arguments_(arguments), count_(count) {}

    // Takes the lock. Returns the status of a call that must fail before it begins.
    CUresult enter() noexcept;
    // Records the status and releases the lock.
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
    bool has_status_ = false; // the status was determined before the body ran
    PlannedFault fault_;
    Call *outer_ = nullptr;
};

// Whether the calling thread runs a host function or a stream callback, where API calls return
// NOT_PERMITTED.
bool &in_host_function() noexcept;
constexpr char host_function_calls[] =
    "CUDA driver does not allow certain callbacks to invoke its APIs";

} // namespace sim
