// Result<T>: a value or an Error. Every cushim function that may fail returns one.
//
// The interface is that of std::expected (C++23), with Error as the error type. It is never an
// alias of std::expected, so that it is the same type in every language version. No memory is
// allocated on success. Files built with and without exceptions can be used together.
//
//     cushim::Result<int> parse(const char *text);
//
//     cushim::Result<int> sum(const char *a, const char *b) {
//         CUSHIM_TRY(const int first, parse(a));
//         CUSHIM_TRY(const int second, parse(b));
//         return first + second;
//     }
//
// Threads: as for the type of the value.
#ifndef CUSHIM_RESULT_HPP
#define CUSHIM_RESULT_HPP

#include <type_traits>
#include <utility>

#include <cushim/detail/result.hpp>
#include <cushim/error.hpp>

namespace cushim {

/* A value of type T, or an Error. A Result is copyable, movable and assignable if T is. A
 * moved-from Result still holds a moved-from value or an error. If an assignment throws, because
 * the copy or move of T does, an error is kept; a value is in the state that T's assignment left.
 *
 * Both forms of Result have these functions, as std::expected does:
 *
 *     has_value(), operator bool   whether it holds a value, or is a success
 *     error()                      the error; on success, undefined with NDEBUG, otherwise aborts
 *     and_then(f)                  on success calls f with the value; returns the Result that f
 *                                  returns
 *     transform(f)                 the same; returns a Result of what f returns
 *     or_else(f)                   on failure calls f with the error; returns the Result of this
 *                                  type that f returns
 *     transform_error(f)           the same; returns the Error that f returns as a failure
 *
 * Without a call of f, the value or the error is returned unchanged. Of Result<void>, and_then()
 * and transform() call f without an argument. */
template <class T>
class [[nodiscard]] Result : public detail::outcome::Outcome<T> {
    static_assert(std::is_object_v<T> && !std::is_array_v<T>,
                  "a Result holds an object. For a reference or an array, use a pointer.");
    static_assert(!std::is_const_v<T> && !std::is_volatile_v<T>, "a Result holds a plain type");
    static_assert(!std::is_same_v<T, Error>, "a Result<Error> could not tell success from failure");
    using Base = detail::outcome::Outcome<T>;

  public:
    // Success.
    template <class U = T>
        requires detail::makes_value<T, U>
    explicit(!std::is_convertible_v<U, T>)
        Result(U &&value) noexcept(std::is_nothrow_constructible_v<T, U>)
        : Base(std::in_place, static_cast<U &&>(value)) {}

    // Failure.
    Result(const Error &error) noexcept : Base(error) {}
    Result(Error &&error) noexcept : Base(static_cast<Error &&>(error)) {}

    // Success, with a value constructed from these arguments.
    template <class... Arguments>
        requires std::is_constructible_v<T, Arguments...>
    explicit Result(std::in_place_t, Arguments &&...arguments) noexcept(
        std::is_nothrow_constructible_v<T, Arguments...>)
        : Base(std::in_place, static_cast<Arguments &&>(arguments)...) {}

    // Converts a Result of a type from which T can be constructed.
    template <class U>
        requires detail::converts_value<T, U, const U &>
    explicit(!std::is_convertible_v<const U &, T>) Result(const Result<U> &other) : Base(other) {}
    template <class U>
        requires detail::converts_value<T, U, U &&>
    explicit(!std::is_convertible_v<U, T>) Result(Result<U> &&other)
        : Base(static_cast<Result<U> &&>(other)) {}

    // Replaces the state by a value constructed from these arguments, and returns it. As in
    // std::expected, only if the construction cannot throw.
    template <class... Arguments>
        requires std::is_nothrow_constructible_v<T, Arguments...>
    T &emplace(Arguments &&...arguments) noexcept {
        Base::replace(static_cast<Arguments &&>(arguments)...);
        return Base::get();
    }

