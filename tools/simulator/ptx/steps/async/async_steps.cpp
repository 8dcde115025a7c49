// Asynchronous copies. They are done at once, so that nothing waits for them, and commit_group,
// wait_group and wait_all do nothing.
#include "ptx/steps/async/mbarrier.hpp"
#include "ptx/steps/meanings.hpp"

#include <algorithm>
#include <cstring>

namespace sim::ptx::inline SIM_PTX_FEATURES {
namespace {

struct Copy {
    AddressOperand to, from, barrier;
    std::uint32_t alignment = 0;
    bool to_shared = true; // from global memory; or the other way
    bool signals = false;  // the bytes to the barrier
};

std::byte *view(Warp &warp, const Step &step, Space space, int lane, std::uint64_t address,
                std::uint32_t size, bool write) {
    const auto &copy = *static_cast<const Copy *>(step.more);
    KernelFault fault{.kind = KernelFault::Kind::misaligned_address,
                      .address = address,
                      .size = size,
                      .write = write,
                      .space = space};
    if (address % copy.alignment != 0) {
        fail(warp, step, lane, fault);
    }
    std::byte *const bytes = space == Space::shared
                                 ? SharedBytes::view(warp, step, address, size, write)
                                 : GlobalBytes::view(warp, step, address, size, write);
    if (bytes == nullptr) {
        fault.kind = KernelFault::Kind::illegal_address;
        fail(warp, step, lane, fault);
    }
    return bytes;
}

// in: the bytes to write; to read, of which at most those count; and whether none are read. Bytes
// that are written but not read are zero.
void copy(Warp &warp, const Step &step) {
    const auto &plan = *static_cast<const Copy *>(step.more);
    const Mask ignored = step.in[2] == no_register ? 0 : warp.predicate(step.in[2]);
    for_each_lane(warp.mask(), [&](int lane) {
        const std::uint32_t size = warp.lanes<std::uint32_t>(step.in[0])[lane];
        const std::uint32_t given =
            (ignored >> lane & 1) != 0
                ? 0
                : std::min(size, warp.lanes<std::uint32_t>(step.in[1])[lane]);
        std::byte *const to = view(warp, step, plan.to_shared ? Space::shared : Space::global, lane,
                                   plan.to(warp, lane), size, true);
        if (given != 0) {
            std::memcpy(to,
                        view(warp, step, plan.to_shared ? Space::global : Space::shared, lane,
                             plan.from(warp, lane), given, false),
                        given);
        }
        std::memset(to + given, 0, size - given);
        if (plan.signals) {
            with_mbarrier(warp, step, lane, plan.barrier(warp, lane), false,
                          [&](MBarrier &barrier) {
                              barrier.complete_transactions(size);
                              return true;
                          });
        }
    });
}

AddressOperand address_of(Decoder &decoder, const Operand &operand) {
    const Decoder::Address at = decoder.address(operand);
    return {at.base, at.size, at.offset};
}

Copy &set_copy(Decoder &decoder, const Instruction &instruction, std::uint32_t alignment,
               Step &step) {
    step.all = step.some = copy;
    step.site = decoder.layout().new_site();
    auto &plan = decoder.plan<Copy>(step);
    plan.to = address_of(decoder, instruction.operands[0]);
    plan.from = address_of(decoder, instruction.operands[1]);
    plan.alignment = alignment;
    return plan;
}

// cp.async.ca, cp.async.cg: to, from, size, then the bytes to read or a predicate, and a policy of
// the cache.
bool build_copy(Decoder &decoder, const Instruction &instruction) {
    const auto &operands = instruction.operands;
    if (operands.size() < 3 || operands[2].kind != Operand::Kind::integer) {
        return false;
    }
    const auto size = static_cast<std::uint32_t>(operands[2].value);
    if (size != 4 && size != 8 && size != 16) {
        return false;
    }
    Step step;
    set_copy(decoder, instruction, size, step);
    step.in[0] = step.in[1] = decoder.constant(size, 4);
    const std::size_t own = operands.size() - (has(instruction, "L2::cache_hint") ? 1 : 0);
    if (own > 3) {
        const Operand &last = operands[3];
        const bool is_predicate =
            last.kind == Operand::Kind::reg && decoder.size_of_register(last) == 0;
        is_predicate ? step.in[2] = decoder.source<bool>(last)
                     : step.in[1] = decoder.source<std::uint32_t>(last);
    }
    decoder.emit(step);
    return true;
}

bool build_bulk_copy(Decoder &decoder, const Instruction &instruction) {
    const auto &operands = instruction.operands;
    for (const std::string_view other :
         {"tensor", "prefetch", "reduce", "multicast::cluster", "cp_mask", "ignore_oob"}) {
        if (has(instruction, other)) {
            return false;
        }
    }
    const bool signals = has(instruction, "mbarrier::complete_tx::bytes");
    if (operands.size() < (signals ? 4U : 3U) || !has(instruction, "global")) {
        return false;
    }
    Step step;
    Copy &plan = set_copy(decoder, instruction, 16, step);
    step.in[0] = step.in[1] = decoder.source<std::uint32_t>(operands[2]);
    plan.signals = signals;
    plan.to_shared = signals;
    if (signals) {
        plan.barrier = address_of(decoder, operands[3]);
    }
    decoder.emit(step);
    return true;
}

// --- cp.async.mbarrier.arrive
// The copies before it have been done. Without .noinc the phase waits for one arrival more, which
// this is: nothing changes.
struct Arrival {
    AddressOperand barrier;
    bool generic;
};

void arrive(Warp &warp, const Step &step) {
    const auto &plan = *static_cast<const Arrival *>(step.more);
    for_each_lane(warp.mask(), [&](int lane) {
        with_mbarrier(warp, step, lane, plan.barrier(warp, lane), plan.generic,
                      [](MBarrier &barrier) {
                          barrier.arrive(1);
                          return true;
                      });
    });
}

bool build_arrive(Decoder &decoder, const Instruction &instruction) {
    if (!has(instruction, "noinc")) {
        return true;
    }
    Step step;
    step.all = step.some = arrive;
    auto &plan = decoder.plan<Arrival>(step);
    const Operand &address = instruction.operands[0];
    plan.barrier = address_of(decoder, address);
    plan.generic = !has(instruction, "shared") && !has(instruction, "shared::cta") &&
                   decoder.address(address).space != Space::shared;
    decoder.emit(step);
    return true;
}

bool build(Decoder &decoder, const Instruction &instruction) {
    if (!has(instruction, "async") || has(instruction, "reduce")) {
        return false;
    }
    if (has(instruction, "commit_group") || has(instruction, "wait_group") ||
        has(instruction, "wait_all")) {
        return true;
    }
    return has(instruction, "mbarrier") ? build_arrive(decoder, instruction)
           : has(instruction, "bulk")   ? build_bulk_copy(decoder, instruction)
                                        : build_copy(decoder, instruction);
}

constexpr Meaning meanings[] = {{"cp", build}};

} // namespace

std::span<const Meaning> async_meanings() noexcept {
    return meanings;
}

} // namespace sim::ptx::inline SIM_PTX_FEATURES
