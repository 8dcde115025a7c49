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

#include <new>
#include <type_traits>

#include <cushim/detail/result.hpp>
#include <cushim/error.hpp>

namespace cushim {

template <class T>
class Result;

// Same as std::in_place, without <utility>: Result<T>(in_place, arguments of T's constructor).
struct in_place_t {
    explicit in_place_t() = default;
};
// The tag to pass to constructors.
inline constexpr in_place_t in_place{};

// A value of type T, or an Error. A Result is copyable, movable and assignable if T is. A
// moved-from Result still holds a moved-from value or an error.
template <class T>
class [[nodiscard]] Result {
    static_assert(std::is_object_v<T> && !std::is_array_v<T>,
                  "a Result holds an object. For a reference or an array, use a pointer.");
    static_assert(!std::is_const_v<T> && !std::is_volatile_v<T>, "a Result holds a plain type");
    static_assert(!std::is_same_v<T, Error>, "a Result<Error> could not tell success from failure");

  public:
    using value_type = T;     // as in std::expected
    using error_type = Error; // as in std::expected

    // Success.
    template <class U = T>
        requires detail::makes_value<T, U>
    explicit(!std::is_convertible_v<U, T>)
        Result(U &&value) noexcept(std::is_nothrow_constructible_v<T, U>)
        : value_(static_cast<U &&>(value)), has_value_(true) {}

    // Failure.
    Result(const Error &error) noexcept : error_(error), has_value_(false) {}
    Result(Error &&error) noexcept : error_(static_cast<Error &&>(error)), has_value_(false) {}

    // Success, with a value constructed from these arguments.
    template <class... Arguments>
        requires std::is_constructible_v<T, Arguments...>
    explicit Result(in_place_t, Arguments &&...arguments) noexcept(
        std::is_nothrow_constructible_v<T, Arguments...>)
        : value_(static_cast<Arguments &&>(arguments)...), has_value_(true) {}

    // Converts a Result of a type from which T can be constructed.
    template <class U>
        requires detail::converts_value<T, U, const U &>
    explicit(!std::is_convertible_v<const U &, T>) Result(const Result<U> &other)
        : has_value_(other.has_value()) {
        construct(other);
    }
    template <class U>
        requires detail::converts_value<T, U, U &&>
    explicit(!std::is_convertible_v<U, T>) Result(Result<U> &&other)
        : has_value_(other.has_value()) {
        construct(static_cast<Result<U> &&>(other));
    }

    // Copies or moves the value or the error.
    Result(const Result &other) noexcept(std::is_nothrow_copy_constructible_v<T>)
        requires std::is_copy_constructible_v<T>
        : has_value_(other.has_value_) {
        construct(other);
    }
    Result(Result &&other) noexcept(std::is_nothrow_move_constructible_v<T>)
        requires std::is_move_constructible_v<T>
        : has_value_(other.has_value_) {
        construct(static_cast<Result &&>(other));
    }

    // Assigns the value or the error. If the copy or move of T throws, an error is kept; a value is
    // in the state that T's assignment left.
    Result &operator=(const Result &other)
        requires(std::is_copy_constructible_v<T> && std::is_copy_assignable_v<T>)
    {
        assign(other);
        return *this;
    }
    Result &operator=(Result &&other) noexcept(std::is_nothrow_move_constructible_v<T> &&
                                               std::is_nothrow_move_assignable_v<T>)
        requires(std::is_move_constructible_v<T> && std::is_move_assignable_v<T>)
    {
        assign(static_cast<Result &&>(other));
        return *this;
    }

    ~Result() {
        if (has_value_) [[likely]] {
            value_.~T();
        } else {
            error_.~Error();
        }
    }

    // Replaces the state by a value constructed from these arguments, and returns it. As in
    // std::expected, only if the construction cannot throw.
    template <class... Arguments>
        requires std::is_nothrow_constructible_v<T, Arguments...>
    T &emplace(Arguments &&...arguments) noexcept {
        if (has_value_) {
            value_.~T();
        } else {
            error_.~Error();
            has_value_ = true;
        }
        return *::new (static_cast<void *>(__builtin_addressof(value_)))
            T(static_cast<Arguments &&>(arguments)...);
    }

