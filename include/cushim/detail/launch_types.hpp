/* Types that a launch configuration accepts. */
#ifndef CUSHIM_DETAIL_LAUNCH_TYPES_HPP
#define CUSHIM_DETAIL_LAUNCH_TYPES_HPP

#include <type_traits>

#include <cushim/detail/config.h>

namespace cushim::detail {

template <class T>
concept Integer = std::is_integral_v<T> && !std::is_same_v<T, bool>;

// CUlaunchAttribute, which headers before CUDA 11.8 lack.
template <class T>
concept CudaLaunchAttribute = sizeof(T) == 72 && requires(const T &attribute) {
    attribute.id;
    attribute.value;
};

} // namespace cushim::detail

#endif
