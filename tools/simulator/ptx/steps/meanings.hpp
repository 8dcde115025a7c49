// The instructions that are executed, by topic.
#pragma once

#include "ptx/steps/decoder.hpp"

#include <span>

namespace sim::ptx::inline SIM_PTX_FEATURES {

std::span<const Meaning> integer_meanings() noexcept;
std::span<const Meaning> approximation_meanings() noexcept;
std::span<const Meaning> bit_meanings() noexcept;
std::span<const Meaning> real_meanings() noexcept;
std::span<const Meaning> conversion_meanings() noexcept;
std::span<const Meaning> move_meanings() noexcept;
std::span<const Meaning> memory_meanings() noexcept;
std::span<const Meaning> atomic_meanings() noexcept;
std::span<const Meaning> barrier_meanings() noexcept;
std::span<const Meaning> compare_meanings() noexcept;
std::span<const Meaning> control_meanings() noexcept;
std::span<const Meaning> exchange_meanings() noexcept;
std::span<const Meaning> matrix_meanings() noexcept;
std::span<const Meaning> product_meanings() noexcept;
std::span<const Meaning> async_meanings() noexcept;
std::span<const Meaning> mbarrier_meanings() noexcept;

} // namespace sim::ptx::inline SIM_PTX_FEATURES
