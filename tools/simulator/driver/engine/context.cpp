#include "engine/context.hpp"
#include "base/immortal.hpp"
#include "call/call.hpp"
#include "call/misuse.hpp"
#include "call/startup.hpp"
#include "engine/capture.hpp"
#include "engine/device.hpp"
#include "engine/engine.hpp"
#include "engine/memory.hpp"
#include "engine/open_calls.hpp"
#include "engine/stream.hpp"

#include <algorithm>
#include <memory>
#include <mutex>

namespace {

unsigned long long next_id() {
    static unsigned long long ids = 0;
    return ++ids;
}

} // namespace

CUctx_st::CUctx_st(CUdevice ordinal, bool is_primary)
    : Object(own_kind), device(ordinal), primary(is_primary) {
    id = next_id();
    counted = !is_primary; // the device owns its primary context
    // As recorded: stack, printf, heap, (synchronization depth), pending launches, L2 fetch,
    // persisting L2, shared memory, interleaving.
    limits = {1024, 8650752, 8388608, 0, 2048, 64, 11796480, 232448, 0};
}

CUctx_st::CUctx_st(CUctx_st &owner, CUgreenCtx_st &its_green)
    : Object(own_kind), device(owner.device), primary(false), green(&its_green) {
    id = next_id();
    counted = false; // the green context owns it
    context = &owner;
    owner.greens.push_back(this);
}

