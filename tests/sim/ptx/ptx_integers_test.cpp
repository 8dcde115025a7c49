// Arithmetic of PTX on integers.
#include "ptx/arithmetic/integers.hpp"
#include "reference.hpp"

#include <limits>

using namespace sim_test;

namespace {

__extension__ using SignedWide = __int128;

template <class Function>
void for_all_types(Function function) {
    function(std::uint16_t{});
    function(std::int16_t{});
    function(std::uint32_t{});
    function(std::int32_t{});
    function(std::uint64_t{});
    function(std::int64_t{});
}

// Values and edges, three at a time.
template <class T, class Function>
void try_values(Function function) {
    Values<T> values;
    const T edges[] = {0, 1, static_cast<T>(-1), least<T>, greatest<T>};
    for (const T a : edges) {
        for (const T b : edges) {
            function(a, b, values.next());
        }
    }
    for (int at = 0; at < 10'000; ++at) {
        const T a = values.next();
        const T b = values.next();
        function(a, b, values.next());
    }
}

template <class T>
T clamped_to(SignedWide value) {
    return static_cast<T>(value < least<T> ? least<T> : value > greatest<T> ? greatest<T> : value);
}

} // namespace

TEST_CASE("sums, differences and products of integers wrap") {
    for_all_types([]<class T>(T) {
        Differences differences;
        try_values<T>([&](T a, T b, T c) {
            const SignedWide x = a, y = b, z = c;
            const auto expected = [&](SignedWide value) { return static_cast<T>(value); };
            differences.compare(Add{}(a, b), expected(x + y), a, b);
            differences.compare(Sub{}(a, b), expected(x - y), a, b);
            differences.compare(MulLo{}(a, b), expected(static_cast<Wide>(x) * y), a, b);
            const SignedWide times =
                std::is_signed_v<T> ? x * y : static_cast<SignedWide>(static_cast<Wide>(x) * y);
            const T high = static_cast<T>(static_cast<Wide>(times) >> width<T>);
            differences.compare(MulHi{}(a, b), high, a, b);
            differences.compare(MadLo{}(a, b, c), expected(static_cast<Wide>(times) + z), a, b, c);
            differences.compare(MadHi{}(a, b, c), Add{}(high, c), a, b, c);
            differences.compare(Sad{}(a, b, c), expected(z + (x < y ? y - x : x - y)), a, b, c);
            differences.compare(Neg{}(a), expected(-x), a);
            differences.compare(Abs{}(a), expected(x < 0 ? -x : x), a);
            differences.compare(Min{}(a, b), x < y ? a : b, a, b);
            differences.compare(Max{}(a, b), x < y ? b : a, a, b);
            if constexpr (sizeof(T) <= 4) {
                differences.compare(MulWide{}(a, b), static_cast<Twice<T>>(x * y), a, b);
                const auto wide = static_cast<Twice<T>>(c);
                differences.compare(MadWide{}(a, b, wide), static_cast<Twice<T>>(x * y + wide), a,
                                    b, c);
                differences.compare(AddSat{}(a, b), clamped_to<T>(x + y), a, b);
                differences.compare(SubSat{}(a, b), clamped_to<T>(x - y), a, b);
            }
            if constexpr (sizeof(T) == 4) {
                differences.compare(MadHiSat{}(a, b, c), clamped_to<T>((x * y >> 32) + z), a, b, c);
            }
        });
    });
}

TEST_CASE("division of integers never traps") {
    for_all_types([]<class T>(T) {
        Differences differences;
        try_values<T>([&](T a, T b, T) {
            const SignedWide x = a, y = b;
            differences.compare(Div{}(a, b), y == 0 ? static_cast<T>(-1) : static_cast<T>(x / y), a,
                                b);
            differences.compare(Rem{}(a, b), y == 0 ? a : static_cast<T>(x % y), a, b);
        });
    });
    CHECK(Div{}(std::numeric_limits<int>::min(), -1) == std::numeric_limits<int>::min());
    CHECK(Rem{}(std::numeric_limits<int>::min(), -1) == 0);
}

