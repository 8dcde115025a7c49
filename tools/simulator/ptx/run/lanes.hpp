// Steps that apply an operation to each lane.
#pragma once

#include "ptx/arithmetic/rounding.hpp"
#include "ptx/run/warp.hpp"

#include <bit>
#include <cstring>
#include <type_traits>
#include <utility>

namespace sim::ptx::inline SIM_PTX_FEATURES {

// Calls function(lane) for each lane of a mask.
template <class Function>
void for_each_lane(Mask mask, const Function &function) {
    for (; mask != 0; mask &= mask - 1) {
        function(std::countr_zero(mask));
    }
}

// A source operand of all lanes. A predicate has a bit for each.
template <class T>
struct Source {
    Source(Warp &warp, std::uint32_t offset) : values(warp.lanes<T>(offset)) {}
    T operator[](int lane) const { return values[lane]; }
    const T *values;
};
template <>
struct Source<bool> {
    Source(Warp &warp, std::uint32_t offset) : mask(warp.predicate(offset)) {}
    bool operator[](int lane) const { return (mask >> lane & 1) != 0; }
    Mask mask;
};

// Operation()(In...) gives the result of a lane.
template <class Operation, class Out, class... In>
struct EachLane {
    static void all(Warp &warp, const Step &step) {
        all(warp, step, std::index_sequence_for<In...>());
    }
    static void some(Warp &warp, const Step &step) {
        some(warp, step, std::index_sequence_for<In...>());
    }

  private:
    // Into a copy, since a source may be the result's register: so compilers vectorise the loop.
    template <std::size_t... I>
    static void all(Warp &warp, const Step &step, std::index_sequence<I...>) {
        all_of(warp, step, Source<In>(warp, step.in[I])...);
    }
    static void all_of(Warp &warp, const Step &step, const Source<In> &...sources) {
        if constexpr (std::is_same_v<Out, bool>) {
            Mask result = 0;
            for (int lane = 0; lane < warp_size; ++lane) {
                result |= Operation()(sources[lane]...) ? Mask(1) << lane : 0;
            }
            warp.predicate(step.out) = result;
        } else {
            Out result[warp_size];
            for (int lane = 0; lane < warp_size; ++lane) {
                result[lane] = Operation()(sources[lane]...);
            }
            std::memcpy(warp.lanes<Out>(step.out), result, sizeof result);
        }
    }

    template <std::size_t... I>
    static void some(Warp &warp, const Step &step, std::index_sequence<I...>) {
        some_of(warp, step, Source<In>(warp, step.in[I])...);
    }
    static void some_of(Warp &warp, const Step &step, const Source<In> &...sources) {
        if constexpr (std::is_same_v<Out, bool>) {
            Mask result = 0;
            for_each_lane(warp.mask(), [&](int lane) {
                result |= Operation()(sources[lane]...) ? Mask(1) << lane : 0;
            });
            Mask &out = warp.predicate(step.out);
            out = (out & ~warp.mask()) | result;
        } else {
            Out *const out = warp.lanes<Out>(step.out);
            for_each_lane(warp.mask(),
                          [&](int lane) { out[lane] = Operation()(sources[lane]...); });
        }
    }
};

// The same in the rounding of Step::value.
template <class Operation, class Out, class... In>
struct EachLaneRounded {
    static void all(Warp &warp, const Step &step) {
        const RoundingScope scope(static_cast<Rounding>(step.value));
        EachLane<Operation, Out, In...>::all(warp, step);
    }
    static void some(Warp &warp, const Step &step) {
        const RoundingScope scope(static_cast<Rounding>(step.value));
        EachLane<Operation, Out, In...>::some(warp, step);
    }
};

} // namespace sim::ptx::inline SIM_PTX_FEATURES
