/* The base of all owners of CUDA objects: how they move, share, release and destroy them.
 *
 * An owner is two to six words. It is empty (holds no object: it was default-constructed, moved
 * from, closed, reset or released), or it holds a CUDA object in one of two ways:
 *
 *     owned     The last owner destroys the object, and only then releases what the object needs
 *               (its context, its memory).
 *     borrowed  Never destroyed; the lender must keep the object alive.
 *
 * Factories are static functions:
 *
 *     create      Makes an object. Memory has allocate(), addresses reserve(), mappings map(), code
 *                 load().
 *     open        Opens an object of another process, or a library. Exported memory, pools and
 *                 semaphores have import_fd(), import_win32() and others.
 *     adopt       Owns an object that the program made by a call of CUDA. A null handle is
 *                 invalid_argument (for a buffer of size 0, it is valid); on failure the caller
 *                 keeps the object.
 *     borrow      Does not own.
 *
 * Others are named after the object that they return: Context::primary(), Stream::legacy(),
 * MemoryPool::default_of(), PhysicalMemory::retain_from(), DeviceBuffer::copy_of().
 *
 * Owners are moved, not copied; a moved-from owner is empty. share(), in types that have it,
 * returns a second owner of the same object.
 *
 * Destructors are noexcept. A failure goes to the teardown sink (teardown.hpp); close() returns it.
 *
 * Memory is freed, unmapped or closed immediately on destruction. Before that, all work that uses
 * it must have completed, or its stream must have been passed to release_after(): see
 * typed_buffer.hpp.
 *
 * Headers say where the following differs.
 *
 * Threads: one thread at a time may use an owner. Different owners of one object may be used,
 * shared and destroyed by different threads at the same time.
 *
 * Context: no context needs to be current, and the current context does not change.
 *
 * Versions: "since CUDA 12.4" and "requires CUDA 12.4" mean a driver of that version or newer. With
 * an older driver the call fails with requires_newer_driver, with older headers in the build with
 * requires_newer_headers. Functions without a version are in every driver of CUDA 11.0 or newer.
 *
 * The end of this file has corner cases: exit, forks, captures. */
#ifndef CUSHIM_HANDLE_HPP
#define CUSHIM_HANDLE_HPP

#include <cushim/detail/owner.hpp>
#include <cushim/result.hpp>

namespace cushim {
namespace detail {

// The base of all owners: see the beginning of handle.hpp. Value is the handle, or a struct whose
// member `native` is the handle. It is copied from owner to owner. An empty owner has Value{}.
template <class Value>
class Owner {
  public:
    // An empty owner.
    Owner() noexcept = default;
    // Leaves the source empty.
    Owner(Owner &&other) noexcept : value_(other.value_), state_(other.state_) { other.forget(); }
    // Releases the previous object, and leaves the source empty.
    Owner &operator=(Owner &&other) noexcept {
        if (this != &other) {
            const Owner old(static_cast<Owner &&>(*this));
            value_ = other.value_;
            state_ = other.state_;
            other.forget();
        }
        return *this;
    }
    ~Owner() {
        if (state_ != nullptr) {
            drop_owner(state_);
        }
    }

    // Whether this owner holds an object.
    explicit operator bool() const noexcept { return state_ != nullptr || handle() != Handle{}; }

    // The CUDA handle, for calls through the tables; null if empty. The owner keeps ownership.
    auto native() const noexcept { return handle(); }

    // Releases the object as the destructor does; a failure goes to the teardown sink. The owner is
    // empty afterwards.
    void reset() noexcept {
        State *const state = state_;
        forget();
        if (state != nullptr) {
            drop_owner(state);
        }
    }

    // Releases the object as reset() does, and returns the status of the call that destroys it. The
    // owner is empty afterwards, even on failure. Success if other owners remain, and if borrowed
    // or empty.
    Result<void> close() noexcept {
        State *const state = state_;
        forget();
        return state != nullptr ? close_owner(state) : Result<void>();
    }

    // Gives up ownership and returns the handle: the caller must destroy the object; other owners
    // no longer do. This owner no longer keeps alive what the object needs (its context, for
    // example).
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
    // For derived classes: the value, and the state that the owners share (null if borrowed,
    // except for graphs and executable graphs).
    Owner(const Value &value, State *state) noexcept : value_(value), state_(state) {}
    // The handle, and what the derived class stores with it.
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

// An owner that can be shared.
template <class Derived, class Value>
class Shared : public Owner<Value> {
  public:
    // Another owner of the same object; borrowed if this one is.
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

/* Corner cases of all owners:
 *
 * | what happens if                  |                                                            |
 * |----------------------------------|------------------------------------------------------------|
 * | an owner is destroyed after      | The destructor makes no driver call. The exit handler      |
 * | cushim's exit handler            | destroys what closures and graphs own (teardown.hpp).      |
 * | an owner of the parent is        | The destructor makes no driver call: the object belongs to |
 * | destroyed in the child of a fork | the parent.                                                |
 * | a stream is being captured       | Destructors do not invalidate a capture, on this thread or |
 * |                                  | another (cuThreadExchangeStreamCaptureMode, if the driver  |
 * |                                  | has it).                                                   |
 * | a thread that waits in a cushim  | The process ends: cancellation unwinds the stack, and      |
 * | function is cancelled            | these functions are noexcept. Stop threads by a flag, and  |
 * | (pthread_cancel)                 | end a wait by completing the work.                         |
 */

#endif
