// Arithmetic of PTX on real numbers.
#include "ptx/arithmetic/reals.hpp"
#include "reference.hpp"

#include <cmath>
#include <limits>

using namespace sim_test;

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();
const float quiet_nan = std::numeric_limits<float>::quiet_NaN();
const float denormal = 0x1p-140F;

template <class T>
struct Tried {
    T a, b, c;
};

// Finite values, of which half have similar exponents.
template <class T, class Function>
void try_values(int count, Function function) {
    Values<T> values;
    for (int at = 0; at < count; ++at) {
        const T a = values.next();
        const T b = at % 2 == 0 ? values.near(a) : values.next();
        const T c = at % 4 == 0   ? values.near(a)
                    : at % 4 == 1 ? values.near(Mul{}(a, b))
                                  : values.next();
        if (is_finite(a) && is_finite(b) && is_finite(c)) {
            function(Tried<T>{a, b, c});
        }
    }
}

template <class T>
void compare_sums_and_products(Rounding rounding) {
    Differences differences;
    try_values<T>(40'000, [&](const Tried<T> &x) {
        const Exact total = sum(exact(x.a), exact(x.b));
        if (total.mantissa != 0) {
            differences.compare(Add{}(x.a, x.b), rounded<T>(total, rounding), x.a, x.b);
            differences.compare(Sub{}(x.a, Neg{}(x.b)), rounded<T>(total, rounding), x.a, x.b);
        }
        if constexpr (!Double<T>) {
            const Exact times = product(exact(x.a), exact(x.b));
            differences.compare(Mul{}(x.a, x.b), rounded<T>(times, rounding), x.a, x.b);
            const Exact all = sum(times, exact(x.c));
            if (all.mantissa != 0) {
                differences.compare(Fma{}(x.a, x.b, x.c), rounded<T>(all, rounding), x.a, x.b, x.c);
            }
        }
    });
}

} // namespace

TEST_CASE("sums, products and fma of f32 and f64 are rounded once, in each rounding") {
    for (const Rounding rounding : all_roundings) {
        const RoundingScope scope(rounding);
        compare_sums_and_products<float>(rounding);
        compare_sums_and_products<double>(rounding);
    }
}

TEST_CASE("sums, products and fma of f16 and bf16 are rounded once") {
    compare_sums_and_products<F16>(Rounding::rn);
    compare_sums_and_products<BF16>(Rounding::rn);
}

TEST_CASE("fma of f32 equals that of the C library, in each rounding") {
    for (const Rounding rounding : all_roundings) {
        const RoundingScope scope(rounding);
        Differences differences;
        try_values<float>(100'000, [&](const Tried<float> &x) {
            differences.compare(Fma{}(x.a, x.b, x.c), std::fma(x.a, x.b, x.c), x.a, x.b, x.c);
        });
    }
    Differences differences;
    differences.compare(Fma{}(infinity, 0.0F, 1.0F), real(0x7fffffff));
    differences.compare(Fma{}(infinity, 1.0F, -infinity), real(0x7fffffff));
    differences.compare(Fma{}(infinity, 1.0F, 1.0F), infinity);
    differences.compare(Fma{}(1.0F, 1.0F, -infinity), -infinity);
    differences.compare(Fma{}(-0.0F, 1.0F, -0.0F), -0.0F);
    differences.compare(Fma{}(1.0F, 1.0F, -1.0F), 0.0F);
    differences.compare(Fma{}(0x1.fffffep127F, 2.0F, -0x1.fffffep127F), 0x1.fffffep127F);
}

TEST_CASE("division and roots are rounded as RoundingScope says, and the scope restores the mode") {
    Differences differences;
    const std::uint32_t thirds[] = {0x3eaaaaab, 0x3eaaaaaa, 0x3eaaaaaa, 0x3eaaaaab};
    const std::uint32_t roots[] = {0x3fb504f3, 0x3fb504f3, 0x3fb504f3, 0x3fb504f4};
    const std::uint64_t of_three[] = {0x3fd5555555555555, 0x3fd5555555555555, 0x3fd5555555555555,
                                      0x3fd5555555555556};
    for (int at = 0; at < 4; ++at) {
        const RoundingScope scope(all_roundings[at]);
        volatile float one = 1, two = 2, three = 3;
        volatile double wide_three = 3;
        differences.compare(Div{}(float{one}, float{three}), real(thirds[at]));
        differences.compare(Rcp{}(float{three}), real(thirds[at]));
        differences.compare(Sqrt{}(float{two}), real(roots[at]));
        differences.compare(Rcp{}(double{wide_three}), of_bits<double>(of_three[at]));
    }
    CHECK(std::fegetround() == FE_TONEAREST);
}

