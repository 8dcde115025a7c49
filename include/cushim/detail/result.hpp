/* What Result<T> and Result<void> have in common, and which types they accept. */
#ifndef CUSHIM_DETAIL_RESULT_HPP
#define CUSHIM_DETAIL_RESULT_HPP

#include <new>
#include <type_traits>
#include <utility>

#include <cushim/detail/error.hpp>
#include <cushim/error.hpp>

namespace cushim {

template <class T>
class Result;

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
                      !std::is_same_v<std::remove_cvref_t<U>, std::in_place_t> &&
                      !is_other_result<T, std::remove_cvref_t<U>> && std::is_constructible_v<T, U>;

template <class T, class U, class From>
concept converts_value = !std::is_same_v<T, U> && !std::is_same_v<T, Result<U>> &&
                         !std::is_void_v<U> && std::is_constructible_v<T, From>;

enum class OnFailure { throws, aborts, is_undefined };

// What value() does on failure in the file that calls it, and what *, -> and error() do if the
// Result does not hold what they return. The choice is part of the name of each of these functions,
// and these constants have internal linkage: files with and without exceptions, with and without
// NDEBUG keep their own behaviour when they are linked together.
#if defined(__cpp_exceptions) || defined(__EXCEPTIONS) || defined(_CPPUNWIND)
constexpr OnFailure on_failure = OnFailure::throws;
#else
constexpr OnFailure on_failure = OnFailure::aborts;
#endif
#ifdef NDEBUG
constexpr OnFailure on_misuse = OnFailure::is_undefined;
#else
constexpr OnFailure on_misuse = OnFailure::aborts;
#endif

// Calls the function with the value, of Result<void> without an argument.
template <class F, class Self>
decltype(auto) call_with_value(F &&function, Self &&self) {
    if constexpr (std::is_void_v<typename std::remove_cvref_t<Self>::value_type>) {
        return static_cast<F &&>(function)();
    } else {
        return static_cast<F &&>(function)(*static_cast<Self &&>(self));
    }
}

template <class Self, class F>
auto and_then(Self &&self, F &&function) {
    using Next = std::remove_cvref_t<decltype(call_with_value(static_cast<F &&>(function),
                                                              static_cast<Self &&>(self)))>;
    static_assert(is_result<Next>, "and_then needs a function that returns a Result");
    if (!self.has_value()) {
        return Next(static_cast<Self &&>(self).error());
    }
    return Next(call_with_value(static_cast<F &&>(function), static_cast<Self &&>(self)));
}

template <class Self, class F>
auto transform(Self &&self, F &&function) {
    using Next = Result<std::remove_cv_t<decltype(call_with_value(static_cast<F &&>(function),
                                                                  static_cast<Self &&>(self)))>>;
    if (!self.has_value()) {
        return Next(static_cast<Self &&>(self).error());
    }
    if constexpr (std::is_same_v<Next, Result<void>>) {
        call_with_value(static_cast<F &&>(function), static_cast<Self &&>(self));
        return Next();
    } else {
        return Next(call_with_value(static_cast<F &&>(function), static_cast<Self &&>(self)));
    }
}

// or_else(), whose function returns the same type of Result, and transform_error(), whose function
// returns an Error.
template <class Self, class F>
auto replace_error(Self &&self, F &&function) {
    using Same = std::remove_cvref_t<Self>;
    if (self.has_value()) {
        return Same(static_cast<Self &&>(self));
    }
    return Same(static_cast<F &&>(function)(static_cast<Self &&>(self).error()));
}
template <class Self, class F>
auto or_else(Self &&self, F &&function) {
    using Next = std::invoke_result_t<F, decltype(static_cast<Self &&>(self).error())>;
    static_assert(std::is_same_v<std::remove_cvref_t<Next>, std::remove_cvref_t<Self>>,
                  "or_else needs a function that returns the same type of Result");
    return replace_error(static_cast<Self &&>(self), static_cast<F &&>(function));
}
template <class Self, class F>
auto transform_error(Self &&self, F &&function) {
    using Next = std::invoke_result_t<F, decltype(static_cast<Self &&>(self).error())>;
    static_assert(std::is_same_v<std::remove_cvref_t<Next>, Error>,
                  "transform_error needs a function that returns an Error");
    return replace_error(static_cast<Self &&>(self), static_cast<F &&>(function));
}

// Apart from the functions above: they would otherwise be candidates for each unqualified call with
// a Result, such as a program's own and_then().
namespace outcome {

// The value of a Result<void>.
struct Nothing {};

// The base of Result<T>: holds the value or the error. Its public members are documented there.
template <class T>
class Outcome {
    using Self = Result<T>;
    using Value = std::conditional_t<std::is_void_v<T>, Nothing, T>;

