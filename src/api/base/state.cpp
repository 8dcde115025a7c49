#include "state.hpp"

#include <cushim/teardown.hpp>

#include <atomic>
#include <utility>

#include "call.hpp"
#include "callback_setting.hpp"
#include "relaxed_capture.hpp"
#include "resets.hpp"
#include "unheard_errors.hpp"

namespace cushim {

using namespace detail;

namespace {

constinit CallbackSetting<TeardownSinkSetting> teardown_sink;
// The failure of a context that the sink has received.
constinit std::atomic<int> reported_failure = 0;

// Whether earlier work has made the context unusable: most calls in it return this status. Older
// headers lack some names.
constexpr bool is_failure_of_context(int status) noexcept {
    switch (status) {
    case CUDA_ERROR_ECC_UNCORRECTABLE:
    case CUDA_ERROR_NVLINK_UNCORRECTABLE:
    case 226: // CUDA_ERROR_CONTAINED
    case CUDA_ERROR_ILLEGAL_ADDRESS:
    case CUDA_ERROR_LAUNCH_TIMEOUT:
    case CUDA_ERROR_ASSERT:
    case CUDA_ERROR_HARDWARE_STACK_ERROR:
    case CUDA_ERROR_ILLEGAL_INSTRUCTION:
    case CUDA_ERROR_MISALIGNED_ADDRESS:
    case CUDA_ERROR_INVALID_ADDRESS_SPACE:
    case CUDA_ERROR_INVALID_PC:
    case CUDA_ERROR_LAUNCH_FAILED:
    case 721: // CUDA_ERROR_TENSOR_MEMORY_LEAK
    case 911: // CUDA_ERROR_EXTERNAL_DEVICE
        return true;
    default:
        return false;
    }
}

// During exit, a driver call in a destructor may crash; in a child of fork it would only return an
// error, and the object belongs to the parent. After a reset, destroying a stream crashes.
[[gnu::always_inline]] inline bool may_destroy(const State &state) noexcept {
    if (!state.owned.load(std::memory_order_relaxed)) [[unlikely]] {
        return false;
    }
    if (cushim_may_call(state.generation) == 0) [[unlikely]] {
        return false;
    }
    if (any_reset.load(std::memory_order_acquire)) [[unlikely]] {
        return !state.is_gone();
    }
    return true;
}

[[gnu::always_inline]] inline Destroyed destroy(State &state) noexcept {
    if (!may_destroy(state)) [[unlikely]] {
        return {};
    }
    const UnheardErrors unheard;
    if (state.in_capture == InCapture::safe) {
        return state.destroy();
    }
    const RelaxedCapture relaxed;
    return state.destroy();
}

} // namespace

TeardownSinkSetting set_teardown_sink(TeardownSinkSetting setting) noexcept {
    forget_failure_of_context();
    return teardown_sink.exchange(setting);
}

namespace detail {

static_assert(int(cudaErrorCudartUnloading) == int(CUDA_ERROR_DEINITIALIZED));
static_assert(int(cudaErrorContextIsDestroyed) == int(CUDA_ERROR_CONTEXT_IS_DESTROYED));

bool nothing_left(int status) noexcept {
    return status == CUDA_ERROR_DEINITIALIZED || status == CUDA_ERROR_CONTEXT_IS_DESTROYED;
}

void forget_failure_of_context() noexcept {
    reported_failure.store(0, std::memory_order_relaxed);
}

void report_teardown(const Destroyed &destroyed) noexcept {
    const int status = destroyed.status();
    if (status == CUDA_SUCCESS) {
        return;
    }
    const Error &error = destroyed.result.error();
    if (error.api() != Api::library &&
        (nothing_left(status) ||
         (is_failure_of_context(status) &&
          reported_failure.exchange(status, std::memory_order_relaxed) == status))) {
        return;
    }
    const TeardownSinkSetting setting = teardown_sink.current();
    if (setting.sink != nullptr) {
        setting.sink({error.entry_point(), status, destroyed.handle}, setting.user);
    }
}

void add_owner(State *state) noexcept {
    share(*state);
}

void drop_owner(State *state) noexcept {
    drop(state);
}

void end(State *state) noexcept {
    const Destroyed destroyed = destroy(*state);
    delete state;
    if (!destroyed.result) [[unlikely]] {
        report_teardown(destroyed);
    }
}

Result<void> close_owner(State *state) noexcept {
    if (!leave(*state)) {
        return {};
    }
    Destroyed destroyed = destroy(*state);
    delete state;
    return nothing_left(destroyed.status()) ? Result<void>()
                                            : named("close", std::move(destroyed.result));
}

void release_owner(State *state) noexcept {
    {
        const UnheardErrors unheard;
        state->given_away();
    }
    state->owned.store(false, std::memory_order_relaxed);
    drop_owner(state);
}

} // namespace detail
} // namespace cushim
