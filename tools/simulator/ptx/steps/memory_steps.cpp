// Loads and stores.
#include "ptx/steps/addresses.hpp"
#include "ptx/steps/meanings.hpp"

#include <cstring>

namespace sim::ptx::inline SIM_PTX_FEATURES {
namespace {

// The registers of a vector, of which the first is Step::out or Step::in[1].
using Registers = std::vector<std::uint32_t>;

// Of each lane by itself, in any space.
template <class T, class Address, Space space, bool store>
void access_each(Warp &warp, const Step &step) {
    const auto &registers = *static_cast<const Registers *>(step.more);
    for_each_lane(warp.mask(), [&](int lane) {
        std::byte *view =
            lane_view(warp, step, space, lane, lane_address<Address>(warp, step, lane),
                      sizeof(T) * registers.size(), store);
        for (const std::uint32_t at : registers) {
            std::byte *const value = reinterpret_cast<std::byte *>(warp.lanes<T>(at) + lane);
            std::memcpy(store ? view : value, store ? value : view, sizeof(T));
            view += sizeof(T);
        }
    });
}

// Of lanes whose addresses are in one extent. False if they are not.
template <class T, class Address, class Bytes, bool store>
bool access_together(Warp &warp, const Step &step, std::uint64_t window) {
    const auto &registers = *static_cast<const Registers *>(step.more);
    const Mask mask = warp.mask();
    const WarpAddresses at(warp.lanes<Address>(step.in[0]), step, mask, window,
                           static_cast<std::uint32_t>(sizeof(T) * registers.size()));
    std::byte *const begin =
        at.near && at.aligned ? Bytes::view(warp, step, at.begin, at.length, store) : nullptr;
    if (begin == nullptr) {
        return false;
    }
    std::byte *first = begin - at.lowest;
    for (const std::uint32_t where : registers) {
        T *const values = warp.lanes<T>(where);
        if (at.consecutive && registers.size() == 1) {
            store ? std::memcpy(first, values, sizeof(T) * warp_size)
                  : std::memcpy(values, first, sizeof(T) * warp_size);
        } else if (at.equal && !store && mask == all_lanes) {
            T value;
            std::memcpy(&value, first, sizeof value);
            for (int lane = 0; lane < warp_size; ++lane) {
                values[lane] = value;
            }
        } else {
            for_each_lane(mask, [&](int lane) {
                std::byte *const bytes = first + at.distance[lane];
                store ? std::memcpy(bytes, values + lane, sizeof(T))
                      : std::memcpy(values + lane, bytes, sizeof(T));
            });
        }
        first += sizeof(T);
    }
    return true;
}

template <class T, class Address, Space space, bool store>
void access(Warp &warp, const Step &step) {
    bool together = false;
    if constexpr (space == Space::shared) {
        together = access_together<T, Address, SharedBytes, store>(warp, step, 0);
    } else if constexpr (space == Space::param) {
        together = access_together<T, Address, ParameterBytes, store>(warp, step, 0);
    } else if constexpr (space == Space::global) {
        together = access_together<T, Address, GlobalBytes, store>(warp, step, 0);
    } else if constexpr (space == Space::none) {
        const std::uint64_t address = lane_address<Address>(warp, step, __builtin_ctz(warp.mask()));
        if (is_in(shared_window, address)) {
            together = access_together<T, Address, SharedBytes, store>(warp, step, shared_window);
        } else if (!is_in(local_window, address) && !is_in(parameter_window, address)) {
            together = access_together<T, Address, GlobalBytes, store>(warp, step, 0);
        }
    }
    if (!together) {
        access_each<T, Address, space, store>(warp, step);
    }
}

// A load of what other threads store meanwhile: volatile, relaxed or acquire.
template <class T, class Address, Space space>
void load_again(Warp &warp, const Step &step) {
    warp.may_wait();
    access<T, Address, space, false>(warp, step);
}

template <class T, Space space, bool store>
Run access_by(std::uint32_t address_size, bool again) {
    if constexpr (!store &&
                  (space == Space::global || space == Space::shared || space == Space::none)) {
        if (again) {
            return address_size == 4 ? load_again<T, std::uint32_t, space>
                                     : load_again<T, std::uint64_t, space>;
        }
    }
    return address_size == 4 ? access<T, std::uint32_t, space, store>
                             : access<T, std::uint64_t, space, store>;
}

template <class T, bool store>
Run access_in(Space space, std::uint32_t address_size, bool again) {
    switch (space) {
    case Space::shared:
        return access_by<T, Space::shared, store>(address_size, again);
    case Space::local:
        return access_by<T, Space::local, store>(address_size, again);
    case Space::param:
        return access_by<T, Space::param, store>(address_size, again);
    case Space::none:
        return access_by<T, Space::none, store>(address_size, again);
    default:
        return access_by<T, Space::global, store>(address_size, again);
    }
}

template <bool store>
Run access_of(std::size_t size, Space space, std::uint32_t address_size, bool again) {
    switch (size) {
    case 1:
        return access_in<std::uint8_t, store>(space, address_size, again);
    case 2:
        return access_in<std::uint16_t, store>(space, address_size, again);
    case 4:
        return access_in<std::uint32_t, store>(space, address_size, again);
    default:
        return access_in<std::uint64_t, store>(space, address_size, again);
    }
}

// A step that moves values between memory and registers of their size.
template <bool store>
Step memory_step(Decoder &decoder, const Instruction &instruction, const Operand &address) {
    Step step;
    Space space = space_of(instruction, decoder.function());
    const Decoder::Address at = decoder.address(address);
    if (space == Space::param && at.space == Space::local) {
        space = Space::local; // .param of a call
    }
    step.in[0] = at.base;
    step.value = at.offset;
    step.site = decoder.layout().new_site();
    const bool again =
        has(instruction, "volatile") || has(instruction, "relaxed") || has(instruction, "acquire");
    step.all = step.some = access_of<store>(size_of(instruction.types[0]), space, at.size, again);
    return step;
}

bool load(Decoder &decoder, const Instruction &instruction) {
    const Type type = instruction.types[0];
    if (size_of(type) > 8) {
        return false;
    }
    const auto size = static_cast<std::uint32_t>(size_of(type));
    Step step = memory_step<false>(decoder, instruction, instruction.operands[1]);
    struct Wider {
        const Operand *to;
        std::uint32_t from;
    };
    std::vector<Wider> wider;
    auto &registers = decoder.plan<Registers>(step);
    for (const Operand *part : decoder.parts(instruction.operands[0])) {
        if (part->kind == Operand::Kind::reg && decoder.size_of_register(*part) == size) {
            registers.push_back(decoder.source(*part, size, type));
        } else {
            registers.push_back(decoder.temporary(size));
            wider.push_back({part, registers.back()});
        }
    }
    decoder.emit(step);
    const TypeInfo &type_info = info(type);
    const bool is_signed = type_info.kind == TypeClass::integer && type_info.name[0] == 's';
    for (const Wider &one : wider) {
        if (one.to->kind == Operand::Kind::reg) {
            decoder.widen(one.from, size, *one.to, is_signed);
        }
    }
    return true;
}

bool store(Decoder &decoder, const Instruction &instruction) {
    const Type type = instruction.types[0];
    if (size_of(type) > 8) {
        return false;
    }
    Step step = memory_step<true>(decoder, instruction, instruction.operands[0]);
    auto &registers = decoder.plan<Registers>(step);
    for (const Operand *part : decoder.parts(instruction.operands[1])) {
        registers.push_back(decoder.source(*part, static_cast<std::uint32_t>(size_of(type)), type));
    }
    decoder.emit(step);
    return true;
}

// Addresses of one space as generic ones, and back.
template <std::uint64_t window>
struct ToGeneric {
    std::uint64_t operator()(std::uint64_t address) const { return address + window; }
};
template <std::uint64_t window>
struct FromGeneric {
    std::uint64_t operator()(std::uint64_t address) const { return address - window; }
};

template <std::uint64_t window>
void convert(Decoder &decoder, const Instruction &instruction) {
    const std::type_identity<std::uint64_t(std::uint64_t)> signature;
    has(instruction, "to") ? build_each<FromGeneric<window>>(decoder, instruction, signature)
                           : build_each<ToGeneric<window>>(decoder, instruction, signature);
}

bool convert_address(Decoder &decoder, const Instruction &instruction) {
    switch (space_of(instruction, decoder.function())) {
    case Space::shared:
        convert<shared_window>(decoder, instruction);
        return true;
    case Space::local:
        convert<local_window>(decoder, instruction);
        return true;
    case Space::param:
        convert<parameter_window>(decoder, instruction);
        return true;
    default:
        convert<0>(decoder, instruction);
        return true;
    }
}

struct IsShared {
    bool operator()(std::uint64_t address) const { return is_in(shared_window, address); }
};
struct IsLocal {
    bool operator()(std::uint64_t address) const { return is_in(local_window, address); }
};
struct IsGlobal {
    bool operator()(std::uint64_t address) const {
        return !is_in(shared_window, address) && !is_in(local_window, address) &&
               !is_in(parameter_window, address);
    }
};

bool is_in_space(Decoder &decoder, const Instruction &instruction) {
    const std::type_identity<bool(std::uint64_t)> signature;
    if (has(instruction, "const")) {
        return false;
    }
    switch (space_of(instruction, decoder.function())) {
    case Space::shared:
        build_each<IsShared>(decoder, instruction, signature);
        return true;
    case Space::local:
        build_each<IsLocal>(decoder, instruction, signature);
        return true;
    case Space::global:
        build_each<IsGlobal>(decoder, instruction, signature);
        return true;
    default:
        return false;
    }
}

bool nothing(Decoder & /*decoder*/, const Instruction & /*instruction*/) {
    return true;
}

constexpr Meaning meanings[] = {
    {"cvta", convert_address}, {"isspacep", is_in_space}, {"ld", load},  {"ldu", load},
    {"prefetch", nothing},     {"prefetchu", nothing},    {"st", store},
};

} // namespace

std::span<const Meaning> memory_meanings() noexcept {
    return meanings;
}

} // namespace sim::ptx::inline SIM_PTX_FEATURES
