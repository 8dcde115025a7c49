#include "ptx/special_registers.hpp"

#include <algorithm>
#include <iterator>

namespace sim::ptx {
namespace {

constexpr SpecialRegister all[] = {
    {"%tid", Type::u32, true},
    {"%ntid", Type::u32, true},
    {"%ctaid", Type::u32, true},
    {"%nctaid", Type::u32, true},
    {"%clusterid", Type::u32, true},
    {"%nclusterid", Type::u32, true},
    {"%cluster_ctaid", Type::u32, true},
    {"%cluster_nctaid", Type::u32, true},
    {"%cluster_ctarank", Type::u32, false},
    {"%cluster_nctarank", Type::u32, false},
    {"%is_explicit_cluster", Type::pred, false},
    {"%laneid", Type::u32, false},
    {"%warpid", Type::u32, false},
    {"%nwarpid", Type::u32, false},
    {"%smid", Type::u32, false},
    {"%nsmid", Type::u32, false},
    {"%gridid", Type::u64, false},
    {"%lanemask_eq", Type::u32, false},
    {"%lanemask_le", Type::u32, false},
    {"%lanemask_lt", Type::u32, false},
    {"%lanemask_ge", Type::u32, false},
    {"%lanemask_gt", Type::u32, false},
    {"%clock", Type::u32, false},
    {"%clock_hi", Type::u32, false},
    {"%clock64", Type::u64, false},
    {"%globaltimer", Type::u64, false},
    {"%globaltimer_lo", Type::u32, false},
    {"%globaltimer_hi", Type::u32, false},
    {"%total_smem_size", Type::u32, false},
    {"%aggr_smem_size", Type::u32, false},
    {"%dynamic_smem_size", Type::u32, false},
    {"%reserved_smem_offset_begin", Type::b32, false},
    {"%reserved_smem_offset_end", Type::b32, false},
    {"%reserved_smem_offset_cap", Type::b32, false},
    {"%current_graph_exec", Type::u64, false},
    {"WARP_SZ", Type::u32, false},
    {"%envreg", Type::b32, false}, // %envreg0 to %envreg31, and so on
    {"%pm", Type::u32, false},
    {"%reserved_smem_offset_", Type::b32, false},
};

// Names that end in a number, of which one row stands for all.
std::string_view without_number(std::string_view name) {
    const bool numbered = name.starts_with("%envreg") || name.starts_with("%pm") ||
                          name.starts_with("%reserved_smem_offset_");
    if (name.ends_with("_64") && numbered) {
        name.remove_suffix(3);
    }
    return numbered ? name.substr(0, name.find_last_not_of("0123456789") + 1) : name;
}

} // namespace

std::optional<std::uint32_t> find_special_register(std::string_view name) noexcept {
    const std::string_view stem = without_number(name);
    const auto found = std::find_if(std::begin(all), std::end(all),
                                    [&](const SpecialRegister &one) { return one.name == stem; });
    if (found == std::end(all)) {
        return std::nullopt;
    }
    return static_cast<std::uint32_t>(found - std::begin(all));
}

const SpecialRegister &special_register(std::uint32_t index) noexcept {
    return all[index];
}

} // namespace sim::ptx
