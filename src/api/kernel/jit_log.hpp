// The texts of compilers and linkers.
#pragma once

#include <cushim/code.hpp>

#include <string_view>

namespace cushim::detail {

// The access of this library to JitLog; more of it in libraries/.
struct CodeAccess {
    // Copies both texts, which the driver may extend meanwhile; empty if out of memory.
    static JitLog log(std::string_view info, std::string_view error) noexcept;

    // The code and names of a CompiledCode or LinkedCode.
    template <class Code>
    static auto &code(Code &of) noexcept {
        return of.code_;
    }
    template <class Code>
    static auto &names(Code &of) noexcept {
        return of.names_;
    }
    template <class Code>
    static auto &output(Code &of) noexcept {
        return of.output_;
    }
};

// Without the newlines at the end.
constexpr std::string_view trimmed(std::string_view text) noexcept {
    while (text.ends_with('\n') || text.ends_with('\r')) {
        text.remove_suffix(1);
    }
    return text;
}

} // namespace cushim::detail
