// The operations that chain Results: each calls its function for one state and passes the other
// state through.
#include <cushim/result.hpp>

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

namespace {

Error failure() {
    return Error::make({.kind = ErrorKind::no_device});
}

// Calls `use` with the Result as each of the four value categories.
template <class R, class Use>
void in_all_categories(const R &original, Use use) {
    R plain = original;
    use(plain);
    use(std::as_const(plain));
    use(std::move(plain));
    const R constant = original;
    use(std::move(constant));
}

// Returns the value category of its argument.
struct Category {
    std::string operator()(Counted &) const { return "&"; }
    std::string operator()(const Counted &) const { return "const &"; }
    std::string operator()(Counted &&) const { return "&&"; }
    std::string operator()(const Counted &&) const { return "const &&"; }
};

} // namespace

namespace app {

template <class Value, class F>
auto and_then(Value &&value, F &&function) {
    return std::forward<Value>(value).and_then(std::forward<F>(function));
}

} // namespace app

TEST_CASE("a program's functions of the same names are not ambiguous") {
    using app::and_then;
    const auto next = [](int value) { return Result<int>(value + 1); };
    CHECK(*and_then(Result<int>(1), next) == 2);
}

TEST_CASE("and_then calls its function with the value") {
    in_all_categories(Result<int>(20), [](auto &&result) {
        const auto next = std::forward<decltype(result)>(result).and_then(
            [](int value) { return Result<std::string>(std::to_string(value + 1)); });
        static_assert(std::is_same_v<decltype(next), const Result<std::string>>);
        REQUIRE(next.has_value());
        CHECK(*next == "21");
    });
    in_all_categories(Result<int>(20), [](auto &&result) {
        const auto failed = std::forward<decltype(result)>(result).and_then(
            [](int) { return Result<std::string>(failure()); });
        CHECK_FALSE(failed.has_value());
    });
}

TEST_CASE("and_then passes an error through without a call") {
    int calls = 0;
    in_all_categories(Result<int>(failure()), [&calls](auto &&result) {
        const auto next = std::forward<decltype(result)>(result).and_then([&calls](int) {
            ++calls;
            return Result<void>();
        });
        REQUIRE(!next.has_value());
        CHECK(next.error().kind() == ErrorKind::no_device);
    });
    CHECK(calls == 0);
}

TEST_CASE("transform wraps the function's result") {
    in_all_categories(Result<int>(20), [](auto &&result) {
        const auto next =
            std::forward<decltype(result)>(result).transform([](int value) { return value * 0.5; });
        static_assert(std::is_same_v<decltype(next), const Result<double>>);
        REQUIRE(next.has_value());
        CHECK(*next == 10.0);
    });
    int seen = 0;
    in_all_categories(Result<int>(1), [&seen](auto &&result) {
        const auto next =
            std::forward<decltype(result)>(result).transform([&seen](int value) { seen += value; });
        static_assert(std::is_same_v<decltype(next), const Result<void>>);
        CHECK(next.has_value());
    });
    CHECK(seen == 4);
    const auto nested = Result<int>(1).transform([](int) { return Result<int>(failure()); });
    static_assert(std::is_same_v<decltype(nested), const Result<Result<int>>>);
    REQUIRE(nested.has_value());
    CHECK_FALSE(nested->has_value());
}

TEST_CASE("transform passes an error through without a call") {
    int calls = 0;
    in_all_categories(Result<int>(failure()), [&calls](auto &&result) {
        const auto value =
            std::forward<decltype(result)>(result).transform([&calls](int) { return ++calls; });
        REQUIRE(!value.has_value());
        CHECK(value.error().kind() == ErrorKind::no_device);
        const auto nothing = value.transform([&calls](int) { ++calls; });
        CHECK_FALSE(nothing.has_value());
    });
    CHECK(calls == 0);
}

TEST_CASE("or_else calls its function with the error") {
    in_all_categories(Result<int>(failure()), [](auto &&result) {
        const auto next = std::forward<decltype(result)>(result).or_else(
            [](const Error &error) { return Result<int>(error.kind() == ErrorKind::no_device); });
        REQUIRE(next.has_value());
        CHECK(*next == 1);
    });
    in_all_categories(Result<void>(failure()), [](auto &&result) {
        const auto next = std::forward<decltype(result)>(result).or_else(
            [](const Error &) { return Result<void>(); });
        CHECK(next.has_value());
    });
}

