// Instructions of real numbers alone, and the modifiers of results.
#pragma once

#include "ptx/arithmetic/elementary.hpp"

namespace sim::ptx::inline SIM_PTX_FEATURES {

struct Mul {
    template <Real T>
    T operator()(T a, T b) const noexcept {
        return result<T>(value_of(a) * value_of(b));
    }
};

struct Rcp {
    template <Real T>
    T operator()(T a) const noexcept {
        return result<T>(1 / value_of(a));
    }
};

struct Sqrt {
    float operator()(float a) const noexcept { return canonical(__builtin_sqrtf(a)); }
    double operator()(double a) const noexcept { return canonical(__builtin_sqrt(a)); }
};

// The sum, or if it is between two numbers the odd one of them, whatever the processor's rounding:
// in each one, the inner difference is exact and the error has its right sign (Boldo, Graillat,
// Muller, 2017). The sum must not overflow.
inline double add_to_odd(double a, double b) noexcept {
    const bool ordered = bit_cast<double>(magnitude_bits(a)) >= bit_cast<double>(magnitude_bits(b));
    const double larger = ordered ? a : b;
    const double smaller = ordered ? b : a;
    const double sum = larger + smaller;
    const double difference = smaller - (sum - larger);
    const double error = difference == difference ? difference : 0; // the sum is infinite, or NaN
    // Without conditions, which GCC does not combine in vectors of 64 bits.
    const std::uint64_t inexact = (magnitude_bits(error) + ~sign_bit<double>) >> 63;
    const std::uint64_t inward = inexact & (bits_of(error) ^ bits_of(sum)) >> 63;
    return bit_cast<double>((bits_of(sum) - inward) | inexact);
}

struct Fma {
    double operator()(double a, double b, double c) const noexcept {
        return canonical(__builtin_fma(a, b, c));
    }
    float operator()(float a, float b, float c) const noexcept {
#if defined(__FMA__) || defined(__aarch64__)
        return canonical(__builtin_fmaf(a, b, c));
#else
        return canonical(static_cast<float>(add_to_odd(static_cast<double>(a) * b, c)));
#endif
    }
    template <HalfReal T>
    T operator()(T a, T b, T c) const noexcept {
        return narrow<T>(add_to_odd(static_cast<double>(value_of(a)) * value_of(b), value_of(c)));
    }
};

// The value of b with the sign of a: also a NaN keeps its bits.
struct Copysign {
    template <Real T>
    T operator()(T a, T b) const noexcept {
        return bit_cast<T>(static_cast<Bits<T>>((bits_of(a) & sign_bit<T>) | magnitude_bits(b)));
    }
};

// --- testp
template <class T>
constexpr Bits<T> infinity_bits = Double<T> ? 0x7ff0000000000000 : 0x7f800000;
template <class T>
constexpr Bits<T> least_normal_bits = Double<T> ? 0x0010000000000000 : 0x00800000;

struct Finite {
    template <Real T>
    bool operator()(T a) const noexcept {
        return magnitude_bits(a) < infinity_bits<T>;
    }
};
struct Infinite {
    template <Real T>
    bool operator()(T a) const noexcept {
        return magnitude_bits(a) == infinity_bits<T>;
    }
};
struct NotANumber {
    template <Real T>
    bool operator()(T a) const noexcept {
        return is_nan(a);
    }
};
struct Number {
    template <Real T>
    bool operator()(T a) const noexcept {
        return !is_nan(a);
    }
};
struct Subnormal {
    template <Real T>
    bool operator()(T a) const noexcept {
        return magnitude_bits(a) - 1 < least_normal_bits<T> - 1;
    }
};
// Zeros are normal here.
struct Normal {
    template <Real T>
    bool operator()(T a) const noexcept {
        return Finite{}(a) && !Subnormal{}(a);
    }
};

// --- modifiers
// A subnormal number becomes a zero of its sign.
template <class T>
T flush(T value) noexcept {
    if constexpr (Single<T>) {
        const std::uint32_t bits = bits_of(value);
        return bit_cast<float>((bits & 0x7f800000) == 0 ? bits & 0x80000000 : bits);
    } else if constexpr (HalfReal<T>) {
        return (value.bits & T::overflow) == 0 ? T{static_cast<std::uint16_t>(value.bits & 0x8000)}
                                               : value;
    } else {
        return value;
    }
}
// .ftz, of sources and of the result. Not for cvt, where it is for .f32 alone.
template <class Operation>
struct Ftz {
    template <class... T>
    auto operator()(T... values) const noexcept {
        return flush(Operation{}(flush(values)...));
    }
};

// .sat: into [+0, 1], NaN to +0. Of integers see AddSat.
template <class Operation>
struct Sat {
    template <class... T>
    auto operator()(T... values) const noexcept {
        const auto value = Operation{}(values...);
        using Result = std::remove_const_t<decltype(value)>;
        if constexpr (HalfReal<Result>) {
            return narrow<Result>(clamp(widen(value)));
        } else {
            return clamp(value);
        }
    }

  private:
    template <class T>
    static T clamp(T value) noexcept {
        const T positive = value > 0 ? value : 0;
        return positive < 1 ? positive : 1;
    }
};

// .relu: negative numbers and -0 become +0, NaN the canonical one.
template <class Operation>
struct Relu {
    template <class... T>
    auto operator()(T... values) const noexcept {
        const auto value = Operation{}(values...);
        using Result = std::remove_const_t<decltype(value)>;
        if constexpr (Integer<Result>) {
            return value > 0 ? value : Result{0};
        } else {
            using Number = Bits<Result>;
            const bool nan = magnitude_bits(value) > Result::overflow;
            const bool negative = (bits_of(value) & sign_bit<Result>) != 0;
            const Number number = negative ? Number{0} : bits_of(value);
            return Result{nan ? static_cast<Number>(Result::nan) : number};
        }
    }
};

} // namespace sim::ptx::inline SIM_PTX_FEATURES
