// Conversions between types.
#include "ptx/arithmetic/conversions.hpp"
#include "ptx/steps/meanings.hpp"

namespace sim::ptx::inline SIM_PTX_FEATURES {
namespace {

template <class Operation, class To, class From>
bool convert(Decoder &decoder, const Instruction &instruction) {
    build_each<Operation>(decoder, instruction, std::type_identity<To(From)>(),
                          rounding_of(instruction));
    return true;
}

// With the modifiers that an instruction has.
template <class Operation, class To, class From>
bool modified(Decoder &decoder, const Instruction &instruction) {
    const bool ftz = has(instruction, "ftz"), sat = has(instruction, "sat");
    if constexpr (std::is_same_v<To, float> || std::is_same_v<From, float>) {
        if (ftz) {
            return sat ? convert<FtzSingle<Sat<Operation>>, To, From>(decoder, instruction)
                       : convert<FtzSingle<Operation>, To, From>(decoder, instruction);
        }
    }
    return sat ? convert<Sat<Operation>, To, From>(decoder, instruction)
               : convert<Operation, To, From>(decoder, instruction);
}

// The rounding to an integer: .rni and so on.
template <template <Rounding> class Operation, class To, class From>
bool integral(Decoder &decoder, const Instruction &instruction) {
    if (has(instruction, "rzi")) {
        return modified<Operation<Rounding::rz>, To, From>(decoder, instruction);
    }
    if (has(instruction, "rmi")) {
        return modified<Operation<Rounding::rm>, To, From>(decoder, instruction);
    }
    if (has(instruction, "rpi")) {
        return modified<Operation<Rounding::rp>, To, From>(decoder, instruction);
    }
    return has(instruction, "rni") &&
           modified<Operation<Rounding::rn>, To, From>(decoder, instruction);
}

// To a type of 16 bits or fewer, whose rounding is a part of the operation.
template <class To, class From>
bool narrowing(Decoder &decoder, const Instruction &instruction) {
    if (has(instruction, "relu") || has(instruction, "satfinite")) {
        return false;
    }
    switch (rounding_of(instruction)) {
    case Rounding::rz:
        return modified<Convert<To, Rounding::rz>, To, From>(decoder, instruction);
    case Rounding::rm:
        return modified<Convert<To, Rounding::rm>, To, From>(decoder, instruction);
    case Rounding::rp:
        return modified<Convert<To, Rounding::rp>, To, From>(decoder, instruction);
    default:
        return modified<Convert<To, Rounding::rn>, To, From>(decoder, instruction);
    }
}

template <class To, class From>
bool convert_to(Decoder &decoder, const Instruction &instruction) {
    if constexpr (Integer<To> && Integer<From>) {
        return has(instruction, "sat") ? convert<ConvertSat<To>, To, From>(decoder, instruction)
                                       : convert<Convert<To>, To, From>(decoder, instruction);
    } else if constexpr (Integer<To>) {
        // These clamp always.
        if (has(instruction, "ftz")) {
            return false;
        }
        return has(instruction, "rzi")
                   ? convert<Convert<To, Rounding::rz>, To, From>(decoder, instruction)
               : has(instruction, "rmi")
                   ? convert<Convert<To, Rounding::rm>, To, From>(decoder, instruction)
               : has(instruction, "rpi")
                   ? convert<Convert<To, Rounding::rp>, To, From>(decoder, instruction)
                   : convert<Convert<To, Rounding::rn>, To, From>(decoder, instruction);
    } else if constexpr (std::is_same_v<To, From>) {
        return integral<RoundToInteger, To, From>(decoder, instruction) ||
               modified<Convert<To>, To, From>(decoder, instruction);
    } else if constexpr (SmallReal<To>) {
        return narrowing<To, From>(decoder, instruction);
    } else {
        return modified<Convert<To>, To, From>(decoder, instruction);
    }
}

template <class To, Type... types>
bool convert_from(Decoder &decoder, const Instruction &instruction) {
    return ((instruction.types[1] == types && convert_to<To, Value<types>>(decoder, instruction)) ||
            ...);
}

template <Type... types>
struct Types {
    static bool convert(Decoder &decoder, const Instruction &instruction) {
        return ((instruction.types[0] == types &&
                 convert_from<Value<types>, types...>(decoder, instruction)) ||
                ...);
    }
};
using AllTypes = Types<Type::u8, Type::s8, Type::u16, Type::s16, Type::u32, Type::s32, Type::u64,
                       Type::s64, Type::f16, Type::bf16, Type::f32, Type::f64>;

template <class Operation, class To, class... From>
bool pair(Decoder &decoder, const Instruction &instruction) {
    build_each<Operation>(decoder, instruction, std::type_identity<To(From...)>());
    return true;
}

template <class To, Rounding rounding>
bool pair_of(Decoder &decoder, const Instruction &instruction) {
    using Single = Convert<To, rounding>;
    if constexpr (HalfReal<To>) {
        if (has(instruction, "relu")) {
            return pair<ConvertPair<Relu<Single>>, Pair<To>, float, float>(decoder, instruction);
        }
    } else if (has(instruction, "relu")) {
        return false;
    }
    return !(HalfReal<To> && has(instruction, "satfinite")) &&
           pair<ConvertPair<Single>, Pair<To>, float, float>(decoder, instruction);
}

// Two values become a pair, or a pair another one.
bool convert_pair(Decoder &decoder, const Instruction &instruction) {
    const Type to = instruction.types[0], from = instruction.types[1];
    const bool rz = has(instruction, "rz");
    if (has(instruction, "rs")) {
        return false;
    }
    if (from == Type::f32) {
        switch (to) {
        case Type::f16x2:
            return rz ? pair_of<F16, Rounding::rz>(decoder, instruction)
                      : pair_of<F16, Rounding::rn>(decoder, instruction);
        case Type::bf16x2:
            return rz ? pair_of<BF16, Rounding::rz>(decoder, instruction)
                      : pair_of<BF16, Rounding::rn>(decoder, instruction);
        case Type::e4m3x2:
            return pair_of<E4M3, Rounding::rn>(decoder, instruction);
        case Type::e5m2x2:
            return pair_of<E5M2, Rounding::rn>(decoder, instruction);
        case Type::tf32:
            if (has(instruction, "relu") || has(instruction, "satfinite")) {
                return false;
            }
            return has(instruction, "rna")
                       ? convert<Convert<TF32, Rounding::rna>, TF32, float>(decoder, instruction)
                   : rz ? convert<Convert<TF32, Rounding::rz>, TF32, float>(decoder, instruction)
                        : convert<Convert<TF32, Rounding::rn>, TF32, float>(decoder, instruction);
        default:
            return false;
        }
    }
    if (to == Type::f16x2 && !has(instruction, "relu")) {
        return from == Type::e4m3x2
                   ? pair<Pairwise<Convert<F16>>, Pair<F16>, Pair<E4M3>>(decoder, instruction)
                   : pair<Pairwise<Convert<F16>>, Pair<F16>, Pair<E5M2>>(decoder, instruction);
    }
    return false;
}

constexpr Meaning meanings[] = {
    {"cvt", AllTypes::convert},
    {"cvt", convert_pair},
};

} // namespace

std::span<const Meaning> conversion_meanings() noexcept {
    return meanings;
}

} // namespace sim::ptx::inline SIM_PTX_FEATURES
