// Built with exceptions, value() of a failure throws the error.
#include <cushim/exception.hpp>
#include <cushim/result.hpp>

#include "check.hpp"
#include "result_types.hpp"

#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

using cushim::Error;
using cushim::ErrorKind;
using cushim::Exception;
using cushim::Result;

static_assert(std::is_base_of_v<std::exception, Exception>);
static_assert(std::is_nothrow_copy_constructible_v<Exception>);

namespace {

// The message of the Exception that a function throws, or a sentence if it throws nothing.
template <class F>
std::string thrown_by(F function) {
    try {
        function();
    } catch (const Exception &exception) {
        return exception.error().kind() == ErrorKind::invalid_argument ? exception.what()
                                                                       : "another kind";
    }
    return "nothing was thrown";
}

// Throws when it is copied.
struct Throwing {
    explicit Throwing(int) {}
    Throwing(const Throwing &) { throw std::runtime_error("copied"); }
    Throwing &operator=(const Throwing &) = default;
};

} // namespace

TEST_CASE("value() of a failure throws the error") {
    Result<int> result = Error::invalid_argument("no value");
    const Result<int> constant = result;
    const Result<void> nothing = Error::invalid_argument("no value");
    const std::string expected = "no value";

    CHECK(thrown_by([&] { result.value() = 1; }) == expected);
    CHECK(thrown_by([&] { static_cast<void>(constant.value()); }) == expected);
    CHECK(thrown_by([&] { static_cast<void>(std::move(result).value()); }) == expected);
    CHECK(thrown_by([&] { static_cast<void>(std::move(constant).value()); }) == expected);
    CHECK(thrown_by([&] { nothing.value(); }) == expected);
}

TEST_CASE("value() of a success does not throw") {
    CHECK(Result<int>(3).value() == 3);
    CHECK(thrown_by([] { Result<void>().value(); }) == "nothing was thrown");
}

TEST_CASE("the exception is a std::exception and outlives the result") {
    std::string what;
    try {
        static_cast<void>(Result<int>(Error::invalid_argument("gone by now")).value());
    } catch (const std::exception &exception) {
        what = exception.what();
    }
    CHECK(what == "gone by now");
}

TEST_CASE("an exception can be copied and assigned") {
    const Exception first(Error::invalid_argument("first"));
    Exception second(Error::make({.kind = ErrorKind::no_device}));
    second = first;
    const Exception copy(second);

    CHECK(std::string(copy.what()) == "first");
    CHECK(copy.error().kind() == ErrorKind::invalid_argument);
}

TEST_CASE("a result keeps its error if copying the new value throws") {
    Result<Throwing> result = Error::invalid_argument("kept");
    const Result<Throwing> source(1);
    std::string thrown;
    try {
        result = source;
    } catch (const std::runtime_error &error) {
        thrown = error.what();
    }
    CHECK(thrown == "copied");
    REQUIRE(!result.has_value());
    CHECK(std::string(result.error().message()) == "kept");
}

TEST_CASE("an error replaces a value whose copy constructor throws") {
    Result<Throwing> result(1);
    result = Result<Throwing>(Error::invalid_argument("instead"));
    REQUIRE(!result.has_value());
    CHECK(std::string(result.error().message()) == "instead");
}
