// Atomic operations. Blocks run on one thread, so they need no atomic access of the host.
#include "ptx/arithmetic/reals.hpp"
#include "ptx/steps/addresses.hpp"
#include "ptx/steps/logic.hpp"
#include "ptx/steps/meanings.hpp"

#include <cstring>

namespace sim::ptx::inline SIM_PTX_FEATURES {
namespace {

struct Exchange {
    template <class T>
    T operator()(T /*old*/, T value) const noexcept {
        return value;
    }
};
struct Increment {
    template <Integer T>
    T operator()(T old, T limit) const noexcept {
        return old >= limit ? 0 : old + 1;
    }
};
struct Decrement {
    template <Integer T>
    T operator()(T old, T limit) const noexcept {
        return old == 0 || old > limit ? limit : old - 1;
    }
};

// The operations with which threads wait for each other.
template <class Operation>
constexpr bool takes_locks = std::is_void_v<Operation> || std::is_same_v<Operation, Exchange>;

// in: the address, one or two values; of cas the first is compared. more: whether there is a
// result.
template <class Operation, class T, class Address, Space space>
void each(Warp &warp, const Step &step) {
    if (takes_locks<Operation>) {
        warp.may_wait();
    }
    for_each_lane(warp.mask(), [&](int lane) {
        const std::uint64_t address = lane_address<Address>(warp, step, lane);
        std::byte *const at = lane_view(warp, step, space, lane, address, sizeof(T), true);
        T old;
        std::memcpy(&old, at, sizeof old);
        const T value = warp.lanes<T>(step.in[1])[lane];
        T changed;
        if constexpr (std::is_void_v<Operation>) { // cas
            changed = old == value ? warp.lanes<T>(step.in[2])[lane] : old;
        } else {
            changed = Operation()(old, value);
        }
        std::memcpy(at, &changed, sizeof changed);
        if (step.out != no_register) {
            warp.lanes<T>(step.out)[lane] = old;
        }
    });
}

template <class Operation, class T, class Address>
Run each_in(Space space) {
    switch (space) {
    case Space::global:
        return each<Operation, T, Address, Space::global>;
    case Space::shared:
        return each<Operation, T, Address, Space::shared>;
    default:
        return each<Operation, T, Address, Space::none>;
    }
}

template <class Operation, class T>
bool build_of(Decoder &decoder, const Instruction &instruction) {
    const bool has_result = instruction.opcode->name == "atom";
    const std::size_t first = has_result ? 1 : 0;
    const std::vector<Operand> &operands = instruction.operands;
    Step step;
    const Decoder::Address at = decoder.address(operands[first]);
    step.in[0] = at.base;
    step.value = at.offset;
    step.site = decoder.layout().new_site();
    step.in[1] = decoder.source<T>(operands[first + 1]);
    if (std::is_void_v<Operation>) {
        step.in[2] = decoder.source<T>(operands[first + 2]);
    }
    step.all = step.some =
        at.size == 4
            ? each_in<Operation, T, std::uint32_t>(space_of(instruction, decoder.function()))
            : each_in<Operation, T, std::uint64_t>(space_of(instruction, decoder.function()));
    has_result ? decoder.emit<T>(step, operands[0]) : decoder.emit(step);
    return true;
}

template <class Operation, Type... types>
bool of_types(Decoder &decoder, const Instruction &instruction) {
    return ((instruction.types[0] == types &&
             build_of<OperationFor<Operation, Value<types>>, Value<types>>(decoder, instruction)) ||
            ...);
}

template <class Operation>
constexpr Build bits = of_types<Operation, Type::b32, Type::b64>;
template <class Operation>
constexpr Build integers = of_types<Operation, Type::u32, Type::s32, Type::u64, Type::s64>;
template <class Operation>
constexpr Build numbers = of_types<Operation, Type::u32, Type::s32, Type::u64, Type::s64, Type::f32,
                                   Type::f64, Type::f16, Type::f16x2, Type::bf16, Type::bf16x2>;

bool atomic(Decoder &decoder, const Instruction &instruction) {
    struct Named {
        std::string_view name;
        Build build;
    };
    static constexpr Named operations[] = {
        {"add", numbers<Add>},
        {"min", integers<Min>},
        {"max", integers<Max>},
        {"and", bits<And>},
        {"or", bits<Or>},
        {"xor", bits<Xor>},
        {"exch", bits<Exchange>},
        {"cas", of_types<void, Type::b16, Type::b32, Type::b64>},
        {"inc", of_types<Increment, Type::u32>},
        {"dec", of_types<Decrement, Type::u32>},
    };
    if (has(instruction, "async") || has(instruction, "v2") || has(instruction, "v4") ||
        has(instruction, "v8")) {
        return false;
    }
    for (const Named &operation : operations) {
        if (has(instruction, operation.name)) {
            return operation.build(decoder, instruction);
        }
    }
    return false;
}

constexpr Meaning meanings[] = {{"atom", atomic}, {"red", atomic}};

} // namespace

std::span<const Meaning> atomic_meanings() noexcept {
    return meanings;
}

} // namespace sim::ptx::inline SIM_PTX_FEATURES
