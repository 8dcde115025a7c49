// Barriers in shared memory.
#include "ptx/steps/async/mbarrier.hpp"
#include "ptx/steps/meanings.hpp"

namespace sim::ptx::inline SIM_PTX_FEATURES {
namespace {

// in: a count, a number of bytes, a state or a parity; out: a state or a predicate.
struct Plan {
    AddressOperand address;
    bool generic;
};

// Operation()(barrier, value, state before) changes a barrier, for each lane in turn.
template <class Operation>
void change(Warp &warp, const Step &step) {
    const auto &plan = *static_cast<const Plan *>(step.more);
    for_each_lane(warp.mask(), [&](int lane) {
        const std::uint32_t value = warp.lanes<std::uint32_t>(step.in[0])[lane];
        const std::uint64_t before = with_mbarrier(warp, step, lane, plan.address(warp, lane),
                                                   plan.generic, [&](MBarrier &barrier) {
                                                       const std::uint64_t bits = barrier.bits();
                                                       Operation()(barrier, value);
                                                       return bits;
                                                   });
        if (step.out != no_register) {
            warp.lanes<std::uint64_t>(step.out)[lane] = before;
        }
    });
}

struct Initialize {
    void operator()(MBarrier &barrier, std::uint32_t count) const {
        barrier = {};
        barrier.pending = barrier.expected = count & 0xfffff;
    }
};
struct Invalidate {
    void operator()(MBarrier &barrier, std::uint32_t /*unused*/) const { barrier = {}; }
};
struct Arrive {
    void operator()(MBarrier &barrier, std::uint32_t count) const { barrier.arrive(count); }
};
struct ArriveAndExpect {
    void operator()(MBarrier &barrier, std::uint32_t bytes) const {
        barrier.expect_transactions(bytes);
        barrier.arrive(1);
    }
};
// The later phases expect fewer arrivals.
struct Drop {
    void operator()(MBarrier &barrier, std::uint32_t count) const {
        barrier.expected = barrier.expected - count;
        barrier.arrive(count);
    }
};
struct DropAndExpect {
    void operator()(MBarrier &barrier, std::uint32_t bytes) const {
        barrier.expect_transactions(bytes);
        Drop()(barrier, 1);
    }
};
struct Expect {
    void operator()(MBarrier &barrier, std::uint32_t bytes) const {
        barrier.expect_transactions(bytes);
    }
};
struct Complete {
    void operator()(MBarrier &barrier, std::uint32_t bytes) const {
        barrier.complete_transactions(bytes);
    }
};

// A wait that fails is usually repeated until other threads have arrived.
template <class Value>
void wait(Warp &warp, const Step &step) {
    const auto &plan = *static_cast<const Plan *>(step.more);
    Mask completed = 0;
    for_each_lane(warp.mask(), [&](int lane) {
        const Value value = warp.lanes<Value>(step.in[0])[lane];
        const bool has_completed = with_mbarrier(
            warp, step, lane, plan.address(warp, lane), plan.generic, [&](const MBarrier &barrier) {
                if constexpr (sizeof(Value) == 8) {
                    return barrier.has_completed(MBarrier::of(value));
                } else {
                    return barrier.has_completed(value);
                }
            });
        completed |= has_completed ? Mask(1) << lane : 0;
    });
    if (completed != warp.mask()) {
        warp.yield();
    }
    Mask &out = warp.predicate(step.out);
    out = (out & ~warp.mask()) | completed;
}

void set_address(Decoder &decoder, const Instruction &instruction, const Operand &operand,
                 Step &step) {
    auto &plan = decoder.plan<Plan>(step);
    const Decoder::Address at = decoder.address(operand);
    plan.address = {at.base, at.size, at.offset};
    plan.generic = at.space != Space::shared && !has(instruction, "shared") &&
                   !has(instruction, "shared::cta") && !has(instruction, "shared::cluster");
}

bool build_wait(Decoder &decoder, const Instruction &instruction) {
    const auto &operands = instruction.operands;
    Step step;
    set_address(decoder, instruction, operands[1], step);
    if (has(instruction, "parity")) {
        step.all = step.some = wait<std::uint32_t>;
        step.in[0] = decoder.source<std::uint32_t>(operands[2]);
    } else {
        step.all = step.some = wait<std::uint64_t>;
        step.in[0] = decoder.source<std::uint64_t>(operands[2]);
    }
    decoder.emit<bool>(step, operands[0]);
    return true;
}

struct PendingCount {
    std::uint32_t operator()(std::uint64_t state) const {
        return static_cast<std::uint32_t>(MBarrier::of(state).pending);
    }
};

Run change_of(const Instruction &instruction) {
    const bool expects = has(instruction, "expect_tx");
    if (has(instruction, "arrive")) {
        return expects ? change<ArriveAndExpect> : change<Arrive>;
    }
    if (has(instruction, "arrive_drop")) {
        return expects ? change<DropAndExpect> : change<Drop>;
    }
    return expects                           ? change<Expect>
           : has(instruction, "complete_tx") ? change<Complete>
           : has(instruction, "init")        ? change<Initialize>
           : has(instruction, "inval")       ? change<Invalidate>
                                             : nullptr;
}

bool build(Decoder &decoder, const Instruction &instruction) {
    const auto &operands = instruction.operands;
    if (has(instruction, "test_wait") || has(instruction, "try_wait")) {
        return build_wait(decoder, instruction);
    }
    if (has(instruction, "pending_count")) {
        build_each<PendingCount>(decoder, instruction,
                                 std::type_identity<std::uint32_t(std::uint64_t)>());
        return true;
    }
    Step step;
    step.all = step.some = change_of(instruction);
    if (step.all == nullptr) {
        return false;
    }
    const bool has_state = has(instruction, "arrive") || has(instruction, "arrive_drop");
    const std::size_t first = has_state && operands[0].kind != Operand::Kind::address ? 1 : 0;
    set_address(decoder, instruction, operands[first], step);
    step.in[0] = operands.size() > first + 1 ? decoder.source<std::uint32_t>(operands[first + 1])
                                             : decoder.constant(1, 4);
    first == 1 ? decoder.emit<std::uint64_t>(step, operands[0]) : decoder.emit(step);
    return true;
}

constexpr Meaning meanings[] = {{"mbarrier", build}};

} // namespace

std::span<const Meaning> mbarrier_meanings() noexcept {
    return meanings;
}

} // namespace sim::ptx::inline SIM_PTX_FEATURES
