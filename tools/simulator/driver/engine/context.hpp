// Contexts: each thread's context stack, the objects bound to a context, and its sticky error.
//
// A green context has a context of its own, with its own id and streams. Everything else that is
// made while it is current, and all other state, belongs to its owner, the primary context.
#pragma once

#include "engine/memory.hpp"
#include "engine/object.hpp"

#include <array>
#include <set>
#include <utility>
#include <vector>

struct CUstream_st;
namespace sim {
struct Device;
}
struct CUgreenCtx_st;

struct CUctx_st final : sim::Object {
    explicit CUctx_st(CUdevice device, bool primary);
    CUctx_st(CUctx_st &owner, CUgreenCtx_st &green);
    static constexpr sim::Kind own_kind = sim::Kind::context;
    static bool is(sim::Kind kind) noexcept { return kind == own_kind; }

    CUdevice device;
    bool primary;
    // Primary context after its reset or last release, or green context that was destroyed: its
    // handle stays valid, and calls return 709.
    bool destroyed = false;
    bool ending = false;    // being destroyed: accepts no more work
    unsigned int users = 0; // InUse
    unsigned int flags = 0;
    unsigned long long id = 0;
    unsigned int attached = 1;      // created context: number of cuCtxCreate and cuCtxAttach
    unsigned int generation = 0;    // primary context: incremented when it is revived
    CUresult sticky = CUDA_SUCCESS; // a fault of enqueued work; every later call returns it
    std::array<std::size_t, 16> limits{};
    int cache_config = 0;
    int shared_config = 0;
    // Contexts whose memory it may access, and contexts that may access its memory, with their
    // devices.
    std::set<std::pair<CUdevice, CUctx_st *>> peers, peer_of;
    // What is bound to it.
    sim::BoundObjects objects;
    sim::BoundRanges ranges;
    CUgreenCtx_st *const green = nullptr; // null: not the context of a green context
    std::vector<CUctx_st *> greens;       // primary context: those of its green contexts that live
};

namespace sim {

using Context = CUctx_st;

// Reasons in the error log, for status 201 and for the status of a fault.
constexpr char no_context[] = "No CUDA context is current to the calling thread";
constexpr char sticky_error[] = "Sticky error detected";

// The calling thread's stack; its last entry is current. Entries may be destroyed contexts, see
// current_context().
std::vector<Context *> &context_stack();
// Clears the stacks of all threads, at a reset.
void forget_context_stacks();

// The current context. Fails with 201 without one, with 709 if it was reset or destroyed, and
// after a fault with the status of the fault.
Context &current_exact_context();
// Its owner.
Context &current_context();
// The context that owns what is made in this one: the primary context for that of a green context,
// which may be destroyed; otherwise the same.
Context &owner_of(Context &context) noexcept;
// The status of a fault of the context, for calls that end an object of it; with a reason.
CUresult fault_of(const Context *context) noexcept;
// The current context or null. Do not dereference it: another thread may have destroyed it.
Context *current_or_null() noexcept;
// The owner of the current context, or null if it does not exist or was destroyed.
Context *living_current() noexcept;
// The device of the current context; the first device without one.
CUdevice current_device() noexcept;
// Whether the current context has been destroyed.
bool current_has_ended() noexcept;
// Fails for a context that is not usable, with its status.
void check_usable(const Context &context);
// The same after the lock was released, when the context may have been destroyed.
void check_still_usable(const Context *context);
// Null fails with 201. Recorded: some calls return 201 for a destroyed context, too.
Context &checked_context(CUcontext handle, CUresult destroyed = CUDA_ERROR_CONTEXT_IS_DESTROYED);
// Null means the current context.
Context &context_or_current(CUcontext handle);

// A fault of its work: every later call returns it. Some faults also fail contexts of other
// devices.
void fail_context(Context &context, CUresult status);

// The green context of this context is destroyed.
void end_green(Context &context);
// For calls that do not check the contexts that they are passed otherwise: 709 if this context, or
// its green context, was destroyed.
void refuse_destroyed(CUcontext handle);

// Makes a context current for a scope, for work that runs on its behalf.
class ContextScope {
  public:
    explicit ContextScope(Context &context);
    ~ContextScope();
    ContextScope(const ContextScope &) = delete;
    ContextScope &operator=(const ContextScope &) = delete;
};

// `from` may access the memory of `to` after this call. Returns false if it may already.
bool enable_peer(Context &from, Context &to);
// Returns false if it may not.
bool disable_peer(Context &from, Context &to);
bool is_peer(const Context &from, const Context &to);
// Whether it may access the memory of a context of the device.
bool has_peer_on(const Context &from, CUdevice device);

// Destroys everything that is bound to the context: streams (after their work), events, memory…
void tear_down(Context &context);
// Releases the lock until no thread is tearing down the device's primary context.
void await_end_of(Device &device);
// The live primary context of a device, created if necessary. Does not count as a retain.
Context &primary_context(Device &device);
// Whether a live context of the device was created by cuCtxCreate.
bool has_created_context(CUdevice device);
// Flags that older headers lack.
constexpr unsigned int core_dump = 0x20, core_dump_on_request = 0x40,
                       synchronous_memory_operations = 0x80;
// Fails for flags that no driver accepts.
void check_context_flags(unsigned int flags);
// Some flags keep the value that they had when the context was created.
void change_flags(Context &context, unsigned int flags);
// Creates a context, for cuCtxCreate.
Context &create_context(CUdevice device, unsigned int flags);

} // namespace sim
