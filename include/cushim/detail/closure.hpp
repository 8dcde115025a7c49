/* Callables that are passed to CUDA as a function and a pointer. */
#ifndef CUSHIM_DETAIL_CLOSURE_HPP
#define CUSHIM_DETAIL_CLOSURE_HPP

#include <cstring>
#include <new>
#include <type_traits>

#include <cushim/detail/cpp20.hpp>

namespace cushim::detail {

// An owned host callable without its type.
struct Closure {
    void *object = nullptr; // null if out of memory, or if copying it threw
    void (*call)(void *object) noexcept = nullptr;
    void (*destroy)(void *object) noexcept = nullptr;
};

template <class Function>
concept HostFunction = std::is_invocable_v<std::decay_t<Function> &>;

// Null if out of memory, or if copying the function throws.
template <class Object, class Function>
void *new_callable(Function &&function) noexcept {
#if defined(__cpp_exceptions)
    try {
        return new (std::nothrow) Object(static_cast<Function &&>(function));
    } catch (...) {
        return nullptr;
    }
#else
    return new (std::nothrow) Object(static_cast<Function &&>(function));
#endif
}

// The receiver must destroy the closure.
template <HostFunction Function>
Closure make_closure(Function &&function) noexcept {
    using Object = std::decay_t<Function>;
    return {new_callable<Object>(static_cast<Function &&>(function)),
            [](void *object) noexcept { (*static_cast<Object *>(object))(); },
            [](void *object) noexcept { delete static_cast<Object *>(object); }};
}

// A function object that is passed in the pointer itself, and needs no memory. Each call uses a
// copy.
template <class Object>
concept FitsIntoPointer =
    std::is_trivially_copyable_v<Object> && std::is_invocable_v<const Object &> &&
    sizeof(Object) <= sizeof(void *) && alignof(Object) <= alignof(void *);

template <FitsIntoPointer Object>
void *in_pointer([[maybe_unused]] const Object &function) noexcept {
    void *pointer = nullptr;
    if constexpr (!std::is_empty_v<Object>) {
        std::memcpy(&pointer, &reinterpret_cast<const unsigned char &>(function), sizeof function);
    }
    return pointer;
}

template <FitsIntoPointer Object>
void call_in_pointer(void *pointer) noexcept {
    alignas(Object) unsigned char bytes[sizeof(Object)];
    std::memcpy(bytes, &pointer, sizeof bytes);
    (*std::launder(reinterpret_cast<const Object *>(bytes)))();
}

} // namespace cushim::detail

#endif
