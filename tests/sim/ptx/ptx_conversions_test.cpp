// cvt between integers and real numbers.
#include "ptx/arithmetic/conversions.hpp"
#include "reference.hpp"

#include <limits>

using namespace sim_test;

namespace {

const float quiet_nan = std::numeric_limits<float>::quiet_NaN();
constexpr float infinity = std::numeric_limits<float>::infinity();

template <class... T>
struct Types {};
using Integers = Types<std::uint8_t, std::int8_t, std::uint16_t, std::int16_t, std::uint32_t,
                       std::int32_t, std::uint64_t, std::int64_t>;

template <class... T, class Function>
void for_each(Types<T...>, Function function) {
    (function(T{}), ...);
}

template <class From, class Function>
void try_values(int count, Function function) {
    if constexpr (sizeof(From) <= 2) {
        for (std::uint32_t bits = 0; bits >> width<From> == 0; ++bits) {
            function(of_bits<From>(bits));
        }
    } else {
        Values<From> values;
        for (int at = 0; at < count; ++at) {
            function(values.next());
        }
    }
}

__extension__ using SignedWide = __int128;

template <class To>
To nearest_in_range(SignedWide value) {
    const SignedWide low = std::numeric_limits<To>::min();
    const SignedWide high = std::numeric_limits<To>::max();
    return static_cast<To>(value < low ? low : value > high ? high : value);
}

template <class From>
Exact exact_integer(From value) {
    const auto wide = static_cast<SignedWide>(value);
    return {wide < 0, static_cast<Wide>(wide < 0 ? -wide : wide), 0};
}

template <class To, class From, Rounding rounding>
void compare_to_integer() {
    Differences differences;
    const To of_nan = std::is_same_v<From, double> || sizeof(To) == 8
                          ? of_bits<To>(std::uint64_t{1} << (width<To> - 1))
                          : To{0};
    try_values<From>(3'000, [&](From value) {
        To expected = of_nan;
        if (is_finite(value)) {
            Exact number = exact(value);
            if (number.exponent > 64) { // out of every range
                number = {number.negative, number.mantissa << 60, 0};
            }
            const auto magnitude =
                static_cast<SignedWide>(shifted(number, -number.exponent, rounding));
            expected = nearest_in_range<To>(number.negative ? -magnitude : magnitude);
        } else if (!is_nan(value)) {
            const bool negative = (bits_of(value) & sign_bit<From>) != 0;
            expected = negative ? std::numeric_limits<To>::min() : std::numeric_limits<To>::max();
        }
        differences.compare(Convert<To, rounding>{}(value), expected, value);
    });
}

template <class To, class From, Rounding rounding>
void compare_from_integer() {
    const RoundingScope scope(HalfReal<To> ? Rounding::rn : rounding);
    Differences differences;
    try_values<From>(5'000, [&](From value) {
        differences.compare(Convert<To, rounding>{}(value),
                            rounded<To>(exact_integer(value), rounding), value);
    });
}

template <Rounding rounding>
void compare_all() {
    for_each(Integers{}, []<class Whole>(Whole) {
        for_each(Types<float, double, F16, BF16>{}, []<class Number>(Number) {
            compare_to_integer<Whole, Number, rounding>();
            compare_from_integer<Number, Whole, rounding>();
        });
    });
}

template <class T, Rounding rounding>
void compare_integer_rounding() {
    Differences differences;
    try_values<T>(20'000, [&](T value) {
        const Exact number = exact(value);
        if (!is_finite(value) || number.exponent >= 0) {
            return;
        }
        const Exact integer = {number.negative, shifted(number, -number.exponent, rounding), 0};
        const T expected = rounded<T>(integer, Rounding::rz);
        differences.compare(RoundToInteger<rounding>{}(value), expected, value);
    });
    for (const float value : {quiet_nan, infinity, -0.0F, -0x1p100F}) {
        const T same = Convert<T>{}(value);
        differences.compare(RoundToInteger<rounding>{}(same), same);
    }
}

