// The special registers of PTX.
#pragma once

#include "ptx/types.hpp"

#include <cstdint>
#include <optional>
#include <string_view>

namespace sim::ptx {

struct SpecialRegister {
    std::string_view name;
    Type type;
    bool vector; // %tid.x, .y, .z, .w
};

// By its name with the % and without a selector; no value if no register has it. WARP_SZ is one.
std::optional<std::uint32_t> find_special_register(std::string_view name) noexcept;
const SpecialRegister &special_register(std::uint32_t index) noexcept;

} // namespace sim::ptx
