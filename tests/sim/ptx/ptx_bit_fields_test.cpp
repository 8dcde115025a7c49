// Shifts, fields, permutations and counts. The loops below are those of the PTX manual.
#include "ptx/arithmetic/bit_fields.hpp"
#include "reference.hpp"

#include <algorithm>

using namespace sim_test;

namespace {

template <class Function>
void for_wide_types(Function function) {
    function(std::uint32_t{});
    function(std::int32_t{});
    function(std::uint64_t{});
    function(std::int64_t{});
}

// A value, and two amounts that are small mostly.
template <class T, class Function>
void try_amounts(Function function) {
    Values<T> values;
    std::mt19937 random(3);
    const auto amount = [&] {
        const std::uint32_t bits = random();
        return bits % 4 == 0 ? bits : bits >> 8 & 0x7f;
    };
    for (int at = 0; at < 20'000; ++at) {
        const T value = values.next();
        const std::uint32_t first = amount();
        function(value, first, amount());
    }
}

template <class T>
int bit(T value, std::uint32_t at) {
    return static_cast<int>(bits_of(value) >> at & 1);
}

template <class T>
T extracted(T a, std::uint32_t b, std::uint32_t c) {
    const std::uint32_t msb = width<T> - 1, pos = b & 0xff, len = c & 0xff;
    const int sbit = !std::is_signed_v<T> || len == 0 ? 0 : bit(a, std::min(pos + len - 1, msb));
    Bits<T> d = 0;
    for (std::uint32_t i = 0; i <= msb; ++i) {
        d |= Bits<T>(i < len && pos + i <= msb ? bit(a, pos + i) : sbit) << i;
    }
    return static_cast<T>(d);
}

template <class T>
T inserted(T a, T b, std::uint32_t c, std::uint32_t d) {
    const std::uint32_t msb = width<T> - 1, pos = c & 0xff, len = d & 0xff;
    Bits<T> f = bits_of(b);
    for (std::uint32_t i = 0; i < len && pos + i <= msb; ++i) {
        f = (f & ~(Bits<T>{1} << (pos + i))) | Bits<T>(bit(a, i)) << (pos + i);
    }
    return static_cast<T>(f);
}

std::uint32_t mask_of(std::uint32_t a, std::uint32_t b, bool clamp) {
    const std::uint32_t a1 = a & 31, b1 = b & 31, total = a1 + b1;
    std::uint32_t mask0 = ~0U << a1;
    const bool beyond = clamp && a >= 32;
    const std::uint32_t mask1 = total >= 32 || beyond || (clamp && b >= 32) ? 0 : ~0U << total;
    mask0 = beyond ? 0 : mask0;
    return ~mask1 & mask0;
}

template <class T>
T extended(T a, std::uint32_t b, bool clamp) {
    const std::uint32_t b1 = b & 31;
    const bool too_large = b >= 32 && clamp;
    const std::uint32_t mask = too_large ? 0 : ~0U << b1;
    const bool sign = b1 != 0 && !too_large && std::is_signed_v<T> && bit(a, (b1 - 1) & 31) != 0;
    return static_cast<T>((bits_of(a) & ~mask) | (sign ? mask : 0));
}

std::uint32_t nth_set(std::uint32_t mask, std::uint32_t base, std::int32_t offset) {
    if (offset == 0) {
        return mask >> base & 1 ? base : ~0U;
    }
    std::int64_t count = (offset < 0 ? -std::int64_t{offset} : offset) - 1;
    for (int pos = static_cast<int>(base); pos >= 0 && pos < 32; pos += offset > 0 ? 1 : -1) {
        if ((mask >> pos & 1) != 0 && count-- == 0) {
            return static_cast<std::uint32_t>(pos);
        }
    }
    return ~0U;
}

} // namespace

TEST_CASE("shifts clamp their amounts") {
    const auto each = []<class T>(T) {
        Differences differences;
        try_amounts<T>([&](T a, std::uint32_t amount, std::uint32_t) {
            T left = a, right = a;
            for (std::uint32_t i = 0; i < std::min<std::uint32_t>(amount, width<T>); ++i) {
                left = static_cast<T>(bits_of(left) << 1);
                right = static_cast<T>(right >> 1);
            }
            differences.compare(Shl{}(a, amount), left, a, amount);
            differences.compare(Shr{}(a, amount), right, a, amount);
        });
    };
    each(std::uint16_t{});
    each(std::int16_t{});
    for_wide_types(each);
}

