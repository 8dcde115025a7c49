/* Types that a launch configuration accepts. */
#ifndef CUSHIM_DETAIL_LAUNCH_TYPES_HPP
#define CUSHIM_DETAIL_LAUNCH_TYPES_HPP

#include <type_traits>

#include <cushim/detail/cpp20.hpp>
#include <cushim/detail/driver_headers.h>

namespace cushim::detail {

template <class T>
concept Integer = std::is_integral_v<T> && !std::is_same_v<T, bool>;

// The number of blocks of this size with a thread for each of `count` elements. A launch rejects
// what it returns for numbers less than 1.
template <Integer Number>
constexpr Number blocks_covering(Number count, Number block_size) noexcept {
    return block_size < 1 || count < 1 ? 0 : (count - 1) / block_size + 1;
}

#if CUDA_VERSION >= 11080
using LaunchAttribute = CUlaunchAttribute;
#else
struct LaunchAttribute {}; // these headers have none
#endif

} // namespace cushim::detail

#endif