    // Whether it holds a value.
    [[nodiscard]] bool has_value() const noexcept { return has_value_; }
    explicit operator bool() const noexcept { return has_value_; }

    // The value. Undefined on failure; not checked.
    T *operator->() noexcept { return __builtin_addressof(value_); }
    const T *operator->() const noexcept { return __builtin_addressof(value_); }
    T &operator*() & noexcept { return value_; }
    const T &operator*() const & noexcept { return value_; }
    T &&operator*() && noexcept { return static_cast<T &&>(value_); }
    const T &&operator*() const && noexcept { return static_cast<const T &&>(value_); }

    // The error. Undefined on success; not checked.
    Error &error() & noexcept { return error_; }
    const Error &error() const & noexcept { return error_; }
    Error &&error() && noexcept { return static_cast<Error &&>(error_); }
    const Error &&error() const && noexcept { return static_cast<const Error &&>(error_); }

    // The value. On failure throws Exception (exception.hpp), or, in a file built without
    // exceptions, writes the error's message to stderr and aborts.
    template <detail::OnFailure Then = detail::on_failure>
    T &value() & {
        require<Then>();
        return value_;
    }
    template <detail::OnFailure Then = detail::on_failure>
    const T &value() const & {
        require<Then>();
        return value_;
    }
    template <detail::OnFailure Then = detail::on_failure>
    T &&value() && {
        require<Then>();
        return static_cast<T &&>(value_);
    }
    template <detail::OnFailure Then = detail::on_failure>
    const T &&value() const && {
        require<Then>();
        return static_cast<const T &&>(value_);
    }

    // The value; on failure `otherwise`.
    template <class U>
    [[nodiscard]] T value_or(U &&otherwise) const & {
        if (has_value_) {
            return value_;
        }
        return static_cast<T>(static_cast<U &&>(otherwise));
    }
    template <class U>
    [[nodiscard]] T value_or(U &&otherwise) && {
        if (has_value_) {
            return static_cast<T &&>(value_);
        }
        return static_cast<T>(static_cast<U &&>(otherwise));
    }

    // Calls the function with the value, and returns the Result that it returns. An error is
    // returned unchanged, without a call.
    template <class F>
    auto and_then(F &&function) & {
        return detail::and_then(*this, static_cast<F &&>(function));
    }
    template <class F>
    auto and_then(F &&function) const & {
        return detail::and_then(*this, static_cast<F &&>(function));
    }
    template <class F>
    auto and_then(F &&function) && {
        return detail::and_then(static_cast<Result &&>(*this), static_cast<F &&>(function));
    }
    template <class F>
    auto and_then(F &&function) const && {
        return detail::and_then(static_cast<const Result &&>(*this), static_cast<F &&>(function));
    }

    // Calls the function with the value, and returns a Result of what it returns. An error is
    // returned unchanged, without a call.
    template <class F>
    auto transform(F &&function) & {
        return detail::transform(*this, static_cast<F &&>(function));
    }
    template <class F>
    auto transform(F &&function) const & {
        return detail::transform(*this, static_cast<F &&>(function));
    }
    template <class F>
    auto transform(F &&function) && {
        return detail::transform(static_cast<Result &&>(*this), static_cast<F &&>(function));
    }
    template <class F>
    auto transform(F &&function) const && {
        return detail::transform(static_cast<const Result &&>(*this), static_cast<F &&>(function));
    }

    // Calls the function with the error, and returns the Result of this type that it returns. A
    // value is returned unchanged, without a call.
    template <class F>
    auto or_else(F &&function) & {
        return detail::or_else(*this, static_cast<F &&>(function));
    }
    template <class F>
    auto or_else(F &&function) const & {
        return detail::or_else(*this, static_cast<F &&>(function));
    }
    template <class F>
    auto or_else(F &&function) && {
        return detail::or_else(static_cast<Result &&>(*this), static_cast<F &&>(function));
    }
    template <class F>
    auto or_else(F &&function) const && {
        return detail::or_else(static_cast<const Result &&>(*this), static_cast<F &&>(function));
    }

