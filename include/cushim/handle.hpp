/* What all owners of CUDA objects have in common: how they move, share, let go and destroy.
 *
 * An owner is two or three words. It is empty, or it holds a CUDA object in one of two ways:
 *
 *     owned     made by a factory (Stream::create) or taken over by adopt(): the last owner destroys
 *               it, and only then what it needs (its context, its memory, ...) may go. adopt() of a null
 *               handle is invalid_argument
 *     borrowed  by borrow(): never destroyed, and whoever lends it keeps it alive
 *
 * Owners are moved, not copied; what was moved from is empty. Where a type has share(), that gives
 * a second owner of the same object.
 *
 * Destructors make no driver call once the process exits, and none in the child of a fork for what
 * its parent made. A failure of theirs goes to the teardown sink (teardown.hpp); close() is for
 * those who must know. No destructor changes the thread's current context, nor ruins a capture of
 * streams, be it this thread's or another's (cuThreadExchangeStreamCaptureMode, where the driver has it).
 *
 * pthread_cancel of a thread that waits in a call of cushim ends the process: cancellation unwinds the stack, and these
 * functions are noexcept. End such a wait by what it waits for, and threads by a flag.
 *
 * Threads: as for an int, an owner is used by one thread at a time, while different owners of one
 * object may be used, shared and destroyed by different threads at once.
 */
#ifndef CUSHIM_HANDLE_HPP
#define CUSHIM_HANDLE_HPP

#include <cstddef>

#include <cushim/result.hpp>
#include <cushim/text.hpp>

namespace cushim {
namespace detail {

// What owners share: the object, what it needs, how it is destroyed. See src/api/base/state.hpp.
struct State;

CUSHIM_API void add_owner(State *state) noexcept;
// One owner less. The last one destroys the object; a failure goes to the teardown sink.
CUSHIM_API void drop_owner(State *state) noexcept;
// The same, with the answer.
CUSHIM_API Result<void> close_owner(State *state) noexcept;
// One owner less, and no owner destroys the object any more.
CUSHIM_API void release_owner(State *state) noexcept;

struct Access;

// Value is the handle, or a struct whose member `native` is: whatever is copied from owner to
// owner. An empty owner has Value{}.
template <class Value>
class Owner {
  public:
    Owner() noexcept = default;
    Owner(Owner &&other) noexcept : value_(other.value_), state_(other.state_) { other.forget(); }
    Owner &operator=(Owner &&other) noexcept {
        if (this != &other) {
            const Owner old(static_cast<Owner &&>(*this));
            value_ = other.value_;
            state_ = other.state_;
            other.forget();
        }
        return *this;
    }
    ~Owner() { reset(); }

    // Whether it holds an object.
    explicit operator bool() const noexcept { return state_ != nullptr || handle() != Handle{}; }

    // CUDA's own handle, for calls through the tables; null where it is empty. Stays the owner's.
    auto native() const noexcept { return handle(); }

    // Lets go of the object, as the destructor does, and is empty then.
    void reset() noexcept {
        State *const state = state_;
        forget();
        if (state != nullptr) {
            drop_owner(state);
        }
    }

    // The same, with the answer of the call that destroys the object; empty then even if that failed.
    // Success where other owners are left, and for what is borrowed or empty.
    Result<void> close() noexcept {
        State *const state = state_;
        forget();
        return state != nullptr ? close_owner(state) : Result<void>();
    }

    // Gives the object up: the caller destroys it from now on, other owners no longer do. What it
    // needs (its context, say) is no longer kept alive by this owner.
    [[nodiscard]] auto release() noexcept {
        const Handle handle = this->handle();
        State *const state = state_;
        forget();
        if (state != nullptr) {
            release_owner(state);
        }
        return handle;
    }

  protected:
    Owner(const Value &value, State *state) noexcept : value_(value), state_(state) {}
    const Value &value() const noexcept { return value_; }

  private:
    friend struct Access;

    static constexpr auto handle_in(const Value &value) noexcept {
        if constexpr (requires { value.native; }) {
            return value.native;
        } else {
            return value;
        }
    }
    using Handle = decltype(handle_in(Value{}));
    Handle handle() const noexcept { return handle_in(value_); }

    void forget() noexcept {
        value_ = Value{};
        state_ = nullptr;
    }

    Value value_{};
    State *state_ = nullptr;
};

// What src/api may see of an owner.
struct Access {
    template <class Value>
    static State *state(const Owner<Value> &owner) noexcept {
        return owner.state_;
    }
    // Of a buffer, which has its owner inside.
    template <class Buffer>
    static auto state(const Buffer &buffer) noexcept -> decltype(state(buffer.memory_)) {
        return state(buffer.memory_);
    }
    // Whether the buffer was allocated with no elements: it is valid, and holds no object.
    template <class Value>
    static bool is_zero_length(const Owner<Value> &owner) noexcept {
        if constexpr (requires { owner.value_.zero_length; }) {
            return owner.value_.zero_length;
        } else {
            return false;
        }
    }
    template <class Buffer>
    static auto is_zero_length(const Buffer &buffer) noexcept
        -> decltype(is_zero_length(buffer.memory_)) {
        return is_zero_length(buffer.memory_);
    }
    template <class Value>
    static void set(Owner<Value> &owner, const Value &value, State *state) noexcept {
        owner.value_ = value;
        owner.state_ = state;
    }
};

// The same of GraphNode and GraphCondition.
struct GraphAccess;

// What to_text() of an owner returns. The size is left out if `bytes` is no_size.
inline constexpr std::size_t no_size = static_cast<std::size_t>(-1);
CUSHIM_API Text owner_text(const char *type, unsigned long long handle, const State *state,
                           std::size_t bytes) noexcept;

template <class Handle>
unsigned long long number_of(Handle handle) noexcept {
    if constexpr (std::is_pointer_v<Handle>) {
        return reinterpret_cast<unsigned long long>(handle);
    } else {
        return handle;
    }
}

template <class Object>
Text text_of(const char *type, const Object &owner, std::size_t bytes = no_size) noexcept {
    return owner_text(type, number_of(owner.native()), Access::state(owner), bytes);
}

// An owner that can have a second one.
template <class Derived, class Value>
class Shared : public Owner<Value> {
  public:
    // Another owner of the same object; borrows where this one does.
    Derived share() const noexcept {
        Derived other;
        State *const state = Access::state(*this);
        if (state != nullptr) {
            add_owner(state);
        }
        Access::set(other, this->value(), state);
        return other;
    }

  protected:
    using Owner<Value>::Owner;
    Shared() noexcept = default;
};

} // namespace detail
} // namespace cushim

#endif
