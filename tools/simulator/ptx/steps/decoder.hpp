// Makes steps of instructions.
#pragma once

#include "ptx/arithmetic/small_reals.hpp"
#include "ptx/instructions.hpp"
#include "ptx/run/lanes.hpp"
#include "ptx/run/program.hpp"

#include <initializer_list>
#include <map>
#include <string_view>
#include <utility>

namespace sim::ptx::inline SIM_PTX_FEATURES {

// Whether an instruction has a modifier: "ftz".
bool has(const Instruction &instruction, std::string_view modifier) noexcept;

// The space that an instruction names; none for generic addresses.
Space space_of(const Instruction &instruction, const Function &function);

// Where what a function names is, for all functions of a kernel.
class Layout {
  public:
    virtual ~Layout() = default;
    virtual std::uint64_t address_of(std::uint32_t module_variable) = 0; // of its space
    virtual std::uint64_t address_of(const Function &function, std::uint32_t variable) = 0;
    virtual const Program &program_of(std::uint32_t function) = 0;
    // The functions that an indirect call can reach.
    virtual const std::map<std::uint64_t, const Program *> &functions_by_address() = 0;
    virtual std::uint16_t new_site() = 0;
    virtual const Module &module() const = 0;
};

class Decoder {
  public:
    Decoder(Layout &layout, const Function &function, Program &program);

    void decode();

    // --- for builders
    Layout &layout() noexcept { return layout_; }
    const Function &function() const noexcept { return function_; }
    Program &program() noexcept { return program_; }
    // The lanes of a source, `size` bytes each; 0 for a predicate. type: of a constant.
    std::uint32_t source(const Operand &operand, std::uint32_t size, Type type);
    template <class T>
    std::uint32_t source(const Operand &operand);
    // The carry flag, a predicate.
    std::uint32_t carry();
    // A register of the frame that nothing else uses.
    std::uint32_t temporary(std::uint32_t size);
    std::uint32_t constant(std::uint64_t value, std::uint32_t size);
    // Adds a step whose result is an operand, in a register that may be wider.
    void emit(Step step, const Operand &result, std::uint32_t size, bool is_signed);
    template <class Out>
    void emit(Step step, const Operand &result);
    // Writes a register to one that is wider.
    void widen(std::uint32_t from, std::uint32_t size, const Operand &result, bool is_signed);
    // Adds a step with the guard of the instruction.
    void emit(Step step);
    // An address: its base in a register of 4 or 8 bytes, and what is added; the space of a
    // variable.
    struct Address {
        std::uint32_t base, size;
        std::uint64_t offset;
        Space space;
    };
    Address address(const Operand &operand);
    // What a step needs in addition: Step::more.
    template <class Plan>
    Plan &plan(Step &step) {
        const auto made = std::make_shared<Plan>();
        program_.plans.push_back(made);
        step.more = made.get();
        return *made;
    }
    // Where a function finds a parameter, or a call its argument.
    Program::Parameter parameter(const Operand &operand, bool is_result);
    // The registers of a vector or of one register.
    std::vector<const Operand *> parts(const Operand &operand) const;
    std::uint32_t size_of_register(const Operand &operand) const;
    [[noreturn]] void not_executed(const Instruction &instruction) const;

  private:
    std::uint32_t allocate(std::uint32_t size);
    std::uint32_t special(const Operand &operand, std::uint32_t size);
    std::uint32_t element(const Operand &operand) const;
    std::uint32_t negated(std::uint32_t predicate);
    void check_sizes(std::uint32_t from, std::uint32_t to) const;
    std::uint32_t resized(std::uint32_t from, std::uint32_t from_size, std::uint32_t size);
    Space space_of(const Operand &variable) const;
    std::uint32_t address_of(const Operand &variable, std::uint32_t size);
    void begin(const Instruction &instruction);
    void decode(const Instruction &instruction);

