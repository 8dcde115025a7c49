// The .approx instructions: special values, maximum errors, and the same results everywhere.
#include "ptx/arithmetic/approximations.hpp"
#include "reference.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

using namespace sim_test;

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();
const float quiet_nan = std::numeric_limits<float>::quiet_NaN();
const float canonical_single = real(0x7fffffff);
constexpr float denormal = 0x1p-140F;

double ulp(double value) {
    int exponent = 0;
    std::frexp(value, &exponent);
    return std::ldexp(1.0, std::max(exponent - 24, -149));
}

// Less than half an ulp and a little: more than every instruction must keep.
template <class Operation, class Reference>
void compare_near(Reference reference, float low, float high) {
    Values<float> values;
    double worst = 0;
    for (int at = 0; at < 200'000; ++at) {
        const float value = values.next();
        if (value >= low && value <= high) {
            const double expected = reference(double{value});
            if (std::fabs(expected) <= double{std::numeric_limits<float>::max()}) {
                const double error = std::fabs(double{Operation{}(value)} - expected);
                worst = std::max(worst, error / ulp(expected));
            }
        }
    }
    CHECK(worst > 0.4); // something was compared
    CHECK(worst < 0.501);
}

template <class T, class Operation>
double worst_of_halves(double (*reference)(double), bool relative) {
    double worst = 0;
    for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
        const T value = of_bits<T>(bits);
        const double expected = reference(double{widen(value)});
        const double actual = widen(Operation{}(value));
        if (is_finite(value) && std::isfinite(actual) && std::fabs(actual) > 1e-4) {
            const double error = std::fabs(actual - expected);
            worst = std::max(worst, relative ? error / std::fabs(expected) : error);
        }
    }
    return worst;
}

template <class Operation>
std::uint64_t digest() {
    Values<float> values;
    std::uint64_t hash = 0xcbf29ce484222325;
    for (int at = 0; at < 20'000; ++at) {
        hash = (hash ^ bits_of(Operation{}(values.next()))) * 0x100000001b3;
    }
    return hash;
}

} // namespace

TEST_CASE("approximations have the special values of the manual") {
    Differences differences;
    const auto table = [&]<class Operation>(Operation, std::vector<float> results) {
        const float sources[] = {-infinity, -0.0F, 0.0F, infinity, quiet_nan};
        for (std::size_t at = 0; at < std::size(sources); ++at) {
            const float expected = std::isnan(results[at]) ? canonical_single : results[at];
            differences.compare(Operation{}(sources[at]), expected, sources[at]);
            differences.compare(Ftz<Operation>{}(sources[at]), expected, sources[at]);
        }
        differences.compare(Ftz<Operation>{}(-denormal), Ftz<Operation>{}(-0.0F));
        differences.compare(Ftz<Operation>{}(denormal), Ftz<Operation>{}(0.0F));
    };
    const float n = quiet_nan;
    table(Rcp{}, {-0.0F, -infinity, infinity, 0.0F, n});
    table(Sqrt{}, {n, -0.0F, 0.0F, infinity, n});
    table(Rsqrt{}, {n, -infinity, infinity, 0.0F, n});
    table(Sin{}, {n, -0.0F, 0.0F, n, n});
    table(Cos{}, {n, 1.0F, 1.0F, n, n});
    table(Lg2{}, {n, -infinity, -infinity, infinity, n});
    table(Ex2{}, {0.0F, 1.0F, 1.0F, infinity, n});
    table(Tanh{}, {-1.0F, -0.0F, 0.0F, 1.0F, n});
    for (const float negative : {-1.0F, -denormal}) {
        differences.compare(Lg2{}(negative), canonical_single, negative);
        differences.compare(Rsqrt{}(negative), canonical_single, negative);
    }
    differences.compare(Lg2{}(denormal), -140.0F);
    differences.compare(Ex2{}(-140.0F), denormal);
    differences.compare(Ex2{}(128.0F), infinity);
    differences.compare(Ex2{}(-151.0F), 0.0F);
    differences.compare(Ftz<Ex2>{}(-127.0F), 0.0F);
    differences.compare(Sin{}(-denormal), -denormal);
    differences.compare(Ex2{}(F16{0x7e00}), F16{0x7fff});
    differences.compare(Ex2{}(F16{0xfc00}), F16{0});
    differences.compare(Ex2{}(F16{0x4c00}), F16{0x7c00});
    differences.compare(Ftz<Ex2>{}(BF16{0xff80}), BF16{0});
    differences.compare(Tanh{}(BF16{0xff80}), BF16{0xbf80});
    differences.compare(Tanh{}(F16{0x8000}), F16{0x8000});
    for (int exponent = -149; exponent < 128; ++exponent) {
        const auto whole = static_cast<float>(exponent);
        differences.compare(Ex2{}(whole), std::ldexp(1.0F, exponent), whole);
        differences.compare(Lg2{}(std::ldexp(1.0F, exponent)), whole, whole);
    }
}

