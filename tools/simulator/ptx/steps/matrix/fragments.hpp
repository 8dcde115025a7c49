// Which lane holds which element of a matrix.
//
// The matrix is cut into tiles of 8 rows, with as many columns as four registers have elements.
// Register i of the lanes holds tile i, tiles counted down the columns of tiles; lane l has row
// l / 4 and, of that row, the elements of register l % 4. Elements of 64 bits are one to a
// register. The second factor of a product is held like its transpose, and an accumulator like a
// matrix with two elements to a register, whatever its type.
//
// That is the layout of mma, ldmatrix, stmatrix and movmatrix in the PTX ISA. The ISA leaves the
// layout of wmma open; here it is the same. Where wmma has more registers than tiles, the tiles
// repeat.
#pragma once

#include "ptx/instructions.hpp"
#include "ptx/steps/decoder.hpp"

#include <optional>

namespace sim::ptx::inline SIM_PTX_FEATURES {

// m16n8k32: a is 16 x 32, b is 32 x 8, c and d are 16 x 8.
struct Shape {
    int m = 0, n = 0, k = 0;
};

enum class Role : std::uint8_t { a, b, c }; // c: an accumulator, also d

struct Fragment {
    struct Place {
        int row, column;
    };

    int rows = 0, columns = 0;
    bool transposed = false;
    int row_elements = 0; // of a lane in a tile
    int bits = 0;         // of an element
    std::vector<std::uint32_t> registers;

    int tile_rows() const noexcept { return (transposed ? columns : rows) / 8; }
    int tiles() const noexcept { return rows * columns / (warp_size * row_elements); }
    // Elements of a lane that are not repeated.
    int elements() const noexcept { return tiles() * row_elements; }
    // Elements in a register, and the registers without repetition.
    int packed() const noexcept { return bits >= 32 ? 1 : 32 / bits; }
    std::size_t least_registers() const noexcept {
        return static_cast<std::size_t>(elements() / packed());
    }

    Place place(int lane, int element) const noexcept {
        const int tile = element / row_elements;
        const int row = lane / 4 + 8 * (tile % tile_rows());
        const int column =
            row_elements * (4 * (tile / tile_rows()) + lane % 4) + element % row_elements;
        return transposed ? Place{column, row} : Place{row, column};
    }
};

// The shape that an instruction names, as .m16n8k16.
std::optional<Shape> shape_of(const Instruction &instruction);
// The types that an instruction names, in order.
std::vector<Type> types_of(const Instruction &instruction);
// Without registers.
Fragment fragment_of(Role role, const Shape &shape, Type type);
// A fragment of elements of 16 bits: 8 rows of 8.
Fragment small_matrix();
// Sets the registers of a fragment; false if they are not as many as it needs, or of another size.
// repeats: more may follow, which repeat the first.
bool take_registers(Decoder &decoder, const Operand &operand, Type type, bool repeats,
                    Fragment &fragment);

// --- elements as bits
// Calls function(place, bits) for each element of each lane in the mask.
template <class Function>
void read_elements(Warp &warp, Mask mask, const Fragment &fragment, const Function &function) {
    const int packed = fragment.packed(), elements = fragment.elements();
    for (int element = 0; element < elements; ++element) {
        const auto at = fragment.registers[static_cast<std::size_t>(element / packed)];
        const int shift = element % packed * fragment.bits;
        for_each_lane(mask, [&](int lane) {
            const std::uint64_t bits = fragment.bits == 64
                                           ? warp.lanes<std::uint64_t>(at)[lane]
                                           : warp.lanes<std::uint32_t>(at)[lane] >> shift &
                                                 ~std::uint32_t(0) >> (32 - fragment.bits);
            function(fragment.place(lane, element), bits);
        });
    }
}

// Sets each element to function(place), also where elements repeat.
template <class Function>
void write_elements(Warp &warp, Mask mask, const Fragment &fragment, const Function &function) {
    const int packed = fragment.packed(), elements = fragment.elements();
    for (std::size_t i = 0; i < fragment.registers.size(); ++i) {
        for_each_lane(mask, [&](int lane) {
            std::uint64_t bits = 0;
            for (int part = 0; part < packed; ++part) {
                const int element = (static_cast<int>(i) * packed + part) % elements;
                bits |= static_cast<std::uint64_t>(function(fragment.place(lane, element)))
                        << (part * fragment.bits);
            }
            if (fragment.bits == 64) {
                warp.lanes<std::uint64_t>(fragment.registers[i])[lane] = bits;
            } else {
                warp.lanes<std::uint32_t>(fragment.registers[i])[lane] =
                    static_cast<std::uint32_t>(bits);
            }
        });
    }
}

// A step of all lanes of the warp together.
template <void run(Warp &, const Step &)>
Step aligned_step() {
    Step step;
    step.control = true;
    step.all = step.some = [](Warp &warp, const Step &self) {
        if (warp.converged(all_lanes)) {
            run(warp, self);
        }
    };
    return step;
}

} // namespace sim::ptx::inline SIM_PTX_FEATURES
