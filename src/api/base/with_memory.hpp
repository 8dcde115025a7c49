// Use of standard containers in functions that do not throw.
#pragma once

#include <cushim/result.hpp>

#include <new>
#include <stdexcept>

namespace cushim::detail {

// The result of f(); out_of_memory if it throws std::bad_alloc or std::length_error.
template <class F>
auto with_memory(F &&f) noexcept -> decltype(f()) {
    try {
        return f();
    } catch (const std::bad_alloc &) {
        return no_host_memory();
    } catch (const std::length_error &) {
        return no_host_memory();
    }
}

} // namespace cushim::detail
