// Decoded functions: what the executor runs.
//
// A register is an array of 32 lanes in the frame of a function, a predicate a mask. Steps
// name registers by their offsets in the frame. Constants and special registers are registers,
// which are filled when the frame is made.
#pragma once

#include "ptx/arithmetic/features.hpp"
#include "ptx/run/kernel.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace sim::ptx::inline SIM_PTX_FEATURES {

constexpr int warp_size = 32;
using Mask = std::uint32_t; // bit i: lane i
constexpr Mask all_lanes = ~Mask(0);

class Warp;
struct Step;
struct Program;
using Run = void (*)(Warp &, const Step &);

constexpr std::uint32_t no_register = ~std::uint32_t(0);

// An instruction, or a part of one.
struct Step {
    Run all = nullptr;  // all lanes of the warp are active
    Run some = nullptr; // for the lanes in Warp::mask
    std::uint32_t out = no_register;
    std::uint32_t in[4] = {no_register, no_register, no_register, no_register};
    std::uint32_t guard = no_register; // a predicate
    bool guard_negated = false;
    bool control = false;       // may change what the warp runs next
    std::uint16_t site = 0;     // of an access to memory
    std::uint64_t value = 0;    // an offset of an address, a table, the place of a target …
    const void *more = nullptr; // see the kind of step
};

struct Program {
    struct Constant {
        std::uint32_t at, size; // in the frame; bytes of a lane
        std::uint64_t value;
    };
    struct Special {
        std::uint32_t at, index; // in the frame; special_register()
        char selector;
        std::uint32_t size;
    };
    // A returned value or a parameter.
    struct Parameter {
        Space space;
        std::uint32_t at; // in the frame, or in its local memory
        std::uint32_t size;
    };

    std::string name;
    std::vector<Step> steps;
    std::vector<int> lines; // of the PTX, for each step
    std::vector<Constant> constants;
    std::vector<Constant>
        local_addresses;           // of variables, from the beginning of the memory of the frame
    std::vector<Special> specials; // the same in all blocks
    std::vector<Special> block_specials;            // of the block
    std::vector<Parameter> returns, parameters;     // of a device function
    std::uint32_t frame_size = 0;                   // bytes
    std::uint32_t local_size = 0;                   // bytes of a lane
    std::vector<std::shared_ptr<const void>> plans; // Step::more
};

// Addresses of shared, local and parameter memory among generic ones.
constexpr std::uint64_t shared_window = 0x0000'0200'0000'0000;
constexpr std::uint64_t local_window = 0x0000'0201'0000'0000;
constexpr std::uint64_t parameter_window = 0x0000'0202'0000'0000;
// A function's address, by its place in the module.
constexpr std::uint64_t code_window = 0x0000'0203'0000'0000;
constexpr std::uint64_t code_address(std::uint32_t function) noexcept {
    return code_window + 16 * std::uint64_t(function);
}
constexpr std::uint64_t window_size = 0x0000'0001'0000'0000;

} // namespace sim::ptx::inline SIM_PTX_FEATURES