    // Calls the function with the error, and returns the Error that it returns as a failure. A
    // value is returned unchanged, without a call.
    template <class F>
    auto transform_error(F &&function) const & {
        return detail::transform_error(*this, static_cast<F &&>(function));
    }
    template <class F>
    auto transform_error(F &&function) && {
        return detail::transform_error(static_cast<Result &&>(*this), static_cast<F &&>(function));
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
    friend bool operator==(const Result &left, const Error &error) noexcept {
        return !left.has_value() && left.error() == error;
    }

  private:
    template <detail::OnFailure Then>
    void require() const {
        if (!has_value_) {
            detail::fail<Then>(error_);
        }
    }

    template <class Other>
    void construct(Other &&other) {
        if (has_value_) {
            ::new (static_cast<void *>(__builtin_addressof(value_)))
                T(*static_cast<Other &&>(other));
        } else {
            ::new (static_cast<void *>(__builtin_addressof(error_)))
                Error(static_cast<Other &&>(other).error());
        }
    }

    template <class Other>
    void assign(Other &&other) {
        if (this == __builtin_addressof(other)) {
            return;
        }
        if (has_value_ && other.has_value_) {
            value_ = *static_cast<Other &&>(other);
        } else if (has_value_) {
            // Moved out of `other` before the value is destroyed, which may own `other`.
            Error error(static_cast<Other &&>(other).error());
            value_.~T();
            ::new (static_cast<void *>(__builtin_addressof(error_)))
                Error(static_cast<Error &&>(error));
            has_value_ = false;
        } else if (other.has_value_) {
            replace_error(*static_cast<Other &&>(other));
        } else {
            error_ = static_cast<Other &&>(other).error();
        }
    }

    // Restores the error if the construction of the value throws. A destructor, as `try` may be
    // unavailable.
    template <class U>
    void replace_error(U &&value) {
        struct PutBack {
            Result *result;
            Error error;
            ~PutBack() {
                if (result != nullptr) {
                    ::new (static_cast<void *>(__builtin_addressof(result->error_)))
                        Error(static_cast<Error &&>(error));
                }
            }
        };
        PutBack put_back{this, static_cast<Error &&>(error_)};
        error_.~Error();
        ::new (static_cast<void *>(__builtin_addressof(value_))) T(static_cast<U &&>(value));
        put_back.result = nullptr;
        has_value_ = true;
    }

    union {
        T value_;
        Error error_;
    };
    bool has_value_;
};

// Success without a value, or an Error.
template <>
class [[nodiscard]] Result<void> {
  public:
    using value_type = void;  // as in std::expected
    using error_type = Error; // as in std::expected

    // Success without arguments or with in_place; failure with an Error.
    Result() noexcept : nothing_(), has_value_(true) {}
    explicit Result(in_place_t) noexcept : Result() {}
    Result(const Error &error) noexcept : error_(error), has_value_(false) {}
    Result(Error &&error) noexcept : error_(static_cast<Error &&>(error)), has_value_(false) {}

    // Copies, moves or assigns success or the error.
    Result(const Result &other) noexcept : nothing_(), has_value_(other.has_value_) {
        construct(other);
    }
    Result(Result &&other) noexcept : nothing_(), has_value_(other.has_value_) {
        construct(static_cast<Result &&>(other));
    }
    Result &operator=(const Result &other) noexcept {
        assign(other);
        return *this;
    }
    Result &operator=(Result &&other) noexcept {
        assign(static_cast<Result &&>(other));
        return *this;
    }
    ~Result() {
        if (!has_value_) [[unlikely]] {
            error_.~Error();
        }
    }

    // Whether it is a success.
    [[nodiscard]] bool has_value() const noexcept { return has_value_; }
    explicit operator bool() const noexcept { return has_value_; }

    // Does nothing, for generic code. Undefined on failure; not checked.
    void operator*() const noexcept {}
    // Replaces the state by success.
    void emplace() noexcept { *this = Result(); }

    // The error. Undefined on success; not checked.
    Error &error() & noexcept { return error_; }
    const Error &error() const & noexcept { return error_; }
    Error &&error() && noexcept { return static_cast<Error &&>(error_); }
    const Error &&error() const && noexcept { return static_cast<const Error &&>(error_); }

