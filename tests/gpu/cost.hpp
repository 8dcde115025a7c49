// Measures the cost of a wrapper beyond the raw calls that it makes, on a real GPU.
//
// The same work is done by raw table calls and by wrappers, in short blocks by turns. Two
// successive blocks form a pair, and the difference of their times is one measurement, so that
// slowdowns that last longer than a pair affect both sides. The order within a pair alternates, so
// that neither side gains from being second. The median over all pairs is printed and checked:
// other work of the host may disturb half of the pairs, and single lucky pairs have no effect. The
// number of pairs is fixed in advance, from the time that one takes.
#pragma once

#include <catch2/catch_test_macros.hpp>
#include <cushim/context.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <tuple>
#include <type_traits>
#include <vector>

#include "../support/ok.hpp"
#include "../support/workplace.hpp"

namespace cost {

using support::ok;

// Raw calls need the current context; wrappers are measured with it current too, as in most
// programs.
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

// The quantile `part` of the times.
inline double quantile(std::vector<double> values, double part) {
    const auto nth =
        values.begin() + static_cast<std::ptrdiff_t>(part * static_cast<double>(values.size() - 1));
    std::nth_element(values.begin(), nth, values.end());
    return *nth;
}

// --- the processor

// Limits in nanoseconds are meant for the processor of tests/bench/README.md at full speed. Other
// work on the same host slows it down by a half for seconds, and calls and wrappers alike. So this
// work, which resembles that of a wrapper, is timed between them: allocations, atomic operations,
// and calls of unknown functions.
inline void work_of_reference() {
    static void *(*volatile allocate)(std::size_t) = std::malloc;
    static void (*volatile release)(void *) = std::free;
    static std::atomic<unsigned int> owners = 0;
    for (int index = 0; index < 32; ++index) {
        void *const memory = allocate(200);
        owners.fetch_add(1);
        release(memory);
    }
}
inline constexpr double reference_ns = 430; // its time at full speed

// How many times slower than at full speed the processor is now.
inline double slowness_now() {
    work_of_reference(); // its memory is in the cache then
    return time_of(work_of_reference) / reference_ns;
}

// --- differences

// Medians and the interquartile range of the difference, in nanoseconds.
struct Difference {
    double raw = 0;
    double more = 0; // added by the wrapper
    double more_low = 0;
    double more_high = 0;
    double slowness = 1; // of the processor, from 1 to 2

    Difference per(double count) const {
        return {raw / count, more / count, more_low / count, more_high / count, slowness};
    }
};

// tools/ci/gpu_report.py reads this line.
inline void print(const char *name, const Difference &found) {
    std::printf("%-64s raw %10.1f ns   wrapper %+8.1f ns, %+.2f %%   (half of the pairs: %+.1f to "
                "%+.1f ns)\n",
                name, found.raw, found.more, found.more / found.raw * 100, found.more_low,
                found.more_high);
    if (found.slowness > 1.1) {
        std::printf("    the processor was %.2f times slower than at full speed\n", found.slowness);
    }
}

// Runs both by turns. Each returns the times of its phases as a std::array; the result has a
// Difference for each phase.
template <class Raw, class Wrapped>
auto take_turns(int pairs, Raw &&raw, Wrapped &&wrapped) {
    using Times = std::invoke_result_t<Raw &>;
    constexpr std::size_t phases = std::tuple_size_v<Times>;
    std::array<std::vector<double>, phases> raw_times, more;
    std::vector<double> slowness;
    for (int pair = 0; pair < pairs; ++pair) {
        Times of_raw, of_wrapped;
        if (pair % 2 == 0) {
            of_raw = raw();
            of_wrapped = wrapped();
        } else {
            of_wrapped = wrapped();
            of_raw = raw();
        }
        slowness.push_back(slowness_now());
        for (std::size_t phase = 0; phase < phases; ++phase) {
            raw_times[phase].push_back(of_raw[phase]);
            more[phase].push_back(of_wrapped[phase] - of_raw[phase]);
        }
    }
    std::array<Difference, phases> found;
    for (std::size_t phase = 0; phase < phases; ++phase) {
        found[phase] = {quantile(raw_times[phase], 0.5), quantile(more[phase], 0.5),
                        quantile(more[phase], 0.25), quantile(more[phase], 0.75),
                        std::clamp(quantile(slowness, 0.5), 1.0, 2.0)};
    }
    return found;
}

// As many pairs as take two seconds, from 1,000 to 20,000: the median of varying measurements needs
// many.
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

// Compares runs of `count` calls. `between` waits for the enqueued work and is not measured.
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

// What a wrapper may add to an operation: a part of the raw time or some nanoseconds at full speed,
// whichever is larger.
struct Limit {
    double part;
    double ns;