TEST_CASE("funnel shifts clamp or wrap their amounts") {
    const std::uint32_t low = 0x89abcdef, high = 0x01234567;
    CHECK(ShfL<Amount::wrap>{}(low, high, 36) == 0x12345678);
    CHECK(ShfR<Amount::wrap>{}(low, high, 36) == 0x789abcde);
    CHECK(ShfL<Amount::clamp>{}(low, high, 36) == low);
    CHECK(ShfR<Amount::clamp>{}(low, high, 36) == high);
    CHECK(ShfL<Amount::wrap>{}(low, high, 32) == high);
    CHECK(ShfR<Amount::clamp>{}(low, high, 0) == low);
    CHECK(ShfL<Amount::clamp>{}(low, high, 8) == 0x23456789);
}

TEST_CASE("fields are extracted and inserted as in the manual") {
    for_wide_types([]<class T>(T) {
        Differences differences;
        Values<T> others;
        try_amounts<T>([&](T a, std::uint32_t b, std::uint32_t c) {
            differences.compare(Bfe{}(a, b, c), extracted(a, b, c), a, b, c);
            const T other = others.next();
            differences.compare(Bfi{}(a, other, b, c), inserted(a, other, b, c), a, other, b, c);
        });
    });
}

TEST_CASE("bmsk and szext are as in the manual") {
    Differences differences;
    try_amounts<std::int32_t>([&](std::int32_t a, std::uint32_t b, std::uint32_t c) {
        const auto u = static_cast<std::uint32_t>(a);
        differences.compare(Bmsk<Amount::clamp>{}(b, c), mask_of(b, c, true), b, c);
        differences.compare(Bmsk<Amount::wrap>{}(b, c), mask_of(b, c, false), b, c);
        differences.compare(Szext<Amount::clamp>{}(a, b), extended(a, b, true), a, b);
        differences.compare(Szext<Amount::wrap>{}(a, b), extended(a, b, false), a, b);
        differences.compare(Szext<Amount::clamp>{}(u, b), extended(u, b, true), a, b);
        differences.compare(Szext<Amount::wrap>{}(u, b), extended(u, b, false), a, b);
    });
}

TEST_CASE("bits are counted, found and reversed") {
    for_wide_types([]<class T>(T) {
        Differences differences;
        try_amounts<T>([&](T a, std::uint32_t, std::uint32_t) {
            std::uint32_t ones = 0, zeros = width<T>, found = ~0U;
            Bits<T> reversed = 0;
            for (std::uint32_t i = 0; i < width<T>; ++i) {
                ones += static_cast<std::uint32_t>(bit(a, i));
                zeros = bit(a, i) != 0 ? width<T> - 1 - i : zeros;
                found = bit(a, i) != (a < 0 ? 1 : 0) ? i : found;
                reversed |= Bits<T>(bit(a, i)) << (width<T> - 1 - i);
            }
            differences.compare(Popc{}(a), ones, a);
            differences.compare(Clz{}(a), zeros, a);
            differences.compare(Bfind{}(a), found, a);
            differences.compare(BfindShiftamt{}(a), found == ~0U ? found : width<T> - 1 - found, a);
            differences.compare(Brev{}(a), static_cast<T>(reversed), a);
            differences.compare(Cnot{}(a), a == 0 ? T{1} : T{0}, a);
        });
    });
}

TEST_CASE("fns finds the n-th set bit upwards and downwards") {
    Differences differences;
    try_amounts<std::uint32_t>([&](std::uint32_t mask, std::uint32_t base, std::uint32_t count) {
        base &= 31;
        for (const std::int32_t n :
             {static_cast<std::int32_t>(count % 9) - 4, 0, static_cast<std::int32_t>(0x80000000)}) {
            differences.compare(Fns{}(mask, base, n), nth_set(mask, base, n), mask, base, n);
        }
    });
}

TEST_CASE("lop3 applies its table") {
    Differences differences;
    for (std::uint32_t table = 0; table < 256; ++table) {
        const std::uint32_t a = 0xf0, b = 0xcc, c = 0xaa;
        differences.compare(Lop3{}(a, b, c, table) & 0xff, table, table);
    }
    CHECK(Lop3{}(0x12345678, 0x0f0f0f0f, 0xff00ff00, 0xf0 & 0xcc) == 0x02040608);
}

TEST_CASE("prmt chooses bytes in each mode") {
    const std::uint32_t a = 0x83828180, b = 0x07060504;
    CHECK(Prmt{}(a, b, 0x7610) == 0x07068180);
    CHECK(Prmt{}(a, b, 0x8c9f) == 0xff00ff00);
    CHECK(PrmtF4e{}(a, b, 1) == 0x04838281);
    CHECK(PrmtB4e{}(a, b, 1) == 0x06078081);
    CHECK(PrmtRc8{}(a, b, 2) == 0x82828282);
    CHECK(PrmtEcl{}(a, b, 1) == 0x83828181);
    CHECK(PrmtEcr{}(a, b, 2) == 0x82828180);
    CHECK(PrmtRc16{}(a, b, 3) == 0x83828382);
    CHECK(PrmtRc16{}(a, b, 4) == 0x81808180);
}
