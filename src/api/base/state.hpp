// The state that owners of a CUDA object share: the object, its dependencies, and its destruction.
//
// A factory creates the state first, so that nothing can fail once the CUDA object exists:
//
//     CUSHIM_TRY(auto state, make_state<EventState>(context));
//     CUSHIM_TRY(const ContextScope scope, state->enter());
//     CUSHIM_TRY_VOID(call<entry::cuEventCreate>(&state->event, flags));
//     return Event(state->event, state.take());
//
// Dependencies are KeepAlive members of the state, released after the object is destroyed.
#pragma once

#include <cushim/detail/loader.h>
#include <cushim/handle.hpp>

#include <atomic>
#include <new>

namespace cushim::detail {

// The result of destroying an object: `return {call<entry::cuEventDestroy>(event), event};`.
struct Destroyed {
    Destroyed() noexcept = default;
    template <class Handle>
    Destroyed(Result<void> &&outcome, Handle of) noexcept
        : result(static_cast<Result<void> &&>(outcome)), handle((unsigned long long)of) {}

    int status() const noexcept { return result ? 0 : result.error().status(); }

    Result<void> result;
    unsigned long long handle = 0; // or an address, for the teardown sink
};

// Whether the destroying call is safe during captures: relaxed_capture.hpp.
enum class InCapture : bool { unsafe, safe };

struct State {
    explicit State(InCapture call = InCapture::unsafe, int ordinal = -1,
                   unsigned int made_in = cushim_fork_generation()) noexcept
        : in_capture(call), generation(made_in), device_ordinal(ordinal) {}
    State(const State &) = delete;
    State &operator=(const State &) = delete;
    virtual ~State() = default;

    // Destroys the CUDA object. Called at most once, by the last owner; not called if the driver
    // can no longer be called. Runs under a RelaxedCapture unless `in_capture` is safe.
    virtual Destroyed destroy() noexcept = 0;

    // Called by release_owner(), after which other code may destroy the object.
    virtual void given_away() noexcept {}

    // Whether Context::reset_primary() destroyed the object. Calls that use it may then crash the
    // driver. Destructors check this only if any_reset is set.
    virtual bool is_gone() const noexcept { return false; }

    std::atomic<unsigned int> owners{1};
    // Whether the last owner destroys the object: set by take(), cleared by release().
    std::atomic<bool> owned{false};
    // The number of the last KeptResources that kept this object.
    std::atomic<unsigned long long> kept_by{0};
    const InCapture in_capture;
    const unsigned int generation;
    // The device of the object, for to_text(); -1 if only CUDA knows it. Set before the first owner
    // exists.
    int device_ordinal;
};

// add_owner(), inline.
inline void share(State &state) noexcept {
    state.owners.fetch_add(1, std::memory_order_relaxed);
}

// Removes an owner: whether it was the last one. A sole owner needs no atomic operation, because no
// other can copy it.
inline bool leave(State &state) noexcept {
    return state.owners.load(std::memory_order_acquire) == 1 ||
           state.owners.fetch_sub(1, std::memory_order_acq_rel) == 1;
}

// After the last owner has left: destroys the object and the state. A failure goes to the teardown
// sink.
void end(State *state) noexcept;

// drop_owner(), inline except for the last owner.
inline void drop(State *state) noexcept {
    if (leave(*state)) [[unlikely]] {
        end(state);
    }
}

inline int ordinal_of(const State *state) noexcept {
    return state != nullptr ? state->device_ordinal : -1;
}
template <class Value>
int ordinal_of(const Owner<Value> &owner) noexcept {
    return ordinal_of(Access::state(owner));
}

// An additional owner of a dependency, for the lifetime of this object.
class KeepAlive {
  public:
    KeepAlive() noexcept = default;
    template <class Value>
    explicit KeepAlive(const Owner<Value> &owner) noexcept : KeepAlive(Access::state(owner)) {}
    explicit KeepAlive(State *state) noexcept : state_(state) {
        if (state_ != nullptr) {
            detail::share(*state_);
        }
    }
    KeepAlive(KeepAlive &&other) noexcept : state_(other.state_) { other.state_ = nullptr; }
    KeepAlive &operator=(KeepAlive &&other) noexcept {
        State *const old = state_;
        state_ = other.state_;
        other.state_ = nullptr;
        if (old != nullptr) {
            drop(old);
        }
        return *this;
    }
    ~KeepAlive() {
        if (state_ != nullptr) {
            drop(state_);
        }
    }

    KeepAlive share() const noexcept { return KeepAlive(state_); }

    // Whether there is a dependency.
    explicit operator bool() const noexcept { return state_ != nullptr; }
    // Whether this is the dependency.
    bool is_of(const State *state) const noexcept { return state_ == state; }
    // Whether the dependency is destroyed, and the dependent object with it.
    bool is_gone() const noexcept { return state_ != nullptr && state_->is_gone(); }

    // Makes an empty owner an additional owner of the dependency; a borrowing one without a
    // dependency.
    template <class Value>
    void share(Owner<Value> &owner, const Value &value) const noexcept {
        if (state_ != nullptr) {
            detail::share(*state_);
        }
        Access::set(owner, value, state_);
    }

  private:
    State *state_ = nullptr;
};

// A state whose object does not exist yet. Deletes the state, without destroy(), unless take() is
// called.
template <class S>
class NewState {
  public:
    explicit NewState(S *state) noexcept : state_(state), untaken_(state) {}
    NewState(NewState &&other) noexcept : state_(other.state_), untaken_(other.untaken_) {
        other.untaken_ = nullptr;
    }
    NewState &operator=(NewState &&) = delete;
    ~NewState() {
        if (untaken_ != nullptr) [[unlikely]] {
            delete untaken_;
        }
    }

    // Also valid after take(), since arguments of a constructor are evaluated in any order.
    S *operator->() const noexcept { return state_; }

    // The object exists: the owner that receives the state destroys it.
    [[nodiscard]] S *take() noexcept {
        untaken_ = nullptr;
        state_->owned.store(true, std::memory_order_relaxed);
        return state_;
    }

  private:
    S *state_;
    S *untaken_;
};

// Fails with out_of_memory.
template <class S, class... Arguments>
Result<NewState<S>> make_state(Arguments &&...arguments) noexcept {
    S *const state = new (std::nothrow) S(static_cast<Arguments &&>(arguments)...);
    return state != nullptr ? Result<NewState<S>>(NewState<S>(state)) : no_host_memory();
}

// Whether the status means that the driver or runtime library is shutting down, or that the context
// is destroyed. Both APIs have the same numbers.
bool nothing_left(int status) noexcept;

// Reports to the teardown sink, unless the status says that nothing was left to destroy, or that
// the context has failed and the sink knows.
void report_teardown(const Destroyed &destroyed) noexcept;
// A Context was made: its failure would be another one.
void forget_failure_of_context() noexcept;

} // namespace cushim::detail
