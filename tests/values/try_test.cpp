// CUSHIM_TRY returns an error from the function, and otherwise continues with the value.
#include <cushim/result.hpp>

#include "check.hpp"
#include "result_types.hpp"

#include <map>
#include <memory>
#include <string>
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

Result<int> positive(int value) {
    if (value <= 0) {
        return failure();
    }
    return value;
}

Result<void> must_be_positive(int value) {
    CUSHIM_TRY_VOID(positive(value));
    return {};
}

Result<std::string> sum(int a, int b) {
    CUSHIM_TRY(const int first, positive(a));
    CUSHIM_TRY(int second, positive(b));
    second += first;
    return std::to_string(second);
}

Result<int> assign(int value) {
    int result = 0;
    CUSHIM_TRY(result, positive(value));
    return result;
}

Result<std::unique_ptr<int>> take(Result<std::unique_ptr<int>> source) {
    CUSHIM_TRY(auto value, std::move(source));
    ++*value;
    return value;
}

Result<void> in_every_branch(int value) {
    if (value > 10) {
        CUSHIM_TRY_VOID(must_be_positive(value - 20));
    } else {
        CUSHIM_TRY_VOID(must_be_positive(value));
    }
    for (int i = 0; i != 2; ++i) {
        CUSHIM_TRY(const int same, positive(value));
        CUSHIM_TRY_VOID(must_be_positive(same));
    }
    return {};
}

Result<int> in_a_lambda(int value) {
    const auto twice = [](int half) -> Result<int> {
        CUSHIM_TRY(const int known, positive(half));
        return known * 2;
    };
    CUSHIM_TRY(const int result, twice(value));
    return result;
}

// Two on one line, as in the expansion of a program's own macro.
#define TWO_VALUES(first, second, result)                                                          \
    CUSHIM_TRY(const int first, result);                                                           \
    CUSHIM_TRY(const int second, result)

Result<int> twice_on_a_line(int value) {
    TWO_VALUES(first, second, positive(value));
    return first + second;
}

Result<int> in_an_operand(int value) {
    CUSHIM_TRY(const int result, [value]() -> Result<int> {
        CUSHIM_TRY(const int known, positive(value));
        CUSHIM_TRY_VOID(must_be_positive(known));
        return known * 2;
    }());
    return result;
}

Result<std::map<int, int>> pairs(int value) {
    CUSHIM_TRY_VOID(positive(value));
    return std::map<int, int>{{value, value}};
}

template <class T>
Result<T> in_a_template(Result<T> source) {
    CUSHIM_TRY(T value, std::move(source));
    return value;
}

// A reference to the value of a temporary Result is valid to the end of the block.
Result<int> by_reference(int value) {
    CUSHIM_TRY(const auto &found, pairs(value));
    CUSHIM_TRY(const int same, Result<std::pair<int, int>>(*found.begin()).transform([](auto pair) {
        return pair.second;
    }));
    return same + static_cast<int>(found.size());
}

} // namespace

TEST_CASE("CUSHIM_TRY declares the value") {
    const Result<std::string> result = sum(3, 4);
    REQUIRE(result.has_value());
    CHECK(*result == "7");
    CHECK(*assign(5) == 5);
    CHECK(*in_a_lambda(5) == 10);
    CHECK(*twice_on_a_line(5) == 10);
    CHECK(*in_an_operand(5) == 10);
    CHECK(*in_a_template<std::string>("text") == "text");
    CHECK(*by_reference(8) == 9);
}

TEST_CASE("CUSHIM_TRY returns the error from a function with any Result type") {
    for (const auto &failed : {sum(0, 4), sum(3, 0)}) {
        REQUIRE(!failed.has_value());
        CHECK(failed.error().kind() == ErrorKind::no_device);
    }
    CHECK_FALSE(assign(0).has_value());
    CHECK_FALSE(in_a_lambda(0).has_value());
    CHECK_FALSE(twice_on_a_line(0).has_value());
    CHECK_FALSE(in_an_operand(0).has_value());
    CHECK_FALSE(in_a_template<std::string>(failure()).has_value());
    CHECK_FALSE(by_reference(0).has_value());
}

TEST_CASE("CUSHIM_TRY_VOID continues on success and returns on failure") {
    CHECK(must_be_positive(1).has_value());
    REQUIRE(!must_be_positive(0).has_value());
    CHECK(must_be_positive(0).error().kind() == ErrorKind::no_device);
    CHECK(in_every_branch(1).has_value());
    CHECK(in_every_branch(21).has_value());
    CHECK_FALSE(in_every_branch(11).has_value());
    CHECK_FALSE(in_every_branch(0).has_value());
}

TEST_CASE("CUSHIM_TRY moves from a temporary and copies from a variable") {
    auto taken = take(std::make_unique<int>(1));
    REQUIRE(taken.has_value());
    CHECK(**taken == 2);

    const auto named = [](Result<Counted> &source) -> Result<int> {
        CUSHIM_TRY(const Counted copy, source);
        return copy.value;
    };
    Result<Counted> source = Counted(9);
    const Count count;
    CHECK(*named(source) == 9);
    CHECK(source->value == 9);
    CHECK(count.copies() == 1);
    CHECK(count.moves() == 0);
}

TEST_CASE("CUSHIM_TRY keeps the error's message") {
    const auto detailed = []() -> Result<int> { return Error::invalid_argument("with a detail"); };
    const auto passing = [&detailed]() -> Result<std::string> {
        CUSHIM_TRY(const int value, detailed());
        return std::to_string(value);
    };
    const Result<std::string> failed = passing();
    REQUIRE(!failed.has_value());
    CHECK(std::string(failed.error().message()) == "with a detail");
}
