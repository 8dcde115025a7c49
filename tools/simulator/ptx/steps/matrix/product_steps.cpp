// Products of matrices: mma and wmma.mma, d = a b + c.
//
// Hardware adds in an order, and with a precision, that are not documented. Here each element is
//   .f16, .f32   the accumulator plus the products in the order of k. The products are exact, the
//                sums are those of .f64, and the result is rounded once, to nearest even
//   .f64         a chain of fma in the order of k, in the rounding of the instruction
//   .s32         exact, then cut to 32 bits or, with .satfinite, to the nearest number
#include "ptx/arithmetic/reals.hpp"
#include "ptx/steps/matrix/fragments.hpp"
#include "ptx/steps/meanings.hpp"

#include <algorithm>
#include <array>

namespace sim::ptx::inline SIM_PTX_FEATURES {
namespace {

// --- elements: value() of bits, bits() of a value
template <SmallReal T>
struct SmallElement {
    static float value(std::uint64_t bits) noexcept { return widen(T{static_cast<Bits<T>>(bits)}); }
    static std::uint64_t bits(double value) noexcept { return narrow<T>(value).bits; }
};
// The last 13 bits of the register do not count.
struct TF32Element {
    static float value(std::uint64_t bits) noexcept {
        return bit_cast<float>(static_cast<std::uint32_t>(bits) & 0xffffe000);
    }
};
template <class T>
struct RealElement {
    static T value(std::uint64_t bits) noexcept { return bit_cast<T>(static_cast<Bits<T>>(bits)); }
    static std::uint64_t bits(double value) noexcept {
        return bits_of(canonical(static_cast<T>(value)));
    }
};
template <int width>
struct SignedElement {
    static std::int32_t value(std::uint64_t bits) noexcept {
        return static_cast<std::int32_t>(static_cast<std::uint32_t>(bits) << (32 - width)) >>
               (32 - width);
    }
    static std::uint64_t bits(std::int64_t value) noexcept {
        return static_cast<std::uint32_t>(value);
    }
};
struct SaturatedElement {
    static std::uint64_t bits(std::int64_t value) noexcept {
        return static_cast<std::uint32_t>(std::clamp<std::int64_t>(value, INT32_MIN, INT32_MAX));
    }
};
struct UnsignedElement {
    static std::int32_t value(std::uint64_t bits) noexcept {
        return static_cast<std::int32_t>(bits);
    }
};

// --- arithmetic: the values of a factor and of an accumulator, and how a product is added
struct Reals {
    using Factor = float;
    using Sum = double;
    static Sum add(Factor a, Factor b, Sum sum) noexcept { return sum + static_cast<Sum>(a) * b; }
};
struct Doubles {
    using Factor = double;
    using Sum = double;
    static Sum add(Factor a, Factor b, Sum sum) noexcept { return Fma()(a, b, sum); }
};
struct Integers {
    using Factor = std::int32_t;
    using Sum = std::int64_t;
    static Sum add(Factor a, Factor b, Sum sum) noexcept { return sum + a * b; }
};

constexpr int most_elements = 1024; // of a matrix

template <class Value>
using Matrix = std::array<Value, most_elements>;
template <class Value>
using Read = void (*)(Warp &, const Fragment &, Matrix<Value> &);
template <class Value>
using Write = void (*)(Warp &, const Fragment &, const Matrix<Value> &);

template <class Element, class Value>
void read(Warp &warp, const Fragment &fragment, Matrix<Value> &values) {
    read_elements(warp, warp.mask(), fragment, [&](Fragment::Place place, std::uint64_t bits) {
        values[place.row * fragment.columns + place.column] = Element::value(bits);
    });
}

template <class Element, class Value>
void write(Warp &warp, const Fragment &fragment, const Matrix<Value> &values) {
    write_elements(warp, warp.mask(), fragment, [&](Fragment::Place place) {
        return Element::bits(values[place.row * fragment.columns + place.column]);
    });
}

// Null: the arithmetic has no such factor, or no such accumulator.
template <class Arithmetic>
Read<typename Arithmetic::Factor> read_factor(Type type) {
    using Value = typename Arithmetic::Factor;
    if constexpr (std::is_same_v<Arithmetic, Reals>) {
        switch (type) {
        case Type::f16:
            return read<SmallElement<F16>, Value>;
        case Type::bf16:
            return read<SmallElement<BF16>, Value>;
        case Type::e4m3:
            return read<SmallElement<E4M3>, Value>;
        case Type::e5m2:
            return read<SmallElement<E5M2>, Value>;
        case Type::tf32:
            return read<TF32Element, Value>;
        default:
            return nullptr;
        }
    } else if constexpr (std::is_same_v<Arithmetic, Doubles>) {
        return type == Type::f64 ? read<RealElement<double>, Value> : nullptr;
    } else {
        switch (type) {
        case Type::s8:
            return read<SignedElement<8>, Value>;
        case Type::s4:
            return read<SignedElement<4>, Value>;
        case Type::u8:
        case Type::u4:
            return read<UnsignedElement, Value>;
        default:
            return nullptr;
        }
    }
}

template <class Arithmetic>
struct Accumulator {
    Read<typename Arithmetic::Sum> read = nullptr;
    Write<typename Arithmetic::Sum> write = nullptr;
};

template <class Arithmetic>
Accumulator<Arithmetic> accumulator(Type type, bool saturates) {
    using Value = typename Arithmetic::Sum;
    if constexpr (std::is_same_v<Arithmetic, Reals>) {
        if (type == Type::f16 && !saturates) {
            return {read<SmallElement<F16>, Value>, write<SmallElement<F16>, Value>};
        }
        if (type == Type::f32 && !saturates) {
            return {read<RealElement<float>, Value>, write<RealElement<float>, Value>};
        }
    } else if constexpr (std::is_same_v<Arithmetic, Doubles>) {
        if (type == Type::f64) {
            return {read<RealElement<double>, Value>, write<RealElement<double>, Value>};
        }
    } else if (type == Type::s32) {
        return {read<SignedElement<32>, Value>,
                saturates ? write<SaturatedElement, Value> : write<SignedElement<32>, Value>};
    }
    return {};
}

// Step::value: the rounding.
template <class Arithmetic>
struct Product {
    using Factor = typename Arithmetic::Factor;
    using Sum = typename Arithmetic::Sum;

