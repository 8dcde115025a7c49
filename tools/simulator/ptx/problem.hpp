// Why a text is not valid PTX.
#pragma once

#include <string>

namespace sim::ptx {

struct Problem {
    enum class Kind { invalid, unsupported_version, unresolved };
    Kind kind;
    int line;         // from 1; 0: of the whole text
    std::string text; // as ptxas words it
};

// Throws a Problem of the kind `invalid`.
[[noreturn]] inline void fail_at(int line, std::string text) {
    throw Problem{Problem::Kind::invalid, line, std::move(text)};
}

} // namespace sim::ptx
