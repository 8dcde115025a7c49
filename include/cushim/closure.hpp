/* Callables on their way to CUDA, which takes a function and a pointer. */
#ifndef CUSHIM_CLOSURE_HPP
#define CUSHIM_CLOSURE_HPP

#include <new>
#include <type_traits>

#include <cushim/config.h>

namespace cushim::detail {

// A callable of the host's that somebody owns, without its type.
struct Closure {
    void *object = nullptr; // null where there was no memory for it, or copying it threw
    void (*call)(void *object) noexcept = nullptr;
    void (*destroy)(void *object) noexcept = nullptr;
};

template <class Function>
concept HostFunction = std::is_invocable_v < std::decay_t<Function>
& > ;

// Null where there is no memory for it, or where copying it throws.
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

// Whoever gets it destroys it.
template <HostFunction Function>
Closure make_closure(Function &&function) noexcept {
    using Object = std::decay_t<Function>;
    return {new_callable<Object>(static_cast<Function &&>(function)),
            [](void *object) noexcept { (*static_cast<Object *>(object))(); },
            [](void *object) noexcept { delete static_cast<Object *>(object); }};
}

} // namespace cushim::detail

#endif
