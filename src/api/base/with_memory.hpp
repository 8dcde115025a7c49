// The standard library's containers in functions that do not throw.
#pragma once

#include <cushim/result.hpp>

#include <new>

namespace cushim::detail {

// What f() answers; out_of_memory where it throws std::bad_alloc.
template <class F>
auto with_memory(F &&f) noexcept -> decltype(f()) {
    try {
        return f();
    } catch (const std::bad_alloc &) {
        return Error::make({.kind = ErrorKind::out_of_memory, .detail = "no host memory"});
    }
}

} // namespace cushim::detail