TEST_CASE("results that are NaN are the canonical one") {
    Differences differences;
    for (const float other : {quiet_nan, real(0xff800001), real(0x7f812345)}) {
        for (const float result :
             {Add{}(other, 1.0F), Sub{}(1.0F, other), Mul{}(other, 0.0F), Div{}(other, 2.0F),
              Sqrt{}(other), Rcp{}(other), Neg{}(other), Abs{}(other), Fma{}(other, 1.0F, 1.0F),
              Min{}(other, quiet_nan), Max{}(quiet_nan, other), Sqrt{}(-1.0F), Div{}(0.0F, 0.0F)}) {
            differences.compare(result, real(0x7fffffff), other);
        }
        differences.compare(Add{}(double{other}, 1.0), of_bits<double>(0xfff8000000000000), other);
    }
    differences.compare(Add{}(F16{0x7c00}, F16{0xfc00}), F16{0x7fff});
    differences.compare(Mul{}(BF16{0x7f80}, BF16{0}), BF16{0x7fff});
    differences.compare(Neg{}(F16{0x7e00}), F16{0x7fff});
    differences.compare(Copysign{}(-1.0F, real(0x7f812345)), real(0xff812345));
    differences.compare(Copysign{}(1.0, -2.0), 2.0);
}

TEST_CASE("min and max order zeros, and ignore or propagate NaN") {
    Differences differences;
    const auto each = [&]<class T>(T zero, T one, T two, T not_a_number) {
        const T minus = Neg{}(zero);
        for (const auto &[a, b] : {std::pair{zero, minus}, std::pair{minus, zero}}) {
            differences.compare(Min{}(a, b), minus);
            differences.compare(Max{}(a, b), zero);
        }
        differences.compare(Min{}(two, one), one);
        differences.compare(Max{}(Neg{}(two), Neg{}(one)), Neg{}(one));
        differences.compare(Min{}(not_a_number, one), one);
        differences.compare(Max{}(one, not_a_number), one);
        differences.compare(NaN<Min>{}(one, not_a_number), canonical_nan<T>());
        differences.compare(NaN<Max>{}(one, two), two);
        differences.compare(XorsignAbs<Max>{}(Neg{}(two), one), Neg{}(two));
        differences.compare(XorsignAbs<Min>{}(Neg{}(two), Neg{}(one)), one);
        differences.compare(XorsignAbs<Min>{}(not_a_number, Neg{}(one)),
                            bits_of(not_a_number) >> (width<T> - 1) ? one : Neg{}(one));
        differences.compare(XorsignAbs<NaN<Min>>{}(not_a_number, Neg{}(one)), canonical_nan<T>());
    };
    each(0.0F, 1.0F, 2.0F, quiet_nan);
    each(0.0, 1.0, 2.0, double{quiet_nan});
    each(F16{0}, F16{0x3c00}, F16{0x4000}, F16{0xfe00});
    each(BF16{0}, BF16{0x3f80}, BF16{0x4000}, BF16{0x7fc1});
}

TEST_CASE("comparisons are false for NaN, unordered ones true") {
    CHECK_FALSE((Eq{}(quiet_nan, quiet_nan) || Ne{}(quiet_nan, 1.0F) || Lt{}(quiet_nan, 1.0F) ||
                 Le{}(1.0F, quiet_nan) || Gt{}(quiet_nan, 1.0F) || Ge{}(quiet_nan, quiet_nan) ||
                 Num{}(quiet_nan, 1.0F) || Nan{}(1.0F, 1.0F)));
    CHECK((Equ{}(quiet_nan, quiet_nan) && Neu{}(quiet_nan, 1.0F) && Ltu{}(quiet_nan, 1.0F) &&
           Leu{}(1.0F, quiet_nan) && Gtu{}(quiet_nan, 1.0F) && Geu{}(quiet_nan, quiet_nan) &&
           Num{}(1.0F, 1.0F) && Nan{}(1.0F, quiet_nan)));
    for (const float a : {-1.0F, -0.0F, 0.0F, 1.0F, infinity}) {
        for (const float b : {-1.0F, -0.0F, 0.0F, 1.0F, infinity}) {
            const bool results[] = {Eq{}(a, b) == (a == b), Ne{}(a, b) == (a != b),
                                    Lt{}(a, b) == (a < b),  Le{}(a, b) == (a <= b),
                                    Gt{}(a, b) == (a > b),  Ge{}(a, b) == (a >= b),
                                    Ltu{}(a, b) == (a < b), Geu{}(a, b) == (a >= b)};
            for (const bool result : results) {
                CHECK(result);
            }
        }
    }
    CHECK((Lt{}(F16{0xbc00}, F16{0x3c00}) && Eq{}(BF16{0x8000}, BF16{0})));
    CHECK((Lo{}(1U, ~0U) && Lt{}(-1, 1) && Ne{}(1, 2) && Le{}(2, 2)));
    CHECK((Slct{}(1, 2, -0.0F) == 1 && Slct{}(1, 2, quiet_nan) == 2 && Slct{}(1, 2, -1) == 2));
}

