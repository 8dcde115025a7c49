// A call of a runtime entry point, from its export to its status: the driver's faults and log, the
// state of the process, and the thread's last error.
#pragma once

#include "runtime/base/failure.hpp"

#include "driver/base/export.hpp"
#include "driver/process/runtime_hooks.hpp"

namespace sim::runtime {

class Call {
  public:
    // Runs one entry point. The body runs unless the call fails before it begins.
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

    // The same for entry points that return no status and need no driver.
    template <class Body>
    static auto run_for_value(const Row &row, const Argument *arguments, unsigned int count,
                              Body body) noexcept {
        Call call(row);
        (void)call.begin(arguments, count);
        auto value = body();
        (void)call.end(cudaSuccess);
        return value;
    }

    // The calling thread's innermost call; one exists wherever an entry point runs.
    static Call &current() noexcept;
    // Whether a null stream means the per-thread default stream.
    bool per_thread_stream() const noexcept { return row_.per_thread != 0; }
    // The reset count of the simulator at this call; state from an older epoch is invalid.
    std::uint64_t epoch() const noexcept { return epoch_; }
    // Whether a context was already made current in this call.
    bool has_context = false;
    // Whether the thread's last error stays unchanged.
    bool keeps_last_error = false;

    Call(const Call &) = delete;
    Call &operator=(const Call &) = delete;

  private:
    explicit Call(const Row &row) noexcept;
    ~Call();

    int begin(const Argument *arguments, unsigned int count) noexcept;
    int end(int status) noexcept;
    cudaError_t enter(const Argument *arguments, unsigned int count) noexcept;
    // Poisons outputs that the body did not write.
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
    RuntimeFrame frame_; // linked into the driver's list during the call
    Call *outer_;
    std::uint64_t epoch_ = 0;
};

} // namespace sim::runtime