TEST_CASE("carries and borrows pass through chains") {
    const auto each = []<class T>(T) {
        Differences differences;
        try_values<T>([&](T a, T b, T c) {
            const bool carry = (c & 1) != 0;
            const Wide x = bits_of(a), y = bits_of(b), z = bits_of(c);
            const Wide sum = x + y + (carry ? 1 : 0);
            const Carried<T> added = Addc{}(a, b, carry);
            differences.compare(added.value, static_cast<T>(sum), a, b, c);
            differences.compare(int{added.carry}, sum >> width<T> == 0 ? 0 : 1, a, b, c);
            const Carried<T> subtracted = Subc{}(a, b, carry);
            differences.compare(subtracted.value, static_cast<T>(x - y - (carry ? 1 : 0)), a, b, c);
            differences.compare(int{subtracted.carry}, x < y + (carry ? 1 : 0) ? 1 : 0, a, b, c);
            const Wide low = bits_of(MulLo{}(a, b));
            const Wide all = low + z + (carry ? 1 : 0);
            const Carried<T> multiplied = Madc<MulLo>{}(a, b, c, carry);
            differences.compare(multiplied.value, static_cast<T>(all), a, b, c);
            differences.compare(int{multiplied.carry}, all >> width<T> == 0 ? 0 : 1, a, b, c);
        });
    };
    each(std::uint32_t{});
    each(std::int32_t{});
    each(std::uint64_t{});
    each(std::int64_t{});
}

TEST_CASE("mul24 and mad24 use the last 24 bits") {
    Differences differences;
    try_values<std::int32_t>([&](std::int32_t a, std::int32_t b, std::int32_t c) {
        const auto last = [](std::int64_t x) {
            const std::int64_t bits = x & 0xffffff;
            return bits >= 0x800000 ? bits - 0x1000000 : bits;
        };
        const std::int64_t product = last(a) * last(b);
        differences.compare(Mul24Lo{}(a, b), static_cast<std::int32_t>(product), a, b);
        differences.compare(Mul24Hi{}(a, b), static_cast<std::int32_t>(product >> 16), a, b);
        differences.compare(Mad24HiSat{}(a, b, c),
                            clamped_to<std::int32_t>((product >> 16) + std::int64_t{c}), a, b, c);
        const auto u = static_cast<std::uint32_t>(a), v = static_cast<std::uint32_t>(b);
        const std::uint64_t plain = std::uint64_t{u & 0xffffff} * (v & 0xffffff);
        differences.compare(Mul24Lo{}(u, v), static_cast<std::uint32_t>(plain), a, b);
        differences.compare(Mul24Hi{}(u, v), static_cast<std::uint32_t>(plain >> 16), a, b);
        differences.compare(Mad24Lo{}(u, v, 7U), static_cast<std::uint32_t>(plain) + 7, a, b);
    });
}

TEST_CASE("dp4a and dp2a multiply the parts of registers") {
    CHECK(Dp4a<std::int8_t, std::int8_t>{}(0x01ff7f80, 0x02ff7f80, 5) ==
          5 + 2 + 1 + 127 * 127 + 128 * 128);
    CHECK(Dp4a<std::uint8_t, std::uint8_t>{}(0xffffffff, 0xffffffff, 1) == 4 * 255 * 255 + 1);
    CHECK(Dp4a<std::int8_t, std::uint8_t>{}(0xff, 0xff, 0) == 0U - 255);
    CHECK(Dp4a<std::uint8_t, std::int8_t>{}(0xff, 0xff, 0) == 0U - 255);
    CHECK(Dp2a<std::int16_t, std::int8_t, false>{}(0x8000ffff, 0x050702fe, 3) ==
          0U - 32768 * 2 + 2 + 3);
    CHECK(Dp2a<std::int16_t, std::int8_t, true>{}(0x00030002, 0x050702fe, 0) == 3 * 5 + 2 * 7);
    CHECK(Dp2a<std::uint16_t, std::uint8_t, true>{}(0xffffffff, 0xffffffff, 0) == 2 * 65535 * 255);
}
