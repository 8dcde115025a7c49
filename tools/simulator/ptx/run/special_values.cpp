#include "ptx/run/special_values.hpp"
#include "ptx/run/lanes.hpp"
#include "ptx/special_registers.hpp"

#include <cstring>
#include <string_view>

namespace sim::ptx::inline SIM_PTX_FEATURES {
namespace {

unsigned int element(const std::array<unsigned int, 3> &sizes, char selector) {
    switch (selector) {
    case 'x':
    case 'r':
        return sizes[0];
    case 'y':
    case 'g':
        return sizes[1];
    case 'z':
    case 'b':
        return sizes[2];
    default:
        return 0; // w
    }
}

constexpr std::array<unsigned int, 3> ones{1, 1, 1}, zeros{};

std::uint64_t value_of(std::string_view name, char selector, Warp &warp, int lane) {
    Block &block = warp.block();
    const Launch &launch = block.grid().launch;
    const unsigned int lane_bit = 1U << lane;
    if (name == "%tid") {
        return element(block.thread(warp.number(), lane), selector);
    }
    if (name == "%ntid") {
        return element(launch.block, selector);
    }
    if (name == "%ctaid" || name == "%clusterid") {
        return element(block.place(), selector);
    }
    if (name == "%nctaid" || name == "%nclusterid") {
        return element(launch.grid, selector);
    }
    if (name == "%cluster_nctaid") {
        return element(ones, selector);
    }
    if (name == "%cluster_ctaid") {
        return element(zeros, selector);
    }
    if (name == "%cluster_nctarank") {
        return 1;
    }
    if (name == "%laneid") {
        return static_cast<unsigned int>(lane);
    }
    if (name == "%warpid") {
        return warp.number();
    }
    if (name == "%nwarpid") {
        return block.warps();
    }
    if (name == "%nsmid") {
        return 1;
    }
    if (name == "WARP_SZ") {
        return warp_size;
    }
    if (name == "%lanemask_eq") {
        return lane_bit;
    }
    if (name == "%lanemask_lt") {
        return lane_bit - 1;
    }
    if (name == "%lanemask_le") {
        return lane_bit | (lane_bit - 1);
    }
    if (name == "%lanemask_gt") {
        return ~(lane_bit | (lane_bit - 1));
    }
    if (name == "%lanemask_ge") {
        return ~(lane_bit - 1);
    }
    if (name == "%dynamic_smem_size") {
        return launch.dynamic_shared;
    }
    if (name == "%total_smem_size" || name == "%aggr_smem_size") {
        return block.shared_size();
    }
    return 0; // %smid, %gridid, %envreg, %pm …
}

// Time is a count of such reads, so that every run of a kernel has the same.
template <class T, int shift>
void read_clock(Warp &warp, const Step &step) {
    const std::uint64_t now = warp.block().grid().tick();
    T *const out = warp.lanes<T>(step.out);
    for_each_lane(warp.mask(), [&](int lane) { out[lane] = static_cast<T>(now >> shift); });
}

} // namespace

void fill_special(const Program::Special &special, Warp &warp, std::byte *to) {
    const SpecialRegister &which = special_register(special.index);
    if (which.type == Type::pred) {
        const Mask none = 0;
        std::memcpy(to, &none, sizeof none);
        return;
    }
    const bool same = is_of_block(special.index);
    std::uint64_t value = 0;
    for (int lane = 0; lane < warp_size; ++lane) {
        value = same && lane > 0 ? value : value_of(which.name, special.selector, warp, lane);
        std::memcpy(to + static_cast<std::size_t>(lane) * special.size, &value, special.size);
    }
}

bool is_of_block(std::uint32_t special) noexcept {
    const std::string_view name = special_register(special).name;
    return name == "%ctaid" || name == "%clusterid";
}

Run clock_step(std::uint32_t special) noexcept {
    const std::string_view name = special_register(special).name;
    return name == "%clock" || name == "%globaltimer_lo"      ? read_clock<std::uint32_t, 0>
           : name == "%clock_hi" || name == "%globaltimer_hi" ? read_clock<std::uint32_t, 32>
           : name == "%clock64" || name == "%globaltimer"     ? read_clock<std::uint64_t, 0>
                                                              : nullptr;
}

} // namespace sim::ptx::inline SIM_PTX_FEATURES
