#include "ptx/run/fault.hpp"

namespace sim::ptx::inline SIM_PTX_FEATURES {

void fail(Warp &warp, const Step &step, int lane, KernelFault fault) {
    const Program &program = *warp.frame().program;
    fault.line = program.lines[static_cast<std::size_t>(&step - program.steps.data())];
    fault.block = warp.block().place();
    fault.thread = warp.block().thread(warp.number(), lane);
    throw fault;
}

} // namespace sim::ptx::inline SIM_PTX_FEATURES
