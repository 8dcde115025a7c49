#include "ptx/steps/matrix/fragments.hpp"

#include <algorithm>
#include <cstdio>
#include <string>

namespace sim::ptx::inline SIM_PTX_FEATURES {
namespace {

// Calls function(word) for the words of ".row.col.m16n8k16" until it returns true.
template <class Function>
void each_word(std::string_view modifiers, const Function &function) {
    while (!modifiers.empty()) {
        modifiers.remove_prefix(1);
        const std::size_t end = std::min(modifiers.find('.'), modifiers.size());
        if (function(modifiers.substr(0, end))) {
            return;
        }
        modifiers.remove_prefix(end);
    }
}

} // namespace

std::optional<Shape> shape_of(const Instruction &instruction) {
    std::optional<Shape> found;
    each_word(instruction.modifiers, [&](std::string_view word) {
        Shape shape;
        if (std::sscanf(std::string(word).c_str(), "m%dn%dk%d", &shape.m, &shape.n, &shape.k) ==
            3) {
            found = shape;
        }
        return found.has_value();
    });
    return found;
}

std::vector<Type> types_of(const Instruction &instruction) {
    std::vector<Type> types;
    each_word(instruction.modifiers, [&](std::string_view word) {
        if (const Type type = find_type(word); type != Type::none) {
            types.push_back(type);
        }
        return false;
    });
    return types;
}

Fragment fragment_of(Role role, const Shape &shape, Type type) {
    Fragment fragment;
    fragment.rows = role == Role::b ? shape.k : shape.m;
    fragment.columns = role == Role::a ? shape.k : shape.n;
    fragment.transposed = role == Role::b;
    fragment.bits = info(type).bits;
    fragment.row_elements = role == Role::c ? 2 : fragment.packed();
    return fragment;
}

Fragment small_matrix() {
    return fragment_of(Role::a, {8, 8, 8}, Type::b16);
}

bool take_registers(Decoder &decoder, const Operand &operand, Type type, bool repeats,
                    Fragment &fragment) {
    const std::vector<const Operand *> parts = decoder.parts(operand);
    const std::size_t least = fragment.least_registers();
    if (least == 0 || (repeats ? parts.size() % least != 0 : parts.size() != least)) {
        return false;
    }
    const std::uint32_t size = fragment.bits == 64 ? 8 : 4;
    const Type of_constants = fragment.bits >= 32 ? type : Type::b32;
    for (const Operand *part : parts) {
        if (part->kind == Operand::Kind::reg && decoder.size_of_register(*part) != size) {
            return false;
        }
        fragment.registers.push_back(decoder.source(*part, size, of_constants));
    }
    return true;
}

} // namespace sim::ptx::inline SIM_PTX_FEATURES
