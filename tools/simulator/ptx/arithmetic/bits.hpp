// Values as bits.
#pragma once

#include "ptx/arithmetic/features.hpp"

#include <cstdint>
#include <type_traits>

namespace sim::ptx::inline SIM_PTX_FEATURES {

template <class To, class From>
constexpr To bit_cast(From from) noexcept {
    return __builtin_bit_cast(To, from);
}

template <class T>
concept Integer = std::is_integral_v<T> && !std::is_same_v<T, bool>;
template <class T>
concept Single = std::is_same_v<T, float>;
template <class T>
concept Double = std::is_same_v<T, double>;

// The unsigned type of the bits of T.
template <class T>
using Bits = std::conditional_t<
    sizeof(T) == 8, std::uint64_t,
    std::conditional_t<sizeof(T) == 4, std::uint32_t,
                       std::conditional_t<sizeof(T) == 2, std::uint16_t, std::uint8_t>>>;

template <class T>
constexpr int width = 8 * sizeof(T);
template <class T>
constexpr Bits<T> sign_bit = static_cast<Bits<T>>(Bits<T>{1} << (width<T> - 1));

template <class T>
Bits<T> bits_of(T value) noexcept {
    return bit_cast<Bits<T>>(value);
}
// Without the sign of a real number.
template <class T>
Bits<T> magnitude_bits(T value) noexcept {
    return bits_of(value) & static_cast<Bits<T>>(~sign_bit<T>);
}

// 2 to the power of a constant, for which compilers need no function.
template <int exponent>
constexpr float power_of_two = bit_cast<float>(static_cast<std::uint32_t>(127 + exponent) << 23);

// Two values in one register, .u16x2 or .f16x2. Each instruction for pairs is one for single
// values.
template <class T>
struct Pair {
    T low, high;
};

template <class Operation>
struct Pairwise {
    template <class... T>
    auto operator()(Pair<T>... pairs) const noexcept {
        using Result = decltype(Operation{}(pairs.low...));
        return Pair<Result>{Operation{}(pairs.low...), Operation{}(pairs.high...)};
    }
};

} // namespace sim::ptx::inline SIM_PTX_FEATURES
