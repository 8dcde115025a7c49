#include "ptx/run/reduction.hpp"
#include "ptx/run/lanes.hpp"

namespace sim::ptx::inline SIM_PTX_FEATURES {

void write_reduction(const Step &step, std::byte *registers, Mask lanes, const Votes &votes) {
    Mask *const out = reinterpret_cast<Mask *>(registers + step.out);
    switch (static_cast<Reduction>(step.value)) {
    case Reduction::none:
        return;
    case Reduction::count:
        for_each_lane(lanes, [&](int lane) { out[lane] = votes.count; });
        return;
    case Reduction::all:
        *out = (*out & ~lanes) | (votes.all ? lanes : 0);
        return;
    case Reduction::any:
        *out = (*out & ~lanes) | (votes.any ? lanes : 0);
        return;
    }
}

} // namespace sim::ptx::inline SIM_PTX_FEATURES
