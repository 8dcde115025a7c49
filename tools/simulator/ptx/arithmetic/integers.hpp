// Instructions of integers alone that compute with them as numbers. bit_fields.hpp has the others.
#pragma once

#include "ptx/arithmetic/conversions.hpp"

namespace sim::ptx::inline SIM_PTX_FEATURES {

// Of twice the bits, and of the same signedness.
template <Integer T>
using UnsignedTwice =
    std::conditional_t<sizeof(T) == 1, std::uint16_t,
                       std::conditional_t<sizeof(T) == 2, std::uint32_t, std::uint64_t>>;
template <Integer T>
using Twice =
    std::conditional_t<std::is_signed_v<T>, std::make_signed_t<UnsignedTwice<T>>, UnsignedTwice<T>>;

struct MulLo {
    template <Integer T>
    T operator()(T a, T b) const noexcept {
        return static_cast<T>(static_cast<Modular<T>>(a) * static_cast<Modular<T>>(b));
    }
};
struct MulWide {
    template <Integer T>
    Twice<T> operator()(T a, T b) const noexcept {
        static_assert(sizeof(T) <= 4);
        return MulLo{}(static_cast<Twice<T>>(a), static_cast<Twice<T>>(b));
    }
};
struct MulHi {
    template <Integer T>
    T operator()(T a, T b) const noexcept {
        if constexpr (sizeof(T) <= 4) {
            return static_cast<T>(MulWide{}(a, b) >> width<T>);
        } else {
            __extension__ using Wide =
                std::conditional_t<std::is_signed_v<T>, __int128, unsigned __int128>;
            return static_cast<T>(static_cast<Wide>(a) * b >> 64);
        }
    }
};

// The last 24 bits as an integer of the type.
template <Integer T>
std::int64_t last_24(T value) noexcept {
    const auto bits = static_cast<std::int32_t>(static_cast<std::uint32_t>(value) << 8);
    return std::is_signed_v<T> ? bits >> 8
                               : static_cast<std::int64_t>(static_cast<std::uint32_t>(bits) >> 8);
}
struct Mul24Lo {
    template <Integer T>
    T operator()(T a, T b) const noexcept {
        return static_cast<T>(last_24(a) * last_24(b));
    }
};
// The upper 32 of 48 bits.
struct Mul24Hi {
    template <Integer T>
    T operator()(T a, T b) const noexcept {
        return static_cast<T>(last_24(a) * last_24(b) >> 16);
    }
};

// add.sat, sub.sat, mad.hi.sat
template <class Operation>
struct Clamped {
    template <Integer T>
    T operator()(T a, T b) const noexcept {
        static_assert(sizeof(T) <= 4);
        return ConvertSat<T>{}(Operation{}(std::int64_t{a}, std::int64_t{b}));
    }
};
using AddSat = Clamped<Add>;
using SubSat = Clamped<Sub>;

// mad.lo, mad.hi, mad.wide, mad24.lo, mad24.hi: a product and a sum.
template <class Product, class Sum = Add>
struct Mad {
    template <Integer T, Integer C>
    C operator()(T a, T b, C c) const noexcept {
        return Sum{}(static_cast<C>(Product{}(a, b)), c);
    }
};
using MadLo = Mad<MulLo>;
using MadHi = Mad<MulHi>;
using MadWide = Mad<MulWide>;
using MadHiSat = Mad<MulHi, AddSat>;
using Mad24Lo = Mad<Mul24Lo>;
using Mad24Hi = Mad<Mul24Hi>;
using Mad24HiSat = Mad<Mul24Hi, AddSat>;

// --- with the carry flag CC.CF, which holds the borrow after subtractions
template <Integer T>
struct Carried {
    T value;
    bool carry;
};
// add.cc if nothing is carried in.
struct Addc {
    template <Integer T>
    Carried<T> operator()(T a, T b, bool carry = false) const noexcept {
        const Bits<T> sum = Add{}(bits_of(a), bits_of(b));
        const Bits<T> all = Add{}(sum, static_cast<Bits<T>>(carry));
        return {static_cast<T>(all), sum < bits_of(a) || all < sum};
    }
};
struct Subc {
    template <Integer T>
    Carried<T> operator()(T a, T b, bool borrow = false) const noexcept {
        const Bits<T> difference = Sub{}(bits_of(a), bits_of(b));
        const Bits<T> all = Sub{}(difference, static_cast<Bits<T>>(borrow));
        return {static_cast<T>(all), bits_of(a) < bits_of(b) || difference < all};
    }
};
template <class Product>
struct Madc {
    template <Integer T>
    Carried<T> operator()(T a, T b, T c, bool carry = false) const noexcept {
        return Addc{}(Product{}(a, b), c, carry);
    }
};

// The dividend if the divisor is zero: see Div.
struct Rem {
    template <Integer T>
    T operator()(T a, T b) const noexcept {
        return Sub{}(a, b == 0 ? T{0} : MulLo{}(Div{}(a, b), b));
    }
};

struct Sad {
    template <Integer T>
    T operator()(T a, T b, T c) const noexcept {
        return Add{}(c, a < b ? Sub{}(b, a) : Sub{}(a, b));
    }
};

// --- sums of products of the parts of a register
template <Integer Part>
std::int32_t part(std::uint32_t value, int index) noexcept {
    return static_cast<Part>(value >> (index * width<Part>));
}
// dp4a, by the types of its parts: std::int8_t or std::uint8_t.
template <Integer A, Integer B>
struct Dp4a {
    std::uint32_t operator()(std::uint32_t a, std::uint32_t b, std::uint32_t c) const noexcept {
        std::int32_t sum = 0;
        for (int at = 0; at < 4; ++at) {
            sum += part<A>(a, at) * part<B>(b, at);
        }
        return c + static_cast<std::uint32_t>(sum);
    }
};
// dp2a: A has 16 bits. .lo multiplies with the bytes 0 and 1 of b, .hi with 2 and 3.
template <Integer A, Integer B, bool hi>
struct Dp2a {
    std::uint32_t operator()(std::uint32_t a, std::uint32_t b, std::uint32_t c) const noexcept {
        for (int at = 0; at < 2; ++at) {
            c += static_cast<std::uint32_t>(part<A>(a, at)) *
                 static_cast<std::uint32_t>(part<B>(b, at + (hi ? 2 : 0)));
        }
        return c;
    }
};

} // namespace sim::ptx::inline SIM_PTX_FEATURES
