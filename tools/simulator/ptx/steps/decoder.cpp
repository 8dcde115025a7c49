#include "ptx/steps/decoder.hpp"
#include "ptx/expressions.hpp"
#include "ptx/instructions.hpp"
#include "ptx/run/special_values.hpp"
#include "ptx/special_registers.hpp"
#include "ptx/steps/meanings.hpp"

#include <algorithm>

namespace sim::ptx::inline SIM_PTX_FEATURES {
namespace {

using Kind = Operand::Kind;

// A value in a register of another size: cut, or extended by its sign.
template <class Out>
struct Resize {
    template <class T>
    Out operator()(T value) const {
        using Extended = std::conditional_t<std::is_signed_v<T>, std::make_signed_t<Out>, Out>;
        return static_cast<Out>(static_cast<Extended>(value));
    }
};

template <class Out, class In>
constexpr std::pair<Run, Run> resize = {EachLane<Resize<Out>, Out, In>::all,
                                        EachLane<Resize<Out>, Out, In>::some};

template <class In>
std::pair<Run, Run> resize_to(std::uint32_t size) {
    switch (size) {
    case 1:
        return resize<std::uint8_t, In>;
    case 2:
        return resize<std::uint16_t, In>;
    case 4:
        return resize<std::uint32_t, In>;
    default:
        return resize<std::uint64_t, In>;
    }
}

std::pair<Run, Run> resize_of(std::uint32_t from, std::uint32_t to, bool is_signed) {
    switch (from) {
    case 1:
        return is_signed ? resize_to<std::int8_t>(to) : resize_to<std::uint8_t>(to);
    case 2:
        return is_signed ? resize_to<std::int16_t>(to) : resize_to<std::uint16_t>(to);
    case 4:
        return is_signed ? resize_to<std::int32_t>(to) : resize_to<std::uint32_t>(to);
    default:
        return resize_to<std::uint64_t>(to);
    }
}

// ret is made here, too; the builders of the others check what they use.
bool takes_unchecked(const Opcode &opcode) {
    static constexpr std::string_view names[] = {"ret", "mma", "wmma"};
    return std::find(std::begin(names), std::end(names), opcode.name) != std::end(names);
}

bool build(Decoder &decoder, const Instruction &instruction) {
    static const std::span<const Meaning> topics[] = {
        integer_meanings(), real_meanings(),    conversion_meanings(), move_meanings(),
        memory_meanings(),  atomic_meanings(),  control_meanings(),    exchange_meanings(),
        barrier_meanings(), compare_meanings(), bit_meanings(),        approximation_meanings(),
        matrix_meanings(),  product_meanings(), async_meanings(),      mbarrier_meanings(),
    };
    for (const std::span<const Meaning> topic : topics) {
        for (const Meaning &meaning : topic) {
            if (meaning.opcode == instruction.opcode->name && meaning.build(decoder, instruction)) {
                return true;
            }
        }
    }
    return false;
}

// Registers of a function for a warp, with its constants.
constexpr std::uint32_t most_frame_bytes = 1 << 24;

std::uint32_t size_of_type(Type type) {
    return type == Type::pred ? 0 : static_cast<std::uint32_t>(size_of(type));
}

} // namespace

bool has(const Instruction &instruction, std::string_view modifier) noexcept {
    std::string_view rest = instruction.modifiers;
    while (!rest.empty()) {
        rest.remove_prefix(1);
        const std::size_t end = std::min(rest.find('.'), rest.size());
        if (rest.substr(0, end) == modifier) {
            return true;
        }
        rest.remove_prefix(end);
    }
    return false;
}

Space space_of(const Instruction &instruction, const Function &function) {
    if (has(instruction, "global") || has(instruction, "const")) {
        return Space::global;
    }
    // A cluster has one block here.
    if (has(instruction, "shared") || has(instruction, "shared::cta") ||
        has(instruction, "shared::cluster")) {
        return Space::shared;
    }
    if (has(instruction, "local")) {
        return Space::local;
    }
    if (has(instruction, "param") || has(instruction, "param::entry") ||
        has(instruction, "param::func")) {
        return function.kernel ? Space::param : Space::local;
    }
    return Space::none;
}

Rounding rounding_of(const Instruction &instruction) noexcept {
    return has(instruction, "rz")   ? Rounding::rz
           : has(instruction, "rm") ? Rounding::rm
           : has(instruction, "rp") ? Rounding::rp
                                    : Rounding::rn;
}

Decoder::Decoder(Layout &layout, const Function &function, Program &program)
    : layout_(layout), function_(function), program_(program) {
    for (const Register &one : function.registers) {
        registers_.push_back(
            allocate(size_of_type(one.type) * std::max<std::uint32_t>(one.vector, 1)));
    }
}

void Decoder::decode() {
    std::uint32_t next_register = 0;
    for (std::uint32_t i = 0; !function_.kernel && i < function_.returns + function_.parameters;
         ++i) {
        const Variable &variable = function_.variables[i];
        std::vector<Program::Parameter> &list =
            i < function_.returns ? program_.returns : program_.parameters;
        if (variable.space != Space::reg) {
            Operand operand;
            operand.kind = Kind::variable;
            operand.index = i;
            list.push_back(parameter(operand, false));
        } else if (variable.name.empty() || variable.name == "_") { // without a register
            const std::uint32_t size = size_of_type(variable.type);
            list.push_back({Space::reg, temporary(size), size});
        } else {
            Operand operand;
            operand.kind = Kind::reg;
            operand.index = next_register++;
            list.push_back(parameter(operand, false));
        }
    }
    std::vector<std::size_t> first_steps;
    for (const Instruction &instruction : function_.instructions) {
        first_steps.push_back(program_.steps.size());
        begin(instruction);
        decode(instruction);
        program_.lines.resize(program_.steps.size(), instruction.line);
    }
    first_steps.push_back(program_.steps.size());
    // A function that ends without ret returns.
    instruction_ = nullptr;
    guard_ = no_register;
    static const Opcode *const ret = find_opcode("ret");
    Instruction last;
    last.opcode = ret;
    decode(last);
    program_.lines.resize(program_.steps.size(), 0);
    for (Step &step : program_.steps) {
        if (step.control && step.more == &function_) { // a label
            step.value = first_steps[function_.labels[step.value].instruction];
        }
    }
    for (Step &step : program_.steps) {
        if (step.control && step.more == &function_) {
            step.more = program_.steps.data() + step.value;
        }
    }
}

void Decoder::begin(const Instruction &instruction) {
    instruction_ = &instruction;
    guard_ = no_register;
    if (instruction.guard.kind != Kind::reg) {
        return;
    }
    guard_ = registers_[instruction.guard.index];
}

void Decoder::decode(const Instruction &instruction) {
    // Operands of instructions without a form are not checked, so only some builders can take them.
    const bool is_known = instruction.opcode != nullptr &&
                          (instruction.form != nullptr || takes_unchecked(*instruction.opcode));
    if (!is_known || !build(*this, instruction)) {
        not_executed(instruction);
    }
}

void Decoder::not_executed(const Instruction &instruction) const {
    throw NotExecuted{instruction.line,
                      std::string(instruction.opcode ? instruction.opcode->name : "?") +
                          std::string(instruction.modifiers)};
}

std::uint32_t Decoder::allocate(std::uint32_t size) {
    const std::uint32_t bytes = size == 0 ? sizeof(Mask) : size * warp_size;
    const std::uint32_t alignment = size == 0 ? sizeof(Mask) : 32;
    const std::uint32_t offset = (program_.frame_size + alignment - 1) / alignment * alignment;
    if (bytes > most_frame_bytes || offset > most_frame_bytes - bytes) {
        throw NotExecuted{function_.line, "a function with too many registers"};
    }
    program_.frame_size = offset + bytes;
    return offset;
}

std::uint32_t Decoder::temporary(std::uint32_t size) {
    return allocate(size);
}

std::uint32_t Decoder::constant(std::uint64_t value, std::uint32_t size) {
    const auto [place, is_new] = constants_.try_emplace({value, size});
    if (is_new) {
        place->second = allocate(size);
        program_.constants.push_back({place->second, size, value});
    }
    return place->second;
}

// The element of a vector register that a selector names; 0 for other registers.
std::uint32_t Decoder::element(const Operand &operand) const {
    const std::uint8_t elements = function_.registers[operand.index].vector;
    if (operand.selector == 0 && elements <= 1) {
        return 0;
    }
    const std::size_t position = std::string_view("xyzwrgba").find(operand.selector);
    if (operand.selector == 0 || position == std::string_view::npos || position % 4 >= elements) {
        not_executed(*instruction_);
    }
    return static_cast<std::uint32_t>(position % 4);
}

std::uint32_t Decoder::special(const Operand &operand, std::uint32_t size) {
    const SpecialRegister &which = special_register(operand.index);
    const std::uint32_t own = size_of_type(which.type);
    if (const Run clock = clock_step(operand.index)) {
        Step step;
        step.all = step.some = clock;
        step.out = temporary(own);
        emit(step);
        return own == size ? step.out : resized(step.out, own, size);
    }
    const auto [place, is_new] = specials_.try_emplace({operand.index, operand.selector});
    if (is_new) {
        place->second = allocate(own);
        (is_of_block(operand.index) ? program_.block_specials : program_.specials)
            .push_back({place->second, operand.index, operand.selector, own});
    }
    return own == size ? place->second : resized(place->second, own, size);
}

// Predicates and values of 128 bits have no other sizes.
void Decoder::check_sizes(std::uint32_t from, std::uint32_t to) const {
    const auto can_change = [](std::uint32_t size) { return size >= 1 && size <= 8; };
    if (!can_change(from) || !can_change(to)) {
        not_executed(*instruction_);
    }
}

std::uint32_t Decoder::resized(std::uint32_t from, std::uint32_t from_size, std::uint32_t size) {
    check_sizes(from_size, size);
    Step step;
    std::tie(step.all, step.some) = resize_of(from_size, size, false);
    step.in[0] = from;
    step.out = temporary(size);
    emit(step);
    return step.out;
}

std::uint32_t Decoder::size_of_register(const Operand &operand) const {
    return operand.kind == Kind::reg ? size_of_type(function_.registers[operand.index].type) : 0;
}

std::uint32_t Decoder::carry() {
    if (carry_ == no_register) {
        carry_ = allocate(0);
    }
    return carry_;
}

std::uint32_t Decoder::negated(std::uint32_t predicate) {
    Step step;
    step.all = step.some = [](Warp &warp, const Step &negation) {
        warp.predicate(negation.out) = ~warp.predicate(negation.in[0]);
    };
    step.in[0] = predicate;
    step.out = temporary(0);
    emit(step);
    return step.out;
}

Space Decoder::space_of(const Operand &variable) const {
    if (variable.kind == Kind::module_variable) {
        return layout_.module().variables[variable.index].space;
    }
    const Space space = function_.variables[variable.index].space;
    const bool of_kernel = function_.kernel && variable.index < function_.parameters;
    return space == Space::param && !of_kernel ? Space::local : space;
}

// Addresses of local memory depend on the frame.
std::uint32_t Decoder::address_of(const Operand &variable, std::uint32_t size) {
    const std::uint64_t address =
        (variable.kind == Kind::variable ? layout_.address_of(function_, variable.index)
                                         : layout_.address_of(variable.index)) +
        variable.value;
    if (space_of(variable) != Space::local) {
        return constant(address, size);
    }
    const std::uint32_t at = allocate(size);
    program_.local_addresses.push_back({at, size, address});
    return at;
}

std::uint32_t Decoder::source(const Operand &operand, std::uint32_t size, Type type) {
    switch (operand.kind) {
    case Kind::reg: {
        const std::uint32_t own = size_of_register(operand);
        const std::uint32_t at = registers_[operand.index] + element(operand) * own * warp_size;
        if (operand.negated && own == 0 && size == 0) {
            return negated(at);
        }
        return own == size ? at : resized(at, own, size);
    }
    case Kind::special:
        return special(operand, size);
    case Kind::variable:
    case Kind::module_variable:
        return address_of(operand, size);
    case Kind::integer:
    case Kind::real:
    case Kind::bits32:
    case Kind::bits64: {
        const std::uint64_t value = bits_of(operand, type);
        return constant(
            size == 0 || size == 8 ? value : value & ((std::uint64_t(1) << (8 * size)) - 1), size);
    }
    case Kind::sink:
        return constant(0, size);
    case Kind::function:
        return constant(code_address(operand.index), size);
    default:
        not_executed(*instruction_);
    }
}

void Decoder::emit(Step step, const Operand &result, std::uint32_t size, bool is_signed) {
    if (result.kind == Kind::reg && size_of_register(result) == size) {
        step.out = source(result, size, Type::none);
        emit(step);
        return;
    }
    step.out = temporary(size);
    emit(step);
    if (result.kind == Kind::reg) {
        widen(step.out, size, result, is_signed);
    }
}

void Decoder::widen(std::uint32_t from, std::uint32_t size, const Operand &result, bool is_signed) {
    const std::uint32_t own = size_of_register(result);
    check_sizes(size, own);
    Step step;
    std::tie(step.all, step.some) = resize_of(size, own, is_signed);
    step.in[0] = from;
    step.out = source(result, own, Type::none);
    emit(step);
}

void Decoder::emit(Step step) {
    step.guard = guard_;
    step.guard_negated = guard_ != no_register && instruction_->guard.negated;
    program_.steps.push_back(step);
}

Decoder::Address Decoder::address(const Operand &operand) {
    const Operand &base = operand.parts[0];
    switch (base.kind) {
    case Kind::reg: {
        const std::uint32_t size = size_of_register(base);
        return {source(base, size, Type::none), size, base.value, Space::none};
    }
    case Kind::variable:
    case Kind::module_variable:
        return {source(base, 8, Type::b64), 8, 0, space_of(base)};
    case Kind::integer:
        return {constant(base.value, 8), 8, 0, Space::none};
    default:
        not_executed(*instruction_);
    }
}

Program::Parameter Decoder::parameter(const Operand &operand, bool is_result) {
    if (operand.kind == Kind::variable) {
        if (space_of(operand) != Space::local) {
            not_executed(*instruction_);
        }
        const Variable &variable = function_.variables[operand.index];
        return {Space::local,
                static_cast<std::uint32_t>(layout_.address_of(function_, operand.index)),
                static_cast<std::uint32_t>(variable.size())};
    }
    if (operand.kind == Kind::reg) {
        const std::uint32_t size = size_of_register(operand);
        return {Space::reg, source(operand, size, Type::b64), size};
    }
    if (is_result) { // _
        if (operand.kind != Kind::sink) {
            not_executed(*instruction_);
        }
        return {Space::reg, temporary(8), 8};
    }
    return {Space::reg, source(operand, 8, Type::b64), 8};
}

std::vector<const Operand *> Decoder::parts(const Operand &operand) const {
    std::vector<const Operand *> all;
    if (operand.kind == Kind::vector) {
        for (const Operand &part : operand.parts) {
            all.push_back(&part);
        }
    } else {
        all.push_back(&operand);
    }
    return all;
}

} // namespace sim::ptx::inline SIM_PTX_FEATURES
