#include "ptx/steps/call.hpp"
#include "ptx/run/fault.hpp"
#include "ptx/steps/system_calls.hpp"

#include <algorithm>
#include <cstring>
#include <map>

namespace sim::ptx::inline SIM_PTX_FEATURES {
namespace {

// A call with the places of its arguments and results in the caller. Step::more.
struct Call {
    const Program *callee = nullptr;                                      // of a direct call
    const std::map<std::uint64_t, const Program *> *by_address = nullptr; // of an indirect one
    std::vector<Program::Parameter> results, arguments;
};

// It has a bit for each lane, and no bytes.
bool is_predicate(const Program::Parameter &parameter) {
    return parameter.space == Space::reg && parameter.size == 0;
}

void copy(Warp &warp, Frame &from, const std::vector<Program::Parameter> &sources, Frame &to,
          const std::vector<Program::Parameter> &places, Mask lanes) {
    for (std::size_t i = 0; i < places.size(); ++i) {
        if (is_predicate(places[i])) {
            Mask &out = *reinterpret_cast<Mask *>(to.registers() + places[i].at);
            const Mask in = *reinterpret_cast<const Mask *>(from.registers() + sources[i].at);
            out = (out & ~lanes) | (in & lanes);
            continue;
        }
        for_each_lane(lanes, [&](int lane) {
            std::memcpy(place_of(places[i], warp, to, lane), place_of(sources[i], warp, from, lane),
                        std::min(places[i].size, sources[i].size));
        });
    }
}

void enter(Warp &warp, const Call &plan, const Program &callee, Mask lanes) {
    Frame &caller = warp.frame();
    if (!warp.has_room(callee)) {
        fail(warp, warp.step(), __builtin_ctz(lanes), {.kind = KernelFault::Kind::stack_overflow});
    }
    Frame &frame = warp.call(callee, lanes);
    copy(warp, caller, plan.arguments, frame, callee.parameters, lanes);
}

// A predicate is given to a predicate only.
bool fits(const std::vector<Program::Parameter> &sources,
          const std::vector<Program::Parameter> &places) {
    return std::equal(sources.begin(), sources.end(), places.begin(), places.end(),
                      [](const Program::Parameter &from, const Program::Parameter &to) {
                          return is_predicate(from) == is_predicate(to);
                      });
}

bool fits(const Call &plan, const Program &callee) {
    return fits(plan.arguments, callee.parameters) && fits(callee.returns, plan.results);
}

void call(Warp &warp, const Step &step) {
    const auto &plan = *static_cast<const Call *>(step.more);
    if (!fits(plan, *plan.callee)) { // its definition has other parameters than its declaration
        fail(warp, step, __builtin_ctz(warp.mask()),
             {.kind = KernelFault::Kind::bad_program_counter});
    }
    enter(warp, plan, *plan.callee, warp.mask());
}

// Lanes with the same address together; the others make the call again.
void call_indirect(Warp &warp, const Step &step) {
    const auto &plan = *static_cast<const Call *>(step.more);
    const auto *const addresses = warp.lanes<std::uint64_t>(step.in[0]);
    const int first = __builtin_ctz(warp.mask());
    const auto callee = plan.by_address->find(addresses[first]);
    if (callee == plan.by_address->end() || !fits(plan, *callee->second)) {
        fail(warp, step, first,
             {.kind = KernelFault::Kind::bad_program_counter, .address = addresses[first]});
    }
    Mask lanes = 0;
    for_each_lane(warp.mask(), [&](int lane) {
        lanes |= addresses[lane] == addresses[first] ? Mask(1) << lane : 0;
    });
    if (lanes != warp.mask()) {
        warp.branch(warp.mask() & ~lanes, &step);
    }
    enter(warp, plan, *callee->second, lanes);
}

void leave(Warp &warp, const Step & /*step*/) {
    Frame &frame = warp.frame();
    const Mask lanes = warp.mask();
    const auto &plan = *static_cast<const Call *>(frame.call->more);
    copy(warp, frame, frame.program->returns, *frame.caller, plan.results, lanes);
    warp.leave_frame(lanes);
}

void end(Warp &warp, const Step & /*step*/) {
    warp.end(warp.mask());
}

std::vector<Program::Parameter> parameters(Decoder &decoder, const Operand &list,
                                           bool are_results) {
    std::vector<Program::Parameter> all;
    all.reserve(list.parts.size());
    for (const Operand &operand : list.parts) {
        all.push_back(decoder.parameter(operand, are_results));
    }
    return all;
}

} // namespace

std::byte *place_of(const Program::Parameter &parameter, Warp &warp, Frame &frame, int lane) {
    return parameter.space == Space::local ? warp.local(lane) + frame.local_base + parameter.at
                                           : frame.registers() + parameter.at +
                                                 static_cast<std::uint32_t>(lane) * parameter.size;
}

bool build_call(Decoder &decoder, const Instruction &instruction) {
    Step step;
    auto &plan = decoder.plan<Call>(step);
    const Operand *callee = nullptr;
    for (const Operand &operand : instruction.operands) {
        if (operand.kind == Operand::Kind::arguments) {
            (callee ? plan.arguments : plan.results) =
                parameters(decoder, operand, callee == nullptr);
        } else if (callee == nullptr) {
            callee = &operand;
        }
    }
    step.control = true;
    if (callee->kind == Operand::Kind::reg) {
        step.in[0] = decoder.source<std::uint64_t>(*callee);
        plan.by_address = &decoder.layout().functions_by_address();
        step.all = call_indirect;
    } else if (const Function &function = decoder.layout().module().functions[callee->index];
               function.defined) {
        if (function.kernel) {
            return false;
        }
        plan.callee = &decoder.layout().program_of(callee->index);
        step.all = call;
    } else {
        return build_system_call(decoder, function.name, plan.arguments, plan.results);
    }
    step.some = step.all;
    decoder.emit(step);
    return true;
}

bool build_return(Decoder &decoder, const Instruction & /*instruction*/) {
    Step step;
    step.control = true;
    step.all = step.some = decoder.function().kernel ? end : leave;
    decoder.emit(step);
    return true;
}

} // namespace sim::ptx::inline SIM_PTX_FEATURES
