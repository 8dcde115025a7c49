// Catch2, or a substitute for the macros that these tests use: Catch2 needs exceptions and RTTI.
//
// The tests of this folder are built twice: with Catch2, and with the substitute (VALUES_PLAIN).
#pragma once

#ifndef VALUES_PLAIN

#include <catch2/catch_test_macros.hpp>

#else

namespace values {

struct Test {
    Test(const char *test_name, void (*test_body)());
    const char *name;
    void (*body)();
    Test *next;
};

// Counts the check, and prints it if it fails.
bool check(bool holds, const char *expression, const char *file, int line);

} // namespace values

#define VALUES_JOIN_NOW(a, b) a##b
#define VALUES_JOIN(a, b) VALUES_JOIN_NOW(a, b)
#define VALUES_TEST(function, name)                                                                \
    static void function();                                                                        \
    static const values::Test VALUES_JOIN(function, _test)(name, function);                        \
    static void function()

#define TEST_CASE(name) VALUES_TEST(VALUES_JOIN(test_on_line_, __LINE__), name)
#define CHECK(...) values::check(static_cast<bool>(__VA_ARGS__), #__VA_ARGS__, __FILE__, __LINE__)
#define CHECK_FALSE(...) CHECK(!(__VA_ARGS__))
#define REQUIRE(...)                                                                               \
    if (!CHECK(__VA_ARGS__))                                                                       \
    return
#define INFO(...) static_cast<void>(0)

#endif