    Layout &layout_;
    const Function &function_;
    Program &program_;
    std::vector<std::uint32_t> registers_; // offsets in the frame
    std::map<std::pair<std::uint64_t, std::uint32_t>, std::uint32_t> constants_;
    std::map<std::pair<std::uint32_t, char>, std::uint32_t> specials_;
    std::vector<std::size_t> branches_; // steps whose value is a label
    std::uint32_t guard_ = no_register, carry_ = no_register;
    const Instruction *instruction_ = nullptr;
};

// Makes the steps of an instruction; false if it does not execute this form of it.
using Build = bool (*)(Decoder &, const Instruction &);
struct Meaning {
    std::string_view opcode;
    Build build;
};

// The C++ type of a register of a PTX type.
template <Type type>
struct ValueOf;
template <>
struct ValueOf<Type::pred> {
    using type = bool;
};
template <>
struct ValueOf<Type::b8> {
    using type = std::uint8_t;
};
template <>
struct ValueOf<Type::u8> {
    using type = std::uint8_t;
};
template <>
struct ValueOf<Type::s8> {
    using type = std::int8_t;
};
template <>
struct ValueOf<Type::b16> {
    using type = std::uint16_t;
};
template <>
struct ValueOf<Type::u16> {
    using type = std::uint16_t;
};
template <>
struct ValueOf<Type::s16> {
    using type = std::int16_t;
};
template <>
struct ValueOf<Type::b32> {
    using type = std::uint32_t;
};
template <>
struct ValueOf<Type::u32> {
    using type = std::uint32_t;
};
template <>
struct ValueOf<Type::s32> {
    using type = std::int32_t;
};
template <>
struct ValueOf<Type::b64> {
    using type = std::uint64_t;
};
template <>
struct ValueOf<Type::u64> {
    using type = std::uint64_t;
};
template <>
struct ValueOf<Type::s64> {
    using type = std::int64_t;
};
template <>
struct ValueOf<Type::f16> {
    using type = F16;
};
template <>
struct ValueOf<Type::bf16> {
    using type = BF16;
};
template <>
struct ValueOf<Type::f32> {
    using type = float;
};
template <>
struct ValueOf<Type::f64> {
    using type = double;
};
template <>
struct ValueOf<Type::u16x2> {
    using type = Pair<std::uint16_t>;
};
template <>
struct ValueOf<Type::s16x2> {
    using type = Pair<std::int16_t>;
};
template <>
struct ValueOf<Type::f16x2> {
    using type = Pair<F16>;
};
template <>
struct ValueOf<Type::bf16x2> {
    using type = Pair<BF16>;
};
template <>
struct ValueOf<Type::tf32> {
    using type = TF32;
};
template <>
struct ValueOf<Type::e4m3x2> {
    using type = Pair<E4M3>;
};
template <>
struct ValueOf<Type::e5m2x2> {
    using type = Pair<E5M2>;
};
template <Type type>
using Value = typename ValueOf<type>::type;

template <class T>
constexpr std::uint32_t size_in_frame = std::is_same_v<T, bool> ? 0 : sizeof(T);

template <class T>
std::uint32_t Decoder::source(const Operand &operand) {
    constexpr Type type = std::is_same_v<T, float>    ? Type::f32
                          : std::is_same_v<T, double> ? Type::f64
                          : sizeof(T) == 8            ? Type::b64
                          : sizeof(T) == 4            ? Type::b32
                          : sizeof(T) == 2            ? Type::b16
                                                      : Type::b8;
    return source(operand, size_in_frame<T>, type);
}

template <class Out>
void Decoder::emit(Step step, const Operand &result) {
    emit(step, result, size_in_frame<Out>, std::is_signed_v<Out>);
}

// A step of each lane: the operands in order, the result first.
template <class Operation, class Out, class... In>
void build_each(Decoder &decoder, const Instruction &instruction,
                std::type_identity<Out(In...)> /*signature*/, Rounding rounding = Rounding::rn) {
    Step step;
    step.all = EachLane<Operation, Out, In...>::all;
    step.some = EachLane<Operation, Out, In...>::some;
    if constexpr (std::is_floating_point_v<Out>) {
        if (rounding != Rounding::rn) {
            step.all = EachLaneRounded<Operation, Out, In...>::all;
            step.some = EachLaneRounded<Operation, Out, In...>::some;
            step.value = static_cast<std::uint64_t>(rounding);
        }
    }
    std::size_t number = 0;
    ((step.in[number] = decoder.source<In>(instruction.operands[number + 1]), ++number), ...);
    decoder.emit<Out>(step, instruction.operands[0]);
}

// .rn .rz .rm .rp; to nearest without one.
Rounding rounding_of(const Instruction &instruction) noexcept;

// Pairs of values have the operation of their elements.
template <class Operation, class T>
struct OperationOf {
    using type = Operation;
};
template <class Operation, class T>
struct OperationOf<Operation, Pair<T>> {
    using type = Pairwise<Operation>;
};
template <class Operation, class T>
using OperationFor = typename OperationOf<Operation, T>::type;

// An operation by the first type of the instruction. Signature<T>: T(T, T), for example.
template <class Operation, template <class> class Signature, Type... types>
bool by_type(Decoder &decoder, const Instruction &instruction) {
    return ((instruction.types[0] == types &&
             (build_each<OperationFor<Operation, Value<types>>>(
                  decoder, instruction, std::type_identity<Signature<Value<types>>>(),
                  rounding_of(instruction)),
              true)) ||
            ...);
}

// Signatures.
template <class T>
using One = T(T);
template <class T>
using Two = T(T, T);
template <class T>
using Three = T(T, T, T);

} // namespace sim::ptx::inline SIM_PTX_FEATURES
