/* Included by the C++ headers that include no other one of cushim: in an older language, the
 * compilation ends here, with one message. C headers are for every language since C11 and C++11. */
#ifndef CUSHIM_DETAIL_CPP20_HPP
#define CUSHIM_DETAIL_CPP20_HPP

#include <cushim/detail/config.h>

#ifdef _MSVC_LANG
#define CUSHIM_DETAIL_LANGUAGE _MSVC_LANG
#else
#define CUSHIM_DETAIL_LANGUAGE __cplusplus
#endif
/* Not "C++20": the first compilers with C++20 report a number between C++17 and C++20. */
#if CUSHIM_DETAIL_LANGUAGE <= 201703L
/* A missing file ends the compilation. */
#include "cushim needs C++20: compile with -std=c++20 or /std:c++20, or newer"
#endif

/* Marks a function that returns a reference to its object, or to a text in it: clang warns if the
 * result outlives a temporary object. */
#if defined(__has_cpp_attribute) && !defined(_MSC_VER)
#if __has_cpp_attribute(clang::lifetimebound)
#define CUSHIM_LIFETIMEBOUND [[clang::lifetimebound]]
#endif
#endif
#ifndef CUSHIM_LIFETIMEBOUND
#define CUSHIM_LIFETIMEBOUND
#endif

#endif
