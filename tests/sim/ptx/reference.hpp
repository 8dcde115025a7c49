// Exact arithmetic on real numbers, to which results of the simulator are compared, and the
// values that tests try.
#pragma once

#include "ptx/arithmetic/halves.hpp"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <random>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace sim_test {

using namespace sim::ptx;
__extension__ using Wide = unsigned __int128;

constexpr Rounding all_roundings[] = {Rounding::rn, Rounding::rz, Rounding::rm, Rounding::rp};

// mantissa * 2^exponent, except that a set last bit may stand for any bits behind it.
struct Exact {
    bool negative;
    Wide mantissa;
    int exponent;
};

inline int bit_length(Wide value) {
    int length = 0;
    for (; value != 0; value >>= 1) {
        ++length;
    }
    return length;
}

inline Wide shifted(const Exact &value, int right, Rounding rounding) {
    if (right <= 0) {
        return value.mantissa << -right;
    }
    const bool out = right > 127;
    const Wide whole = out ? 0 : value.mantissa >> right;
    const Wide rest = out ? value.mantissa : value.mantissa - (whole << right);
    const Wide half = out ? ~Wide{0} : Wide{1} << (right - 1);
    bool up = false;
    switch (rounding) {
    case Rounding::rn:
        up = rest > half || (rest == half && (whole & 1) != 0);
        break;
    case Rounding::rna:
        up = rest >= half;
        break;
    case Rounding::rm:
        up = value.negative && rest != 0;
        break;
    case Rounding::rp:
        up = !value.negative && rest != 0;
        break;
    case Rounding::rz:
        break;
    }
    return whole + (up ? 1 : 0);
}

template <class T>
struct Format {
    static constexpr int mantissa = T::mantissa, bias = T::bias, position = T::position;
    static constexpr std::uint64_t largest = T::largest, overflow = T::overflow;
};
template <>
struct Format<float> {
    static constexpr int mantissa = 23, bias = 127, position = 0;
    static constexpr std::uint64_t largest = 0x7f7fffff, overflow = 0x7f800000;
};
template <>
struct Format<double> {
    static constexpr int mantissa = 52, bias = 1023, position = 0;
    static constexpr std::uint64_t largest = 0x7fefffffffffffff, overflow = 0x7ff0000000000000;
};

template <class T>
bool is_finite(T value) {
    return magnitude_bits(value) <= Format<T>::largest;
}

template <class T>
Exact exact(T value) {
    const bool negative = (bits_of(value) & sign_bit<T>) != 0;
    const std::uint64_t code = magnitude_bits(value) >> Format<T>::position;
    const std::uint64_t one = std::uint64_t{1} << Format<T>::mantissa;
    const int exponent = static_cast<int>(code >> Format<T>::mantissa);
    const int least = 1 - Format<T>::bias - Format<T>::mantissa;
    return exponent == 0 ? Exact{negative, code, least}
                         : Exact{negative, (code & (one - 1)) | one, least + exponent - 1};
}

inline Exact product(const Exact &a, const Exact &b) {
    return {a.negative != b.negative, a.mantissa * b.mantissa, a.exponent + b.exponent};
}

// At most 53 bits in each; the sign of zero is open.
inline Exact sum(Exact a, Exact b) {
    if (a.mantissa == 0 || b.mantissa == 0) {
        return a.mantissa == 0 ? b : a;
    }
    for (Exact *each : {&a, &b}) { // the highest bit becomes 2^120
        const int left = 121 - bit_length(each->mantissa);
        each->mantissa <<= left;
        each->exponent -= left;
    }
    if (a.exponent < b.exponent) {
        std::swap(a, b);
    }
    const int right = a.exponent - b.exponent;
    const Wide kept = right > 127 ? 0 : b.mantissa >> right;
    const bool lost = right > 127 || (kept << right) != b.mantissa;
    const Wide other = kept | (lost ? 1 : 0);
    if (a.negative == b.negative) {
        return {a.negative, a.mantissa + other, a.exponent};
    }
    return a.mantissa >= other ? Exact{a.negative, a.mantissa - other, a.exponent}
                               : Exact{b.negative, other - a.mantissa, a.exponent};
}

template <class T>
T rounded(const Exact &value, Rounding rounding) {
    using F = Format<T>;
    const int least = 1 - F::bias - F::mantissa;
    const int last = std::max(bit_length(value.mantissa) + value.exponent - 1 - F::mantissa, least);
    const Wide number = shifted(value, last - value.exponent, rounding);
    std::uint64_t code = static_cast<std::uint64_t>(last - least) << F::mantissa;
    code = value.mantissa == 0 ? 0 : code + static_cast<std::uint64_t>(number);
    if (code > F::largest >> F::position) {
        const bool to_zero =
            rounding == Rounding::rz || rounding == (value.negative ? Rounding::rp : Rounding::rm);
        code = (to_zero ? F::largest : F::overflow) >> F::position;
    }
    const std::uint64_t sign = value.negative ? std::uint64_t{sign_bit<T>} : 0;
    return bit_cast<T>(static_cast<Bits<T>>(code << F::position | sign));
}

// Collects the results that differ from what is expected, and shows the first.
class Differences {
  public:
    ~Differences() { CHECK(first_ == ""); }

    template <class T, class... Inputs>
    void compare(T actual, T expected, Inputs... inputs) {
        if (bits_of(actual) != bits_of(expected) && first_.empty()) {
            std::ostringstream text;
            text << std::hex << +bits_of(actual) << " instead of " << +bits_of(expected) << " for";
            ((text << ' ' << +bits_of(inputs)), ...);
            first_ = text.str();
        }
    }

  private:
    std::string first_;
};

// Values of T with random bits, of which many are short, near powers of two, or extreme.
template <class T>
class Values {
  public:
    T next() {
        std::uint64_t bits = random_();
        const std::uint64_t kind = random_() % 8;
        if (kind < 3) {
            bits &= ~std::uint64_t{0} << random_() % width<T>;
        } else if (kind == 3) {
            bits |= (std::uint64_t{1} << random_() % width<T>)-1;
        } else if (kind == 4) {
            bits >>= random_() % 64;
        } else if (kind == 5) {
            bits = (bits << (width<T> - 1)) + random_() % 5 - 2;
        }
        return bit_cast<T>(static_cast<Bits<T>>(bits));
    }
    // The same with an exponent near that of another.
    T near(T other)
        requires(!Integer<T>)
    {
        const int mantissa = Format<T>::mantissa + Format<T>::position;
        const int offset = static_cast<int>(random_() % 61) - 30;
        const auto moved = static_cast<Bits<T>>(bits_of(other) + (Bits<T>(offset) << mantissa));
        const Bits<T> mask = static_cast<Bits<T>>((Bits<T>{1} << mantissa) - 1);
        return bit_cast<T>(static_cast<Bits<T>>((bits_of(next()) & (mask | sign_bit<T>)) |
                                                (moved & ~mask & ~sign_bit<T>)));
    }

  private:
    std::mt19937_64 random_{20};
};

template <class T>
T of_bits(std::uint64_t bits) {
    return bit_cast<T>(static_cast<Bits<T>>(bits));
}
inline float real(std::uint32_t bits) {
    return bit_cast<float>(bits);
}

} // namespace sim_test
