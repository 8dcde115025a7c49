// Constants and constant expressions of PTX.
#pragma once

#include "ptx/lexer.hpp"
#include "ptx/syntax.hpp"

namespace sim::ptx {

// Reads a constant: a number of any form, or an expression, as -(4 * 2 + 1).
Operand read_constant(Lexer &in);
// The same, an integer.
std::int64_t read_integer(Lexer &in);

// Whether a constant begins at the current token.
bool is_constant(const Token &token) noexcept;

// The value of a constant in memory, for a type.
std::uint64_t bits_of(const Operand &constant, Type type) noexcept;

} // namespace sim::ptx
