// Measures what a wrapper costs beyond the raw calls that it makes, on a real GPU.
//
// The same work is done by raw table calls and by wrappers, in short blocks by turns. Two blocks
// that follow each other make a pair, and what the wrapper took more in it is one measurement:
// whatever slows the machine down for longer than a pair slows both. The order within a pair
// changes from one to the next, so that neither side profits from being second. What is told and
// checked is the median over the pairs: half of them may be disturbed by other work of the host,
// and no lucky one counts more than its neighbours. How many there are is settled before the first
// by how long one takes.
#pragma once

#include <catch2/catch_test_macros.hpp>
#include <cushim/cushim.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <tuple>
#include <type_traits>
#include <vector>

#include "../support/ok.hpp"
#include "../support/workplace.hpp"

namespace cost {

using support::ok;

// Raw calls need its context current; wrappers are measured with it current, as most programs have
// it.
struct Gpu : support::Workplace {
    Gpu() : Workplace(ok(Workplace::first())) {}

    cushim::ContextScope scope = ok(context.enter());

    void wait() const { ok(stream.synchronize()); }
};

// --- times

// In nanoseconds.
template <class Work>
double time_of(Work &&work) {
    const auto begin = std::chrono::steady_clock::now();
    work();
    return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - begin)
        .count();
}

// The value that this part of them does not exceed.
inline double quantile(std::vector<double> values, double part) {
    const auto nth =
        values.begin() + static_cast<std::ptrdiff_t>(part * static_cast<double>(values.size() - 1));
    std::nth_element(values.begin(), nth, values.end());
    return *nth;
}

// Medians, and between which two the half of the pairs lies, in nanoseconds.
struct Difference {
    double raw = 0;
    double more = 0; // of the wrapper
    double more_low = 0;
    double more_high = 0;

    Difference per(double count) const {
        return {raw / count, more / count, more_low / count, more_high / count};
    }
};

// tools/ci/gpu_report.py reads this line.
inline void print(const char *name, const Difference &found) {
    std::printf("%-64s raw %10.1f ns   wrapper %+8.1f ns, %+.2f %%   (half of the pairs: %+.1f to "
                "%+.1f ns)\n",
                name, found.raw, found.more, found.more / found.raw * 100, found.more_low,
                found.more_high);
}

// Runs both by turns; each returns the times of its phases as a std::array. A Difference for each
// phase.
template <class Raw, class Wrapped>
auto take_turns(int pairs, Raw &&raw, Wrapped &&wrapped) {
    using Times = std::invoke_result_t<Raw &>;
    constexpr std::size_t phases = std::tuple_size_v<Times>;
    std::array<std::vector<double>, phases> raw_times, more;
    for (int pair = 0; pair < pairs; ++pair) {
        Times of_raw, of_wrapped;
        if (pair % 2 == 0) {
            of_raw = raw();
            of_wrapped = wrapped();
        } else {
            of_wrapped = wrapped();
            of_raw = raw();
        }
        for (std::size_t phase = 0; phase < phases; ++phase) {
            raw_times[phase].push_back(of_raw[phase]);
            more[phase].push_back(of_wrapped[phase] - of_raw[phase]);
        }
    }
    std::array<Difference, phases> found;
    for (std::size_t phase = 0; phase < phases; ++phase) {
        found[phase] = {quantile(raw_times[phase], 0.5), quantile(more[phase], 0.5),
                        quantile(more[phase], 0.25), quantile(more[phase], 0.75)};
    }
    return found;
}

// As many pairs as take two seconds, but a thousand at least: the less a median's pairs agree, the
// more it takes.
template <class Pair>
int pairs_for(Pair &&pair) {
    constexpr int tried = 10;
    constexpr double wanted = 2e9;
    const double passed = time_of([&] {
        for (int index = 0; index < tried; ++index) {
            pair();
        }
    });
    return static_cast<int>(std::clamp(wanted * tried / passed, 1e3, 2e4));
}