  public:
    using value_type = T;     // as in std::expected
    using error_type = Error; // as in std::expected

    // Whether it holds a value.
    [[nodiscard]] bool has_value() const noexcept { return has_value_; }
    explicit operator bool() const noexcept { return has_value_; }

    // The error. On success, without NDEBUG, writes that to stderr and aborts; otherwise undefined.
    template <OnFailure Then = on_misuse>
    Error &error() & noexcept {
        require_error<Then>();
        return error_;
    }
    template <OnFailure Then = on_misuse>
    const Error &error() const & noexcept {
        require_error<Then>();
        return error_;
    }
    template <OnFailure Then = on_misuse>
    Error &&error() && noexcept CUSHIM_LIFETIMEBOUND {
        require_error<Then>();
        return static_cast<Error &&>(error_);
    }
    template <OnFailure Then = on_misuse>
    const Error &&error() const && noexcept CUSHIM_LIFETIMEBOUND {
        require_error<Then>();
        return static_cast<const Error &&>(error_);
    }

    template <class F>
    auto and_then(F &&function) & {
        return detail::and_then(static_cast<Self &>(*this), static_cast<F &&>(function));
    }
    template <class F>
    auto and_then(F &&function) const & {
        return detail::and_then(static_cast<const Self &>(*this), static_cast<F &&>(function));
    }
    template <class F>
    auto and_then(F &&function) && {
        return detail::and_then(static_cast<Self &&>(*this), static_cast<F &&>(function));
    }
    template <class F>
    auto and_then(F &&function) const && {
        return detail::and_then(static_cast<const Self &&>(*this), static_cast<F &&>(function));
    }

    template <class F>
    auto transform(F &&function) & {
        return detail::transform(static_cast<Self &>(*this), static_cast<F &&>(function));
    }
    template <class F>
    auto transform(F &&function) const & {
        return detail::transform(static_cast<const Self &>(*this), static_cast<F &&>(function));
    }
    template <class F>
    auto transform(F &&function) && {
        return detail::transform(static_cast<Self &&>(*this), static_cast<F &&>(function));
    }
    template <class F>
    auto transform(F &&function) const && {
        return detail::transform(static_cast<const Self &&>(*this), static_cast<F &&>(function));
    }

    template <class F>
    auto or_else(F &&function) & {
        return detail::or_else(static_cast<Self &>(*this), static_cast<F &&>(function));
    }
    template <class F>
    auto or_else(F &&function) const & {
        return detail::or_else(static_cast<const Self &>(*this), static_cast<F &&>(function));
    }
    template <class F>
    auto or_else(F &&function) && {
        return detail::or_else(static_cast<Self &&>(*this), static_cast<F &&>(function));
    }
    template <class F>
    auto or_else(F &&function) const && {
        return detail::or_else(static_cast<const Self &&>(*this), static_cast<F &&>(function));
    }

    template <class F>
    auto transform_error(F &&function) const & {
        return detail::transform_error(static_cast<const Self &>(*this),
                                       static_cast<F &&>(function));
    }
    template <class F>
    auto transform_error(F &&function) && {
        return detail::transform_error(static_cast<Self &&>(*this), static_cast<F &&>(function));
    }

    friend bool operator==(const Self &left, const Error &error) noexcept {
        return !left.has_value() && left.error() == error;
    }

  protected:
    template <class... Arguments>
    explicit Outcome(std::in_place_t, Arguments &&...arguments) noexcept(
        std::is_nothrow_constructible_v<Value, Arguments...>)
        : value_(static_cast<Arguments &&>(arguments)...), has_value_(true) {}
    explicit Outcome(const Error &error) noexcept : error_(error), has_value_(false) {}
    explicit Outcome(Error &&error) noexcept
        : error_(static_cast<Error &&>(error)), has_value_(false) {}
    // From another type of Result.
    template <class U>
    explicit Outcome(const Result<U> &other) : has_value_(other.has_value()) {
        construct(other);
    }
    template <class U>
    explicit Outcome(Result<U> &&other) : has_value_(other.has_value()) {
        construct(static_cast<Result<U> &&>(other));
    }