    // Nothing on success. On failure throws Exception (exception.hpp), or, in a file built without
    // exceptions, writes the error's message to stderr and aborts.
    template <detail::OnFailure Then = detail::on_failure>
    void value() const {
        if (!has_value_) {
            detail::fail<Then>(error_);
        }
    }

    // Calls the function without an argument, and returns the Result that it returns. An error is
    // returned unchanged, without a call.
    template <class F>
    auto and_then(F &&function) const & {
        using Next = std::remove_cvref_t<std::invoke_result_t<F>>;
        static_assert(detail::is_result<Next>, "and_then needs a function that returns a Result");
        return has_value_ ? Next(static_cast<F &&>(function)()) : Next(error_);
    }
    template <class F>
    auto and_then(F &&function) && {
        using Next = std::remove_cvref_t<std::invoke_result_t<F>>;
        static_assert(detail::is_result<Next>, "and_then needs a function that returns a Result");
        return has_value_ ? Next(static_cast<F &&>(function)())
                          : Next(static_cast<Error &&>(error_));
    }

    // Calls the function without an argument, and returns a Result of what it returns. An error is
    // returned unchanged, without a call.
    template <class F>
    auto transform(F &&function) const {
        using Next = Result<std::remove_cv_t<std::invoke_result_t<F>>>;
        if (!has_value_) {
            return Next(error_);
        }
        if constexpr (std::is_same_v<Next, Result<void>>) {
            static_cast<F &&>(function)();
            return Next();
        } else {
            return Next(static_cast<F &&>(function)());
        }
    }

    // Calls the function with the error, and returns the Result<void> that it returns. Success is
    // returned unchanged, without a call.
    template <class F>
    auto or_else(F &&function) & {
        return detail::or_else(*this, static_cast<F &&>(function));
    }
    template <class F>
    auto or_else(F &&function) const & {
        return detail::or_else(*this, static_cast<F &&>(function));
    }
    template <class F>
    auto or_else(F &&function) && {
        return detail::or_else(static_cast<Result &&>(*this), static_cast<F &&>(function));
    }
    template <class F>
    auto or_else(F &&function) const && {
        return detail::or_else(static_cast<const Result &&>(*this), static_cast<F &&>(function));
    }

    // Calls the function with the error, and returns the Error that it returns as a failure.
    // Success is returned unchanged, without a call.
    template <class F>
    auto transform_error(F &&function) const & {
        return detail::transform_error(*this, static_cast<F &&>(function));
    }
    template <class F>
    auto transform_error(F &&function) && {
        return detail::transform_error(static_cast<Result &&>(*this), static_cast<F &&>(function));
    }

    // Whether both are successes or hold equal errors.
    friend bool operator==(const Result &left, const Result &right) noexcept {
        return left.has_value() == right.has_value() &&
               (left.has_value() || left.error() == right.error());
    }
    friend bool operator==(const Result &left, const Error &error) noexcept {
        return !left.has_value() && left.error() == error;
    }

  private:
    template <class Other>
    void construct(Other &&other) noexcept {
        if (!has_value_) {
            ::new (static_cast<void *>(&error_)) Error(static_cast<Other &&>(other).error());
        }
    }

    template <class Other>
    void assign(Other &&other) noexcept {
        if (!has_value_ && !other.has_value_) {
            error_ = static_cast<Other &&>(other).error();
        } else if (!has_value_) {
            error_.~Error();
            nothing_ = 0;
            has_value_ = true;
        } else if (!other.has_value_) {
            has_value_ = false;
            construct(static_cast<Other &&>(other));
        }
    }

    union {
        char nothing_;
        Error error_;
    };
    bool has_value_;
};

namespace detail {

// The result; an error names this function: see error.hpp.
template <class T>
Result<T> named(Result<T> &&result, const char *function) noexcept {
    if (!result.has_value()) [[unlikely]] {
        result.error() = named(static_cast<Error &&>(result.error()), function);
    }
    return static_cast<Result<T> &&>(result);
}

} // namespace detail
} // namespace cushim

#include <cushim/try.hpp>

#endif