template <class T>
void compare_integer_roundings() {
    compare_integer_rounding<T, Rounding::rn>();
    compare_integer_rounding<T, Rounding::rz>();
    compare_integer_rounding<T, Rounding::rm>();
    compare_integer_rounding<T, Rounding::rp>();
}

} // namespace

TEST_CASE("conversions between integers and real numbers round to nearest") {
    compare_all<Rounding::rn>();
}
TEST_CASE("conversions between integers and real numbers round to zero") {
    compare_all<Rounding::rz>();
}
TEST_CASE("conversions between integers and real numbers round down") {
    compare_all<Rounding::rm>();
}
TEST_CASE("conversions between integers and real numbers round up") {
    compare_all<Rounding::rp>();
}

TEST_CASE("real numbers are rounded to integers of their type") {
    compare_integer_roundings<float>();
    compare_integer_roundings<double>();
    compare_integer_roundings<F16>();
    compare_integer_roundings<BF16>();
}

TEST_CASE("conversions of integers truncate, extend, or saturate") {
    for_each(Integers{}, []<class From>(From) {
        for_each(Integers{}, []<class To>(To) {
            Differences differences;
            try_values<From>(1'000, [&](From value) {
                differences.compare(ConvertSat<To>{}(value), nearest_in_range<To>(value), value);
                differences.compare(Convert<To>{}(value), static_cast<To>(value), value);
            });
        });
    });
}

TEST_CASE("NaN becomes 0, or the highest bit where f64 or 64 bits are involved") {
    CHECK(Convert<std::int32_t>{}(quiet_nan) == 0);
    CHECK(Convert<std::uint8_t>{}(F16{0x7e00}) == 0);
    CHECK(Convert<std::int32_t>{}(double{quiet_nan}) == std::numeric_limits<std::int32_t>::min());
    CHECK(Convert<std::uint32_t>{}(double{quiet_nan}) == 0x80000000);
    CHECK(Convert<std::uint64_t>{}(quiet_nan) == 0x8000000000000000);
    CHECK(Convert<std::int64_t>{}(BF16{0xff81}) == std::numeric_limits<std::int64_t>::min());
}

TEST_CASE("f64 becomes f32 as the scope says, f32 becomes f64 exactly") {
    for (const Rounding rounding : all_roundings) {
        const RoundingScope scope(rounding);
        Differences differences;
        Values<double> values;
        Values<float> singles;
        for (int at = 0; at < 20'000; ++at) {
            const float near = singles.next();
            if (is_finite(near)) {
                differences.compare(Convert<double>{}(near), double{near}, near);
                const double value = at % 2 == 0 ? values.near(double{near}) : values.next();
                if (is_finite(value)) {
                    differences.compare(Convert<float>{}(value),
                                        rounded<float>(exact(value), rounding), value);
                }
            }
        }
    }
    Differences differences;
    differences.compare(Convert<float>{}(-double{infinity}), -infinity);
    differences.compare(Convert<float>{}(-double{quiet_nan}), real(0x7fffffff));
    differences.compare(Convert<float>{}(F16{0xfe00}), real(0x7fffffff));
    differences.compare(Convert<double>{}(quiet_nan), of_bits<double>(0xfff8000000000000));
    differences.compare(FtzSingle<Convert<float>>{}(0x1p-140), 0.0F);
    differences.compare(FtzSingle<Convert<double>>{}(-0x1p-140F), -0.0);
    differences.compare(Sat<FtzSingle<Convert<float>>>{}(2.0), 1.0F);
    differences.compare(FtzSingle<RoundToInteger<Rounding::rp>>{}(0x1p-140F), 0.0F);
    differences.compare(FtzSingle<Convert<std::int32_t, Rounding::rp>>{}(0x1p-140F), 0);
    differences.compare(Convert<std::int32_t, Rounding::rp>{}(0x1p-140F), 1);
}