TEST_CASE("testp states the kinds of numbers") {
    const auto kinds = [](auto a) {
        std::string found;
        for (const auto &[is, kind] :
             {std::pair{Finite{}(a), 'f'}, std::pair{Infinite{}(a), 'i'},
              std::pair{Number{}(a), 'n'}, std::pair{NotANumber{}(a), 'x'},
              std::pair{Normal{}(a), 'o'}, std::pair{Subnormal{}(a), 's'}}) {
            found += is ? std::string(1, kind) : "";
        }
        return found;
    };
    CHECK(kinds(-1.0F) == "fno");
    CHECK(kinds(-0.0F) == "fno");
    CHECK(kinds(0x1p-126F) == "fno");
    CHECK(kinds(-denormal) == "fns");
    CHECK(kinds(real(0x007fffff)) == "fns");
    CHECK(kinds(-infinity) == "in");
    CHECK(kinds(quiet_nan) == "x");
    CHECK(kinds(0x1p-1050) == "fns");
    CHECK(kinds(0x1p-1022) == "fno");
    CHECK(kinds(double{infinity}) == "in");
}

TEST_CASE("ftz flushes subnormal sources and results, and keeps their sign") {
    Differences differences;
    differences.compare(Ftz<Add>{}(denormal, denormal), 0.0F);
    differences.compare(Ftz<Add>{}(-denormal, -denormal), -0.0F);
    differences.compare(Ftz<Mul>{}(0x1p-100F, -0x1p-40F), -0.0F);
    differences.compare(Ftz<Mul>{}(denormal, 0x1p100F), 0.0F);
    differences.compare(Ftz<Div>{}(1.0F, denormal), infinity);
    differences.compare(Ftz<Fma>{}(denormal, 0x1p100F, 1.0F), 1.0F);
    differences.compare(Ftz<Add>{}(F16{0x0001}, F16{0x8001}), F16{0});
    differences.compare(Ftz<Add>{}(F16{0x8001}, F16{0x8001}), F16{0x8000});
    CHECK(Ftz<Eq>{}(denormal, -denormal));
    CHECK_FALSE(Eq{}(denormal, -denormal));
}

TEST_CASE("sat clamps to [0, 1], relu to 0 and more") {
    Differences differences;
    differences.compare(Sat<Add>{}(1.0F, 1.0F), 1.0F);
    differences.compare(Sat<Add>{}(0.25F, 0.25F), 0.5F);
    differences.compare(Sat<Add>{}(-0.0F, -0.0F), 0.0F);
    differences.compare(Sat<Mul>{}(1.0F, -infinity), 0.0F);
    differences.compare(Sat<Add>{}(quiet_nan, 1.0F), 0.0F);
    differences.compare(Sat<Ftz<Add>>{}(denormal, 0.0F), 0.0F);
    differences.compare(Sat<Mul>{}(F16{0x7e00}, F16{0}), F16{0});
    differences.compare(Sat<Add>{}(F16{0x3c00}, F16{0x3c00}), F16{0x3c00});
    differences.compare(Relu<Fma>{}(F16{0x3c00}, F16{0xbc00}, F16{0}), F16{0});
    differences.compare(Relu<Fma>{}(BF16{0xffc0}, BF16{0}, BF16{0}), BF16{0x7fff});
    differences.compare(Relu<Fma>{}(F16{0x3c00}, F16{0x3c00}, F16{0}), F16{0x3c00});
    differences.compare(Relu<Max>{}(-3, -4), 0);
}

TEST_CASE("operations on pairs work on each half") {
    using Halves = Pair<F16>;
    const Halves sum = Pairwise<Add>{}(Halves{{0x3c00}, {0x4000}}, Halves{{0x3c00}, {0xc000}});
    CHECK(bit_cast<std::uint32_t>(sum) == 0x00004000);
    const auto least = Pairwise<Min>{}(Pair<std::int16_t>{-1, 5}, Pair<std::int16_t>{3, 4});
    CHECK(bit_cast<std::uint32_t>(least) == 0x0004ffff);
}
