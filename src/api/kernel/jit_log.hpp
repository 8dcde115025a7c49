// The texts of compilers and linkers.
#pragma once

#include <cushim/code.hpp>

#include <string_view>

namespace cushim::detail {

// The access of this library to JitLog.
struct CodeAccess {
    // Copies both texts, which the driver may extend meanwhile; empty if out of memory.
    static JitLog log(std::string_view info, std::string_view error) noexcept;
};

// A copy of the text; empty if out of memory.
CodeBytes copy_of(std::string_view text) noexcept;

// Without the newlines at the end.
constexpr std::string_view trimmed(std::string_view text) noexcept {
    while (text.ends_with('\n') || text.ends_with('\r')) {
        text.remove_suffix(1);
    }
    return text;
}

} // namespace cushim::detail
