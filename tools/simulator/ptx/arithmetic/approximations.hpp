// The .approx instructions, and div.full.
//
// The ISA gives a table of special values for each, and a maximum error. Results here are those
// that correct rounding gives, or one of the two neighbours of the exact value: computed in .f64
// with polynomials and the operations that IEEE 754 defines, they are the same on every machine.
// The processor must round to nearest.
//
//   instruction             maximum error that the ISA allows
//   rcp.approx.f32          1 ulp
//   sqrt.approx.f32         relative 2^-23
//   rsqrt.approx.f32        relative 2^-22.9
//   div.approx, div.full    2 ulp
//   ex2.approx.f32          2 ulp
//   lg2.approx.f32          absolute 2^-22 in (0.5, 2), else relative 2^-22
//   sin, cos.approx.f32     absolute 2^-20.5 in [-2 pi, 2 pi], none outside
//   tanh.approx.f32         relative 2^-11
//   ex2.approx.f16, .bf16   relative 2^-9.9, 2^-7
//   tanh.approx.f16, .bf16  absolute 2^-10.987, 2^-8
#pragma once

#include "ptx/arithmetic/reals.hpp"

namespace sim::ptx::inline SIM_PTX_FEATURES {

// c0 + c1 x + c2 x^2 and so on.
inline double polynomial(double, double c) noexcept {
    return c;
}
template <class... C>
double polynomial(double x, double c, C... more) noexcept {
    return c + x * polynomial(x, more...);
}

// The nearest integer, also as the last bits of `bits`. |value| < 2^51.
struct NearInteger {
    explicit NearInteger(double value) noexcept {
        constexpr double last_bit_one = 0x1.8p52;
        const double shifted = value + last_bit_one;
        bits = bits_of(shifted);
        integer = shifted - last_bit_one;
    }
    std::uint64_t bits;
    double integer;
};

// Relative error 2^-39; exact for integers. |x| < 1000.
inline double power_of_2(double x) noexcept {
    const NearInteger near(x);
    const double power =
        polynomial(x - near.integer, 1.0, 0x1.62e42fef84cf0p-1, 0x1.ebfbdff823cedp-3,
                   0x1.c6b08dd6fd234p-5, 0x1.3b2ab7181b755p-7, 0x1.5d8745a728441p-10,
                   0x1.4308ac85aa947p-13, 0x1.00dc4a532fb8ep-16, 0x1.63d136366db24p-20);
    return bit_cast<double>(bits_of(power) + (near.bits << 52));
}

template <class T>
T clamped(T value, T low, T high) noexcept {
    const T above = value > low ? value : low;
    return above < high ? above : high;
}

struct Ex2 {
    template <Real T>
    T operator()(T a) const noexcept {
        static_assert(!Double<T>);
        const double x = value_of(a);
        // All results are zero or infinite beyond 200.
        const T power = result<T>(power_of_2(clamped(x, -200.0, 200.0)));
        return is_nan(a) ? canonical_nan<T>() : power;
    }
};

struct Lg2 {
    float operator()(float a) const noexcept {
        // a is m times a power of two with m in [sqrt(1/2), sqrt(2)], whose logarithm is a series
        // of (m - 1) / (m + 1).
        constexpr std::uint64_t root = 0x3fe6a09e667f3bcd;
        const std::uint64_t bits = bits_of(static_cast<double>(a));
        const std::uint64_t over = bits - root;
        const double m = bit_cast<double>((over & 0x000fffffffffffff) + root);
        // As the last bits of a number of 2^52 and more, since processors convert no 64-bit
        // integers.
        const std::uint64_t biased = (over + 0x4000000000000000) >> 52;
        const double exponent = bit_cast<double>(biased | 0x4330000000000000) - (0x1p52 + 1024);
        const double s = (m - 1) / (m + 1);
        const double series =
            s * polynomial(s * s, 0x1.71547652b8251p+1, 0x1.ec709dc53bfcfp-1, 0x1.2776c2935a8c1p-1,
                           0x1.a61a2ef4051f3p-2, 0x1.4795463b406c3p-2, 0x1.21b245a850e1dp-2);
        const float infinity = bit_cast<float>(0x7f800000U);
        float logarithm = static_cast<float>(exponent + series);
        logarithm = a < infinity ? logarithm : infinity;
        logarithm = a == 0 ? -infinity : logarithm;
        return a >= 0 ? logarithm : canonical_nan<float>();
    }
};

// sin of a + quarters * pi / 2. Arguments of 2^51 and more count as multiples of 2 pi.
inline float sine(float a, std::uint64_t quarters) noexcept {
    const double turned = static_cast<double>(a) * 0x1.45f306dc9c883p-1; // 2 / pi
    const double inside = bit_cast<double>(magnitude_bits(turned)) < 0x1p51 ? turned : a - a;
    const NearInteger near(inside);
    const double x = inside - near.integer;
    const double square = x * x;
    const double odd =
        x * polynomial(square, 0x1.921fb54442d18p+0, -0x1.4abbce625be41p-1, 0x1.466bc677587f8p-4,
                       -0x1.32d2cce2e5b19p-8, 0x1.50782fda12d96p-13, -0x1.e30071afc3e59p-19);
    const double even =
        polynomial(square, 1.0, -0x1.3bd3cc9be458bp+0, 0x1.03c1f081b0780p-2, -0x1.55d3c7dbfd139p-6,
                   0x1.e1f4fb60281f6p-11, -0x1.a6c9c1be9eb49p-16, 0x1.f3dbcea61b1a4p-22);
    const std::uint64_t quadrant = near.bits + quarters;
    const std::uint64_t chosen = 0 - (quadrant & 1);
    const std::uint64_t value = (bits_of(even) & chosen) | (bits_of(odd) & ~chosen);
    const std::uint64_t sign = (quadrant & 2) << 62;
    return canonical(static_cast<float>(bit_cast<double>(value ^ sign)));
}
struct Sin {
    float operator()(float a) const noexcept { return sine(a, 0); }
};
struct Cos {
    float operator()(float a) const noexcept { return sine(a, 1); }
};

struct Tanh {
    template <Real T>
    T operator()(T a) const noexcept {
        static_assert(!Double<T>);
        const double x = value_of(a);
        // 1 beyond 20, and near 0 a polynomial, since the difference loses bits there.
        const double power = power_of_2(clamped(x, -20.0, 20.0) * 0x1.71547652b82fep+1); // 2 / ln 2
        const double large = 1 - 2 / (power + 1);
        const double small = x * polynomial(x * x, 1.0, -0x1.555555553ef4dp-2, 0x1.11110d91ee242p-3,
                                            -0x1.b9c21a6138dadp-5);
        const bool near = bit_cast<double>(magnitude_bits(x)) < 0x1p-5;
        const T tanh = result<T>(near ? small : large);
        return is_nan(a) ? canonical_nan<T>() : tanh;
    }
};

struct Rsqrt {
    float operator()(float a) const noexcept {
        return canonical(static_cast<float>(1 / __builtin_sqrt(static_cast<double>(a))));
    }
    double operator()(double a) const noexcept { return canonical(1 / __builtin_sqrt(a)); }
};

// rcp.approx.ftz.f64 and rsqrt.approx.ftz.f64: of the upper 32 bits, to the upper 32 bits.
template <class Operation>
struct UpperHalf {
    double operator()(double a) const noexcept {
        constexpr std::uint64_t upper = 0xffffffff00000000;
        const double source = flushed(bit_cast<double>(bits_of(a) & upper));
        const double result = flushed(Operation{}(source));
        return is_nan(a) ? canonical_nan<double>()
                         : bit_cast<double>((bits_of(result) + 0x80000000) & upper);
    }

  private:
    static double flushed(double value) noexcept {
        const std::uint64_t bits = bits_of(value);
        return bit_cast<double>(
            magnitude_bits(value) < least_normal_bits<double> ? bits & sign_bit<double> : bits);
    }
};

// div.approx.f32, in the words of the ISA a * (1 / b): zero for b beyond 2^126, NaN if a is
// infinite.
struct DivApprox {
    float operator()(float a, float b) const noexcept {
        const bool beyond = bit_cast<float>(magnitude_bits(b)) > 0x1p126F;
        const std::uint32_t zero = bits_of(b) & sign_bit<float>;
        const float quotient = beyond ? a * bit_cast<float>(zero) : a / b;
        return canonical(is_nan(b) ? b : quotient);
    }
};

} // namespace sim::ptx::inline SIM_PTX_FEATURES
