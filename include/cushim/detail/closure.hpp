/* Callables that are passed to CUDA as a function and a pointer. */
#ifndef CUSHIM_DETAIL_CLOSURE_HPP
#define CUSHIM_DETAIL_CLOSURE_HPP

#include <new>
#include <type_traits>

#include <cushim/detail/config.h>

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

} // namespace cushim::detail

#endif