    Outcome(const Outcome &other) noexcept(std::is_nothrow_copy_constructible_v<Value>)
        requires std::is_copy_constructible_v<Value>
        : has_value_(other.has_value_) {
        construct(other);
    }
    Outcome(Outcome &&other) noexcept(std::is_nothrow_move_constructible_v<Value>)
        requires std::is_move_constructible_v<Value>
        : has_value_(other.has_value_) {
        construct(static_cast<Outcome &&>(other));
    }
    Outcome &operator=(const Outcome &other) noexcept(std::is_void_v<T>)
        requires(std::is_copy_constructible_v<Value> && std::is_copy_assignable_v<Value>)
    {
        assign(other);
        return *this;
    }
    Outcome &operator=(Outcome &&other) noexcept(std::is_nothrow_move_constructible_v<Value> &&
                                                 std::is_nothrow_move_assignable_v<Value>)
        requires(std::is_move_constructible_v<Value> && std::is_move_assignable_v<Value>)
    {
        assign(static_cast<Outcome &&>(other));
        return *this;
    }
    ~Outcome() {
        if (has_value_) [[likely]] {
            value_.~Value();
        } else {
            error_.~Error();
        }
    }

    // The value of this or another Result.
    Value &get() & noexcept { return value_; }
    const Value &get() const & noexcept { return value_; }
    Value &&get() && noexcept { return static_cast<Value &&>(value_); }
    const Value &&get() const && noexcept { return static_cast<const Value &&>(value_); }

    template <class... Arguments>
    void replace(Arguments &&...arguments) noexcept {
        if (has_value_) {
            value_.~Value();
        } else {
            error_.~Error();
            has_value_ = true;
        }
        ::new (static_cast<void *>(__builtin_addressof(value_)))
            Value(static_cast<Arguments &&>(arguments)...);
    }

    // `function`: of the Result.
    template <OnFailure Then>
    void require_value(const char *function) const noexcept(Then != OnFailure::throws) {
        if constexpr (Then != OnFailure::is_undefined) {
            if (!has_value_) [[unlikely]] {
                if constexpr (Then == OnFailure::throws) {
                    throw_exception(error_);
                } else {
                    abort_with(&error_, function);
                }
            }
        }
    }

  private:
    template <class>
    friend class Outcome;

    template <OnFailure Then>
    void require_error() const noexcept {
        if constexpr (Then != OnFailure::is_undefined) {
            if (has_value_) [[unlikely]] {
                abort_with(nullptr, "error()");
            }
        }
    }

    template <class Other>
    void construct(Other &&other) {
        if (has_value_) {
            ::new (static_cast<void *>(__builtin_addressof(value_)))
                Value(static_cast<Other &&>(other).get());
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
            value_ = static_cast<Other &&>(other).get();
        } else if (has_value_) {
            // Moved out of `other` before the value is destroyed, which may own `other`.
            Error error(static_cast<Other &&>(other).error());
            value_.~Value();
            ::new (static_cast<void *>(__builtin_addressof(error_)))
                Error(static_cast<Error &&>(error));
            has_value_ = false;
        } else if (other.has_value_) {
            replace_error(static_cast<Other &&>(other).get());
        } else {
            error_ = static_cast<Other &&>(other).error();
        }
    }

    // Restores the error if the construction of the value throws. A destructor, as `try` may be
    // unavailable.
    template <class U>
    void replace_error(U &&value) {
        struct PutBack {
            Outcome *outcome;
            Error error;
            ~PutBack() {
                if (outcome != nullptr) {
                    ::new (static_cast<void *>(__builtin_addressof(outcome->error_)))
                        Error(static_cast<Error &&>(error));
                }
            }
        };
        PutBack put_back{this, static_cast<Error &&>(error_)};
        error_.~Error();
        ::new (static_cast<void *>(__builtin_addressof(value_))) Value(static_cast<U &&>(value));
        put_back.outcome = nullptr;
        has_value_ = true;
    }

    union {
        Value value_;
        Error error_;
    };
    bool has_value_;
};

} // namespace outcome
} // namespace detail
} // namespace cushim

#endif
