// A Result holds a value or an Error and handles both as their types require.
#include <cushim/result.hpp>

#include "allocations.hpp"
#include "check.hpp"
#include "result_types.hpp"

#include <memory>
#include <string>
#include <type_traits>
#include <utility>

using cushim::Error;
using cushim::ErrorKind;
using cushim::Result;
using values::Count;
using values::Counted;
using values::Elusive;
using values::Fixed;
using values::MoveOnly;

namespace {

Error failure() {
    return Error::make({.kind = ErrorKind::no_device});
}
Error other_failure() {
    return Error::make({.kind = ErrorKind::out_of_memory});
}

struct FromInt {
    explicit FromInt(int v) : value(v) {}
    int value;
};

template <class T>
constexpr bool copyable = std::is_copy_constructible_v<T> && std::is_copy_assignable_v<T>;
template <class T>
constexpr bool movable =
    std::is_nothrow_move_constructible_v<T> && std::is_nothrow_move_assignable_v<T>;

// A Result can be copied, moved and assigned if its value can.
static_assert(copyable<Result<int>> && movable<Result<int>>);
static_assert(copyable<Result<std::string>> && movable<Result<std::string>>);
static_assert(copyable<Result<void>> && movable<Result<void>>);
static_assert(!std::is_copy_constructible_v<Result<MoveOnly>>);
static_assert(!std::is_copy_assignable_v<Result<MoveOnly>>);
static_assert(movable<Result<MoveOnly>>);
static_assert(std::is_copy_constructible_v<Result<Fixed>>);
static_assert(std::is_move_constructible_v<Result<Fixed>>);
static_assert(!std::is_copy_assignable_v<Result<Fixed>>);
static_assert(!std::is_move_assignable_v<Result<Fixed>>);
static_assert(std::is_nothrow_copy_constructible_v<Result<int>>);
static_assert(!std::is_nothrow_copy_constructible_v<Result<std::string>>);
static_assert(std::is_nothrow_copy_constructible_v<Result<void>>);

// Values and errors convert to a Result as they convert to each other. A Result does not convert to
// an unrelated one.
static_assert(std::is_convertible_v<int, Result<long>>);
static_assert(std::is_convertible_v<const char *, Result<std::string>>);
static_assert(std::is_convertible_v<Error, Result<int>> &&
              std::is_convertible_v<Error, Result<void>>);
static_assert(std::is_convertible_v<const Error &, Result<MoveOnly>>);
static_assert(std::is_constructible_v<Result<FromInt>, int>);
static_assert(!std::is_convertible_v<int, Result<FromInt>>);
static_assert(!std::is_constructible_v<Result<int>, std::string>);
static_assert(!std::is_constructible_v<Result<int>, Result<std::string>>);
static_assert(!std::is_constructible_v<Result<int>, Result<void>>);
static_assert(!std::is_constructible_v<Result<MoveOnly>, const Result<int> &> ||
              !std::is_convertible_v<const Result<int> &, Result<MoveOnly>>);
static_assert(!std::is_default_constructible_v<Result<int>>,
              "a Result<int> needs a value or an error");
static_assert(std::is_nothrow_default_constructible_v<Result<void>>);
static_assert(!std::is_convertible_v<Result<int>, bool>);

// Access keeps the value category.
template <class R, class T>
constexpr bool gives = std::is_same_v<decltype(*std::declval<R>()), T> &&
                       std::is_same_v<decltype(std::declval<R>().value()), T>;
static_assert(gives<Result<int> &, int &> && gives<const Result<int> &, const int &>);
static_assert(gives<Result<int> &&, int &&> && gives<const Result<int> &&, const int &&>);
template <class R>
using Wrong = decltype(std::declval<R>().error());
static_assert(std::is_same_v<Wrong<Result<int> &>, Error &>);
static_assert(std::is_same_v<Wrong<const Result<int> &>, const Error &>);
static_assert(std::is_same_v<Wrong<Result<int> &&>, Error &&>);
static_assert(std::is_same_v<Wrong<const Result<void> &&>, const Error &&>);

} // namespace

TEST_CASE("a result made from a value holds it") {
    Result<std::string> result = "twelve";

    REQUIRE(result.has_value());
    CHECK(static_cast<bool>(result));
    CHECK(*result == "twelve");
    CHECK(result->size() == 6);
    CHECK(result.value() == "twelve");
    *result += " six";
    CHECK(std::as_const(result).value() == "twelve six");
    CHECK(std::as_const(result)->size() == 10);
}

TEST_CASE("a result made from an error holds it") {
    const Error error = failure();
    const Result<int> copied = error;
    const Result<int> moved = failure();
    const Result<void> nothing = error;

    CHECK_FALSE(copied.has_value());
    CHECK_FALSE(static_cast<bool>(moved));
    CHECK_FALSE(nothing.has_value());
    CHECK(copied.error().kind() == ErrorKind::no_device);
    CHECK(moved.error().kind() == ErrorKind::no_device);
    CHECK(nothing.error().kind() == ErrorKind::no_device);
}

