/* What the members of Result need: which types they accept, and their implementation where const
 * and reference qualifiers are the only difference. */
#ifndef CUSHIM_DETAIL_RESULT_HPP
#define CUSHIM_DETAIL_RESULT_HPP

#include <type_traits>

#include <cushim/detail/error.hpp>

namespace cushim {

template <class T>
class Result;
struct in_place_t;

namespace detail {

template <class T>
inline constexpr bool is_result = false;
template <class T>
inline constexpr bool is_result<Result<T>> = true;

// Whether U is a Result of a type other than T.
template <class T, class U>
inline constexpr bool is_other_result = is_result<U> && !std::is_same_v<T, U>;

template <class T, class U>
concept makes_value = !std::is_same_v<std::remove_cvref_t<U>, Error> &&
                      !std::is_same_v<std::remove_cvref_t<U>, in_place_t> &&
                      !is_other_result<T, std::remove_cvref_t<U>> && std::is_constructible_v<T, U>;

template <class T, class U, class From>
concept converts_value = !std::is_same_v<T, U> && !std::is_same_v<T, Result<U>> &&
                         !std::is_void_v<U> && std::is_constructible_v<T, From>;

enum class OnFailure { throws, aborts };

// What value() does on failure in the file that calls it. The choice is part of the name of the
// function that implements it, and this constant has internal linkage: files with and without
// exceptions keep their own behaviour when they are linked together.
#if defined(__cpp_exceptions) || defined(__EXCEPTIONS) || defined(_CPPUNWIND)
constexpr OnFailure on_failure = OnFailure::throws;
#else
constexpr OnFailure on_failure = OnFailure::aborts;
#endif

template <OnFailure Then>
[[noreturn]] void fail(const Error &error) {
    if constexpr (Then == OnFailure::throws) {
        throw_exception(error);
    } else {
        abort_with(error);
    }
}

template <class Self, class F>
auto and_then(Self &&self, F &&function) {
    using Value = decltype(*static_cast<Self &&>(self));
    using Next = std::remove_cvref_t<std::invoke_result_t<F, Value>>;
    static_assert(is_result<Next>, "and_then needs a function that returns a Result");
    if (!self.has_value()) {
        return Next(static_cast<Self &&>(self).error());
    }
    return Next(static_cast<F &&>(function)(*static_cast<Self &&>(self)));
}

template <class Self, class F>
auto transform(Self &&self, F &&function) {
    using Value = decltype(*static_cast<Self &&>(self));
    using Next = Result<std::remove_cv_t<std::invoke_result_t<F, Value>>>;
    if (!self.has_value()) {
        return Next(static_cast<Self &&>(self).error());
    }
    if constexpr (std::is_same_v<Next, Result<void>>) {
        static_cast<F &&>(function)(*static_cast<Self &&>(self));
        return Next();
    } else {
        return Next(static_cast<F &&>(function)(*static_cast<Self &&>(self)));
    }
}

template <class Self, class F>
auto transform_error(Self &&self, F &&function) {
    using Same = std::remove_cvref_t<Self>;
    using Next = std::invoke_result_t<F, decltype(static_cast<Self &&>(self).error())>;
    static_assert(std::is_same_v<std::remove_cvref_t<Next>, Error>,
                  "transform_error needs a function that returns an Error");
    if (self.has_value()) {
        return Same(static_cast<Self &&>(self));
    }
    return Same(static_cast<F &&>(function)(static_cast<Self &&>(self).error()));
}

template <class Self, class F>
auto or_else(Self &&self, F &&function) {
    using Same = std::remove_cvref_t<Self>;
    using Next = std::invoke_result_t<F, decltype(static_cast<Self &&>(self).error())>;
    static_assert(std::is_same_v<std::remove_cvref_t<Next>, Same>,
                  "or_else needs a function that returns the same type of Result");
    if (self.has_value()) {
        return Same(static_cast<Self &&>(self));
    }
    return Same(static_cast<F &&>(function)(static_cast<Self &&>(self).error()));
}

} // namespace detail
} // namespace cushim

#endif
