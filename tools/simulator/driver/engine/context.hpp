// Contexts: the stack of every thread, what is bound to a context, and its sticky error.
#pragma once

#include "engine/object.hpp"

#include <array>
#include <set>
#include <vector>

struct CUstream_st;
namespace sim {
struct Device;
}
struct CUgreenCtx_st;

struct CUctx_st final : sim::Object {
    explicit CUctx_st(CUdevice device, bool primary);
    static constexpr sim::Kind own_kind = sim::Kind::context;
    static bool is(sim::Kind kind) noexcept { return kind == own_kind; }

    CUdevice device;
    bool primary;
    bool destroyed = false; // a primary context after its reset or last release: calls answer 709
    bool ending = false;    // its work is waited for: it takes no more
    unsigned int users = 0; // InUse
    unsigned int flags = 0;
    unsigned long long id = 0;
    unsigned int attached = 1;      // of a created context: cuCtxCreate and cuCtxAttach
    unsigned int generation = 0;    // of a primary context: grows when it comes to life again
    CUresult sticky = CUDA_SUCCESS; // a fault of queued work: every later call answers it
    std::array<std::size_t, 16> limits{};
    int cache_config = 0;
    int shared_config = 0;
    std::set<CUctx_st *> peers; // whose memory it may use
};

namespace sim {

using Context = CUctx_st;

// The calling thread's stack; its last is current. Entries may be dead: see current_context().
std::vector<Context *> &context_stack();
// At a reset: those of all threads.
void forget_context_stacks();

// The current context. Refuses: none 201, reset or destroyed 709, after a fault the fault's code.
Context &current_context();
// The current one or null. Not to be looked into: another thread may have ended it.
Context *current_or_null() noexcept;
// The current one, or null where there is none or it was destroyed.
Context *living_current() noexcept;
// Its device; where there is none, the first, which stands for any.
CUdevice current_device() noexcept;
// Whether there is a current one, but it has ended.
bool current_has_ended() noexcept;
// Refuses what a context that is not usable refuses.
void check_usable(const Context &context);
// The same where the lock was given up since it was known to live.
void check_still_usable(const Context *context);
Context &checked_context(CUcontext handle); // INVALID_CONTEXT 201; a dead one 709

// A fault of its work: every later call answers it. Some take the contexts of other devices along.
void fail_context(Context &context, CUresult status);

// Makes a context current for a scope, as work that runs on behalf of one.
class ContextScope {
  public:
    explicit ContextScope(Context &context);
    ~ContextScope();
    ContextScope(const ContextScope &) = delete;
    ContextScope &operator=(const ContextScope &) = delete;
};

// Destroys everything that is bound to the context: streams (their work done first), events,
// memory…
void tear_down(Context &context);
// Gives up the lock until no thread tears it down.
void await_end_of(Device &device);
// The primary context of a device, alive, without retaining it for anybody (makes one where
// needed).
Context &primary_context(Device &device);
// Whether cuCtxCreate made one of the device that lives.
bool has_created_context(CUdevice device);
// Refuses flags that no driver knows.
void check_context_flags(unsigned int flags);
// Makes a context that cuCtxCreate made.
Context &create_context(CUdevice device, unsigned int flags);

} // namespace sim
