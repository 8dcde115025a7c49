// cvt between all types of integers and real numbers.
#pragma once

#include "ptx/arithmetic/reals.hpp"

namespace sim::ptx::inline SIM_PTX_FEATURES {

template <Integer T>
constexpr T least = std::is_signed_v<T> ? static_cast<T>(sign_bit<T>) : T{0};
template <Integer T>
constexpr T greatest = static_cast<T>(~least<T>);

// --- to integers in a real type
// Adding a number whose last bit is 1 rounds to an integer, for all that can have a fraction.
template <Rounding rounding, class T>
T round_to_integer(T value) noexcept {
    constexpr T large = Double<T> ? T{0x1p52} : T{0x1p23};
    const T magnitude = bit_cast<T>(magnitude_bits(value));
    T near = (magnitude + large) - large;
    if constexpr (rounding != Rounding::rn) {
        const bool negative = bits_of(value) >> (width<T> - 1) != 0;
        const bool outward = rounding == (negative ? Rounding::rm : Rounding::rp);
        const T up = near < magnitude ? T{1} : T{0};
        const T down = near > magnitude ? T{1} : T{0};
        near = outward ? near + up : near - down;
    }
    const T integer = bit_cast<T>(bits_of(near) | (bits_of(value) & sign_bit<T>));
    return magnitude < large ? integer : value;
}

// cvt.rni and so on, of one real type.
template <Rounding rounding>
struct RoundToInteger {
    template <Real T>
    T operator()(T value) const noexcept {
        if constexpr (HalfReal<T>) {
            return narrow<T>(round_to_integer<rounding>(widen(value)));
        } else {
            return canonical(round_to_integer<rounding>(value));
        }
    }
};

// --- all conversions
// To integers from real numbers, out of range: the nearest of the range. NaN: 0, or the highest bit
// alone if the source is .f64 or the result has 64 bits.
template <class To, Rounding rounding = Rounding::rn>
struct Convert {
    template <class From>
    To operator()(From value) const noexcept {
        if constexpr (Integer<To> && Integer<From>) {
            return static_cast<To>(value);
        } else if constexpr (Integer<To> && HalfReal<From>) {
            return to_integer(widen(value));
        } else if constexpr (Integer<To>) {
            return to_integer(value);
        } else if constexpr (Integer<From> && SmallReal<To>) {
            return narrow<To, rounding>(to_double(value));
        } else if constexpr (std::is_unsigned_v<From>) {
            // Some compilers subtract two large numbers, and so make -0 of 0 if rounding down.
            return bit_cast<To>(magnitude_bits(static_cast<To>(value)));
        } else if constexpr (Integer<From>) {
            return static_cast<To>(value);
        } else if constexpr (SmallReal<To> && SmallReal<From>) {
            return narrow<To, rounding>(widen(value));
        } else if constexpr (SmallReal<To>) {
            return narrow<To, rounding>(value);
        } else if constexpr (SmallReal<From>) {
            return canonical(static_cast<To>(widen(value)));
        } else {
            return canonical(static_cast<To>(value));
        }
    }

  private:
    template <class From>
    static To to_integer(From value) noexcept {
        // Powers of two, so that both types of real numbers have them; value < end holds for all in
        // range.
        constexpr From begin = static_cast<From>(least<To>);
        constexpr From end =
            From{2} * static_cast<From>(sign_bit<To>) / (std::is_signed_v<To> ? From{2} : From{1});
        constexpr To nan = Double<From> || sizeof(To) == 8 ? static_cast<To>(sign_bit<To>) : To{0};
        const From integer = round_to_integer<rounding>(value);
        const bool inside = integer >= begin && integer < end;
        To result = static_cast<To>(inside ? integer : From{0});
        result = integer < begin ? least<To> : result;
        result = integer >= end ? greatest<To> : result;
        return is_nan(value) ? nan : result;
    }

    // Exact up to 53 bits; of more, the last one stands for all behind it, which is enough for
    // SmallReals.
    template <class From>
    static double to_double(From value) noexcept {
        if constexpr (sizeof(From) < 8) {
            return value;
        } else {
            const bool negative = value < 0;
            std::uint64_t magnitude = static_cast<std::uint64_t>(value);
            magnitude = negative ? 0 - magnitude : magnitude;
            const std::uint64_t sticky = (magnitude & 0x7ff) != 0 ? 0x800 : 0;
            magnitude = magnitude >> 53 == 0 ? magnitude : (magnitude & ~0x7ffULL) | sticky;
            const double real = static_cast<double>(magnitude);
            return negative ? -real : real;
        }
    }
};

// cvt.sat between integers: the nearest of the range.
template <Integer To>
struct ConvertSat {
    template <Integer From>
    To operator()(From value) const noexcept {
        if (value < 0) {
            return static_cast<std::int64_t>(value) < static_cast<std::int64_t>(least<To>)
                       ? least<To>
                       : static_cast<To>(value);
        }
        return static_cast<std::uint64_t>(value) > static_cast<std::uint64_t>(greatest<To>)
                   ? greatest<To>
                   : static_cast<To>(value);
    }
};

// cvt of two values into a pair: the first one becomes the upper half.
template <class Conversion>
struct ConvertPair {
    template <class From>
    auto operator()(From high, From low) const noexcept {
        return Pair<decltype(Conversion{}(low))>{Conversion{}(low), Conversion{}(high)};
    }
};

// .ftz of cvt: of .f32 alone, as a source or a result.
template <class Conversion>
struct FtzSingle {
    template <class From>
    auto operator()(From value) const noexcept {
        return flushed(Conversion{}(flushed(value)));
    }

  private:
    template <class T>
    static T flushed(T value) noexcept {
        if constexpr (Single<T>) {
            return flush(value);
        } else {
            return value;
        }
    }
};

// .satfinite: infinity and all beyond the largest number become that number; NaN remains. Formats
// of 8 bits have no other conversions.
template <class Conversion>
struct SatFinite {
    template <class From>
    auto operator()(From value) const noexcept {
        auto result = Conversion{}(value);
        using To = decltype(result);
        const Bits<To> sign = result.bits & sign_bit<To>;
        const bool infinite = magnitude_bits(result) == To::overflow;
        result.bits = infinite ? static_cast<Bits<To>>(To::largest | sign) : result.bits;
        return result;
    }
};

} // namespace sim::ptx::inline SIM_PTX_FEATURES
