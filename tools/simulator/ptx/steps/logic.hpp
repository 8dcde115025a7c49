// Logic of bits.
#pragma once

#include "ptx/arithmetic/bits.hpp"

namespace sim::ptx::inline SIM_PTX_FEATURES {

struct And {
    template <Integer T>
    T operator()(T a, T b) const noexcept {
        return static_cast<T>(a & b);
    }
};
struct Or {
    template <Integer T>
    T operator()(T a, T b) const noexcept {
        return static_cast<T>(a | b);
    }
};
struct Xor {
    template <Integer T>
    T operator()(T a, T b) const noexcept {
        return static_cast<T>(a ^ b);
    }
};
struct Not {
    template <Integer T>
    T operator()(T a) const noexcept {
        return static_cast<T>(~a);
    }
};

} // namespace sim::ptx::inline SIM_PTX_FEATURES
