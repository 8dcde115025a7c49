// Assertions on what calls return. They count as Catch2 assertions; a failure reports the line of
// the test.
#pragma once

#include "../../support/ok.hpp"

#include <catch2/catch_test_macros.hpp>
#include <cushim/result.hpp>

#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace api_test {

using support::ok;

// In a scenario: checks the value that the call returns; returns the error if the call fails.
//
//     CUSHIM_TRY_VOID(check_gives(graph.node_count(), 3));
template <class T>
cushim::Result<void> check_gives(const cushim::Result<T> &result,
                                 const std::type_identity_t<T> &expected,
                                 const char *file = __builtin_FILE(), int line = __builtin_LINE()) {
    INFO("checked at " << file << ":" << line);
    if (!result) {
        return result.error();
    }
    CHECK(*result == expected);
    return {};
}

// For CHECK: whether the text contains the other. A failure prints both.
inline bool contains(std::string_view text, std::string_view part) {
    UNSCOPED_INFO("looking for \"" << part << "\" in: " << text);
    return text.find(part) != text.npos;
}

// Returns the error of a call that must fail; ends the test case if the call succeeds.
template <class T>
cushim::Error error_of(const cushim::Result<T> &result, const char *file = __builtin_FILE(),
                       int line = __builtin_LINE()) {
    INFO("must fail at " << file << ":" << line);
    REQUIRE_FALSE(result.has_value());
    return result.error();
}

// The message without the function's name.
inline std::string reason_of(const cushim::Error &error) {
    const std::string message = error.message(), function = error.function();
    return message.starts_with(function + ": ") ? message.substr(function.size() + 2) : message;
}

// Returns the reason of a call that must fail with invalid_argument; ends the test case if the call
// succeeds.
template <class T>
std::string refusal(const cushim::Result<T> &result, const char *file = __builtin_FILE(),
                    int line = __builtin_LINE()) {
    const cushim::Error error = error_of(result, file, line);
    INFO("refused at " << file << ":" << line << ": " << error.message());
    CHECK(error.kind() == cushim::ErrorKind::invalid_argument);
    return reason_of(error);
}

// The call must fail with invalid_argument for this reason.
template <class T>
void check_invalid(const cushim::Result<T> &result, const std::string &why,
                   const char *file = __builtin_FILE(), int line = __builtin_LINE()) {
    const std::string reason = refusal(result, file, line);
    INFO("checked at " << file << ":" << line);
    CHECK(reason == why);
}

// The call must fail with this kind and a message that contains `part`.
template <class T>
void check_refused(const cushim::Result<T> &result, const std::string &part,
                   cushim::ErrorKind kind = cushim::ErrorKind::invalid_argument,
                   const char *file = __builtin_FILE(), int line = __builtin_LINE()) {
    const cushim::Error error = error_of(result, file, line);
    INFO("checked at " << file << ":" << line);
    CHECK(error.kind() == kind);
    CHECK(contains(error.message(), part));
}

// For CHECK: whether the call failed with this kind. A failed check prints the call's message.
template <class T>
bool refused(const cushim::Result<T> &result,
             cushim::ErrorKind kind = cushim::ErrorKind::invalid_argument) {
    if (!result) {
        UNSCOPED_INFO(result.error().message());
    }
    return !result && result.error().kind() == kind;
}

} // namespace api_test
