// Exchange among the lanes of a warp.
#include "ptx/arithmetic/elementary.hpp"
#include "ptx/steps/logic.hpp"
#include "ptx/steps/meanings.hpp"

namespace sim::ptx::inline SIM_PTX_FEATURES {
namespace {

// All of these wait for the lanes of a mask, which is their last source.
template <int last, void run(Warp &, const Step &)>
void together(Warp &warp, const Step &step) {
    if (warp.converged(warp.members(step.in[last]))) {
        run(warp, step);
    }
}

Step synchronous(Run run) {
    Step step;
    step.control = true;
    step.all = step.some = run;
    return step;
}

// --- shfl
enum class Shuffle { up, down, bfly, idx };

// in: values, lanes, clamp and segments; value: where the predicate goes, if there is one.
template <Shuffle mode>
void shuffle(Warp &warp, const Step &step) {
    const auto *values = warp.lanes<std::uint32_t>(step.in[0]);
    const auto *operands = warp.lanes<std::uint32_t>(step.in[1]);
    const auto *clamps = warp.lanes<std::uint32_t>(step.in[2]);
    std::uint32_t result[warp_size];
    Mask inside = 0;
    for (int lane = 0; lane < warp_size; ++lane) {
        const int by = static_cast<int>(operands[lane] & 31),
                  clamp = static_cast<int>(clamps[lane] & 31);
        const int segment = static_cast<int>(clamps[lane] >> 8 & 31);
        const int first = lane & segment, last = first | (clamp & ~segment);
        const int source = mode == Shuffle::up     ? lane - by
                           : mode == Shuffle::down ? lane + by
                           : mode == Shuffle::bfly ? lane ^ by
                                                   : first | (by & ~segment);
        const bool valid = mode == Shuffle::up ? source >= last : source <= last;
        inside |= valid ? Mask(1) << lane : 0;
        result[lane] = values[valid ? source : lane];
    }
    auto *const out = warp.lanes<std::uint32_t>(step.out);
    for_each_lane(warp.mask(), [&](int lane) { out[lane] = result[lane]; });
    Mask &predicate = warp.predicate(static_cast<std::uint32_t>(step.value));
    predicate = (predicate & ~warp.mask()) | (inside & warp.mask());
}

bool build_shuffle(Decoder &decoder, const Instruction &instruction) {
    const std::vector<Operand> &operands = instruction.operands;
    Step step = synchronous(has(instruction, "up")     ? together<3, shuffle<Shuffle::up>>
                            : has(instruction, "down") ? together<3, shuffle<Shuffle::down>>
                            : has(instruction, "bfly") ? together<3, shuffle<Shuffle::bfly>>
                                                       : together<3, shuffle<Shuffle::idx>>);
    for (std::size_t i = 0; i < 4; ++i) {
        step.in[i] = decoder.source<std::uint32_t>(operands[i + 1]);
    }
    const bool is_pair = operands[0].kind == Operand::Kind::pair;
    const bool has_predicate = is_pair && operands[0].parts[1].kind == Operand::Kind::reg;
    step.value = has_predicate ? decoder.source<bool>(operands[0].parts[1]) : decoder.temporary(0);
    decoder.emit<std::uint32_t>(step, is_pair ? operands[0].parts[0] : operands[0]);
    return true;
}

// --- vote
enum class Vote { all, any, uni, ballot };

template <Vote mode>
void vote(Warp &warp, const Step &step) {
    const Mask lanes = warp.mask(), holds = warp.predicate(step.in[0]) & lanes;
    if constexpr (mode == Vote::ballot) {
        auto *const out = warp.lanes<std::uint32_t>(step.out);
        for_each_lane(lanes, [&](int lane) { out[lane] = holds; });
    } else {
        const bool result = mode == Vote::all   ? holds == lanes
                            : mode == Vote::any ? holds != 0
                                                : holds == lanes || holds == 0;
        Mask &out = warp.predicate(step.out);
        out = (out & ~lanes) | (result ? lanes : 0);
    }
}

bool build_vote(Decoder &decoder, const Instruction &instruction) {
    Step step = synchronous(has(instruction, "all")   ? together<1, vote<Vote::all>>
                            : has(instruction, "any") ? together<1, vote<Vote::any>>
                            : has(instruction, "uni") ? together<1, vote<Vote::uni>>
                                                      : together<1, vote<Vote::ballot>>);
    step.in[0] = decoder.source<bool>(instruction.operands[1]);
    step.in[1] = decoder.source<std::uint32_t>(instruction.operands[2]);
    has(instruction, "ballot") ? decoder.emit<std::uint32_t>(step, instruction.operands[0])
                               : decoder.emit<bool>(step, instruction.operands[0]);
    return true;
}

// --- match: value is where the predicate goes
template <class T, bool all>
void match(Warp &warp, const Step &step) {
    const T *values = warp.lanes<T>(step.in[0]);
    const Mask lanes = warp.mask();
    Mask result[warp_size] = {};
    for_each_lane(lanes, [&](int lane) {
        for_each_lane(lanes, [&](int other) {
            result[lane] |= values[lane] == values[other] ? Mask(1) << other : 0;
        });
    });
    auto *const out = warp.lanes<Mask>(step.out);
    const bool equal = result[__builtin_ctz(lanes)] == lanes;
    for_each_lane(lanes, [&](int lane) { out[lane] = !all || equal ? result[lane] : 0; });
    Mask &predicate = warp.predicate(static_cast<std::uint32_t>(step.value));
    predicate = (predicate & ~lanes) | (equal ? lanes : 0);
}

template <class T>
bool build_match_of(Decoder &decoder, const Instruction &instruction) {
    Step step = synchronous(has(instruction, "all") ? together<1, match<T, true>>
                                                    : together<1, match<T, false>>);
    const Operand &result = instruction.operands[0];
    step.in[0] = decoder.source<T>(instruction.operands[1]);
    step.in[1] = decoder.source<std::uint32_t>(instruction.operands[2]);
    const bool is_pair = result.kind == Operand::Kind::pair;
    step.value = is_pair && result.parts[1].kind == Operand::Kind::reg
                     ? decoder.source<bool>(result.parts[1])
                     : decoder.temporary(0);
    decoder.emit<Mask>(step, is_pair ? result.parts[0] : result);
    return true;
}

bool build_match(Decoder &decoder, const Instruction &instruction) {
    return instruction.types[0] == Type::b64 ? build_match_of<std::uint64_t>(decoder, instruction)
                                             : build_match_of<std::uint32_t>(decoder, instruction);
}

// --- redux
template <class Operation, class T>
void reduce(Warp &warp, const Step &step) {
    const T *values = warp.lanes<T>(step.in[0]);
    const Mask lanes = warp.mask();
    T result = values[__builtin_ctz(lanes)];
    for_each_lane(lanes & (lanes - 1),
                  [&](int lane) { result = Operation()(result, values[lane]); });
    T *const out = warp.lanes<T>(step.out);
    for_each_lane(lanes, [&](int lane) { out[lane] = result; });
}

Run reduce_of(const Instruction &instruction) {
    const bool is_signed = instruction.types[0] == Type::s32;
    if (has(instruction, "add")) {
        return together<1, reduce<Add, std::uint32_t>>;
    }
    if (has(instruction, "min")) {
        return is_signed ? together<1, reduce<Min, std::int32_t>>
                         : together<1, reduce<Min, std::uint32_t>>;
    }
    if (has(instruction, "max")) {
        return is_signed ? together<1, reduce<Max, std::int32_t>>
                         : together<1, reduce<Max, std::uint32_t>>;
    }
    return has(instruction, "and")  ? together<1, reduce<And, std::uint32_t>>
           : has(instruction, "or") ? together<1, reduce<Or, std::uint32_t>>
                                    : together<1, reduce<Xor, std::uint32_t>>;
}

bool build_reduce(Decoder &decoder, const Instruction &instruction) {
    Step step = synchronous(reduce_of(instruction));
    step.in[0] = decoder.source<std::uint32_t>(instruction.operands[1]);
    step.in[1] = decoder.source<std::uint32_t>(instruction.operands[2]);
    decoder.emit<std::uint32_t>(step, instruction.operands[0]);
    return true;
}

// --- activemask, elect
void active_mask(Warp &warp, const Step &step) {
    auto *const out = warp.lanes<Mask>(step.out);
    for_each_lane(warp.mask(), [&](int lane) { out[lane] = warp.mask(); });
}

bool build_active_mask(Decoder &decoder, const Instruction &instruction) {
    Step step;
    step.all = step.some = active_mask;
    decoder.emit<Mask>(step, instruction.operands[0]);
    return true;
}

void elect(Warp &warp, const Step &step) {
    const int leader = __builtin_ctz(warp.mask());
    auto *const out = warp.lanes<std::uint32_t>(step.out);
    for_each_lane(warp.mask(), [&](int lane) { out[lane] = static_cast<std::uint32_t>(leader); });
    Mask &predicate = warp.predicate(static_cast<std::uint32_t>(step.value));
    predicate = (predicate & ~warp.mask()) | Mask(1) << leader;
}

bool build_elect(Decoder &decoder, const Instruction &instruction) {
    const Operand &result = instruction.operands[0];
    if (result.kind != Operand::Kind::pair || result.parts[1].kind != Operand::Kind::reg) {
        return false;
    }
    Step step = synchronous(together<0, elect>);
    step.in[0] = decoder.source<std::uint32_t>(instruction.operands[1]);
    step.value = decoder.source<bool>(result.parts[1]);
    decoder.emit<std::uint32_t>(step, result.parts[0]);
    return true;
}

constexpr Meaning meanings[] = {
    {"activemask", build_active_mask}, {"elect", build_elect},  {"match", build_match},
    {"redux", build_reduce},           {"shfl", build_shuffle}, {"vote", build_vote},
};

} // namespace

std::span<const Meaning> exchange_meanings() noexcept {
    return meanings;
}

} // namespace sim::ptx::inline SIM_PTX_FEATURES
