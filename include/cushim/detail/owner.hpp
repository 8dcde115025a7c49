/* What owners consist of: the state that they share, the access of src/api to them, their text. */
#ifndef CUSHIM_DETAIL_OWNER_HPP
#define CUSHIM_DETAIL_OWNER_HPP

#include <cstddef>
#include <type_traits>

#include <cushim/detail/friends.hpp>
#include <cushim/result.hpp>
#include <cushim/text.hpp>

namespace cushim::detail {

// Adds an owner of an object. The state is the object, what it needs, how it is destroyed: see
// src/api/base/state.hpp.
CUSHIM_API void add_owner(State *state) noexcept;
// Removes one owner. The last one destroys the object; a failure goes to the teardown sink.
CUSHIM_API void drop_owner(State *state) noexcept;
// The same; returns the failure.
CUSHIM_API Result<void> close_owner(State *state) noexcept;
// Removes one owner; no owner destroys the object afterwards.
CUSHIM_API void release_owner(State *state) noexcept;

template <class Value>
class Owner;

// The access of headers and of src/api to the state and value of an owner or buffer.
struct Access {
    template <class Value>
    static State *state(const Owner<Value> &owner) noexcept {
        return owner.state_;
    }
    template <class Buffer> // a TypedBuffer, which holds its owner as a member
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
    static auto
    is_zero_length(const Buffer &buffer) noexcept -> decltype(is_zero_length(buffer.memory_)) {
        return is_zero_length(buffer.memory_);
    }
    template <class Value>
    static void set(Owner<Value> &owner, const Value &value, State *state) noexcept {
        owner.value_ = value;
        owner.state_ = state;
    }
};

// The result of to_text() of an owner. The size is omitted if `bytes` is no_size.
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

} // namespace cushim::detail

#endif
