// Reads the body of a function.
#pragma once

#include "ptx/lexer.hpp"
#include "ptx/scopes.hpp"
#include "ptx/syntax.hpp"

namespace sim::ptx {

// Reads `{ … }` into a function of the module. names: those of the module.
void read_body(Lexer &in, const Module &module, Scopes &names, Function &function);

} // namespace sim::ptx