namespace sim {
namespace {

// The context stack of one thread. It stays when the thread ends, since destructors of thread-local
// objects (and of static objects in the main thread) may still make calls. A reset deletes it.
struct Stack {
    std::vector<Context *> entries;
    const unsigned long long restart = restarts();
};

std::vector<std::unique_ptr<Stack>> &stacks() noexcept {
    static Immortal<std::vector<std::unique_ptr<Stack>>> all;
    return *all;
}

// The calling thread's stack, or null if it has had none since the reset.
Stack *&own_stack() noexcept {
    struct Own {
        Stack *stack;
        unsigned long long restart;
    };
    static constinit thread_local Own own{nullptr, 0};
    if (const auto now = restarts(); own.restart != now) {
        own = {nullptr, now};
    }
    return own.stack;
}

// After a fault, the process can no longer use the device once the context is gone. This was
// recorded for the reset of a primary context. Created contexts behave the same here, since CUDA
// documents for such errors that the process must be terminated.
void check_available(const Device &on) {
    constexpr auto device_unavailable = static_cast<CUresult>(46);
    require(!on.failed, device_unavailable);
}

// Recorded with two devices: after 719 in the primary context of one, that of the other returns 719
// too, whether they are peers or not, and does not set memory. A created context is only assumed to
// affect primary contexts. Other cases were not recorded and have no effect on other contexts:
// other faults, contexts of the same device, contexts that are created or revived later.
bool takes_other_devices(CUresult status) {
    return status == CUDA_ERROR_LAUNCH_FAILED;
}

void wait_for_change() {
    std::unique_lock lock(Lock::mutex(), std::adopt_lock);
    Lock::changed().wait(lock);
    lock.release();
}

// Waits until nothing is enqueued and no call of another thread is about to enqueue more.
void finish_work(Context &context) {
    for (;;) {
        try {
            wait_context(context);
        } catch (const Refusal &) { // errors of a context that is torn down are not reported
            forget_reasons();
        }
        if (context.users == 0) {
            return;
        }
        wait_for_change();
    }
}

// Neither the context nor any other may access the other's memory any more.
void forget_peers(Context &context) {
    const std::pair own(context.device, &context);
    for (const auto &[device, peer] : context.peers) {
        peer->peer_of.erase(own);
    }
    for (const auto &[device, peer] : context.peer_of) {
        peer->peers.erase(own);
    }
    context.peers.clear();
    context.peer_of.clear();
}

// Destroys everything that is bound to the context, after its work. The context itself stays.
void empty(Context &context) {
    context.ending = true;
    if (!context.primary && context.green == nullptr) {
        --device(context.device).created_contexts;
    }
    finish_work(context);
    leave_captures(context);
    AddressSpace::get().remove_all_of(context);
    forget_peers(context);
    while (!context.greens.empty()) {
        end_green(*context.greens.back());
    }
    Registry::get().destroy_all_of(context);
}

} // namespace

std::vector<Context *> &context_stack() {
    Stack *&own = own_stack();
    if (own == nullptr) {
        own = stacks().emplace_back(std::make_unique<Stack>()).get();
    }
    return own->entries;
}

void forget_context_stacks() {
    std::erase_if(stacks(), [](const auto &stack) { return stack->restart != restarts(); });
}

Context *current_or_null() noexcept {
    const Stack *own = own_stack();
    return own == nullptr || own->entries.empty() ? nullptr : own->entries.back();
}

Context *living_current() noexcept {
    Context *context = current_or_null();
    const bool living = context != nullptr && Registry::get().find(context) == context;
    return living ? &owner_of(*context) : nullptr;
}

CUdevice current_device() noexcept {
    const Context *context = living_current();
    return context != nullptr ? context->device : 0;
}

bool current_has_ended() noexcept {
    const Context *context = living_current();
    return context != nullptr ? context->destroyed || context->ending
                              : current_or_null() != nullptr;
}

Context &owner_of(Context &context) noexcept {
    return context.green != nullptr ? *context.context : context;
}

void check_usable(const Context &exact) {
    const Context &context = exact.green != nullptr ? *exact.context : exact;
    // Its last work still uses it.
    const bool ended = exact.destroyed || context.destroyed || (context.ending && !executing());
    require(!ended, CUDA_ERROR_CONTEXT_IS_DESTROYED);
    require(context.sticky == CUDA_SUCCESS, context.sticky, sticky_error);
}

void check_still_usable(const Context *context) {
    require(Registry::get().find(context) == context, CUDA_ERROR_CONTEXT_IS_DESTROYED);
    check_usable(*context);
}

Context &current_exact_context() {
    Context *context = current_or_null();
    require(context != nullptr, CUDA_ERROR_INVALID_CONTEXT, no_context);
    // cuCtxDestroy destroyed this context while it was current in another thread.
    require(Registry::get().find(context) == context, CUDA_ERROR_CONTEXT_IS_DESTROYED);
    check_usable(*context);
    return *context;
}

Context &current_context() {
    return owner_of(current_exact_context());
}

CUresult fault_of(const Context *context) noexcept {
    const CUresult status = context != nullptr ? context->sticky : CUDA_SUCCESS;
    if (status != CUDA_SUCCESS) {
        explain(sticky_error);
    }
    return status;
}

Context &checked_context(CUcontext handle, CUresult destroyed) {
    return checked<Context>(handle, handle == nullptr ? CUDA_ERROR_INVALID_CONTEXT : destroyed);
}

Context &context_or_current(CUcontext handle) {
    if (handle == nullptr) {
        return current_exact_context();
    }
    Context &context = checked_context(handle);
    check_usable(context);
    return context;
}

void fail_context(Context &context, CUresult status) {
    if (context.sticky != CUDA_SUCCESS) {
        return;
    }
    context.sticky = status;
    note_failed(context);
    if (!takes_other_devices(status)) {
        return;
    }
    Registry::get().for_each([&](Object &object) {
        if (object.kind != Kind::context) {
            return;
        }
        auto &other = static_cast<Context &>(object);
        if (other.device != context.device && !other.destroyed && other.sticky == CUDA_SUCCESS) {
            other.sticky = status;
            note_failed(other);
        }
    });
}

void end_green(Context &context) {
    context.destroyed = true;
    std::erase(owner_of(context).greens, &context);
    forget_streams(context);
}

void refuse_destroyed(CUcontext handle) {
    if (handle != nullptr) {
        const Context &context = checked_context(handle);
        require(context.green == nullptr || !context.destroyed, CUDA_ERROR_CONTEXT_IS_DESTROYED);
    }
}

ContextScope::ContextScope(Context &context) {
    context_stack().push_back(&context);
}

ContextScope::~ContextScope() {
    if (Stack *own = own_stack();
        own != nullptr && !own->entries.empty()) { // none if the simulator was reset meanwhile
        own->entries.pop_back();
    }
}

bool enable_peer(Context &from, Context &to) {
    const bool is_new = from.peers.insert({to.device, &to}).second;
    to.peer_of.insert({from.device, &from});
    return is_new;
}

bool disable_peer(Context &from, Context &to) {
    to.peer_of.erase({from.device, &from});
    return from.peers.erase({to.device, &to}) == 1;
}

bool is_peer(const Context &from, const Context &to) {
    return from.peers.contains({to.device, const_cast<Context *>(&to)});
}

bool has_peer_on(const Context &from, CUdevice device) {
    const auto first = from.peers.lower_bound({device, nullptr});
    return first != from.peers.end() && first->first == device;
}

void tear_down(Context &context) {
    empty(context);
    if (context.sticky != CUDA_SUCCESS) {
        device(context.device).failed = true;
    }
    if (context.primary) {
        context.destroyed = true;
        context.ending = false;
        context.sticky = CUDA_SUCCESS;
        device(context.device).primary_flags = 0;
    } else {
        forget_streams(context);
        Registry::get().destroy(&context);
    }
    Lock::changed().notify_all();
}

void await_end_of(Device &on) {
    while (on.primary != nullptr && on.primary->ending) {
        wait_for_change();
    }
}

// Recorded: a primary context always maps host memory, and the flag for core dumps on request has
// no effect on it.
static unsigned int flags_of_primary(const Device &on) {
    return CU_CTX_MAP_HOST | (on.primary_flags & ~core_dump_on_request);
}

Context &primary_context(Device &on) {
    if (on.primary == nullptr || on.primary->destroyed) {
        check_available(on);
    }
    if (on.primary == nullptr) {
        on.primary = Registry::get().make<Context>(on.ordinal, true);
        on.primary->flags = flags_of_primary(on);
    }
    if (on.primary->destroyed) {
        on.primary->destroyed = false;
        on.primary->flags = flags_of_primary(on);
        ++on.primary->generation;
    }
    return *on.primary;
}

void check_context_flags(unsigned int flags) {
    require((flags & ~static_cast<unsigned int>(CU_CTX_FLAGS_MASK)) == 0);
    const unsigned int schedule = flags & CU_CTX_SCHED_MASK;
    require(schedule == CU_CTX_SCHED_AUTO || schedule == CU_CTX_SCHED_SPIN ||
            schedule == CU_CTX_SCHED_YIELD || schedule == CU_CTX_SCHED_BLOCKING_SYNC);
}

void change_flags(Context &context, unsigned int flags) {
    constexpr unsigned int lasting = CU_CTX_MAP_HOST | core_dump | core_dump_on_request;
    context.flags = (context.flags & lasting) | (flags & ~lasting);
}

bool has_created_context(CUdevice ordinal) {
    return device(ordinal).created_contexts != 0;
}

Context &create_context(CUdevice ordinal, unsigned int flags) {
    check_available(device(ordinal));
    Context *context = Registry::get().make<Context>(ordinal, false);
    context->flags =
        (flags & core_dump_on_request) != 0 ? (flags & ~core_dump_on_request) | core_dump : flags;
    ++device(ordinal).created_contexts;
    return *context;
}

} // namespace sim
