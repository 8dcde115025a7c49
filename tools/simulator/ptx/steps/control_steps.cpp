// Branches, calls and ends.
#include "ptx/run/fault.hpp"
#include "ptx/steps/call.hpp"
#include "ptx/steps/meanings.hpp"

namespace sim::ptx::inline SIM_PTX_FEATURES {
namespace {

void branch(Warp &warp, const Step &step) {
    warp.branch(warp.mask(), static_cast<const Step *>(step.more));
}

bool build_branch(Decoder &decoder, const Instruction &instruction) {
    Step step;
    step.control = true;
    step.all = step.some = branch;
    step.value = instruction.operands[0].index;
    step.more = &decoder.function(); // until the steps of the labels are known
    decoder.emit(step);
    return true;
}

void exit(Warp &warp, const Step & /*step*/) {
    warp.end(warp.mask());
}

void trap(Warp &warp, const Step &step) {
    fail(warp, step, std::countr_zero(warp.mask()), {.kind = KernelFault::Kind::trap});
}

template <Run run>
bool build_control(Decoder &decoder, const Instruction & /*instruction*/) {
    Step step;
    step.control = true;
    step.all = step.some = run;
    decoder.emit(step);
    return true;
}

void sleep(Warp &warp, const Step & /*step*/) {
    warp.yield();
}

// Blocks and grids run in an order that makes these true already.
bool build_nothing(Decoder & /*decoder*/, const Instruction & /*instruction*/) {
    return true;
}

constexpr Meaning meanings[] = {
    {"bra", build_branch},         {"brkpt", build_control<trap>},
    {"call", build_call},          {"exit", build_control<exit>},
    {"fence", build_nothing},      {"griddepcontrol", build_nothing},
    {"membar", build_nothing},     {"nanosleep", build_control<sleep>},
    {"pmevent", build_nothing},    {"ret", build_return},
    {"trap", build_control<trap>},
};

} // namespace

std::span<const Meaning> control_meanings() noexcept {
    return meanings;
}

} // namespace sim::ptx::inline SIM_PTX_FEATURES
