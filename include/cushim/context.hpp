/* CUDA contexts: what objects on a device live in. */
#ifndef CUSHIM_CONTEXT_HPP
#define CUSHIM_CONTEXT_HPP

#include <cushim/device.hpp>
#include <cushim/driver_table.hpp>
#include <cushim/handle.hpp>

namespace cushim {

// Numerically lower is more urgent.
struct StreamPriorities {
    int least = 0;
    int greatest = 0;
};

/* Makes a context the thread's current one for a scope: for calls through the tables, and for other
 * libraries. Wrappers do not need it: each enters the context that it works in. Scopes end in the
 * reverse order in which they began, on the thread where they began. A scope keeps its context alive. In the
 * child of a fork the end of a parent's scope does nothing. */
class [[nodiscard]] ContextScope {
  public:
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

    // Internal: Context::enter() is for everyone else. Keeps `state`, if any, which is of the context.
    CUSHIM_API static Result<ContextScope> enter(CUcontext context,
                                                 detail::State *state = nullptr) noexcept;

  private:
    CUSHIM_API ContextScope(unsigned int pushed, detail::State *state) noexcept;
    CUSHIM_API static void leave(unsigned int pushed) noexcept;

    // 0: the context was current before. Otherwise cushim_fork_generation() plus one: that of the process which
    // pushed it.
    unsigned int pushed_;
    detail::State *kept_;
};

/* A context, owned or borrowed. Primary contexts are the ones to use: they are what the runtime API
 * and other libraries work in, and objects of both then fit together. Everything that is made in a
 * context keeps it alive.
 *
 * None of these functions changes the thread's current context, except make_current().
 *
 * Threads: the rules of handle.hpp; const functions may run on several threads at once.
 * Since CUDA 4.0 where nothing else is said. */
class Context : public detail::Shared<Context, CUcontext> {
  public:
    Context() noexcept = default;

    // The device's primary context, which every owner retains once. Creates it where it is not
    // active yet: some hundred milliseconds. Initialises the driver.
    // cuDevicePrimaryCtxRetain, cuDevicePrimaryCtxRelease_v2 (CUDA 11.0).
    CUSHIM_API static Result<Context> primary(Device device) noexcept;

    // A new one, with CU_CTX_... flags. Not current afterwards. For isolation only: the runtime API
    // does not see what is in it. cuCtxCreate_v2, cuCtxPopCurrent_v2, cuCtxDestroy_v2.
    CUSHIM_API static Result<Context> create(Device device, unsigned int flags = 0) noexcept;

    // Takes over a context that cuCtxCreate made; cuCtxDestroy_v2 when the last owner goes.
    CUSHIM_API static Result<Context> adopt(CUcontext context) noexcept;

    // Does not own: the lender keeps it alive.
    CUSHIM_API static Context borrow(CUcontext context) noexcept;

    // Borrows what is current on this thread; empty where nothing is. cuCtxGetCurrent.
    CUSHIM_API static Result<Context> current() noexcept;

    // Current until the scope goes. cuCtxGetCurrent, cuCtxPushCurrent_v2, cuCtxPopCurrent_v2.
    Result<ContextScope> enter() const noexcept {
        return ContextScope::enter(native(), detail::Access::state(*this));
    }

    // Makes it the thread's current context, for good. cuCtxSetCurrent.
    CUSHIM_API Result<void> make_current() const noexcept;

    // cuCtxGetDevice.
    CUSHIM_API Result<Device> device() const noexcept;

    // Waits for all work in the context. Errors: what that work failed with. cuCtxSynchronize.
    CUSHIM_API Result<void> synchronize() const noexcept;

    // Units depend on the limit: bytes, or a count. cuCtxGetLimit, cuCtxSetLimit.
    CUSHIM_API Result<std::size_t> limit(CUlimit limit) const noexcept;
    CUSHIM_API Result<void> set_limit(CUlimit limit, std::size_t value) const noexcept;

    // CU_CTX_... flags. cuCtxGetFlags, since CUDA 7.0.
    CUSHIM_API Result<unsigned int> flags() const noexcept;

    // Of this context's device. cuMemGetInfo_v2.
    CUSHIM_API Result<MemoryInfo> memory_info() const noexcept;

    // cuCtxGetStreamPriorityRange, since CUDA 5.5.
    CUSHIM_API Result<StreamPriorities> stream_priorities() const noexcept;

    // Lets kernels in this context access memory of the peer's; one direction. Enabling it twice is
    // status 704, disabling what is not enabled 705. cuCtxEnablePeerAccess, cuCtxDisablePeerAccess.
    CUSHIM_API Result<void> enable_peer_access(const Context &peer) const noexcept;
    CUSHIM_API Result<void> disable_peer_access(const Context &peer) const noexcept;

    // Destroys everything in the device's primary context, whoever made it, on the spot. Destructors
    // of owners that were in it know, and do nothing; anything else that uses them is undefined: driver
    // 580 crashes in calls on such streams. Graphs are not in it: their destructors destroy them, and release what
    // they kept. Executable graphs are: they are not destroyed, as driver 580 does not return from that call, and
    // what was set in them is released. Resets by other means than this function are not known
    // here. Owners of the context itself stay, and answer 709 until primary() makes it active again: then all of
    // them can be used. After a fault (recorded: status 719) it does not: driver 580 answers 46 then.
    // cuDevicePrimaryCtxGetState (CUDA 7.0), cuDevicePrimaryCtxReset_v2 (CUDA 11.0).
    CUSHIM_API static Result<void> reset_primary(Device device) noexcept;

  private:
    using Shared::Shared;
};

inline Text to_text(const Context &context) noexcept {
    return detail::text_of("Context", context);
}

} // namespace cushim

#endif