    bool holds(const Difference &found) const {
        return found.more <= std::max(ns * found.slowness, found.raw * part);
    }
};
inline constexpr Limit of_call = {0.02, 100};
inline constexpr Limit of_lives = {0.05, 100}; // creating and destroying together
// Of an executable graph of one node, which takes a lock twice and shares the graph's identity.
inline constexpr Limit of_small_exec = {0.05, 150};
inline constexpr Limit of_node = {0.2, 50};
// A node of an executable graph: 100 and 40 ns at full speed, where they are a quarter of the raw
// time, too.
inline constexpr Limit of_kernel_update = {0.25, 100};
inline constexpr Limit of_update = {0.25, 40};

// Prints the results of `measure` for the named operations and checks the last one against the
// limit. If it exceeds it, all are measured again, at most twice, and printed each time: other work
// of the host can disturb most pairs of one measurement, but the cost of a wrapper shows in all of
// them.
template <std::size_t count, class Measure>
void check(const std::array<const char *, count> &names, const Limit &limit, Measure &&measure) {
    constexpr int measurements = 3;
    for (int nth = 1;; ++nth) {
        const std::array<Difference, count> found = measure();
        for (std::size_t index = 0; index < count; ++index) {
            print(names[index], found[index]);
        }
        const bool within = limit.holds(found.back());
        if (within || nth == measurements) {
            INFO(names.back() << ", measurements: " << nth << "; limit " << limit.part * 100
                              << " % or " << limit.ns << " ns");
            CHECK(within);
            return;
        }
        std::printf("an operation exceeds the limit; measuring again:\n");
    }
}

template <class Raw, class Wrapped, class Between>
void compare(const char *name, int count, Raw raw, Wrapped wrapped, Between between,
             const Limit &limit = of_call) {
    check(std::array{name}, limit,
          [&] { return std::array{difference(count, raw, wrapped, between)}; });
}

// --- creation and destruction

// The times per object of creating `count` objects, of destroying them, and their sum. `between`
// waits for the enqueued work.
template <class Made, class Make, class Destroy, class Between>
std::array<double, 3> lives(std::size_t count, Make &make, Destroy &destroy, Between &between) {
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
    const auto each = static_cast<double>(count);
    return {making / each, destroying / each, (making + destroying) / each};
}

// The names of the operations and of both together, which have the limit.
struct LifeNames {
    const char *making;
    const char *destroying;
    const char *both;
};

// `make` returns a raw handle or address, which `destroy` destroys; the owner's reset() destroys
// the wrapper's.
template <class Make, class Destroy, class Wrapped, class Between>
void compare_lives(const LifeNames &names, std::size_t count, Make make, Destroy destroy,
                   Wrapped wrapped, Between between, const Limit &limit = of_lives) {
    using Handle = std::invoke_result_t<Make &>;
    using Made = std::invoke_result_t<Wrapped &>;
    const auto reset = [](Made &owner) { owner.reset(); };
    const auto of_raw = [&] { return lives<Handle>(count, make, destroy, between); };
    const auto of_wrapped = [&] { return lives<Made>(count, wrapped, reset, between); };
    const int pairs = pairs_for([&] {
        (void)of_raw();
        (void)of_wrapped();
    });
    check(std::array{names.making, names.destroying, names.both}, limit,
          [&] { return take_turns(pairs, of_raw, of_wrapped); });
}
template <class Make, class Destroy, class Wrapped>
void compare_lives(const LifeNames &names, std::size_t count, Make make, Destroy destroy,
                   Wrapped wrapped, const Limit &limit = of_lives) {
    compare_lives(names, count, make, destroy, wrapped, [] {}, limit);
}

} // namespace cost
