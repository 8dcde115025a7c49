// The real types that have arithmetic: .f32 and .f64 as they are, .f16 and .bf16 by a larger type.
//
// A sum, difference, product, quotient or root that is rounded to p bits and then to q is rounded
// as if once where p is at least 2 q + 2 (Figueroa, 1995). .f32 has 24 bits, .f16 has 11. .bf16 has
// 8, but its products can be subnormal in .f32, which has fewer bits there: .bf16 computes in .f64.
#pragma once

#include "ptx/arithmetic/small_reals.hpp"

namespace sim::ptx::inline SIM_PTX_FEATURES {

template <class T>
concept Real = Single<T> || Double<T> || HalfReal<T>;

// The canonical NaN, which arithmetic returns in place of every other one. The ISA states it for
// .f32, .f16 and .bf16; that of .f64 is what GPUs return.
template <Real T>
T canonical_nan() noexcept {
    if constexpr (Double<T>) {
        return bit_cast<double>(std::uint64_t{0xfff8000000000000});
    } else if constexpr (Single<T>) {
        return bit_cast<float>(0x7fffffffU);
    } else {
        return T{static_cast<std::uint16_t>(T::nan)};
    }
}

// As the type that computes.
inline float value_of(float value) noexcept {
    return value;
}
inline double value_of(double value) noexcept {
    return value;
}
inline float value_of(F16 value) noexcept {
    return widen(value);
}
inline double value_of(BF16 value) noexcept {
    return widen(value);
}

template <Real T>
bool is_nan(T value) noexcept {
    if constexpr (HalfReal<T>) {
        return magnitude_bits(value) > T::overflow;
    } else {
        return value != value;
    }
}

template <Real T>
T canonical(T value) noexcept {
    return is_nan(value) ? canonical_nan<T>() : value;
}

// What was computed, as a result of type T.
template <Real T, class Computed>
T result(Computed value) noexcept {
    if constexpr (HalfReal<T>) {
        return narrow<T>(value);
    } else {
        return canonical(static_cast<T>(value));
    }
}

} // namespace sim::ptx::inline SIM_PTX_FEATURES
