// The instructions of PTX and their forms.
//
// A form is a row of text, in the manner of the PTX manual:
//
//   {"mad", "u16 s16 u32 s32", "wide!", "=w 0 0 w"}
//
// is mad.wide of one type of these: the result and the third source have twice its bits, the two
// others its own.
//
//   types      the types that the instruction can have. Types of several positions are separated by
//   ':', as
//              "u32 s32 : f32" for cvt.u32.f32
//   modifiers  other words behind the name, in any order. Of words between '|', one at most; with
//              '!', one of them must be there
//   operands   '=': the result. 0, 1, 2, 3: of the type at that position. w: of twice its bits. A
//              name of a type: of that type. 'P' an address, 'V' a value in memory: as many
//              registers as the modifier .v2 … says, which may be wider than the type. 'W' a
//              register that may be wider than type 0, 'X' than type 1. 'S' a source or result of
//              mov. 'M' some registers, in braces or one. "4*f32": as many of a type, in braces.
//              'A' an address, in a register of 32 or 64 bits in any space. 'T' a texture and its
//              coordinates. 'H' a cache policy. 'N' an integer constant. 'L' a label, 'B' a list of
//              labels, '*' anything. '?' behind it: may be absent.
//              "|pred": may be two registers, the second a predicate.
#pragma once

#include "ptx/syntax.hpp"

#include <span>
#include <string_view>
#include <vector>

namespace sim::ptx {

struct Form {
    std::string_view opcode, types, modifiers, operands;
    int target = 50; // the oldest that has it, 90 for sm_90
};

struct Opcode {
    std::string_view name;
    std::span<const Form> forms;
    // Has other forms, whose operands are not checked.
    bool open = false;
};

// Null if no instruction has that name.
const Opcode *find_opcode(std::string_view name);
// The version up to which all names are known.
constexpr int opcodes_version = 90;

// Sets the form and the types of an instruction. Fails as ptxas does if no form fits its
// modifiers and operands.
void check(Instruction &instruction, const Module &module, const Function &function);

} // namespace sim::ptx
