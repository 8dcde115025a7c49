// Built without exceptions, value() of a failure ends the program with the message; so do * and ->
// in any file without NDEBUG.
#include <cushim/result.hpp>

#include "check.hpp"
#include "death.hpp"

#include <string>
#include <utility>

#if defined(__cpp_exceptions) || defined(__EXCEPTIONS) || defined(__GXX_RTTI)
#error "this file is for the program that is built without exceptions and RTTI"
#endif

using cushim::Error;
using cushim::Result;

namespace {

Result<int> failed() {
    return Error::invalid_argument("no value");
}

const std::string expected = "cushim: Result::value() of a failure: no value\n";

} // namespace

TEST_CASE("value() of a failure prints the message and aborts") {
    CHECK(values::aborts_with([] {
              Result<int> result = failed();
              result.value() = 1;
          }) == expected);
    CHECK(values::aborts_with([] {
              const Result<int> result = failed();
              static_cast<void>(result.value());
          }) == expected);
    CHECK(values::aborts_with([] { static_cast<void>(failed().value()); }) == expected);
    CHECK(values::aborts_with([] {
              const Result<int> result = failed();
              static_cast<void>(std::move(result).value());
          }) == expected);
    CHECK(values::aborts_with([] {
              const Result<void> result = failed().transform([](int) {});
              result.value();
          }) == expected);
}

TEST_CASE("value() of a success does not abort") {
    CHECK(values::aborts_with([] { static_cast<void>(Result<int>(1).value()); }) ==
          "did not abort");
    CHECK(Result<int>(1).value() == 1);
}

TEST_CASE("* and -> of a failure, and error() of a success abort without NDEBUG") {
    const std::string message = " of a failure: no value\n";
    CHECK(values::aborts_with([] { static_cast<void>(*failed()); }) ==
          "cushim: Result::operator*()" + message);
    CHECK(values::aborts_with([] {
              const Result<int> result = failed();
              static_cast<void>(*result);
          }) == "cushim: Result::operator*()" + message);
    CHECK(values::aborts_with([] {
              const Result<std::string> result = Error::invalid_argument("no value");
              static_cast<void>(result->size());
          }) == "cushim: Result::operator->()" + message);
    CHECK(values::aborts_with([] { *Result<void>(failed().error()); }) ==
          "cushim: Result::operator*()" + message);
    CHECK(values::aborts_with([] { static_cast<void>(Result<int>(1).error()); }) ==
          "cushim: Result::error() of a success\n");
    CHECK(values::aborts_with([] { static_cast<void>(Result<void>().error()); }) ==
          "cushim: Result::error() of a success\n");
}

TEST_CASE("* and -> of a success, and error() of a failure do not abort") {
    CHECK(*Result<int>(1) == 1);
    CHECK(Result<std::string>("text")->size() == 4);
    CHECK(failed().error().kind() == cushim::ErrorKind::invalid_argument);
}
