// Declarations of PTX: variables, parameters, registers.
#pragma once

#include "ptx/lexer.hpp"
#include "ptx/syntax.hpp"

#include <optional>

namespace sim::ptx {

// The most that a variable, or all variables of a function, may take, in bytes.
constexpr std::size_t max_variable = std::size_t(1) << 40;

// .global, .const, .shared, .local, .param or .reg; no value: another directive.
std::optional<Space> space_of(const Token &directive) noexcept;

// What follows a space: [.attribute(.managed)] [.align N] [.v2] .type. All names of a declaration
// have these properties.
Variable read_properties(Lexer &in, Space space);
// One of the names: name[N][M] [= initializer].
void read_declarator(Lexer &in, Variable &variable);
// Both, of a parameter, which may have no name in a prototype.
Variable read_parameter(Lexer &in, Space space);

} // namespace sim::ptx