    Fragment a, b, c, d;
    Read<Factor> read_a, read_b;
    Read<Sum> read_c;
    Write<Sum> write_d;

    static void run(Warp &warp, const Step &step) {
        const auto &plan = *static_cast<const Product *>(step.more);
        Matrix<Factor> a, b;
        Matrix<Sum> sums;
        // Elements of lanes that do not exist are zero.
        if (warp.mask() != all_lanes) {
            a.fill(0);
            b.fill(0);
            sums.fill(0);
        }
        plan.read_a(warp, plan.a, a);
        plan.read_b(warp, plan.b, b);
        plan.read_c(warp, plan.c, sums);
        const auto depth = static_cast<std::size_t>(plan.a.columns),
                   columns = static_cast<std::size_t>(plan.b.columns);
        const RoundingScope scope(static_cast<Rounding>(step.value));
        for (std::size_t row = 0; row < static_cast<std::size_t>(plan.a.rows); ++row) {
            for (std::size_t k = 0; k < depth; ++k) {
                const Factor factor = a[row * depth + k];
                for (std::size_t column = 0; column < columns; ++column) {
                    Sum &sum = sums[row * columns + column];
                    sum = Arithmetic::add(factor, b[k * columns + column], sum);
                }
            }
        }
        plan.write_d(warp, plan.d, sums);
    }
};

struct ProductTypes {
    Type d, a, b, c;
};

template <class Arithmetic>
bool build_product(Decoder &decoder, const Instruction &instruction, const Shape &shape,
                   const ProductTypes &types) {
    const auto of_c = accumulator<Arithmetic>(types.c, has(instruction, "satfinite"));
    const auto of_d = accumulator<Arithmetic>(types.d, has(instruction, "satfinite"));
    Step step = aligned_step<Product<Arithmetic>::run>();
    auto &plan = decoder.plan<Product<Arithmetic>>(step);
    plan.read_a = read_factor<Arithmetic>(types.a);
    plan.read_b = read_factor<Arithmetic>(types.b);
    plan.read_c = of_c.read;
    plan.write_d = of_d.write;
    if (!plan.read_a || !plan.read_b || !plan.read_c || !plan.write_d) {
        return false;
    }
    const bool repeats = instruction.opcode->name == "wmma";
    const auto take = [&](std::size_t operand, Role role, Type type, Fragment &fragment) {
        fragment = fragment_of(role, shape, type);
        return fragment.rows * fragment.columns <= most_elements &&
               take_registers(decoder, instruction.operands[operand], type, repeats, fragment);
    };
    if (!take(0, Role::c, types.d, plan.d) || !take(1, Role::a, types.a, plan.a) ||
        !take(2, Role::b, types.b, plan.b) || !take(3, Role::c, types.c, plan.c)) {
        return false;
    }
    step.value = static_cast<std::uint64_t>(rounding_of(instruction));
    decoder.emit(step);
    return true;
}

bool is_supported(const Instruction &instruction, const Shape &shape, Type factor) {
    const auto is = [&](int m, int n, int k) {
        return shape.m == m && shape.n == n && shape.k == k;
    };
    const int bits = info(factor).bits;
    if (instruction.opcode->name == "wmma") {
        return bits == 64   ? is(8, 8, 4)
               : bits == 32 ? is(16, 16, 8)
               : bits == 4  ? is(8, 8, 32)
                            : is(16, 16, 16) || is(32, 8, 16) || is(8, 32, 16);
    }
    switch (bits) {
    case 64:
        return is(8, 8, 4) || is(16, 8, 4) || is(16, 8, 8) || is(16, 8, 16);
    case 32:
        return is(16, 8, 4) || is(16, 8, 8);
    case 16:
        return is(16, 8, 8) || is(16, 8, 16);
    case 8:
        return is(8, 8, 16) || is(16, 8, 16) || is(16, 8, 32);
    default:
        return is(8, 8, 32) || is(16, 8, 32) || is(16, 8, 64);
    }
}

bool build(Decoder &decoder, const Instruction &instruction) {
    const bool is_warp = instruction.opcode->name == "wmma";
    const auto shape = shape_of(instruction);
    const std::vector<Type> named = types_of(instruction);
    for (const std::string_view other :
         {"sp", "sp::ordered_metadata", "block_scale", "kind::f8f6f4", "popc", "load", "store"}) {
        if (has(instruction, other)) {
            return false;
        }
    }
    if (!shape || instruction.operands.size() != 4) {
        return false;
    }
    ProductTypes types{};
    if (named.size() == 4) {
        types = {named[0], named[1], named[2], named[3]};
    } else if (named.size() == 2 && is_warp) { // of .f16 factors
        types = {named[0], Type::f16, Type::f16, named[1]};
    } else {
        return false;
    }
    return is_supported(instruction, *shape, types.a) &&
           (info(types.a).bits == info(types.b).bits) &&
           (build_product<Reals>(decoder, instruction, *shape, types) ||
            build_product<Doubles>(decoder, instruction, *shape, types) ||
            build_product<Integers>(decoder, instruction, *shape, types));
}

constexpr Meaning meanings[] = {{"mma", build}, {"wmma", build}};

} // namespace

std::span<const Meaning> product_meanings() noexcept {
    return meanings;
}

} // namespace sim::ptx::inline SIM_PTX_FEATURES
