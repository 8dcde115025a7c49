// Real numbers of fewer than 32 bits: their formats, and how .f32 and .f64 become such a number.
#pragma once

#include "ptx/arithmetic/bits.hpp"
#include "ptx/arithmetic/rounding.hpp"

namespace sim::ptx::inline SIM_PTX_FEATURES {

// A format:
//   mantissa, bias   of its numbers
//   largest          the largest finite number
//   overflow         what a number becomes that is larger than all: the infinity, or the largest
//                    where conversions have .satfinite always
//   nan              the canonical one
//   position         of its last bit in the register
struct F16 {
    static constexpr int mantissa = 10, bias = 15, position = 0;
    static constexpr std::uint32_t largest = 0x7bff, overflow = 0x7c00, nan = 0x7fff;
    std::uint16_t bits;
};
struct BF16 {
    static constexpr int mantissa = 7, bias = 127, position = 0;
    static constexpr std::uint32_t largest = 0x7f7f, overflow = 0x7f80, nan = 0x7fff;
    std::uint16_t bits;
};
// Has no infinity.
struct E4M3 {
    static constexpr int mantissa = 3, bias = 7, position = 0;
    static constexpr std::uint32_t largest = 0x7e, overflow = largest, nan = 0x7f;
    std::uint8_t bits;
};
struct E5M2 {
    static constexpr int mantissa = 2, bias = 15, position = 0;
    static constexpr std::uint32_t largest = 0x7b, overflow = largest, nan = 0x7f;
    std::uint8_t bits;
};
// A number of .f32 whose last 13 bits are zero, except for NaN.
struct TF32 {
    static constexpr int mantissa = 10, bias = 127, position = 13;
    static constexpr std::uint32_t largest = 0x7f7fe000, overflow = 0x7f800000, nan = 0x7fffffff;
    std::uint32_t bits;
};

template <class T>
concept SmallReal = requires(T value) { value.bits, T::mantissa; };
// The formats that have arithmetic.
template <class T>
concept HalfReal = std::is_same_v<T, F16> || std::is_same_v<T, BF16>;

// Exact. A NaN stays one.
template <SmallReal T>
float widen(T value) noexcept {
    constexpr int shift = 23 - T::mantissa - T::position;
    const std::uint32_t magnitude = magnitude_bits(value);
    const std::uint32_t sign = static_cast<std::uint32_t>(value.bits ^ magnitude)
                               << (32 - width<T>);
    std::uint32_t result = magnitude << shift;
    if constexpr (T::bias != 127) {
        const float subnormal = static_cast<float>(static_cast<std::int32_t>(magnitude)) *
                                power_of_two<1 - T::bias - T::mantissa>;
        const std::uint32_t normal = result + ((127 - T::bias) << 23);
        const std::uint32_t finite = magnitude < (1U << T::mantissa) ? bits_of(subnormal) : normal;
        result = magnitude > T::largest ? result | 0x7f800000 : finite;
    }
    return bit_cast<float>(result | sign);
}

// The rounding that needs no second one to be undone: whichever neighbour is odd, if the value is
// between two. Rounding the result again to fewer bits, at least two, is like rounding once.
inline float round_to_odd(double value) noexcept {
    const auto near = static_cast<float>(value);
    const double magnitude = bit_cast<double>(magnitude_bits(value));
    const double other = bit_cast<double>(magnitude_bits(static_cast<double>(near)));
    const std::uint32_t inexact = other < magnitude || other > magnitude ? 1 : 0;
    const std::uint32_t outward = other > magnitude ? 1 : 0;
    return bit_cast<float>((bits_of(near) - outward) | inexact);
}

// Rounds once, as PTX does with subnormal numbers.
template <SmallReal T, Rounding rounding = Rounding::rn>
T narrow(float value) noexcept {
    constexpr int shift = 23 - T::mantissa;
    constexpr std::uint32_t half = 1U << (shift - 1);
    const std::uint32_t magnitude = magnitude_bits(value);
    const std::uint32_t tie =
        rounding == Rounding::rna ? half : half - 1 + (magnitude >> shift & 1);
    std::uint32_t result =
        ((magnitude + tie) >> shift) - (static_cast<std::uint32_t>(127 - T::bias) << T::mantissa);
    if constexpr (T::bias != 127) {
        // The last bit of this sum is that of T's subnormal numbers.
        constexpr float unit = power_of_two<24 - T::bias - T::mantissa>;
        const std::uint32_t subnormal =
            bits_of(bit_cast<float>(magnitude) + unit) - bit_cast<std::uint32_t>(unit);
        result = magnitude < (static_cast<std::uint32_t>(128 - T::bias) << 23) ? subnormal : result;
    }
    constexpr std::uint32_t overflow = T::overflow >> T::position;
    result = result < overflow ? result : overflow;
    if constexpr (rounding != Rounding::rn && rounding != Rounding::rna) {
        const float back = widen(T{static_cast<Bits<T>>(result << T::position)});
        const bool negative = bits_of(value) >> 31 != 0;
        const bool outward = rounding == (negative ? Rounding::rm : Rounding::rp);
        const bool above = back > bit_cast<float>(magnitude);
        const bool below = back < bit_cast<float>(magnitude);
        result = outward ? result + below : result - above;
    }
    const std::uint32_t sign = bits_of(value) >> 31 << (width<T> - 1);
    const std::uint32_t number = result << T::position | sign;
    return T{static_cast<Bits<T>>(magnitude > 0x7f800000 ? T::nan : number)};
}
template <SmallReal T, Rounding rounding = Rounding::rn>
T narrow(double value) noexcept {
    return narrow<T, rounding>(round_to_odd(value));
}

} // namespace sim::ptx::inline SIM_PTX_FEATURES
