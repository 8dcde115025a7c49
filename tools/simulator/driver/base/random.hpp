// A small generator of pseudorandom numbers: the same seed gives the same numbers on every
// platform.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sim {

// SplitMix64.
class Random {
  public:
    explicit Random(std::uint64_t seed = 0) noexcept : state_(seed) {}

    std::uint64_t next() noexcept {
        std::uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
        return z ^ (z >> 31);
    }
    // In [0, count); count above 0. The bias is below 2^-40 for any count that occurs here.
    std::size_t below(std::size_t count) noexcept {
        return static_cast<std::size_t>(next() % count);
    }

  private:
    std::uint64_t state_;
};

} // namespace sim
