/* The checks of the programs in this folder. They print only failures, and no test framework runs
 * between them and the loader. The exit status is that of finish(). */
#ifndef CUSHIM_TESTS_EXPECT_H
#define CUSHIM_TESTS_EXPECT_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures = 0;

static inline void fail_at(int line, const char *what) {
    fprintf(stderr, "line %d: %s\n", line, what);
    ++failures;
}

static inline void expect_int(int line, const char *what, long long got, long long expected) {
    if (got == expected) {
        return;
    }
    fprintf(stderr, "line %d: %s is %lld, not %lld\n", line, what, got, expected);
    ++failures;
}

static inline void expect_text(int line, const char *what, const char *got, const char *expected) {
    if (got != NULL && strcmp(got, expected) == 0) {
        return;
    }
    fprintf(stderr, "line %d: %s is \"%s\", not \"%s\"\n", line, what, got != NULL ? got : "(null)",
            expected);
    ++failures;
}

#define EXPECT(condition) ((condition) ? (void)0 : fail_at(__LINE__, #condition))
#define EXPECT_INT(got, expected)                                                                  \
    expect_int(__LINE__, #got, (long long)(got), (long long)(expected))
#define EXPECT_TEXT(got, expected) expect_text(__LINE__, #got, (got), (expected))

static inline int finish(void) {
    return failures == 0 ? 0 : 1;
}

/* A numeric argument of the program; without it the program fails. */
static inline int number_argument(int argc, char **argv, int index) {
    if (index >= argc) {
        fprintf(stderr, "argument %d is missing\n", index);
        exit(1);
    }
    return atoi(argv[index]);
}

#endif
