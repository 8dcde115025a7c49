// Barriers of a block and of a warp.
#include "ptx/run/block.hpp"
#include "ptx/run/fault.hpp"
#include "ptx/run/reduction.hpp"
#include "ptx/steps/meanings.hpp"

namespace sim::ptx::inline SIM_PTX_FEATURES {
namespace {

// in: the barrier, the number of threads, and the predicate of a reduction.
template <bool waits>
void arrive(Warp &warp, const Step &step) {
    const Mask lanes = warp.mask();
    const int first = std::countr_zero(lanes);
    const std::uint32_t barrier = warp.lanes<std::uint32_t>(step.in[0])[first];
    const std::uint32_t threads =
        step.in[1] == no_register ? 0 : warp.lanes<std::uint32_t>(step.in[1])[first];
    if (barrier >= 16 || threads % warp_size != 0) {
        fail(warp, step, first, {.kind = KernelFault::Kind::illegal_address});
    }
    Votes part;
    if (step.in[2] != no_register) {
        const Mask holds = warp.predicate(step.in[2]) & lanes;
        part.all = holds == lanes;
        part.any = holds != 0;
        part.count = static_cast<unsigned int>(std::popcount(holds));
    }
    warp.block().arrive(warp, barrier, threads, lanes, waits, part);
}

void meet(Warp &warp, const Step &step) {
    warp.wait_for_lanes(warp.members(step.in[0]));
}

bool barrier(Decoder &decoder, const Instruction &instruction) {
    const std::vector<Operand> &operands = instruction.operands;
    Step step;
    step.control = true;
    if (has(instruction, "warp")) {
        step.all = step.some = meet;
        step.in[0] = decoder.source<std::uint32_t>(operands[0]);
        decoder.emit(step);
        return true;
    }
    if (has(instruction, "cluster")) {
        return false;
    }
    const bool reduces = has(instruction, "red");
    step.all = step.some = has(instruction, "arrive") ? arrive<false> : arrive<true>;
    const std::size_t first = reduces ? 1 : 0, end = operands.size() - (reduces ? 1 : 0);
    step.in[0] = decoder.source<std::uint32_t>(operands[first]);
    if (end - first > 1) {
        step.in[1] = decoder.source<std::uint32_t>(operands[first + 1]);
    }
    if (!reduces) {
        decoder.emit(step);
        return true;
    }
    step.in[2] = decoder.source<bool>(operands.back());
    const bool counts = has(instruction, "popc");
    step.value = static_cast<std::uint64_t>(counts                    ? Reduction::count
                                            : has(instruction, "and") ? Reduction::all
                                                                      : Reduction::any);
    decoder.emit(step, operands[0], counts ? 4 : 0, false);
    return true;
}

constexpr Meaning meanings[] = {{"bar", barrier}, {"barrier", barrier}};

} // namespace

std::span<const Meaning> barrier_meanings() noexcept {
    return meanings;
}

} // namespace sim::ptx::inline SIM_PTX_FEATURES