TEST_CASE("a default-constructed Result<void> is a success") {
    const Result<void> result;

    CHECK(result.has_value());
    CHECK(static_cast<bool>(result));
    result.value();
    *result;
}

TEST_CASE("false, zero and null are values") {
    CHECK(Result<bool>(false).has_value());
    CHECK(Result<int>(0).has_value());
    CHECK(Result<int *>(nullptr).has_value());
}

TEST_CASE("converting a result converts its value") {
    const Result<int> zero = 0;
    const Result<int> failed = failure();
    const Result<bool> is_zero_true = zero;
    const Result<bool> is_failed = failed;
    const Result<std::string> text = Result<const char *>("text");

    REQUIRE(is_zero_true.has_value());
    CHECK_FALSE(*is_zero_true);
    CHECK_FALSE(is_failed.has_value());
    CHECK(is_failed.error().kind() == ErrorKind::no_device);
    REQUIRE(text.has_value());
    CHECK(*text == "text");
}

TEST_CASE("converting a temporary result moves its value") {
    struct Base {
        virtual ~Base() = default;
    };
    struct Derived : Base {};
    Result<std::unique_ptr<Derived>> derived = std::make_unique<Derived>();
    const Base *const address = derived->get();
    const Result<std::unique_ptr<Base>> base = std::move(derived);

    REQUIRE(base.has_value());
    CHECK(base->get() == address);
}

TEST_CASE("a result can hold a result") {
    const Result<Result<int>> inner_failed = Result<int>(failure());
    const Result<Result<int>> outer_failed = failure();

    REQUIRE(inner_failed.has_value());
    CHECK_FALSE(inner_failed->has_value());
    CHECK_FALSE(outer_failed.has_value());
}

TEST_CASE("a result ignores the address-of operator of its value") {
    Result<Elusive> result = Elusive{3};
    const Result<Elusive> copy = result;
    result = failure();
    result = copy;

    REQUIRE(result.has_value());
    CHECK(result->value == 3);
    CHECK(copy->value == 3);
}

TEST_CASE("a result constructs and destroys its value once") {
    const Count count;
    {
        const Result<Counted> result = Counted(1);
        CHECK(count.live() == 1);
        CHECK(count.copies() == 0);
        CHECK(count.moves() == 1);
    }
    CHECK(count.live() == 0);
    {
        const Result<Counted> result = failure();
        CHECK(count.live() == 0);
    }
    CHECK(count.live() == 0);
}

TEST_CASE("copying or moving a result copies or moves its value once") {
    const Count count;
    {
        Result<Counted> source = Counted(7);
        const Count copying;
        const Result<Counted> copy = source;
        CHECK(copying.copies() == 1);
        CHECK(copying.moves() == 0);
        CHECK(copy->value == 7);
        CHECK(source->value == 7);

        const Count moving;
        const Result<Counted> moved = std::move(source);
        CHECK(moving.copies() == 0);
        CHECK(moving.moves() == 1);
        CHECK(moved->value == 7);
        REQUIRE(source.has_value());
        CHECK(source->value == -1);
    }
    CHECK(count.live() == 0);
}

TEST_CASE("copy and move assignment work between all states") {
    const Count count;
    {
        for (int pair = 0; pair != 8; ++pair) {
            const bool to_value = (pair & 1) != 0, from_value = (pair & 2) != 0;
            const bool by_move = (pair & 4) != 0;
            Result<Counted> to = to_value ? Result<Counted>(Counted(1)) : failure();
            Result<Counted> from = from_value ? Result<Counted>(Counted(2)) : other_failure();
            const Count assigning;
            if (by_move) {
                to = std::move(from);
            } else {
                to = from;
            }
            CHECK(assigning.copies() == (from_value && !by_move ? 1 : 0));
            CHECK(assigning.moves() == (from_value && by_move ? 1 : 0));
            CHECK(assigning.live() == int{from_value} - int{to_value});
            REQUIRE(to.has_value() == from_value);
            REQUIRE(from.has_value() == from_value);
            if (from_value) {
                CHECK(to->value == 2);
                CHECK(from->value == (by_move ? -1 : 2));
            } else {
                CHECK(to.error().kind() == ErrorKind::out_of_memory);
                CHECK(from.error().kind() == ErrorKind::out_of_memory);
            }
        }
    }
    CHECK(count.live() == 0);
}

TEST_CASE("assignment of Result<void> works between all states") {
    for (const bool to_value : {false, true}) {
        for (const bool from_value : {false, true}) {
            Result<void> to = to_value ? Result<void>() : failure();
            const Result<void> from = from_value ? Result<void>() : other_failure();
            to = from;
            REQUIRE(to.has_value() == from_value);
            if (!from_value) {
                CHECK(to.error().kind() == ErrorKind::out_of_memory);
            }
            to = Result<void>(from);
            CHECK(to.has_value() == from_value);
        }
    }
}

