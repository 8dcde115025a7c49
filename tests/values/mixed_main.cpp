// One program of files with and without exceptions, with and without NDEBUG. Each half fails in its
// own way, whichever half the linker takes the inline functions of Result from. Linked in both
// orders.
#include "mixed.hpp"

#ifndef _WIN32
#include "death.hpp"
#endif

#include <cushim/exception.hpp>

#include <cstdio>
#include <string>

namespace {

int failed;

void expect(bool holds, const char *what) {
    if (!holds) {
        ++failed;
        std::fprintf(stderr, "failed: %s\n", what);
    }
}

template <class R>
std::string thrown_for(const R &result) {
    try {
        mixed::value_with_exceptions(result);
    } catch (const cushim::Exception &exception) {
        return exception.what();
    }
    return "";
}

cushim::Result<int> make(bool succeed) {
    return succeed ? cushim::Result<int>(1) : cushim::Error::invalid_argument("mixed");
}

} // namespace

int main() {
    const cushim::Result<int> failure = make(false);
    const cushim::Result<void> nothing = failure.transform([](int) {});

    expect(mixed::value_with_exceptions(make(true)) == 1,
           "the half with exceptions returns the value");
    expect(mixed::value_without_exceptions(make(true)) == 1,
           "the half without exceptions returns the value");
    expect(thrown_for(failure) == "mixed", "the half with exceptions throws");
    expect(thrown_for(nothing) == "mixed", "the half with exceptions throws for Result<void>");
#ifndef _WIN32
    const std::string message = "cushim: Result::value() of a failure: mixed\n";
    expect(values::aborts_with(
               [] { static_cast<void>(mixed::value_without_exceptions(make(false))); }) == message,
           "the half without exceptions aborts");
    expect(values::aborts_with([] {
               mixed::value_without_exceptions(make(false).transform([](int) {}));
           }) == message,
           "the half without exceptions aborts for Result<void>");
    expect(values::aborts_with([] {
               static_cast<void>(mixed::access_without_exceptions(make(false)));
           }) == "cushim: Result::operator*() of a failure: mixed\n",
           "* aborts in the half without NDEBUG");
    expect(values::aborts_with([] {
               static_cast<void>(mixed::access_with_exceptions(make(false)));
           }) == "did not abort",
           "* is not checked in the half with NDEBUG");
#endif
    return failed == 0 ? 0 : 1;
}
