// The main of the tests built without exceptions and RTTI, which cannot use Catch2.
#include "check.hpp"

#include <cstdio>

namespace values {
namespace {

Test *first_test;
int failed_checks;
int passed_checks;

} // namespace

Test::Test(const char *test_name, void (*test_body)())
    : name(test_name), body(test_body), next(first_test) {
    first_test = this;
}

bool check(bool holds, const char *expression, const char *file, int line) {
    ++(holds ? passed_checks : failed_checks);
    if (!holds) {
        std::fprintf(stderr, "%s:%d: failed: %s\n", file, line, expression);
    }
    return holds;
}

} // namespace values

int main() {
    int tests = 0;
    for (const values::Test *test = values::first_test; test != nullptr; test = test->next) {
        const int failed_before = values::failed_checks;
        test->body();
        ++tests;
        if (values::failed_checks != failed_before) {
            std::fprintf(stderr, "failed: %s\n", test->name);
        }
    }
    std::printf("%d tests, %d checks passed, %d failed\n", tests, values::passed_checks,
                values::failed_checks);
    return values::failed_checks == 0 && values::passed_checks != 0 ? 0 : 1;
}
