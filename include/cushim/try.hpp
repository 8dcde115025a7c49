// CUSHIM_TRY: takes the value of a Result, or returns its error from the enclosing function.
//
// Include result.hpp, which includes this file and has an example.
#ifndef CUSHIM_TRY_HPP
#define CUSHIM_TRY_HPP

#include <cushim/detail/try.hpp>

// CUSHIM_TRY(auto buffer, allocate(1 << 20)); declares buffer with the value of the Result, or
// returns its error from the enclosing function, which must return a Result of any type. A
// temporary is moved from; a named Result is copied, unless it is passed through std::move. The
// declaration is anything that can stand left of `=` and has no comma. The macro expands to several
// statements: use braces after `if`.
#define CUSHIM_TRY(declaration, ...)                                                               \
    CUSHIM_DETAIL_TRY(CUSHIM_DETAIL_JOIN(cushim_try_, __COUNTER__), declaration, __VA_ARGS__)

// CUSHIM_TRY_VOID(copy(stream, to, from)); returns the error of a Result from the enclosing
// function, as CUSHIM_TRY does, and ignores the value. One statement.
#define CUSHIM_TRY_VOID(...)                                                                       \
    CUSHIM_DETAIL_TRY_VOID(CUSHIM_DETAIL_JOIN(cushim_try_, __COUNTER__), __VA_ARGS__)

#endif
