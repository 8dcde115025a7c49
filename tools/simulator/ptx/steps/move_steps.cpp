// Moves, selections and predicates.
#include "ptx/steps/meanings.hpp"

#include <cstring>

namespace sim::ptx::inline SIM_PTX_FEATURES {
namespace {

template <class T>
using Select = T(T, T, bool);

struct Copy {
    template <class T>
    T operator()(T value) const {
        return value;
    }
};
struct Choose {
    template <class T>
    T operator()(T first, T second, bool predicate) const {
        return predicate ? first : second;
    }
};

constexpr auto move_value =
    by_type<Copy, One, Type::pred, Type::b16, Type::u16, Type::s16, Type::b32, Type::u32, Type::s32,
            Type::f32, Type::b64, Type::u64, Type::s64, Type::f64>;

// Registers that are parts of others, lowest first: value has the sizes of a whole and of a part,
// more the parts.
template <class Whole, class Part, bool packs>
void repack(Warp &warp, const Step &step) {
    const auto &parts = *static_cast<const std::vector<std::uint32_t> *>(step.more);
    Whole *const whole = warp.lanes<Whole>(packs ? step.out : step.in[0]);
    for_each_lane(warp.mask(), [&](int lane) {
        Whole value = packs ? 0 : whole[lane];
        for (std::size_t i = 0; i < parts.size(); ++i) {
            Part &part = warp.lanes<Part>(parts[i])[lane];
            const std::size_t shift = 8 * sizeof(Part) * i;
            if constexpr (packs) {
                value |= static_cast<Whole>(static_cast<Whole>(part) << shift);
            } else {
                part = static_cast<Part>(value >> shift);
            }
        }
        if constexpr (packs) {
            whole[lane] = value;
        }
    });
}

template <bool packs>
Run repack_of(std::uint32_t whole, std::uint32_t part) {
    switch (whole * 16 + part) {
    case 2 * 16 + 1:
        return repack<std::uint16_t, std::uint8_t, packs>;
    case 4 * 16 + 1:
        return repack<std::uint32_t, std::uint8_t, packs>;
    case 4 * 16 + 2:
        return repack<std::uint32_t, std::uint16_t, packs>;
    case 8 * 16 + 2:
        return repack<std::uint64_t, std::uint16_t, packs>;
    case 8 * 16 + 4:
        return repack<std::uint64_t, std::uint32_t, packs>;
    default:
        return nullptr;
    }
}

// mov.b64 {low, high}, value, and back.
bool move_parts(Decoder &decoder, const Instruction &instruction) {
    const Operand &to = instruction.operands[0], &from = instruction.operands[1];
    const bool packs = from.kind == Operand::Kind::vector;
    const Operand &vector = packs ? from : to;
    const auto size = static_cast<std::uint32_t>(size_of(instruction.types[0]));
    const auto part =
        size / static_cast<std::uint32_t>(std::max<std::size_t>(vector.parts.size(), 1));
    for (const Operand &one : vector.parts) {
        if (one.kind == Operand::Kind::reg && decoder.size_of_register(one) != part) {
            return false;
        }
    }
    Step step;
    auto &parts = decoder.plan<std::vector<std::uint32_t>>(step);
    for (const Operand &one : vector.parts) {
        parts.push_back(one.kind == Operand::Kind::sink && !packs
                            ? decoder.temporary(part)
                            : decoder.source(one, part, Type::none));
    }
    step.all = step.some = packs ? repack_of<true>(size, part) : repack_of<false>(size, part);
    if (step.all == nullptr) {
        return false;
    }
    if (packs) {
        decoder.emit(step, to, size, false);
    } else {
        step.in[0] = decoder.source(from, size, instruction.types[0]);
        decoder.emit(step);
    }
    return true;
}

bool move(Decoder &decoder, const Instruction &instruction) {
    const auto is_vector = [](const Operand &operand) {
        return operand.kind == Operand::Kind::vector;
    };
    if (is_vector(instruction.operands[0]) && is_vector(instruction.operands[1])) {
        return false;
    }
    if (is_vector(instruction.operands[0]) || is_vector(instruction.operands[1])) {
        return !has(instruction, "v2") && !has(instruction, "v4") &&
               move_parts(decoder, instruction);
    }
    return move_value(decoder, instruction);
}

constexpr Meaning meanings[] = {
    {"mov", move},
    {"selp", by_type<Choose, Select, Type::b16, Type::u16, Type::s16, Type::b32, Type::u32,
                     Type::s32, Type::f32, Type::b64, Type::u64, Type::s64, Type::f64>},
};

} // namespace

std::span<const Meaning> move_meanings() noexcept {
    return meanings;
}

} // namespace sim::ptx::inline SIM_PTX_FEATURES