TEST_CASE("division has the special range of div.approx") {
    Differences differences;
    differences.compare(DivApprox{}(6.0F, -3.0F), -2.0F);
    differences.compare(DivApprox{}(0x1p127F, -0x1.8p126F), -0.0F);
    differences.compare(DivApprox{}(infinity, 0x1.8p126F), canonical_single);
    differences.compare(DivApprox{}(1.0F, 0x1p126F), 0x1p-126F);
    differences.compare(DivApprox{}(1.0F, -infinity), -0.0F);
    differences.compare(DivApprox{}(0.0F, 0.0F), canonical_single);
    differences.compare(DivApprox{}(1.0F, quiet_nan), canonical_single);
    differences.compare(Ftz<DivApprox>{}(1.0F, -denormal), -infinity);
    differences.compare(Div{}(0x1p127F, 0x1.8p126F), 0x1.555556p0F); // div.full
}

TEST_CASE("approximations of f32 are within the errors of the manual") {
    const float all = std::numeric_limits<float>::max();
    compare_near<Ex2>([](double x) { return std::exp2(x); }, -all, all);
    compare_near<Lg2>([](double x) { return std::log2(x); }, 0x1p-149F, all);
    compare_near<Tanh>([](double x) { return std::tanh(x); }, -all, all);
    compare_near<Rcp>([](double x) { return 1 / x; }, -all, all);
    compare_near<Sqrt>([](double x) { return std::sqrt(x); }, 0x1p-149F, all);
    compare_near<Rsqrt>([](double x) { return 1 / std::sqrt(x); }, 0x1p-149F, all);
    compare_near<Sin>([](double x) { return std::sin(x); }, -6.2831855F, 6.2831855F);
    compare_near<Cos>([](double x) { return std::cos(x); }, -6.2831855F, 6.2831855F);
}

TEST_CASE("sin and cos of large arguments stay in range") {
    Values<float> values;
    float worst = 0;
    double error = 0;
    for (int at = 0; at < 100'000; ++at) {
        const float value = values.next();
        if (is_finite(value)) {
            worst = std::max({worst, std::fabs(Sin{}(value)), std::fabs(Cos{}(value))});
            if (std::fabs(value) < 0x1p24F) {
                error = std::max(error, std::fabs(double{Sin{}(value)} - std::sin(double{value})));
            }
        }
    }
    CHECK(worst == 1);
    CHECK(error < 0x1p-24);
}

TEST_CASE("approximations of f16 and bf16 are within the errors of the manual") {
    const auto power = [](double x) { return std::exp2(x); };
    const auto tangent = [](double x) { return std::tanh(x); };
    CHECK(worst_of_halves<F16, Ex2>(power, true) < std::exp2(-9.9));
    CHECK(worst_of_halves<BF16, Ex2>(power, true) < std::exp2(-7));
    CHECK(worst_of_halves<F16, Tanh>(tangent, false) < std::exp2(-10.987));
    CHECK(worst_of_halves<BF16, Tanh>(tangent, false) < std::exp2(-8));
}

TEST_CASE("approximations of f64 use the upper half of a register, or all of it") {
    Differences differences;
    differences.compare(UpperHalf<Rcp>{}(of_bits<double>(0x40080000ffffffff)),
                        of_bits<double>(0x3fd5555500000000));
    differences.compare(UpperHalf<Rsqrt>{}(4.0), 0.5);
    differences.compare(UpperHalf<Rcp>{}(-0x1p-1050), -double{infinity});
    differences.compare(UpperHalf<Rcp>{}(-0x1p1023), -0.0);
    differences.compare(UpperHalf<Rcp>{}(of_bits<double>(0x7ff0000000000001)),
                        canonical_nan<double>());
    differences.compare(UpperHalf<Rsqrt>{}(-0x1p-1050), -double{infinity});
    differences.compare(UpperHalf<Rsqrt>{}(-1.0), canonical_nan<double>());
    differences.compare(Rsqrt{}(0x1p-1050), 0x1p525);
    differences.compare(Rsqrt{}(double{infinity}), 0.0);
}

TEST_CASE("approximations give the same bits on every machine") {
    CHECK(digest<Ex2>() == 0xadde2d843bf702ba);
    CHECK(digest<Lg2>() == 0x980cc4b17a3813b0);
    CHECK(digest<Sin>() == 0x25887c7240537a60);
    CHECK(digest<Cos>() == 0x1ab88dfdc521ae6e);
    CHECK(digest<Tanh>() == 0x4f02b1e495e734c4);
    CHECK(digest<Rsqrt>() == 0x7c64a143edf07d26);
}
