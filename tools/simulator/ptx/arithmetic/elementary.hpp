// Instructions of both integers and real numbers: add, sub, div, min, max, abs, neg, comparisons.
#pragma once

#include "ptx/arithmetic/halves.hpp"

namespace sim::ptx::inline SIM_PTX_FEATURES {

// The unsigned type in which integers are computed: signed ones would overflow, also small unsigned
// ones, which C++ promotes to int.
template <Integer T>
using Modular = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;

struct Add {
    template <Integer T>
    T operator()(T a, T b) const noexcept {
        return static_cast<T>(static_cast<Modular<T>>(a) + static_cast<Modular<T>>(b));
    }
    template <Real T>
    T operator()(T a, T b) const noexcept {
        return result<T>(value_of(a) + value_of(b));
    }
};

struct Sub {
    template <Integer T>
    T operator()(T a, T b) const noexcept {
        return static_cast<T>(static_cast<Modular<T>>(a) - static_cast<Modular<T>>(b));
    }
    template <Real T>
    T operator()(T a, T b) const noexcept {
        return result<T>(value_of(a) - value_of(b));
    }
};

// The ISA leaves division by zero open for integers; GPUs return all ones. The least number divided
// by -1 is itself.
struct Div {
    template <Integer T>
    T operator()(T a, T b) const noexcept {
        if (b == 0) {
            return static_cast<T>(~T{0});
        }
        if (std::is_signed_v<T> && b == static_cast<T>(-1)) {
            return static_cast<T>(Modular<T>{0} - static_cast<Modular<T>>(a));
        }
        return static_cast<T>(a / b);
    }
    template <Real T>
    T operator()(T a, T b) const noexcept {
        return result<T>(value_of(a) / value_of(b));
    }
};

// NaN has no sign that counts: the result is the canonical one.
struct Neg {
    template <Integer T>
    T operator()(T a) const noexcept {
        return Sub{}(T{0}, a);
    }
    template <Real T>
    T operator()(T a) const noexcept {
        return canonical(bit_cast<T>(static_cast<Bits<T>>(bits_of(a) ^ sign_bit<T>)));
    }
};

struct Abs {
    template <Integer T>
    T operator()(T a) const noexcept {
        return a < 0 ? Neg{}(a) : a;
    }
    template <Real T>
    T operator()(T a) const noexcept {
        return canonical(bit_cast<T>(static_cast<Bits<T>>(magnitude_bits(a))));
    }
};

// --- comparisons: false if one is NaN
struct Eq {
    template <class T>
    bool operator()(T a, T b) const noexcept {
        if constexpr (Integer<T>) {
            return a == b;
        } else {
            return value_of(a) == value_of(b);
        }
    }
};
struct Lt {
    template <class T>
    bool operator()(T a, T b) const noexcept {
        if constexpr (Integer<T>) {
            return a < b;
        } else {
            return value_of(a) < value_of(b);
        }
    }
};
struct Ne {
    template <class T>
    bool operator()(T a, T b) const noexcept {
        return Lt{}(a, b) || Lt{}(b, a);
    }
};
struct Le {
    template <class T>
    bool operator()(T a, T b) const noexcept {
        return Lt{}(a, b) || Eq{}(a, b);
    }
};
struct Gt {
    template <class T>
    bool operator()(T a, T b) const noexcept {
        return Lt{}(b, a);
    }
};
struct Ge {
    template <class T>
    bool operator()(T a, T b) const noexcept {
        return Le{}(b, a);
    }
};
using Lo = Lt; // of unsigned integers
using Ls = Le;
using Hi = Gt;
using Hs = Ge;

struct Nan {
    template <Real T>
    bool operator()(T a, T b) const noexcept {
        return is_nan(a) || is_nan(b);
    }
};
struct Num {
    template <Real T>
    bool operator()(T a, T b) const noexcept {
        return !Nan{}(a, b);
    }
};
template <class Comparison>
struct Unordered {
    template <Real T>
    bool operator()(T a, T b) const noexcept {
        return Nan{}(a, b) || Comparison{}(a, b);
    }
};
using Equ = Unordered<Eq>;
using Neu = Unordered<Ne>;
using Ltu = Unordered<Lt>;
using Leu = Unordered<Le>;
using Gtu = Unordered<Gt>;
using Geu = Unordered<Ge>;

// slct: a where c is not negative; -0 is not, NaN is.
struct Slct {
    template <class T, class C>
    T operator()(T a, T b, C c) const noexcept {
        return Ge{}(c, C{}) ? a : b;
    }
};

// --- min and max
// Of a number and NaN the number; -0 is less than +0.
template <class Comparison>
struct Extreme {
    template <Integer T>
    T operator()(T a, T b) const noexcept {
        return Comparison{}(a, b) ? a : b;
    }
    template <Real T>
    T operator()(T a, T b) const noexcept {
        // Equal numbers have equal bits, except for zeros.
        constexpr bool least = std::is_same_v<Comparison, Lt>;
        const Bits<T> equal = least ? bits_of(a) | bits_of(b) : bits_of(a) & bits_of(b);
        const Bits<T> either = Comparison{}(a, b) ? bits_of(a) : bits_of(b);
        const Bits<T> number = Eq{}(a, b) ? equal : either;
        return canonical(bit_cast<T>(is_nan(b) ? bits_of(a) : number));
    }
};
using Min = Extreme<Lt>;
using Max = Extreme<Gt>;

// .NaN: of a number and NaN the NaN.
template <class Operation>
struct NaN {
    template <Real T>
    T operator()(T a, T b) const noexcept {
        return Nan{}(a, b) ? canonical_nan<T>() : Operation{}(a, b);
    }
};
// .xorsign.abs: of the absolute values, with the sign of the product. Outside of NaN<>.
template <class Operation>
struct XorsignAbs {
    template <Real T>
    T operator()(T a, T b) const noexcept {
        const T extreme = Operation{}(Abs{}(a), Abs{}(b));
        const Bits<T> sign = (bits_of(a) ^ bits_of(b)) & sign_bit<T>;
        const T signed_extreme = bit_cast<T>(static_cast<Bits<T>>(bits_of(extreme) | sign));
        return is_nan(extreme) ? extreme : signed_extreme;
    }
};

} // namespace sim::ptx::inline SIM_PTX_FEATURES
