/* The sanitizers that this file is compiled with, if a test depends on them. */
#ifndef CUSHIM_TESTS_SANITIZERS_H
#define CUSHIM_TESTS_SANITIZERS_H

/* g++ defines macros, clang++ has __has_feature. */
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TEST_ADDRESS_SANITIZER 1
#endif
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) ||                         \
    __has_feature(memory_sanitizer)
#define TEST_CLANG_SANITIZER 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define TEST_ADDRESS_SANITIZER 1
#endif

/* clang links a sanitizer's operator new into the program, which the program cannot replace. With
 * -shared-libsan (TEST_SHARED_SANITIZER), the program's own takes precedence. */
#if defined(TEST_CLANG_SANITIZER) && !defined(TEST_SHARED_SANITIZER)
#define TEST_OWNS_OPERATOR_NEW 0
#else
#define TEST_OWNS_OPERATOR_NEW 1
#endif

#endif
