// Arithmetic of integers.
#include "ptx/arithmetic/integers.hpp"
#include "ptx/steps/meanings.hpp"

namespace sim::ptx::inline SIM_PTX_FEATURES {
namespace {

template <class T>
using WideOfTwo = Twice<T>(T, T);
template <class T>
using WideOfThree = Twice<T>(T, T, Twice<T>);

template <class Operation, template <class> class Signature>
constexpr Build integers =
    by_type<Operation, Signature, Type::u16, Type::s16, Type::u32, Type::s32, Type::u64, Type::s64>;
template <class Operation, template <class> class Signature>
constexpr Build narrow_integers =
    by_type<Operation, Signature, Type::u16, Type::s16, Type::u32, Type::s32>;
template <class Operation, template <class> class Signature>
constexpr Build words = by_type<Operation, Signature, Type::u32, Type::s32>;
template <class Operation, template <class> class Signature>
constexpr Build pairs = by_type<Operation, Signature, Type::u16x2, Type::s16x2>;

// A build for instructions that have these modifiers, of "add.cc.sat" those behind the name.
template <Build build, const char *...modifiers>
bool with(Decoder &decoder, const Instruction &instruction) {
    return (has(instruction, modifiers) && ...) && build(decoder, instruction);
}
constexpr char lo[] = "lo", hi[] = "hi", wide[] = "wide", sat[] = "sat", relu[] = "relu";

// --- the carry flag: a predicate of the function
template <class Operation, class T, bool carries_in, class... In>
struct EachLaneCarried {
    // Lanes are few enough: nothing depends on the speed of these.
    static void some(Warp &warp, const Step &step) {
        Mask &carry = warp.predicate(static_cast<std::uint32_t>(step.value));
        const auto *a = warp.lanes<T>(step.in[0]), *b = warp.lanes<T>(step.in[1]);
        T *const out = warp.lanes<T>(step.out);
        Mask carries = 0;
        for_each_lane(warp.mask(), [&](int lane) {
            const bool carried = carries_in && (carry >> lane & 1) != 0;
            Carried<T> result;
            if constexpr (sizeof...(In) == 3) {
                result = Operation()(a[lane], b[lane], warp.lanes<T>(step.in[2])[lane], carried);
            } else {
                result = Operation()(a[lane], b[lane], carried);
            }
            out[lane] = result.value;
            carries |= result.carry ? Mask(1) << lane : 0;
        });
        if (step.more != nullptr) { // .cc
            carry = (carry & ~warp.mask()) | carries;
        }
    }
};

template <class Operation, class T, bool carries_in, class... In>
void build_carried(Decoder &decoder, const Instruction &instruction) {
    Step step;
    step.all = step.some = EachLaneCarried<Operation, T, carries_in, In...>::some;
    for (std::size_t i = 0; i < sizeof...(In); ++i) {
        step.in[i] = decoder.source<T>(instruction.operands[i + 1]);
    }
    step.value = decoder.carry();
    step.more = has(instruction, "cc") ? &instruction : nullptr;
    decoder.emit<T>(step, instruction.operands[0]);
}

template <class Operation, bool carries_in, template <class> class Signature>
struct CarriedOf;
template <class Operation, bool carries_in>
struct CarriedOf<Operation, carries_in, Two> {
    template <class T>
    static void build(Decoder &decoder, const Instruction &instruction) {
        build_carried<Operation, T, carries_in, T, T>(decoder, instruction);
    }
};
template <class Operation, bool carries_in>
struct CarriedOf<Operation, carries_in, Three> {
    template <class T>
    static void build(Decoder &decoder, const Instruction &instruction) {
        build_carried<Operation, T, carries_in, T, T, T>(decoder, instruction);
    }
};

template <class Operation, bool carries_in, template <class> class Signature>
bool carried(Decoder &decoder, const Instruction &instruction) {
    if (!carries_in && !has(instruction, "cc")) {
        return false;
    }
    using Of = CarriedOf<Operation, carries_in, Signature>;
    switch (instruction.types[0]) {
    case Type::u32:
        Of::template build<std::uint32_t>(decoder, instruction);
        return true;
    case Type::s32:
        Of::template build<std::int32_t>(decoder, instruction);
        return true;
    case Type::u64:
        Of::template build<std::uint64_t>(decoder, instruction);
        return true;
    case Type::s64:
        Of::template build<std::int64_t>(decoder, instruction);
        return true;
    default:
        return false;
    }
}

template <class A, class B>
bool dot_of(Decoder &decoder, const Instruction &instruction) {
    const std::type_identity<std::uint32_t(std::uint32_t, std::uint32_t, std::uint32_t)> signature;
    using Wide = std::conditional_t<std::is_signed_v<A>, std::int16_t, std::uint16_t>;
    if (instruction.opcode->name == "dp4a") {
        build_each<Dp4a<A, B>>(decoder, instruction, signature);
    } else if (has(instruction, "lo")) {
        build_each<Dp2a<Wide, B, false>>(decoder, instruction, signature);
    } else {
        build_each<Dp2a<Wide, B, true>>(decoder, instruction, signature);
    }
    return true;
}

bool dot(Decoder &decoder, const Instruction &instruction) {
    const bool b_is_signed = instruction.types[1] == Type::s32;
    if (instruction.types[0] == Type::s32) {
        return b_is_signed ? dot_of<std::int8_t, std::int8_t>(decoder, instruction)
                           : dot_of<std::int8_t, std::uint8_t>(decoder, instruction);
    }
    return b_is_signed ? dot_of<std::uint8_t, std::int8_t>(decoder, instruction)
                       : dot_of<std::uint8_t, std::uint8_t>(decoder, instruction);
}

// The first that fits is taken.
constexpr Meaning meanings[] = {
    {"abs", integers<Abs, One>},
    {"add", carried<Addc, false, Two>},
    {"add", with<words<AddSat, Two>, sat>},
    {"add", integers<Add, Two>},
    {"add", pairs<Add, Two>},
    {"addc", carried<Addc, true, Two>},
    {"div", integers<Div, Two>},
    {"dp2a", dot},
    {"dp4a", dot},
    {"mad", with<carried<Madc<MulLo>, false, Three>, lo>},
    {"mad", with<carried<Madc<MulHi>, false, Three>, hi>},
    {"mad", with<words<MadHiSat, Three>, hi, sat>},
    {"mad", with<integers<MadLo, Three>, lo>},
    {"mad", with<integers<MadHi, Three>, hi>},
    {"mad", with<narrow_integers<MadWide, WideOfThree>, wide>},
    {"mad24", with<words<Mad24HiSat, Three>, hi, sat>},
    {"mad24", with<words<Mad24Lo, Three>, lo>},
    {"mad24", with<words<Mad24Hi, Three>, hi>},
    {"madc", with<carried<Madc<MulLo>, true, Three>, lo>},
    {"madc", with<carried<Madc<MulHi>, true, Three>, hi>},
    {"max", with<words<Relu<Max>, Two>, relu>},
    {"max", with<pairs<Relu<Max>, Two>, relu>},
    {"max", integers<Max, Two>},
    {"max", pairs<Max, Two>},
    {"min", with<words<Relu<Min>, Two>, relu>},
    {"min", with<pairs<Relu<Min>, Two>, relu>},
    {"min", integers<Min, Two>},
    {"min", pairs<Min, Two>},
    {"mul", with<integers<MulLo, Two>, lo>},
    {"mul", with<integers<MulHi, Two>, hi>},
    {"mul", with<narrow_integers<MulWide, WideOfTwo>, wide>},
    {"mul24", with<words<Mul24Lo, Two>, lo>},
    {"mul24", with<words<Mul24Hi, Two>, hi>},
    {"neg", integers<Neg, One>},
    {"rem", integers<Rem, Two>},
    {"sad", integers<Sad, Three>},
    {"sub", carried<Subc, false, Two>},
    {"sub", with<words<SubSat, Two>, sat>},
    {"sub", integers<Sub, Two>},
    {"sub", pairs<Sub, Two>},
    {"subc", carried<Subc, true, Two>},
};

} // namespace

std::span<const Meaning> integer_meanings() noexcept {
    return meanings;
}

} // namespace sim::ptx::inline SIM_PTX_FEATURES