TEST_CASE("or_else passes a value through without a call") {
    int calls = 0;
    const auto count = [&calls](const Error &error) {
        ++calls;
        return Result<int>(error);
    };
    in_all_categories(Result<int>(20), [&count](auto &&result) {
        const auto next = std::forward<decltype(result)>(result).or_else(count);
        REQUIRE(next.has_value());
        CHECK(*next == 20);
    });
    const auto nothing = Result<void>().or_else([&calls](const Error &error) {
        ++calls;
        return Result<void>(error);
    });
    CHECK(nothing.has_value());
    CHECK(calls == 0);
}

TEST_CASE("Result<void> can be chained") {
    int calls = 0;
    in_all_categories(Result<void>(), [&calls](auto &&result) {
        const auto next = std::forward<decltype(result)>(result).and_then(
            [&calls] { return Result<int>(++calls); });
        REQUIRE(next.has_value());
        CHECK(*next == calls);
        const auto value = result.transform([] { return std::string("text"); });
        static_assert(std::is_same_v<decltype(value), const Result<std::string>>);
        CHECK(*value == "text");
        const auto nothing = result.transform([] {});
        static_assert(std::is_same_v<decltype(nothing), const Result<void>>);
        CHECK(nothing.has_value());
    });
    CHECK(calls == 4);

    in_all_categories(Result<void>(failure()), [&calls](auto &&result) {
        const auto value = result.transform([&calls] { return ++calls; });
        CHECK_FALSE(value.has_value());
        const auto nothing = result.transform([&calls] { ++calls; });
        CHECK_FALSE(nothing.has_value());
        const auto next = std::forward<decltype(result)>(result).and_then(
            [&calls] { return Result<int>(++calls); });
        REQUIRE(!next.has_value());
        CHECK(next.error().kind() == ErrorKind::no_device);
    });
    CHECK(calls == 4);
}

TEST_CASE("functions get the value with the result's value category") {
    Result<Counted> result = Counted(1);
    const Result<Counted> constant = Counted(1);
    const Count count;

    CHECK(*result.transform(Category()) == "&");
    CHECK(*std::as_const(result).transform(Category()) == "const &");
    CHECK(*std::move(result).transform(Category()) == "&&");
    CHECK(*std::move(constant).transform(Category()) == "const &&");
    CHECK(count.copies() == 0);
    CHECK(count.moves() == 0);
}

TEST_CASE("a chain of temporaries moves the value") {
    const auto taken =
        Result<std::unique_ptr<int>>(std::make_unique<int>(1))
            .and_then([](std::unique_ptr<int> &&value) {
                return Result<std::unique_ptr<int>>(std::move(value));
            })
            .or_else([](Error &&error) { return Result<std::unique_ptr<int>>(std::move(error)); })
            .transform([](std::unique_ptr<int> value) { return value; });
    REQUIRE(taken.has_value());
    CHECK(**taken == 1);
}

TEST_CASE("transform_error replaces the error and keeps a value") {
    int calls = 0;
    const auto to_missing = [&calls](const Error &error) {
        ++calls;
        CHECK(error.kind() == ErrorKind::no_device);
        return Error::make({.kind = ErrorKind::library_not_found});
    };
    const Result<int> failed = failure();
    CHECK(failed.transform_error(to_missing).error().kind() == ErrorKind::library_not_found);
    CHECK(Result<void>(failure()).transform_error(to_missing).error().kind() ==
          ErrorKind::library_not_found);
    CHECK(calls == 2);
    CHECK(*Result<int>(3).transform_error(to_missing) == 3);
    CHECK(Result<void>().transform_error(to_missing).has_value());
    CHECK(calls == 2);
    // A value that cannot be copied is moved.
    CHECK(**Result<std::unique_ptr<int>>(std::make_unique<int>(5)).transform_error(to_missing) ==
          5);
}