    // The value. On failure, without NDEBUG, writes the error's message to stderr and aborts;
    // otherwise undefined.
    template <detail::OnFailure Then = detail::on_misuse>
    T *operator->() noexcept {
        Base::template require_value<Then>("operator->()");
        return __builtin_addressof(Base::get());
    }
    template <detail::OnFailure Then = detail::on_misuse>
    const T *operator->() const noexcept {
        Base::template require_value<Then>("operator->()");
        return __builtin_addressof(Base::get());
    }
    template <detail::OnFailure Then = detail::on_misuse>
    T &operator*() & noexcept {
        Base::template require_value<Then>("operator*()");
        return Base::get();
    }
    template <detail::OnFailure Then = detail::on_misuse>
    const T &operator*() const & noexcept {
        Base::template require_value<Then>("operator*()");
        return Base::get();
    }
    template <detail::OnFailure Then = detail::on_misuse>
    T &&operator*() && noexcept CUSHIM_LIFETIMEBOUND {
        Base::template require_value<Then>("operator*()");
        return static_cast<T &&>(Base::get());
    }
    template <detail::OnFailure Then = detail::on_misuse>
    const T &&operator*() const && noexcept CUSHIM_LIFETIMEBOUND {
        Base::template require_value<Then>("operator*()");
        return static_cast<const T &&>(Base::get());
    }

    // The value. On failure throws Exception (exception.hpp), or, in a file built without
    // exceptions, writes the error's message to stderr and aborts.
    template <detail::OnFailure Then = detail::on_failure>
    T &value() & {
        Base::template require_value<Then>("value()");
        return Base::get();
    }
    template <detail::OnFailure Then = detail::on_failure>
    const T &value() const & {
        Base::template require_value<Then>("value()");
        return Base::get();
    }
    template <detail::OnFailure Then = detail::on_failure>
    T &&value() &&CUSHIM_LIFETIMEBOUND {
        Base::template require_value<Then>("value()");
        return static_cast<T &&>(Base::get());
    }
    template <detail::OnFailure Then = detail::on_failure>
    const T &&value() const &&CUSHIM_LIFETIMEBOUND {
        Base::template require_value<Then>("value()");
        return static_cast<const T &&>(Base::get());
    }

    // The value; on failure `otherwise`.
    template <class U>
    [[nodiscard]] T value_or(U &&otherwise) const & {
        return *this ? **this : static_cast<T>(static_cast<U &&>(otherwise));
    }
    template <class U>
    [[nodiscard]] T value_or(U &&otherwise) && {
        return *this ? *static_cast<Result &&>(*this)
                     : static_cast<T>(static_cast<U &&>(otherwise));
    }

    // Whether both hold equal values or equal errors. A value equals a Result that holds an equal
    // value, an Error a Result that holds an equal error.
    template <class U>
        requires(!std::is_void_v<U>)
    friend bool operator==(const Result &left, const Result<U> &right) {
        if (left.has_value() != right.has_value()) {
            return false;
        }
        return left.has_value() ? *left == *right : left.error() == right.error();
    }
    template <class U>
        requires(!detail::is_result<U> && !std::is_same_v<U, Error>)
    friend bool operator==(const Result &left, const U &value) {
        return left.has_value() && *left == value;
    }
};

// Success without a value, or an Error.
template <>
class [[nodiscard]] Result<void> : public detail::outcome::Outcome<void> {
  public:
    // Success without arguments or with std::in_place; failure with an Error.
    Result() noexcept : Outcome(std::in_place) {}
    explicit Result(std::in_place_t) noexcept : Result() {}
    Result(const Error &error) noexcept : Outcome(error) {}
    Result(Error &&error) noexcept : Outcome(static_cast<Error &&>(error)) {}

    // Does nothing on success, for generic code. On failure, without NDEBUG, writes the error's
    // message to stderr and aborts; otherwise does nothing, too.
    template <detail::OnFailure Then = detail::on_misuse>
    void operator*() const noexcept {
        require_value<Then>("operator*()");
    }
    // Replaces the state by success.
    void emplace() noexcept { replace(); }

    // Nothing on success. On failure throws Exception (exception.hpp), or, in a file built without
    // exceptions, writes the error's message to stderr and aborts.
    template <detail::OnFailure Then = detail::on_failure>
    void value() const {
        require_value<Then>("value()");
    }

    // Whether both are successes or hold equal errors.
    friend bool operator==(const Result &left, const Result &right) noexcept {
        return left.has_value() == right.has_value() &&
               (left.has_value() || left.error() == right.error());
    }
};

} // namespace cushim

#include <cushim/detail/named.hpp>
#include <cushim/try.hpp>

#endif