// One run of `count` by turns; `between` ends what was queued, and is not measured.
template <class Raw, class Wrapped, class Between>
Difference difference(int count, Raw &raw, Wrapped &wrapped, Between &between) {
    const auto block = [count, &between](auto &work) {
        const double passed = time_of([count, &work] {
            for (int index = 0; index < count; ++index) {
                work();
            }
        });
        between();
        return std::array{passed / count};
    };
    const auto of_raw = [&] { return block(raw); };
    const auto of_wrapped = [&] { return block(wrapped); };
    const int pairs = pairs_for([&] {
        (void)of_raw();
        (void)of_wrapped();
    });
    return take_turns(pairs, of_raw, of_wrapped)[0];
}

// Each operation may cost 2 % or 100 ns more by a wrapper, whichever is larger.
inline bool within_limit(const Difference &found) {
    return found.more <= std::max(100.0, found.raw * 0.02);
}

// What `measure` returns for the operations of these names is told and held to the limit. What is
// beyond it is measured anew, twice at most, and told each time: other work of the host can disturb
// more than half of the pairs of one measurement, but what a wrapper itself costs shows in all of
// them.
template <std::size_t count, class Measure>
void check(const std::array<const char *, count> &names, Measure &&measure) {
    constexpr int measurements = 3;
    for (int nth = 1;; ++nth) {
        const std::array<Difference, count> found = measure();
        for (std::size_t index = 0; index < count; ++index) {
            print(names[index], found[index]);
        }
        const bool within = std::all_of(found.begin(), found.end(), within_limit);
        if (within || nth == measurements) {
            INFO("measurements: " << nth << "; each operation may cost 2 % or 100 ns more");
            CHECK(within);
            return;
        }
        std::printf("beyond the limit; measured anew:\n");
    }
}

template <class Raw, class Wrapped, class Between>
void compare(const char *name, int count, Raw raw, Wrapped wrapped, Between between) {
    check(std::array{name}, [&] { return std::array{difference(count, raw, wrapped, between)}; });
}

// --- making and destroying

// What making `count` of them takes, and what destroying them does, for each one of them. `between`
// ends what was queued.
template <class Made, class Make, class Destroy, class Between>
std::array<double, 2> lives(std::size_t count, Make &make, Destroy &destroy, Between &between) {
    std::vector<Made> made(count);
    const double making = time_of([&] {
        for (Made &one : made) {
            one = make();
        }
    });
    const double destroying = time_of([&] {
        for (Made &one : made) {
            destroy(one);
        }
    });
    between();
    return {making / static_cast<double>(count), destroying / static_cast<double>(count)};
}

// The names of the two operations.
struct LifeNames {
    const char *making;
    const char *destroying;
};

// The raw handle or address is what `make` returns and `destroy` takes; the owner's destructor
// destroys.
template <class Make, class Destroy, class Wrapped, class Between>
void compare_lives(const LifeNames &names, std::size_t count, Make make, Destroy destroy,
                   Wrapped wrapped, Between between) {
    using Handle = std::invoke_result_t<Make &>;
    using Made = std::invoke_result_t<Wrapped &>;
    const auto reset = [](Made &owner) { owner.reset(); };
    const auto of_raw = [&] { return lives<Handle>(count, make, destroy, between); };
    const auto of_wrapped = [&] { return lives<Made>(count, wrapped, reset, between); };
    const int pairs = pairs_for([&] {
        (void)of_raw();
        (void)of_wrapped();
    });
    check(std::array{names.making, names.destroying},
          [&] { return take_turns(pairs, of_raw, of_wrapped); });
}
template <class Make, class Destroy, class Wrapped>
void compare_lives(const LifeNames &names, std::size_t count, Make make, Destroy destroy,
                   Wrapped wrapped) {
    compare_lives(names, count, make, destroy, wrapped, [] {});
}

} // namespace cost
