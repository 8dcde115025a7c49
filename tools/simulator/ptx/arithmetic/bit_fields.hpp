// Instructions of integers as bits: shifts, fields, permutations, counts.
#pragma once

#include "ptx/arithmetic/elementary.hpp"

namespace sim::ptx::inline SIM_PTX_FEATURES {

// What an amount of 32 and more means: .clamp or .wrap.
enum class Amount : unsigned char { clamp, wrap };

// Amounts of the width and more count as the width.
struct Shl {
    template <Integer T>
    T operator()(T a, std::uint32_t amount) const noexcept {
        const auto bits = static_cast<Modular<T>>(a);
        return amount < width<T> ? static_cast<T>(bits << amount) : T{0};
    }
};
// Of a signed type, the sign fills.
struct Shr {
    template <Integer T>
    T operator()(T a, std::uint32_t amount) const noexcept {
        const std::uint32_t last = width<T> - 1;
        const T clamped = static_cast<T>(a >> (amount < last ? amount : last));
        return std::is_signed_v<T> || amount <= last ? clamped : T{0};
    }
};

// shf: a is the lower half of what is shifted, b the upper one.
template <Amount mode>
std::uint32_t funnel_amount(std::uint32_t amount) noexcept {
    return mode == Amount::wrap ? amount & 31 : (amount < 32 ? amount : 32);
}
inline std::uint64_t joined(std::uint32_t low, std::uint32_t high) noexcept {
    return std::uint64_t{high} << 32 | low;
}
template <Amount mode>
struct ShfL {
    std::uint32_t operator()(std::uint32_t a, std::uint32_t b, std::uint32_t c) const noexcept {
        return static_cast<std::uint32_t>(joined(a, b) << funnel_amount<mode>(c) >> 32);
    }
};
template <Amount mode>
struct ShfR {
    std::uint32_t operator()(std::uint32_t a, std::uint32_t b, std::uint32_t c) const noexcept {
        return static_cast<std::uint32_t>(joined(a, b) >> funnel_amount<mode>(c));
    }
};

// --- fields
// The lowest bits, 0 to the width of T of them.
template <Integer T>
T low_mask(std::uint32_t count) noexcept {
    return Sub{}(Shl{}(T{1}, count), T{1});
}

// Of position and length the last 8 bits count. Beyond the highest bit, and for a length past it, a
// signed type has copies of the highest bit of the field.
struct Bfe {
    template <Integer T>
    T operator()(T a, std::uint32_t position, std::uint32_t length) const noexcept {
        position &= 0xff;
        length &= 0xff;
        const Bits<T> mask = low_mask<Bits<T>>(length);
        const Bits<T> field = Shr{}(bits_of(a), position) & mask;
        const std::uint32_t end = position + length - 1;
        const Bits<T> sign = Shr{}(bits_of(a), end < width<T> ? end : width<T> - 1) & 1;
        const bool fill = std::is_signed_v<T> && length != 0 && sign != 0;
        // Bits of the field that lie beyond a are as the sign.
        const Bits<T> beyond = static_cast<Bits<T>>(
            ~Shr{}(static_cast<Bits<T>>(~Bits<T>{0}), position) | static_cast<Bits<T>>(~mask));
        return static_cast<T>(fill ? field | beyond : field);
    }
};
// Puts a into b.
struct Bfi {
    template <Integer T>
    T operator()(T a, T b, std::uint32_t position, std::uint32_t length) const noexcept {
        position &= 0xff;
        length &= 0xff;
        const T mask = Shl{}(low_mask<T>(length), position);
        return static_cast<T>((b & ~mask) | (Shl{}(a, position) & mask));
    }
};

template <Amount mode>
struct Bmsk {
    std::uint32_t operator()(std::uint32_t position, std::uint32_t length) const noexcept {
        if (mode == Amount::wrap) {
            position &= 31;
            length &= 31;
        }
        return Shl{}(low_mask<std::uint32_t>(length), position);
    }
};

// szext.u32 and szext.s32: the value of the last `length` bits.
template <Amount mode>
struct Szext {
    template <Integer T>
    T operator()(T a, std::uint32_t length) const noexcept {
        const std::uint32_t bits = mode == Amount::wrap ? length & 31 : length;
        return bits < 32 ? Bfe{}(a, 0, bits) : a;
    }
};

// --- counts
struct Popc {
    template <Integer T>
    std::uint32_t operator()(T a) const noexcept {
        // Sums of 2, 4 and 8 bits and so on: the baseline has no instruction for it.
        Modular<T> sums = bits_of(a);
        sums -= sums >> 1 & static_cast<Modular<T>>(0x5555555555555555);
        sums = (sums & static_cast<Modular<T>>(0x3333333333333333)) +
               (sums >> 2 & static_cast<Modular<T>>(0x3333333333333333));
        sums = (sums + (sums >> 4)) & static_cast<Modular<T>>(0x0f0f0f0f0f0f0f0f);
        sums += sums >> 8;
        sums += sums >> 16;
        if constexpr (width<T> == 64) {
            sums += sums >> 32;
        }
        return static_cast<std::uint32_t>(sums & 0x7f);
    }
};
struct Clz {
    template <Integer T>
    std::uint32_t operator()(T a) const noexcept {
        return a == 0 ? width<T>
                      : static_cast<std::uint32_t>(__builtin_clzll(bits_of(a)) - 64 + width<T>);
    }
};
// The highest bit that is not a copy of the sign; all ones without one.
struct Bfind {
    template <Integer T>
    std::uint32_t operator()(T a) const noexcept {
        return width<T> - 1 - Clz{}(static_cast<T>(a < 0 ? ~a : a));
    }
};
// The shift that would move that bit to the highest place.
struct BfindShiftamt {
    template <Integer T>
    std::uint32_t operator()(T a) const noexcept {
        const std::uint32_t zeros = Clz{}(static_cast<T>(a < 0 ? ~a : a));
        return zeros == width<T> ? ~0U : zeros;
    }
};
// The place of the n-th set bit from `base` on, upwards or downwards; all ones without one.
struct Fns {
    std::uint32_t operator()(std::uint32_t mask, std::uint32_t base,
                             std::int32_t n) const noexcept {
        std::int64_t left = n == 0 ? 1 : n < 0 ? -std::int64_t{n} : n;
        const std::uint32_t step = n < 0 ? ~0U : n == 0 ? 32 : 1;
        for (std::uint32_t at = base; at < 32; at += step) {
            left -= mask >> at & 1;
            if (left == 0) {
                return at;
            }
        }
        return ~0U;
    }
};

// --- logic and permutations
struct Cnot {
    template <Integer T>
    T operator()(T a) const noexcept {
        return a == 0 ? T{1} : T{0};
    }
};

struct Brev {
    template <Integer T>
    T operator()(T a) const noexcept {
        std::uint64_t bits = bits_of(a);
        bits = (bits >> 1 & 0x5555555555555555) | (bits & 0x5555555555555555) << 1;
        bits = (bits >> 2 & 0x3333333333333333) | (bits & 0x3333333333333333) << 2;
        bits = (bits >> 4 & 0x0f0f0f0f0f0f0f0f) | (bits & 0x0f0f0f0f0f0f0f0f) << 4;
        bits = (bits >> 8 & 0x00ff00ff00ff00ff) | (bits & 0x00ff00ff00ff00ff) << 8;
        bits = (bits >> 16 & 0x0000ffff0000ffff) | (bits & 0x0000ffff0000ffff) << 16;
        bits = bits >> 32 | bits << 32;
        return static_cast<T>(bits >> (64 - width<T>));
    }
};

// Bit i of the table is the result where the bits of a, b and c are i.
struct Lop3 {
    std::uint32_t operator()(std::uint32_t a, std::uint32_t b, std::uint32_t c,
                             std::uint32_t table) const noexcept {
        std::uint32_t result = 0;
        for (std::uint32_t at = 0; at < 8; ++at) {
            const std::uint32_t chosen = 0 - (table >> at & 1);
            result |= chosen & ((at & 4) != 0 ? a : ~a) & ((at & 2) != 0 ? b : ~b) &
                      ((at & 1) != 0 ? c : ~c);
        }
        return result;
    }
};

// A byte of b:a; bit 3 of the selector replicates the byte's sign instead.
struct Prmt {
    std::uint32_t operator()(std::uint32_t a, std::uint32_t b,
                             std::uint32_t selectors) const noexcept {
        std::uint32_t result = 0;
        for (int at = 0; at < 4; ++at) {
            const std::uint32_t selector = selectors >> (4 * at) & 0xf;
            const auto byte =
                static_cast<std::uint32_t>(joined(a, b) >> (8 * (selector & 7)) & 0xff);
            const std::uint32_t sign = 0xff & (0 - (byte >> 7));
            result |= ((selector & 8) != 0 ? sign : byte) << (8 * at);
        }
        return result;
    }
};
// The other modes, where the last two bits of c choose one of four selectors.
template <std::uint32_t of_0, std::uint32_t of_1, std::uint32_t of_2, std::uint32_t of_3>
struct PrmtMode {
    std::uint32_t operator()(std::uint32_t a, std::uint32_t b, std::uint32_t c) const noexcept {
        const std::uint32_t even = (c & 2) != 0 ? of_2 : of_0;
        const std::uint32_t odd = (c & 2) != 0 ? of_3 : of_1;
        return Prmt{}(a, b, (c & 1) != 0 ? odd : even);
    }
};
using PrmtF4e = PrmtMode<0x3210, 0x4321, 0x5432, 0x6543>;
using PrmtB4e = PrmtMode<0x5670, 0x6701, 0x7012, 0x0123>;
using PrmtRc8 = PrmtMode<0x0000, 0x1111, 0x2222, 0x3333>;
using PrmtEcl = PrmtMode<0x3210, 0x3211, 0x3222, 0x3333>;
using PrmtEcr = PrmtMode<0x0000, 0x1110, 0x2210, 0x3210>;
using PrmtRc16 = PrmtMode<0x1010, 0x3232, 0x1010, 0x3232>;

} // namespace sim::ptx::inline SIM_PTX_FEATURES
