/* CUDA contexts: streams, events, modules and most memory belong to one. */
#ifndef CUSHIM_CONTEXT_HPP
#define CUSHIM_CONTEXT_HPP

#include <cushim/detail/driver_headers.h>
#include <cushim/device.hpp>
#include <cushim/handle.hpp>

namespace cushim {

// The range of stream priorities of a device. Lower numbers are more urgent; 0 and 0 if the device
// has no priorities.
struct StreamPriorities {
    int least = 0;    // the largest number
    int greatest = 0; // the smallest number
};

/* Makes a context the thread's current one for a scope: for calls through the tables and for other
 * libraries. Wrappers do not need it; each enters the context that it works in.
 *
 * Scopes must end in the reverse order in which they began, on the same thread. A scope keeps its
 * context alive. In the child of a fork, the end of a scope that the parent began does nothing. */
class [[nodiscard]] ContextScope {
  public:
    // The source no longer ends the scope.
    ContextScope(ContextScope &&other) noexcept : pushed_(other.pushed_), kept_(other.kept_) {
        other.pushed_ = 0;
        other.kept_ = nullptr;
    }
    ContextScope &operator=(ContextScope &&) = delete;
    ~ContextScope() {
        if (pushed_ != 0) {
            leave(pushed_);
        }
        if (kept_ != nullptr) {
            detail::drop_owner(kept_);
        }
    }

    // Internal: programs call Context::enter(). Keeps `state` alive, the state of the context.
    CUSHIM_API static Result<ContextScope> enter(CUcontext context,
                                                 detail::State *state = nullptr) noexcept;

  private:
    CUSHIM_API ContextScope(unsigned int pushed, detail::State *state) noexcept;
    CUSHIM_API static void leave(unsigned int pushed) noexcept;

    // 0: the context was already current. Otherwise cushim_fork_generation() plus one, of the
    // process that pushed it.
    unsigned int pushed_;
    detail::State *kept_;
};

/* A CUDA context, owned or borrowed. Use primary contexts: the runtime API and other libraries work
 * in them, so objects can be used together. Every object keeps its context alive.
 *
 * Threads: see handle.hpp; const functions may run on several threads at the same time.
 * Context: see handle.hpp; only make_current() and enter() change the current one.
 * Errors: invalid_argument if the context is empty; the status of the CUDA call. */
class Context : public detail::Shared<Context, CUcontext> {
  public:
    Context() noexcept = default;

    // The device's primary context. Each call retains it once; owners made by share() use the same
    // retain. If the context is not active, it is created, which takes some hundred milliseconds.
    // Initialises the driver. cuDevicePrimaryCtxRetain, cuDevicePrimaryCtxRelease_v2.
    CUSHIM_API static Result<Context> primary(Device device) noexcept;

    // A new context, with CU_CTX_... flags. It does not become current. For isolation only: the
    // runtime API cannot use its objects. cuCtxCreate_v2, cuCtxPopCurrent_v2, cuCtxDestroy_v2.
    CUSHIM_API static Result<Context> create(Device device, unsigned int flags = 0) noexcept;

    // Owns a context from cuCtxCreate. cuCtxDestroy_v2.
    CUSHIM_API static Result<Context> adopt(CUcontext context) noexcept;

    // Does not own; the lender must keep the context alive.
    static Context borrow(CUcontext context) noexcept { return {context, nullptr}; }

    // Borrows the calling thread's current context; empty if no context is current.
    // cuCtxGetCurrent.
    CUSHIM_API static Result<Context> current() noexcept;

    // Makes the context current until the scope ends. cuCtxGetCurrent, cuCtxPushCurrent_v2,
    // cuCtxPopCurrent_v2.
    Result<ContextScope> enter() const noexcept {
        return ContextScope::enter(native(), detail::Access::state(*this));
    }

    // Makes this the calling thread's current context, until another call changes it.
    // cuCtxSetCurrent.
    CUSHIM_API Result<void> make_current() const noexcept;

    // The device of the context. cuCtxGetDevice.
    CUSHIM_API Result<Device> device() const noexcept;

    // Waits for all work in the context, and returns the failure of that work. cuCtxSynchronize.
    CUSHIM_API Result<void> synchronize() const noexcept;

    // A limit such as CU_LIMIT_STACK_SIZE, in bytes or as a count, depending on the limit. CUDA may
    // round the value that is set. cuCtxGetLimit, cuCtxSetLimit.
    CUSHIM_API Result<std::size_t> limit(CUlimit limit) const noexcept;
    CUSHIM_API Result<void> set_limit(CUlimit limit, std::size_t value) const noexcept;

    // The CU_CTX_... flags of the context. cuCtxGetFlags.
    CUSHIM_API Result<unsigned int> flags() const noexcept;

    // Free and total memory of the device, in bytes. cuMemGetInfo_v2.
    CUSHIM_API Result<MemoryInfo> memory_info() const noexcept;

    // The priorities that StreamOptions accepts. cuCtxGetStreamPriorityRange.
    CUSHIM_API Result<StreamPriorities> stream_priorities() const noexcept;

    // Lets kernels in this context access memory of the peer, in one direction.
    // CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED (704) if access is already enabled; disabling fails
    // with CUDA_ERROR_PEER_ACCESS_NOT_ENABLED (705) if it is not. cuCtxEnablePeerAccess,
    // cuCtxDisablePeerAccess.
    CUSHIM_API Result<void> enable_peer_access(const Context &peer) const noexcept;
    CUSHIM_API Result<void> disable_peer_access(const Context &peer) const noexcept;

    // Immediately destroys all objects in the device's primary context, including those of other
    // libraries. The end of this file says what happens to their owners. cushim does not notice a
    // reset by a direct CUDA call. cuDevicePrimaryCtxGetState, cuDevicePrimaryCtxReset_v2.
    CUSHIM_API static Result<void> reset_primary(Device device) noexcept;

  private:
    using Shared::Shared;
};

inline Text to_text(const Context &context) noexcept {
    return detail::text_of("Context", context);
}

} // namespace cushim

/* After Context::reset_primary():
 *
 * | what becomes of          |                                                                    |
 * |--------------------------|--------------------------------------------------------------------|
 * | owners of objects in it  | Their destructors do nothing. Any other use of them is undefined;  |
 * |                          | driver 580 crashes in calls on such streams.                       |
 * | graphs                   | They are not in the context: their destructors destroy them and    |
 * |                          | release what they keep.                                            |
 * | executable graphs        | They are in it. cushim does not destroy them: cuGraphExecDestroy   |
 * |                          | of driver 580 would not return. Resources that                     |
 * |                          | GraphExec::set_...() keeps alive are released.                     |
 * | owners of the context    | They fail with CUDA_ERROR_CONTEXT_IS_DESTROYED (709) until         |
 * |                          | primary() makes it active again; then all of them can be used.     |
 * |                          | After a fault, such as CUDA_ERROR_LAUNCH_FAILED (719), driver 580  |
 * |                          | returns CUDA_ERROR_DEVICE_UNAVAILABLE (46) instead.                |
 */

#endif
