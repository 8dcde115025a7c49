// One call of a runtime entry point, from its export to its status: faults and log, which are the
// driver's, the state of the process, and the thread's last error.
#pragma once

#include "runtime/base/failure.hpp"

#include "driver/process/runtime_hooks.hpp"

namespace sim::runtime {

class Call {
  public:
    // Runs one entry point: the body only where nothing forbids it.
    template <class Body>
    static cudaError_t run(const Row &row, const Argument *arguments, unsigned int count,
                           Body body) noexcept {
        Call call(row);
        cudaError_t status = call.enter(arguments, count);
        if (status == cudaSuccess) {
            status = call.guarded(body);
            if (status != cudaSuccess) {
                failed(status, arguments, count);
            }
        }
        return call.leave(status);
    }

    // The same for those that return no status, and need no driver.
    template <class Body>
    static auto run_for_value(const Row &row, const Argument *arguments, unsigned int count,
                              Body body) noexcept {
        Call call(row);
        (void)call.begin(arguments, count);
        auto value = body();
        (void)call.end(cudaSuccess);
        return value;
    }

    // The innermost of the calling thread; there is one wherever an entry point runs.
    static Call &current() noexcept;
    // Whether a null stream stands for the calling thread's own stream.
    bool per_thread_stream() const noexcept { return row_.per_thread != 0; }
    // Which life of the simulator it belongs to: what is kept from an older one is to be forgotten.
    std::uint64_t epoch() const noexcept { return epoch_; }
    // Whether a context was made current in this call already.
    bool has_context = false;
    // Its status is not to become the thread's last error.
    bool keeps_last_error = false;

    Call(const Call &) = delete;
    Call &operator=(const Call &) = delete;

  private:
    explicit Call(const Row &row) noexcept;
    ~Call();

    int begin(const Argument *arguments, unsigned int count) noexcept;
    int end(int status) noexcept;
    cudaError_t enter(const Argument *arguments, unsigned int count) noexcept;
    // What the body did not write, nobody may read.
    static void failed(cudaError_t status, const Argument *arguments, unsigned int count) noexcept;
    cudaError_t leave(cudaError_t status) noexcept;
    template <class Body>
    cudaError_t guarded(Body &body) noexcept {
        try {
            return body();
        } catch (const Failure &failure) {
            return failure.status;
        } catch (...) {
            return cudaErrorMemoryAllocation;
        }
    }

    const Row &row_;
    RuntimeFrame frame_; // in the driver's list while the call lasts
    Call *outer_;
    std::uint64_t epoch_ = 0;
};

} // namespace sim::runtime
