// Real numbers of fewer than 32 bits.
#include "ptx/arithmetic/conversions.hpp"
#include "reference.hpp"

#include <cmath>
#include <limits>

using namespace sim_test;

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();
const float quiet_nan = std::numeric_limits<float>::quiet_NaN();

template <class T, class Function>
void for_all(Function function) {
    constexpr std::uint32_t step = 1U << T::position; // from a number of the format to the next
    const std::uint64_t end = std::uint64_t{1} << width<T>;
    for (std::uint64_t bits = 0; bits < end; bits += step) {
        function(of_bits<T>(bits));
    }
}

// Each number, what lies between it and the next, and the neighbours of all of these.
template <class T, Rounding rounding>
void compare_narrowing() {
    Differences differences;
    const auto compare = [&](double value) {
        if (!is_finite(value)) {
            return;
        }
        const T expected = rounded<T>(exact(value), rounding);
        differences.compare(narrow<T, rounding>(value), expected, value);
        const auto single = static_cast<float>(value);
        if (is_finite(single)) {
            differences.compare(narrow<T, rounding>(single), rounded<T>(exact(single), rounding),
                                single);
        }
    };
    const int step = T::position == 0 ? 1 : 97;
    int at = 0;
    for_all<T>([&](T number) {
        if (!is_finite(number) || at++ % step != 0) {
            return;
        }
        const double value = widen(number);
        const int exponent = exact(number).exponent;
        for (const double offset : {0.0, 0.5, 0.25, 1.0}) {
            const double near = value + std::copysign(std::ldexp(offset, exponent), value);
            for (const float to : {-infinity, infinity}) {
                compare(near);
                compare(std::nextafter(near, double{to}));
                compare(std::nextafter(static_cast<float>(near), to));
            }
        }
    });
    for (const double value :
         {1e-300, -1e-300, 0x1p-149, 0x1p-150, 1e38, 3.4028235677e38, -1e300}) {
        compare(value);
    }
    const auto mark = [](double value) { return bits_of(narrow<T, rounding>(value)); };
    CHECK(mark(double{quiet_nan}) == T::nan);
    CHECK(mark(-double{quiet_nan}) == T::nan);
    CHECK(mark(double{infinity}) == T::overflow);
    CHECK(mark(-double{infinity}) == (T::overflow | sign_bit<T>));
}

} // namespace

TEST_CASE("small real numbers widen exactly and narrow back to themselves") {
    const auto each = []<class T>(T) {
        Differences differences;
        for_all<T>([&](T number) {
            const float wide = widen(number);
            if (is_finite(number)) {
                differences.compare(wide, rounded<float>(exact(number), Rounding::rz), number);
                differences.compare(narrow<T>(wide), number, number);
                differences.compare(narrow<T, Rounding::rp>(wide), number, number);
            } else if (is_finite(T{static_cast<Bits<T>>(magnitude_bits(number) - 1)}) &&
                       T::overflow != T::largest) {
                differences.compare(std::fabs(wide), infinity, number);
            }
        });
    };
    each(F16{});
    each(BF16{});
    each(E4M3{});
    each(E5M2{});
    CHECK(widen(E4M3{0x7e}) == 448);
    CHECK(std::isnan(widen(E4M3{0xff})));
    CHECK(widen(E5M2{0x7b}) == 57344);
    CHECK(widen(E5M2{0xfc}) == -infinity);
    CHECK((std::isnan(widen(F16{0x7c01})) && std::isnan(widen(BF16{0xff81})) &&
           std::isnan(widen(E5M2{0x7d}))));
}

TEST_CASE("f32 and f64 are narrowed to f16 as each rounding says") {
    compare_narrowing<F16, Rounding::rn>();
    compare_narrowing<F16, Rounding::rz>();
    compare_narrowing<F16, Rounding::rm>();
    compare_narrowing<F16, Rounding::rp>();
}

TEST_CASE("f32 and f64 are narrowed to bf16 as each rounding says") {
    compare_narrowing<BF16, Rounding::rn>();
    compare_narrowing<BF16, Rounding::rz>();
    compare_narrowing<BF16, Rounding::rm>();
    compare_narrowing<BF16, Rounding::rp>();
}

TEST_CASE("f32 is narrowed to tf32 as each rounding says") {
    compare_narrowing<TF32, Rounding::rn>();
    compare_narrowing<TF32, Rounding::rz>();
    compare_narrowing<TF32, Rounding::rna>();
    CHECK(narrow<TF32, Rounding::rna>(real(0x3f801000)).bits == 0x3f802000);
    CHECK(narrow<TF32, Rounding::rn>(real(0x3f801000)).bits == 0x3f800000);
}

TEST_CASE("conversions to e4m3 and e5m2 saturate") {
    Differences differences;
    const auto each = [&]<class T>(T) {
        for_all<F16>([&](F16 number) {
            const T narrowed = Convert<T>{}(number);
            if (is_finite(number)) {
                differences.compare(narrowed, rounded<T>(exact(number), Rounding::rn), number);
            }
        });
        Values<float> values;
        for (int at = 0; at < 20'000; ++at) {
            const float value = values.next();
            if (is_finite(value)) {
                differences.compare(Convert<T>{}(value), rounded<T>(exact(value), Rounding::rn),
                                    value);
            }
        }
        differences.compare(Convert<T>{}(infinity), of_bits<T>(T::largest));
        differences.compare(Convert<T>{}(-infinity), of_bits<T>(T::largest | 0x80));
        differences.compare(Convert<T>{}(-quiet_nan), of_bits<T>(0x7f));
        differences.compare(Relu<Convert<T>>{}(-1.0F), T{0});
        differences.compare(Relu<Convert<T>>{}(quiet_nan), of_bits<T>(0x7f));
    };
    each(E4M3{});
    each(E5M2{});
    differences.compare(Convert<F16>{}(E4M3{0xff}), F16{0x7fff});
    differences.compare(Convert<F16>{}(E5M2{0xfc}), F16{0xfc00});
    differences.compare(Convert<F16>{}(E4M3{0x01}), F16{0x1800});
}

TEST_CASE("satfinite replaces infinity, relu negative numbers") {
    Differences differences;
    differences.compare(SatFinite<Convert<F16>>{}(-1e6F), F16{0xfbff});
    differences.compare(SatFinite<Convert<F16>>{}(infinity), F16{0x7bff});
    differences.compare(SatFinite<Convert<F16>>{}(quiet_nan), F16{0x7fff});
    differences.compare(SatFinite<Convert<BF16>>{}(0x1.fffffep127F), BF16{0x7f7f});
    differences.compare(SatFinite<Convert<TF32, Rounding::rna>>{}(0x1.fffffep127F),
                        TF32{0x7f7fe000});
    differences.compare(Relu<SatFinite<Convert<F16>>>{}(-1e6F), F16{0});
    differences.compare(Relu<Convert<TF32>>{}(-1.0F), TF32{0});
    differences.compare(Relu<Convert<TF32>>{}(quiet_nan), TF32{0x7fffffff});
    differences.compare(Sat<Convert<F16>>{}(3.0F), F16{0x3c00});
    differences.compare(Sat<Convert<F16>>{}(quiet_nan), F16{0});
    differences.compare(FtzSingle<Convert<F16>>{}(-0x1p-24F), F16{0x8001});
    differences.compare(FtzSingle<Convert<float>>{}(BF16{0x8001}), -0.0F);
    CHECK(bit_cast<std::uint32_t>(ConvertPair<Convert<F16>>{}(1.0F, 2.0F)) == 0x3c004000);
}
