// Approximations.
#include "ptx/arithmetic/approximations.hpp"
#include "ptx/steps/meanings.hpp"

namespace sim::ptx::inline SIM_PTX_FEATURES {
namespace {

template <class Operation, template <class> class Signature, Type... types>
bool approximate(Decoder &decoder, const Instruction &instruction) {
    if (!has(instruction, "approx") && !has(instruction, "full")) {
        return false;
    }
    return has(instruction, "ftz")
               ? by_type<Ftz<Operation>, Signature, types...>(decoder, instruction)
               : by_type<Operation, Signature, types...>(decoder, instruction);
}

template <class Operation>
constexpr Build singles = approximate<Operation, One, Type::f32>;
template <class Operation>
constexpr Build with_halves =
    approximate<Operation, One, Type::f32, Type::f16, Type::f16x2, Type::bf16, Type::bf16x2>;
template <class Operation>
constexpr Build doubles = approximate<UpperHalf<Operation>, One, Type::f64>;

constexpr Meaning meanings[] = {
    {"cos", singles<Cos>},       {"div", approximate<DivApprox, Two, Type::f32>},
    {"ex2", with_halves<Ex2>},   {"lg2", singles<Lg2>},
    {"rcp", singles<Rcp>},       {"rcp", doubles<Rcp>},
    {"rsqrt", singles<Rsqrt>},   {"rsqrt", doubles<Rsqrt>},
    {"sin", singles<Sin>},       {"sqrt", singles<Sqrt>},
    {"tanh", with_halves<Tanh>},
};

} // namespace

std::span<const Meaning> approximation_meanings() noexcept {
    return meanings;
}

} // namespace sim::ptx::inline SIM_PTX_FEATURES