TEST_CASE("a value and an error can be assigned to a result") {
    Result<std::string> result = failure();

    result = "a value";
    REQUIRE(result.has_value());
    CHECK(*result == "a value");
    result = other_failure();
    REQUIRE(!result.has_value());
    CHECK(result.error().kind() == ErrorKind::out_of_memory);
}

TEST_CASE("self-assignment leaves a result unchanged") {
    Result<std::string> value = std::string(100, 'x');
    Result<std::string> &same_value = value;
    value = same_value;
    CHECK(*value == std::string(100, 'x'));
    value = std::move(same_value);
    CHECK(*value == std::string(100, 'x'));

    const auto check_error = [](auto error) {
        auto &same = error;
        error = same;
        error = std::move(same);
        REQUIRE(!error.has_value());
        CHECK(std::string(error.error().message()).find("kept") != std::string::npos);
    };
    check_error(Result<std::string>(Error::invalid_argument("kept")));
    check_error(Result<void>(Error::invalid_argument("kept")));
}

TEST_CASE("an error inside the value of a result can replace that value") {
    struct Holder {
        Result<int> inner;
    };
    Result<Holder> result = Holder{failure()};

    result = result->inner.error();
    REQUIRE(!result.has_value());
    CHECK(result.error().kind() == ErrorKind::no_device);
}

TEST_CASE("a move-only value can be moved out of a result") {
    Result<std::unique_ptr<int>> result = std::make_unique<int>(5);
    const std::unique_ptr<int> taken = *std::move(result);
    CHECK(*taken == 5);
    REQUIRE(result.has_value());
    CHECK(*result == nullptr);

    const std::unique_ptr<int> checked =
        Result<std::unique_ptr<int>>(std::make_unique<int>(6)).value();
    CHECK(*checked == 6);

    const auto otherwise =
        Result<std::unique_ptr<int>>(failure()).value_or(std::make_unique<int>(7));
    CHECK(*otherwise == 7);
}

TEST_CASE("value_or returns the value or its argument") {
    const Result<std::string> value = "value";
    const Result<std::string> error = failure();

    CHECK(value.value_or("otherwise") == "value");
    CHECK(error.value_or("otherwise") == "otherwise");
    CHECK(Result<std::string>("value").value_or("otherwise") == "value");
    CHECK(Result<std::string>(failure()).value_or("otherwise") == "otherwise");
    CHECK(*value == "value");
}

#if VALUES_COUNTS_ALLOCATIONS

TEST_CASE("success allocates no memory") {
    const long before = support::allocations();
    Result<int> number = 3;
    Result<int> copy = number;
    copy = std::move(number);
    const Result<void> nothing = copy.and_then([](int) { return Result<void>(); });
    const Result<long> next = copy.transform([](int value) { return value + 1L; });
    const long after = support::allocations();

    CHECK(after == before);
    CHECK(nothing.has_value());
    CHECK(*next == 4);
}

#endif

TEST_CASE("results compare by their values or errors") {
    const Error missing = Error::make({.kind = ErrorKind::library_not_found});
    const Error status = Error::status(cushim::Api::driver, 2, "cuMemAlloc_v2");
    CHECK(Result<int>(1) == Result<int>(1));
    CHECK(Result<int>(1) != Result<int>(2));
    CHECK(Result<int>(1) == Result<long>(1));
    CHECK(Result<int>(1) == 1);
    CHECK(2 != Result<int>(1));
    CHECK(Result<int>(missing) == Result<int>(missing));
    CHECK(Result<int>(missing) == missing);
    CHECK(status != Result<int>(missing));
    CHECK(Result<int>(1) != Result<int>(missing));
    CHECK(Result<void>() == Result<void>());
    CHECK(Result<void>() != Result<void>(missing));
    CHECK(Result<void>(missing) == missing);
    CHECK(status == Error::status(cushim::Api::driver, 2, "cuMemAlloc_v2"));
    CHECK(status != Error::status(cushim::Api::driver, 2, "cuMemAllocHost_v2"));
    CHECK(status != Error::status(cushim::Api::driver, 3, "cuMemAlloc_v2"));
    CHECK(status != Error::status(cushim::Api::runtime, 2, "cuMemAlloc_v2"));
}

TEST_CASE("a value is constructed in place and can replace an error") {
    Result<std::string> text(std::in_place, 3u, 'x');
    CHECK(*text == "xxx");
    CHECK(text.emplace(std::string("another")).size() == 7);
    const Result<void> nothing(std::in_place);
    CHECK(nothing.has_value());

    Result<int> number = Error::make({.kind = ErrorKind::no_device});
    CHECK(number.emplace(4) == 4);
    CHECK(number.has_value());
    Result<void> done = Error::make({.kind = ErrorKind::no_device});
    done.emplace();
    CHECK(done.has_value());
}
