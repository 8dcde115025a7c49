// A PTX module as data: what the reader makes of a text. Names in it are resolved.
#pragma once

#include "ptx/types.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sim::ptx {

enum class Space : std::uint8_t { none, reg, global, constant, shared, local, param };

// Visibility of a name to other linked modules: none, the first definition wins, or global.
enum class Linkage : std::uint8_t { local, weak, visible, external };

// An element of an initializer: a value, or the address of a variable or a function.
struct Initial {
    std::uint64_t value = 0; // or an offset from the address; reals as in memory
    std::string symbol;      // empty: no address
};

struct Variable {
    std::string name;
    Space space = Space::none;
    Linkage linkage = Linkage::local;
    Type type = Type::none;
    std::uint8_t vector = 1; // elements of .v2, .v4 …
    std::size_t alignment = 0;
    std::size_t count =
        1; // elements of an array, all dimensions; 0: as many as the initializer has
    bool managed = false;
    std::vector<Initial> initial;
    int line = 0;

    std::size_t size() const noexcept { return count * vector * size_of(type); }
};

struct Register {
    Type type;
    std::uint8_t vector; // elements
};

struct Operand {
    enum class Kind : std::uint8_t {
        sink,            // _
        reg,             // index: a register of the function
        special,         // index: a special register (special_registers.hpp)
        integer,         // value
        real,            // value: the bits of a double
        bits32,          // value: 0f3F800000
        bits64,          // value: 0d3FF0000000000000
        module_variable, // index: a variable of the module; value: an offset
        variable,        // index: a variable of the function; value: an offset
        function,        // index: a function of the module
        label,           // index: a label of the function
        list,            // index: a prototype or a list of targets of the function
        address,         // [parts]: base and, for textures, coordinates
        vector,          // {parts}
        pair,            // parts[0]|parts[1]
        arguments,       // (parts) of a call
    };
    Kind kind = Kind::sink;
    bool negated = false; // !predicate, -register
    char selector = 0;    // x y z w of a vector; 0: none
    std::uint32_t index = 0;
    std::uint64_t value = 0;
    std::vector<Operand> parts;
};

struct Opcode; // instructions.hpp
struct Form;

struct Instruction {
    const Opcode *opcode = nullptr;
    const Form *form = nullptr; // null: the operands of this opcode are not checked
    std::string_view modifiers; // ".global.u32", in the text
    std::array<Type, 4> types{};
    Operand guard; // a register, or a sink if there is none
    std::vector<Operand> operands;
    int line = 0;     // of the text
    int location = 0; // index of the function's locations; 0: none
};

// A line of source code: .loc.
struct Location {
    int file = 0, line = 0;
};

struct Label {
    std::string name;
    std::size_t instruction = 0; // index of the instruction behind it
};

// A list of labels or functions, or the prototype of an indirect call.
struct List {
    std::vector<Operand> targets;
    std::size_t returns = 0, parameters = 0;
    bool prototype = false;
};

struct Function {
    std::string name;
    bool kernel = false, defined = false;
    Linkage linkage = Linkage::local;
    std::size_t returns = 0,
                parameters = 0;      // the first variables are the returned ones, then these
    std::vector<Variable> variables; // without those of the module
    std::vector<Register> registers;
    std::vector<Label> labels;
    std::vector<List> lists;
    std::vector<Location> locations;
    std::vector<Instruction> instructions;
    unsigned int max_threads = 1024;
    unsigned int max_registers = 255;
    std::array<unsigned int, 3> cluster{}; // zeros: not set
    bool explicit_cluster = false;
    unsigned int max_cluster_rank = 0; // blocks; 0: no limit
    int line = 0;
};

struct Module {
    int version = 0; // 84 for 8.4
    int target = 0;  // 90 for sm_90
    std::vector<Variable> variables;
    std::vector<Function> functions;
    std::vector<std::string> files; // by their numbers
    // Functions that are called, but neither defined here nor by the driver.
    std::vector<std::string> unresolved;
};

} // namespace sim::ptx
