// How results are rounded.
//
// Operations whose result is .f32 or .f64 round as the processor does at that time: the executor
// sets it around the loop over the lanes with a RoundingScope. Operations with other results take
// the rounding as a template argument, and need the processor to round to nearest.
#pragma once

#include "ptx/arithmetic/features.hpp"

#include <cfenv>

namespace sim::ptx {

// .rn .rz .rm .rp: to nearest even, to zero, down, up; also for .rni and so on. .rna: to nearest,
// ties away from zero.
enum class Rounding : unsigned char { rn, rz, rm, rp, rna };

// Sets the rounding of the processor, for this thread, until its end.
class RoundingScope {
  public:
    explicit RoundingScope(Rounding rounding) noexcept : before_(std::fegetround()) {
        std::fesetround(rounding == Rounding::rz   ? FE_TOWARDZERO
                        : rounding == Rounding::rm ? FE_DOWNWARD
                        : rounding == Rounding::rp ? FE_UPWARD
                                                   : FE_TONEAREST);
    }
    ~RoundingScope() { std::fesetround(before_); }
    RoundingScope(const RoundingScope &) = delete;
    RoundingScope &operator=(const RoundingScope &) = delete;

  private:
    int before_;
};

} // namespace sim::ptx
