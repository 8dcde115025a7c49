// Host functions in streams. Graphs keep captured ones; others run once and are destroyed on a
// cushim thread.
//
// CUDA is passed a number instead of a pointer. A failed call may have enqueued the callback
// nevertheless. Its number is then no longer known, and the callback does nothing. An address could
// be reused for a later function.
#include <cushim/stream.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
#include <new>
#include <utility>

#include "base/call.hpp"
#include "base/fork_guard.hpp"
#include "base/release_later.hpp"
#include "kept_resources.hpp"
#include "state.hpp"

namespace cushim::detail {
namespace {

struct EnqueuedFunction final : Released {
    explicit EnqueuedFunction(OwnedClosure &&of) noexcept : closure(std::move(of)) {}

    const OwnedClosure closure;
    std::uintptr_t number = 0;
    EnqueuedFunction *next_known = nullptr;
};

// Chained through the functions, so that no memory is needed.
constexpr std::size_t chains = 256;
constinit EnqueuedFunction *first[chains] = {};
constinit std::uintptr_t last_number = 0;
constinit ForkLock known_lock = {};

std::uintptr_t know(EnqueuedFunction &function) noexcept {
    const LockGuard guard(known_lock);
    function.number = ++last_number;
    EnqueuedFunction *&chain = first[function.number % chains];
    function.next_known = chain;
    chain = &function;
    return function.number;
}

// Null if it was taken before.
std::unique_ptr<EnqueuedFunction> take(std::uintptr_t number) noexcept {
    const LockGuard guard(known_lock);
    for (EnqueuedFunction **at = &first[number % chains]; *at != nullptr; at = &(*at)->next_known) {
        if ((*at)->number == number) {
            EnqueuedFunction *const found = *at;
            *at = found->next_known;
            return std::unique_ptr<EnqueuedFunction>(found);
        }
    }
    return nullptr;
}

// The older kind of callback also runs after failures, so the closure is not leaked.
void CUDA_CB run_host_function(CUstream, CUresult status, void *user) {
    auto function = take(reinterpret_cast<std::uintptr_t>(user));
    if (!function) {
        return;
    }
    if (status == CUDA_SUCCESS) {
        function->closure();
    }
    release_later(function.release());
}

// On failure, the closure is destroyed without being called, even if CUDA enqueued it.
Result<void> enqueue_host_function(CUstream stream, OwnedClosure &&closure) noexcept {
    CUSHIM_TRY_VOID(require_release_thread());
    auto *const function = new (std::nothrow) EnqueuedFunction(std::move(closure));
    if (function == nullptr) {
        return no_host_memory();
    }
    const std::uintptr_t number = know(*function);
    Result<void> enqueued = call<entry::cuStreamAddCallback>(stream, run_host_function,
                                                             reinterpret_cast<void *>(number), 0);
    if (!enqueued) {
        take(number).reset();
    }
    return enqueued;
}

// A captured function is called in every launch, and the graph keeps it alive.
Result<void> capture_closure(const Stream &stream, const Closure &closure) noexcept {
    NewUses uses({{}, &closure});
    CUSHIM_TRY(const CaptureInProgress capture, capture_in(stream.native()));
    if (GraphState *const graph = target_of(capture).graph) {
        CUSHIM_TRY_VOID(graph->uses().prepare(uses));
        graph->uses().keep(std::move(uses));
    } else {
        CUSHIM_TRY_VOID(keep_in_capture(capture, std::move(uses.closure)));
    }
    return call<entry::cuLaunchHostFunc>(stream.native(), closure.call, closure.object);
}

Result<void> launch(const Stream &stream, const Closure &closure) noexcept {
    if (closure.object == nullptr) {
        return no_host_memory();
    }
    const auto capture = stream.capture_status();
    if (capture && *capture == CaptureStatus::active) {
        return capture_closure(stream, closure);
    }
    OwnedClosure owned(closure);
    CUSHIM_TRY_VOID(capture);
    return enqueue_host_function(stream.native(), std::move(owned));
}

} // namespace
} // namespace cushim::detail

namespace cushim {

using namespace detail;

Result<void> Stream::launch_closure(Closure closure) const noexcept {
    return named("Stream::launch_host_function", launch(*this, closure));
}

void wait_for_released_closures() noexcept {
    wait_for_released();
}

} // namespace cushim
