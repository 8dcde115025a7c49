// Comparisons, and logic of predicates.
#include "ptx/arithmetic/reals.hpp"
#include "ptx/steps/logic.hpp"
#include "ptx/steps/meanings.hpp"

namespace sim::ptx::inline SIM_PTX_FEATURES {
namespace {

// A step without its result.
template <class Operation, class T>
Step comparison(Decoder &decoder, const Operand &first, const Operand &second) {
    Step step;
    step.all = EachLane<Operation, bool, T, T>::all;
    step.some = EachLane<Operation, bool, T, T>::some;
    step.in[0] = decoder.source<T>(first);
    step.in[1] = decoder.source<T>(second);
    return step;
}

using Compare = Step (*)(Decoder &, const Operand &, const Operand &);

template <class T>
struct Comparison {
    std::string_view name;
    Compare compare;
};

template <class T>
constexpr Comparison<T> integer_comparisons[] = {
    {"eq", comparison<Eq, T>}, {"ne", comparison<Ne, T>}, {"lt", comparison<Lt, T>},
    {"le", comparison<Le, T>}, {"gt", comparison<Gt, T>}, {"ge", comparison<Ge, T>},
    {"lo", comparison<Lo, T>}, {"ls", comparison<Ls, T>}, {"hi", comparison<Hi, T>},
    {"hs", comparison<Hs, T>},
};

// .ftz flushes the sources; the result is a predicate.
template <class Operation>
struct FtzSources {
    template <class... T>
    bool operator()(T... values) const noexcept {
        return Operation{}(flush(values)...);
    }
};

template <class T, template <class> class Modified>
constexpr Comparison<T> real_comparisons[] = {
    {"eq", comparison<Modified<Eq>, T>},   {"ne", comparison<Modified<Ne>, T>},
    {"lt", comparison<Modified<Lt>, T>},   {"le", comparison<Modified<Le>, T>},
    {"gt", comparison<Modified<Gt>, T>},   {"ge", comparison<Modified<Ge>, T>},
    {"equ", comparison<Modified<Equ>, T>}, {"neu", comparison<Modified<Neu>, T>},
    {"ltu", comparison<Modified<Ltu>, T>}, {"leu", comparison<Modified<Leu>, T>},
    {"gtu", comparison<Modified<Gtu>, T>}, {"geu", comparison<Modified<Geu>, T>},
    {"num", comparison<Modified<Num>, T>}, {"nan", comparison<Modified<Nan>, T>},
};
template <class Operation>
using Unmodified = Operation;

template <class T>
Compare find(std::span<const Comparison<T>> all, const Instruction &instruction) {
    for (const Comparison<T> &one : all) {
        if (has(instruction, one.name)) {
            return one.compare;
        }
    }
    return nullptr;
}

template <class T>
Compare of_reals(const Instruction &instruction) {
    return has(instruction, "ftz") ? find<T>(real_comparisons<T, FtzSources>, instruction)
                                   : find<T>(real_comparisons<T, Unmodified>, instruction);
}

Compare compare_of(const Instruction &instruction) {
    switch (instruction.types[0]) {
    case Type::b16:
    case Type::u16:
        return find<std::uint16_t>(integer_comparisons<std::uint16_t>, instruction);
    case Type::s16:
        return find<std::int16_t>(integer_comparisons<std::int16_t>, instruction);
    case Type::b32:
    case Type::u32:
        return find<std::uint32_t>(integer_comparisons<std::uint32_t>, instruction);
    case Type::s32:
        return find<std::int32_t>(integer_comparisons<std::int32_t>, instruction);
    case Type::b64:
    case Type::u64:
        return find<std::uint64_t>(integer_comparisons<std::uint64_t>, instruction);
    case Type::s64:
        return find<std::int64_t>(integer_comparisons<std::int64_t>, instruction);
    case Type::f32:
        return of_reals<float>(instruction);
    case Type::f64:
        return of_reals<double>(instruction);
    case Type::f16:
        return of_reals<F16>(instruction);
    case Type::bf16:
        return of_reals<BF16>(instruction);
    default:
        return nullptr;
    }
}

// Of 32 lanes at once.
template <class Operation>
void combine(Warp &warp, const Step &step) {
    Mask result = 0;
    if constexpr (std::is_same_v<Operation, Not>) {
        result = Not()(warp.predicate(step.in[0]));
    } else {
        result = Operation()(warp.predicate(step.in[0]), warp.predicate(step.in[1]));
    }
    Mask &out = warp.predicate(step.out);
    out = (out & ~warp.mask()) | (result & warp.mask());
}

// The result of a comparison and its opposite, each combined with a third predicate. In one step,
// since any of the four registers may be another one. value: where the second goes.
template <class Operation>
void combine_both(Warp &warp, const Step &step) {
    const Mask holds = warp.predicate(step.in[0]), third = warp.predicate(step.in[1]);
    const Mask lanes = warp.mask();
    Mask &first = warp.predicate(step.out);
    first = (first & ~lanes) | (Operation()(holds, third) & lanes);
    Mask &second = warp.predicate(static_cast<std::uint32_t>(step.value));
    second = (second & ~lanes) | (Operation()(~holds, third) & lanes);
}

template <class Operation>
bool logic(Decoder &decoder, const Instruction &instruction) {
    if (instruction.types[0] != Type::pred) {
        return false;
    }
    Step step;
    step.all = step.some = combine<Operation>;
    step.in[0] = decoder.source<bool>(instruction.operands[1]);
    if (instruction.operands.size() > 2) {
        step.in[1] = decoder.source<bool>(instruction.operands[2]);
    }
    decoder.emit<bool>(step, instruction.operands[0]);
    return true;
}

bool setp(Decoder &decoder, const Instruction &instruction) {
    const std::vector<Operand> &operands = instruction.operands;
    const Compare compare = compare_of(instruction);
    if (compare == nullptr) {
        return false;
    }
    Step step = compare(decoder, operands[1], operands[2]);
    const bool is_pair = operands[0].kind == Operand::Kind::pair;
    if (operands.size() == 3 && !is_pair) {
        decoder.emit<bool>(step, operands[0]);
        return true;
    }
    step.out = decoder.temporary(0);
    decoder.emit(step);
    Step result;
    result.all = has(instruction, "or")    ? combine_both<Or>
                 : has(instruction, "xor") ? combine_both<Xor>
                                           : combine_both<And>;
    result.some = result.all;
    result.in[0] = step.out;
    result.in[1] = operands.size() > 3 ? decoder.source<bool>(operands[3])
                                       : decoder.constant(~std::uint64_t(0), 0);
    result.value = is_pair && operands[0].parts[1].kind == Operand::Kind::reg
                       ? decoder.source<bool>(operands[0].parts[1])
                       : decoder.temporary(0);
    decoder.emit<bool>(result, is_pair ? operands[0].parts[0] : operands[0]);
    return true;
}

template <class T>
using Test = bool(T);

bool testp(Decoder &decoder, const Instruction &instruction) {
    struct Property {
        std::string_view name;
        Build build;
    };
    static constexpr Property properties[] = {
        {"finite", by_type<Finite, Test, Type::f32, Type::f64>},
        {"infinite", by_type<Infinite, Test, Type::f32, Type::f64>},
        {"number", by_type<Number, Test, Type::f32, Type::f64>},
        {"notanumber", by_type<NotANumber, Test, Type::f32, Type::f64>},
        {"normal", by_type<Normal, Test, Type::f32, Type::f64>},
        {"subnormal", by_type<Subnormal, Test, Type::f32, Type::f64>},
    };
    for (const Property &property : properties) {
        if (has(instruction, property.name)) {
            return property.build(decoder, instruction);
        }
    }
    return false;
}

// The sign of the third source, of a type of its own, chooses.
template <class T>
using ByInteger = T(T, T, std::int32_t);
template <class T>
using ByReal = T(T, T, float);
template <class Operation, template <class> class Signature>
constexpr Build chosen =
    by_type<Operation, Signature, Type::b16, Type::u16, Type::s16, Type::b32, Type::u32, Type::s32,
            Type::f32, Type::b64, Type::u64, Type::s64, Type::f64>;

// .ftz flushes the third source.
struct FtzSlct {
    template <class T>
    T operator()(T a, T b, float c) const noexcept {
        return Slct()(a, b, flush(c));
    }
};

bool slct(Decoder &decoder, const Instruction &instruction) {
    return instruction.types[1] == Type::s32 ? chosen<Slct, ByInteger>(decoder, instruction)
           : has(instruction, "ftz")         ? chosen<FtzSlct, ByReal>(decoder, instruction)
                                             : chosen<Slct, ByReal>(decoder, instruction);
}

constexpr Meaning meanings[] = {
    {"and", logic<And>}, {"not", logic<Not>}, {"or", logic<Or>},   {"setp", setp},
    {"slct", slct},      {"testp", testp},    {"xor", logic<Xor>},
};

} // namespace

std::span<const Meaning> compare_meanings() noexcept {
    return meanings;
}

} // namespace sim::ptx::inline SIM_PTX_FEATURES
