// Matrices between memory and registers, and transposed among the lanes.
#include "ptx/steps/addresses.hpp"
#include "ptx/steps/matrix/fragments.hpp"
#include "ptx/steps/meanings.hpp"

#include <array>
#include <bit>
#include <cstring>

namespace sim::ptx::inline SIM_PTX_FEATURES {
namespace {

struct MatrixAddress {
    Space space;
    bool is_wide; // 64 bits

    std::uint64_t operator()(Warp &warp, const Step &step, int lane) const {
        return is_wide ? lane_address<std::uint64_t>(warp, step, lane)
                       : lane_address<std::uint32_t>(warp, step, lane);
    }
};

// Sets in[0], value and site of a step.
MatrixAddress address_of(Decoder &decoder, const Instruction &instruction, const Operand &operand,
                         Step &step) {
    const Decoder::Address at = decoder.address(operand);
    step.in[0] = at.base;
    step.value = at.offset;
    step.site = decoder.layout().new_site();
    return {space_of(instruction, decoder.function()), at.size == 8};
}

// --- ldmatrix, stmatrix: lane 8 i + j has the address of row j of matrix i
struct SmallMatrices {
    MatrixAddress address;
    bool transposed;
    std::vector<Fragment> matrices;
};

using Rows = std::array<std::uint16_t, 64>;

template <bool store>
void move_small_matrices(Warp &warp, const Step &step) {
    const auto &plan = *static_cast<const SmallMatrices *>(step.more);
    const auto place_of = [&](Fragment::Place place) {
        return static_cast<std::size_t>(plan.transposed ? place.column * 8 + place.row
                                                        : place.row * 8 + place.column);
    };
    // A destination may hold addresses of matrices that are still to be read.
    std::array<Rows, 4> all{};
    for (std::size_t i = 0; i < plan.matrices.size(); ++i) {
        Rows &rows = all[i];
        if (store) {
            read_elements(warp, warp.mask(), plan.matrices[i],
                          [&](Fragment::Place place, std::uint64_t bits) {
                              rows[place_of(place)] = static_cast<std::uint16_t>(bits);
                          });
        }
        for (std::size_t row = 0; row < 8; ++row) {
            const int lane = static_cast<int>(8 * i + row);
            if ((warp.mask() >> lane & 1) == 0) {
                continue;
            }
            std::byte *const view = lane_view(warp, step, plan.address.space, lane,
                                              plan.address(warp, step, lane), 16, store);
            std::uint16_t *const values = rows.data() + 8 * row;
            store ? std::memcpy(view, values, 16) : std::memcpy(values, view, 16);
        }
    }
    for (std::size_t i = 0; !store && i < plan.matrices.size(); ++i) {
        write_elements(warp, warp.mask(), plan.matrices[i],
                       [&](Fragment::Place place) { return all[i][place_of(place)]; });
    }
}

template <bool store>
bool build_small_matrices(Decoder &decoder, const Instruction &instruction) {
    if (!has(instruction, "m8n8") || instruction.types[0] != Type::b16) {
        return false;
    }
    Step step = aligned_step<move_small_matrices<store>>();
    auto &plan = decoder.plan<SmallMatrices>(step);
    plan.address = address_of(decoder, instruction, instruction.operands[store ? 0 : 1], step);
    plan.transposed = has(instruction, "trans");
    const std::size_t number = has(instruction, "x1") ? 1 : has(instruction, "x2") ? 2 : 4;
    const auto parts = decoder.parts(instruction.operands[store ? 1 : 0]);
    if (parts.size() != number) {
        return false;
    }
    for (const Operand *part : parts) {
        if (!take_registers(decoder, *part, Type::b16, false,
                            plan.matrices.emplace_back(small_matrix()))) {
            return false;
        }
    }
    decoder.emit(step);
    return true;
}

// --- movmatrix
struct Transposition {
    Fragment from, to;
};

void transpose(Warp &warp, const Step &step) {
    const auto &plan = *static_cast<const Transposition *>(step.more);
    Rows rows{};
    read_elements(warp, warp.mask(), plan.from, [&](Fragment::Place place, std::uint64_t bits) {
        rows[place.column * 8 + place.row] = static_cast<std::uint16_t>(bits);
    });
    write_elements(warp, warp.mask(), plan.to,
                   [&](Fragment::Place place) { return rows[place.row * 8 + place.column]; });
}

bool build_transpose(Decoder &decoder, const Instruction &instruction) {
    Step step = aligned_step<transpose>();
    auto &plan = decoder.plan<Transposition>(step);
    plan.to = plan.from = small_matrix();
    if (!take_registers(decoder, instruction.operands[0], Type::b16, false, plan.to) ||
        !take_registers(decoder, instruction.operands[1], Type::b16, false, plan.from)) {
        return false;
    }
    decoder.emit(step);
    return true;
}

// --- wmma.load, wmma.store
// All lanes have the same address, so the first one accesses the memory of all.
struct WarpMatrix {
    MatrixAddress address;
    bool columns_first; // in memory
    Fragment fragment;
    std::size_t size; // bytes of an element
};

constexpr int most_elements = 32 * 16;
using Elements = std::array<std::uint64_t, most_elements>;

// in: the address, and the number of elements from one row (or column) to the next.
template <bool store>
void move_elements(Warp &warp, const Step &step, Elements &elements) {
    const auto &plan = *static_cast<const WarpMatrix *>(step.more);
    const int lane = std::countr_zero(warp.mask());
    const std::uint64_t begin = plan.address(warp, step, lane);
    const std::uint64_t stride = warp.lanes<std::uint32_t>(step.in[1])[lane];
    const auto rows = static_cast<std::uint64_t>(plan.fragment.rows),
               columns = static_cast<std::uint64_t>(plan.fragment.columns);
    for (std::uint64_t row = 0; row < rows; ++row) {
        for (std::uint64_t column = 0; column < columns; ++column) {
            const std::uint64_t number =
                plan.columns_first ? column * stride + row : row * stride + column;
            std::byte *const view = lane_view(warp, step, plan.address.space, lane,
                                              begin + number * plan.size, plan.size, store);
            std::uint64_t &element = elements[row * columns + column];
            store ? std::memcpy(view, &element, plan.size) : std::memcpy(&element, view, plan.size);
        }
    }
}

template <bool store>
void move_warp_matrix(Warp &warp, const Step &step) {
    const Fragment &fragment = static_cast<const WarpMatrix *>(step.more)->fragment;
    const auto number = [&](Fragment::Place place) {
        return place.row * fragment.columns + place.column;
    };
    Elements elements{};
    if constexpr (store) {
        read_elements(warp, warp.mask(), fragment, [&](Fragment::Place place, std::uint64_t bits) {
            elements[number(place)] = bits;
        });
        move_elements<true>(warp, step, elements);
    } else {
        move_elements<false>(warp, step, elements);
        write_elements(warp, warp.mask(), fragment,
                       [&](Fragment::Place place) { return elements[number(place)]; });
    }
}

template <bool store>
bool build_warp_matrix(Decoder &decoder, const Instruction &instruction) {
    const auto &operands = instruction.operands;
    const auto types = types_of(instruction);
    const auto shape = shape_of(instruction);
    if (types.size() != 1 || info(types[0]).bits < 8 || !shape) {
        return false;
    }
    const Role role = has(instruction, "a") ? Role::a : has(instruction, "b") ? Role::b : Role::c;
    Step step = aligned_step<move_warp_matrix<store>>();
    auto &plan = decoder.plan<WarpMatrix>(step);
    plan.fragment = fragment_of(role, *shape, types[0]);
    plan.size = size_of(types[0]);
    plan.columns_first = has(instruction, "col");
    plan.address = address_of(decoder, instruction, operands[store ? 0 : 1], step);
    const auto packed_stride =
        static_cast<std::uint64_t>(plan.columns_first ? plan.fragment.rows : plan.fragment.columns);
    step.in[1] = operands.size() > 2 ? decoder.source<std::uint32_t>(operands[2])
                                     : decoder.constant(packed_stride, 4);
    if (plan.fragment.rows * plan.fragment.columns > most_elements ||
        !take_registers(decoder, operands[store ? 1 : 0], types[0], true, plan.fragment)) {
        return false;
    }
    decoder.emit(step);
    return true;
}

bool build_warp(Decoder &decoder, const Instruction &instruction) {
    return has(instruction, "load")    ? build_warp_matrix<false>(decoder, instruction)
           : has(instruction, "store") ? build_warp_matrix<true>(decoder, instruction)
                                       : false;
}

constexpr Meaning meanings[] = {
    {"ldmatrix", build_small_matrices<false>},
    {"movmatrix", build_transpose},
    {"stmatrix", build_small_matrices<true>},
    {"wmma", build_warp},
};

} // namespace

std::span<const Meaning> matrix_meanings() noexcept {
    return meanings;
}

} // namespace sim::ptx::inline SIM_PTX_FEATURES
