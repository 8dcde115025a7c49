// Arithmetic of real numbers.
#include "ptx/arithmetic/reals.hpp"
#include "ptx/steps/meanings.hpp"

namespace sim::ptx::inline SIM_PTX_FEATURES {
namespace {

// With .ftz and .sat, where the instruction has them.
template <class Operation, template <class> class Signature, Type... types>
bool real(Decoder &decoder, const Instruction &instruction) {
    if (has(instruction, "approx") || has(instruction, "full")) {
        return false;
    }
    const bool ftz = has(instruction, "ftz"), sat = has(instruction, "sat");
    return ftz && sat ? by_type<Ftz<Sat<Operation>>, Signature, types...>(decoder, instruction)
           : ftz      ? by_type<Ftz<Operation>, Signature, types...>(decoder, instruction)
           : sat      ? by_type<Sat<Operation>, Signature, types...>(decoder, instruction)
                      : by_type<Operation, Signature, types...>(decoder, instruction);
}

template <class Operation, template <class> class Signature>
constexpr Build singles = real<Operation, Signature, Type::f32, Type::f64>;
template <class Operation, template <class> class Signature>
constexpr Build reals = real<Operation, Signature, Type::f32, Type::f64, Type::f16, Type::f16x2,
                             Type::bf16, Type::bf16x2>;

template <class Operation>
bool extreme(Decoder &decoder, const Instruction &instruction) {
    const bool nan = has(instruction, "NaN");
    if (has(instruction, "xorsign")) {
        return nan ? reals<XorsignAbs<NaN<Operation>>, Two>(decoder, instruction)
                   : reals<XorsignAbs<Operation>, Two>(decoder, instruction);
    }
    return nan ? reals<NaN<Operation>, Two>(decoder, instruction)
               : reals<Operation, Two>(decoder, instruction);
}

// .relu of f16 and bf16.
bool fma_relu(Decoder &decoder, const Instruction &instruction) {
    return has(instruction, "relu") &&
           by_type<Relu<Fma>, Three, Type::f16, Type::f16x2, Type::bf16, Type::bf16x2>(decoder,
                                                                                       instruction);
}

constexpr Meaning meanings[] = {
    {"abs", reals<Abs, One>},
    {"add", reals<Add, Two>},
    {"copysign", by_type<Copysign, Two, Type::f32, Type::f64>},
    {"div", singles<Div, Two>},
    {"fma", fma_relu},
    {"fma", reals<Fma, Three>},
    {"mad", singles<Fma, Three>},
    {"max", extreme<Max>},
    {"min", extreme<Min>},
    {"mul", reals<Mul, Two>},
    {"neg", reals<Neg, One>},
    {"rcp", singles<Rcp, One>},
    {"sqrt", singles<Sqrt, One>},
    {"sub", reals<Sub, Two>},
};

} // namespace

std::span<const Meaning> real_meanings() noexcept {
    return meanings;
}

} // namespace sim::ptx::inline SIM_PTX_FEATURES
