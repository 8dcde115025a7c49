// Finds the form of an instruction, and checks its operands.
#include "ptx/instructions.hpp"
#include "ptx/problem.hpp"
#include "ptx/special_registers.hpp"

#include <algorithm>
#include <map>
#include <mutex>
#include <string>

namespace sim::ptx {
namespace {

using Kind = Operand::Kind;

std::vector<std::string_view> split(std::string_view text, char separator) {
    std::vector<std::string_view> parts;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find(separator), text.size());
        if (end != 0) {
            parts.push_back(text.substr(0, end));
        }
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return parts;
}

// Words that stand for several modifiers in a form.
struct Group {
    std::string_view name, modifiers;
};
constexpr Group groups[] = {
    {"ROUND", "rn|rz|rm|rp"},
    {"COMPARE", "eq|ne|lt|le|gt|ge|equ|neu|ltu|leu|gtu|geu|num|nan"},
    {"ORDER", "weak|volatile|relaxed|acquire|release|acq_rel|sc|mmio"},
    {"SCOPE", "cta|cluster|gpu|sys"},
    {"SPACE",
     "const|global|local|param|param::entry|param::func|shared|shared::cta|shared::cluster"},
    {"MBARRIER", "shared|shared::cta|shared::cluster"},
    {"GEOMETRY", "1d|2d|3d|a1d|a2d|cube|acube|2dms|a2dms"},
    {"WMMA", "m16n16k16|m32n8k16|m8n32k16|m16n16k8|m8n8k4|m8n8k32|m8n8k128"},
};
// More than one of these is allowed.
constexpr Group lists[] = {
    {"CACHE", "ca cg cs lu cv wb wt nc L1::evict_normal|L1::evict_unchanged|L1::evict_first|"
              "L1::evict_last|L1::no_allocate L2::cache_hint L2::evict_first|L2::evict_last|"
              "L2::evict_normal L2::64B|L2::128B|L2::256B unified"},
    {"ATOMIC", "ORDER SCOPE SPACE L2::cache_hint L1::no_allocate"},
    {"COPY", "async! ca|cg! shared|shared::cta! global! L2::64B|L2::128B|L2::256B"},
    {"ARRIVE", "arrive|arrive_drop! release|relaxed SCOPE MBARRIER"},
    {"MMA", "sync! aligned! row! col!"},
};

// The modifiers of a form: one of each choice at most.
struct Choice {
    std::vector<std::string_view> words;
    bool required = false;
};

Choice choice_of(std::string_view part) {
    Choice choice;
    choice.required = part.ends_with('!');
    part.remove_suffix(choice.required ? 1 : 0);
    for (const std::string_view word : split(part, '|')) {
        const auto group = std::find_if(std::begin(groups), std::end(groups),
                                        [&](const Group &one) { return one.name == word; });
        if (group == std::end(groups)) {
            choice.words.push_back(word);
        } else {
            const auto words = split(group->modifiers, '|');
            choice.words.insert(choice.words.end(), words.begin(), words.end());
        }
    }
    return choice;
}

void add_choices(std::string_view text, std::vector<Choice> &choices) {
    for (const std::string_view part : split(text, ' ')) {
        const auto list = std::find_if(std::begin(lists), std::end(lists),
                                       [&](const Group &group) { return group.name == part; });
        if (list != std::end(lists)) {
            add_choices(list->modifiers, choices);
            continue;
        }
        choices.push_back(choice_of(part));
    }
}

// A form, taken apart.
struct Pattern {
    std::vector<std::vector<Type>> types; // of each position
    std::vector<Choice> choices;
    std::vector<std::string_view> operands;
};

Pattern pattern_of(const Form &form) {
    Pattern pattern;
    for (const std::string_view position : split(form.types, ':')) {
        std::vector<Type> &types = pattern.types.emplace_back();
        for (const std::string_view type : split(position, ' ')) {
            types.push_back(find_type(type));
        }
    }
    add_choices(form.modifiers, pattern.choices);
    pattern.operands = split(form.operands, ' ');
    return pattern;
}

// Made at the first use: most texts have few of the forms.
const Pattern &pattern(const Form &form) {
    static std::mutex mutex;
    static std::map<const Form *, Pattern> patterns;
    const std::lock_guard held(mutex);
    const auto found = patterns.find(&form);
    return found != patterns.end() ? found->second
                                   : patterns.emplace(&form, pattern_of(form)).first->second;
}

// What is behind the name: the types in order, and the other modifiers.
struct Modifiers {
    std::vector<Type> types;
    std::vector<std::string_view> words;
};

bool is_modifier(std::string_view word) {
    return word.find_first_not_of(
               "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_:") == word.npos;
}

Modifiers modifiers_of(const Instruction &instruction) {
    Modifiers modifiers;
    for (const std::string_view word : split(instruction.modifiers, '.')) {
        const Type type = find_type(word);
        if (type != Type::none) {
            modifiers.types.push_back(type);
        } else if (is_modifier(word)) {
            modifiers.words.push_back(word);
        }
    }
    return modifiers;
}

bool has_types(const Pattern &pattern, const Modifiers &modifiers) {
    return std::equal(pattern.types.begin(), pattern.types.end(), modifiers.types.begin(),
                      modifiers.types.end(), [](const std::vector<Type> &allowed, Type type) {
                          return std::find(allowed.begin(), allowed.end(), type) != allowed.end();
                      });
}

bool has_modifiers(const Pattern &pattern, const Modifiers &modifiers) {
    std::size_t known = 0;
    for (const Choice &choice : pattern.choices) {
        const auto number = std::count_if(
            modifiers.words.begin(), modifiers.words.end(), [&](std::string_view word) {
                return std::find(choice.words.begin(), choice.words.end(), word) !=
                       choice.words.end();
            });
        if (number > 1 || (choice.required && number == 0)) {
            return false;
        }
        known += static_cast<std::size_t>(number);
    }
    return known == modifiers.words.size();
}

// Checks the operands of an instruction that has this form.
class OperandCheck {
  public:
    OperandCheck(const Instruction &instruction, const Modifiers &modifiers, const Module &module,
                 const Function &function)
        : instruction_(instruction), modifiers_(modifiers), module_(module), function_(function) {}

    bool fit(const Pattern &pattern) const {
        const std::vector<Operand> &operands = instruction_.operands;
        std::size_t at = 0;
        for (std::string_view wanted : pattern.operands) {
            const bool optional = wanted.ends_with('?');
            wanted.remove_suffix(optional ? 1 : 0);
            if (at == operands.size()) {
                if (optional) {
                    continue;
                }
                return false;
            }
            // An optional operand is left out if another must follow.
            if (optional && operands.size() < pattern.operands.size() &&
                pattern.operands.back().ends_with('?') == false) {
                continue;
            }
            if (!fits(operands[at], wanted)) {
                return false;
            }
            ++at;
        }
        return at == operands.size();
    }

  private:
    bool fits(const Operand &operand, std::string_view wanted) const {
        const bool result = wanted.starts_with('=');
        wanted.remove_prefix(result ? 1 : 0);
        if (const std::size_t bar = wanted.find('|'); bar != wanted.npos) {
            if (operand.kind == Kind::pair) {
                return fits_value(operand.parts[0], wanted.substr(0, bar), true) &&
                       fits_value(operand.parts[1], wanted.substr(bar + 1), true);
            }
            wanted = wanted.substr(0, bar);
        }
        return fits_value(operand, wanted, result);
    }

    bool fits_value(const Operand &operand, std::string_view wanted, bool result) const {
        const char first = wanted[0];
        if (const std::size_t star = wanted.find('*'); star == 1) {
            return fits_vector(operand, static_cast<std::size_t>(first - '0'),
                               find_type(wanted.substr(2)), result, false);
        }
        if (wanted.size() == 1) {
            switch (first) {
            case '*':
                return operand.kind != Kind::sink;
            case 'P':
                return fits_address(operand);
            case 'A':
                return fits_any_address(operand);
            case 'T':
                return fits_texture(operand);
            case 'N':
                return operand.kind == Kind::integer;
            case 'B':
                return operand.kind == Kind::list;
            case 'H': // a cache policy
                return has("L2::cache_hint") && fits_type(operand, Type::b64, false, false);
            case 'S':
                return fits_move(operand, result);
            case 'L':
                return operand.kind == Kind::label;
            case 'V':
                return fits_memory(operand, result);
            case 'M':
                return operand.kind == Kind::vector || operand.kind == Kind::reg;
            case 'W':
                return fits_type(operand, type(0), result, true);
            case 'X':
                return fits_type(operand, type(1), result, true);
            case 'w':
                return fits_type(operand, wide(type(0)), result, false);
            default:
                return fits_type(operand, type(static_cast<std::size_t>(first - '0')), result,
                                 false);
            }
        }
        return fits_type(operand, find_type(wanted), result, false);
    }

    Type type(std::size_t position) const {
        return position < modifiers_.types.size() ? modifiers_.types[position] : Type::none;
    }

    bool has(std::string_view word) const {
        return std::find(modifiers_.words.begin(), modifiers_.words.end(), word) !=
               modifiers_.words.end();
    }

    bool fits_vector(const Operand &operand, std::size_t size, Type type, bool result,
                     bool wider) const {
        return operand.kind == Kind::vector && operand.parts.size() == size &&
               std::all_of(operand.parts.begin(), operand.parts.end(), [&](const Operand &part) {
                   return (result && part.kind == Kind::sink) ||
                          fits_type(part, type, result, wider);
               });
    }

    bool fits_any_address(const Operand &operand) const {
        if (operand.kind == Kind::address && operand.parts.size() == 1 &&
            operand.parts[0].kind == Kind::reg) {
            const TypeInfo &own = info(function_.registers[operand.parts[0].index].type);
            return (own.bits == 32 || own.bits == 64) && own.kind != TypeClass::real;
        }
        return fits_address(operand);
    }

    // [texture, coordinates] or [texture, sampler, coordinates]
    bool fits_texture(const Operand &operand) const {
        return operand.kind == Kind::address &&
               (operand.parts.size() == 2 || operand.parts.size() == 3) &&
               is_texture(operand.parts.front()) && fits_coordinates(operand.parts.back());
    }

    bool is_texture(const Operand &operand) const {
        switch (operand.kind) {
        case Kind::reg: {
            const TypeInfo &own = info(function_.registers[operand.index].type);
            return own.bits == 64 && own.kind != TypeClass::real;
        }
        case Kind::variable: // a parameter
            return true;
        default:
            return operand.kind == Kind::module_variable &&
                   module_.variables[operand.index].type == Type::texref;
        }
    }

    // As many as the geometry has, or more, in a vector. Some geometries also have an index.
    bool fits_coordinates(const Operand &operand) const {
        const std::size_t least = has("1d") ? 1 : has("2d") || has("a1d") ? 2 : 4;
        const bool has_index = !has("1d") && !has("2d") && !has("3d");
        const Type wanted = has_index ? Type::b32 : type(1);
        if (operand.kind != Kind::vector) {
            return operand.kind == Kind::reg &&
                   (least == 1 || function_.registers[operand.index].vector >= least);
        }
        const std::size_t size = operand.parts.size();
        return size >= least && size != 3 &&
               std::all_of(operand.parts.begin(), operand.parts.end(), [&](const Operand &part) {
                   return part.kind == Kind::reg ? fits_type(part, wanted, false, false) ||
                                                       fits_type(part, Type::u32, false, false)
                                                 : part.kind != Kind::sink;
               });
    }

    // A register, or a variable of the space that the instruction names; a number for local memory.
    bool fits_address(const Operand &operand) const {
        if (operand.kind != Kind::address || operand.parts.empty()) {
            return false;
        }
        const Operand &base = operand.parts[0];
        switch (base.kind) {
        case Kind::reg: {
            const TypeInfo &own = info(function_.registers[base.index].type);
            const bool small =
                own.bits == 32 && (has("shared") || has("shared::cta") || has("shared::cluster") ||
                                   has("local") || has("const") || has("param"));
            return (own.bits == 64 || small) && own.kind != TypeClass::real;
        }
        case Kind::integer:
            return has("local");
        case Kind::variable:
            return is_named(function_.variables[base.index].space);
        case Kind::module_variable:
            return is_named(module_.variables[base.index].space);
        default:
            return false;
        }
    }

    bool is_named(Space space) const {
        static const Choice spaces = choice_of("SPACE");
        if (std::none_of(spaces.words.begin(), spaces.words.end(),
                         [&](std::string_view word) { return has(word); })) {
            return space != Space::constant && space != Space::param; // a generic address
        }
        switch (space) {
        case Space::global:
            return has("global");
        case Space::constant:
            return has("const");
        case Space::shared:
            return has("shared") || has("shared::cta") || has("shared::cluster");
        case Space::local:
            return has("local");
        default:
            return has("param") || has("param::entry") || has("param::func");
        }
    }

    // mov: also vectors, special registers and addresses.
    bool fits_move(const Operand &operand, bool result) const {
        const Type own = type(0);
        if (vector_size() > 1) {
            return fits_memory(operand, result);
        }
        switch (operand.kind) {
        case Kind::vector:
            return fits_packed(operand, result);
        case Kind::special:
            return !result &&
                   (special_bits(operand) == info(own).bits ||
                    (special_bits(operand) == 32 && info(own).bits == 16)) &&
                   (is_number(own) || own == Type::pred);
        case Kind::variable:
        case Kind::module_variable:
            return !result && info(own).bits >= 32 && is_number(own);
        case Kind::function:
            return !result && info(own).bits == 64 && is_number(own) &&
                   (module_.functions[operand.index].linkage != Linkage::external);
        case Kind::sink:
            return false;
        default:
            return fits_type(operand, own, result, false);
        }
    }

    static bool is_number(Type type) {
        return info(type).kind == TypeClass::bits || info(type).kind == TypeClass::integer;
    }

    static unsigned int special_bits(const Operand &operand) {
        const SpecialRegister &special = special_register(operand.index);
        return special.vector && operand.selector == 0 ? 128U : info(special.type).bits;
    }

    // {low, high}: registers that have the bits of the type together.
    bool fits_packed(const Operand &operand, bool result) const {
        unsigned int bits = 0;
        bool any_sink = false;
        for (const Operand &part : operand.parts) {
            any_sink = any_sink || (part.kind == Kind::sink && result);
            if (part.kind == Kind::reg) {
                bits += info(function_.registers[part.index].type).bits;
            } else if (part.kind != Kind::sink && part.kind != Kind::integer) {
                return false;
            } else {
                any_sink = any_sink || part.kind == Kind::integer;
            }
        }
        return info(type(0)).kind == TypeClass::bits &&
               (any_sink ? bits < info(type(0)).bits : bits == info(type(0)).bits);
    }

    std::size_t vector_size() const {
        for (const std::string_view word : modifiers_.words) {
            if (word.size() == 2 && word[0] == 'v') {
                return static_cast<std::size_t>(word[1] - '0');
            }
        }
        return 1;
    }

    bool fits_memory(const Operand &operand, bool result) const {
        const std::size_t size = vector_size();
        if (size == 1) {
            return fits_type(operand, type(0), result, true);
        }
        if (operand.kind == Kind::reg) {
            return function_.registers[operand.index].vector == size;
        }
        return fits_vector(operand, size, type(0), result, true);
    }

    bool fits_type(const Operand &operand, Type type, bool result, bool wider) const {
        switch (operand.kind) {
        case Kind::reg:
            return (!operand.negated || type == Type::pred) &&
                   fits_register(function_.registers[operand.index].type, type, wider);
        case Kind::sink:
            return result && discards();
        case Kind::special:
            return !result && instruction_.opcode->name == "cvt";
        case Kind::integer:
            return !result && info(type).kind != TypeClass::real;
        case Kind::real:
        case Kind::bits64:
            return !result && (type == Type::f32 || type == Type::f64);
        case Kind::bits32:
            return !result && (type == Type::f32 || type == Type::f64 ||
                               (info(type).kind == TypeClass::bits && info(type).bits == 32));
        default:
            return false;
        }
    }

    // Whether the result may be left out.
    bool discards() const {
        static constexpr std::string_view names[] = {"atom",  "setp",  "shfl",
                                                     "match", "elect", "mbarrier"};
        return std::find(std::begin(names), std::end(names), instruction_.opcode->name) !=
               std::end(names);
    }

    // Whether a register of the type `own` can be an operand of the type `type`.
    static bool fits_register(Type own, Type type, bool wider) {
        const TypeInfo &a = info(own), &b = info(type);
        if (own == type) {
            return true;
        }
        const bool size = a.bits == b.bits || (wider && a.bits > b.bits);
        switch (b.kind) {
        case TypeClass::predicate:
            return false;
        case TypeClass::bits:
            return size && a.kind != TypeClass::predicate;
        case TypeClass::integer:
            return size && (a.kind == TypeClass::bits || a.kind == TypeClass::integer);
        default:
            return size && a.kind == TypeClass::bits;
        }
    }

    const Instruction &instruction_;
    const Modifiers &modifiers_;
    const Module &module_;
    const Function &function_;
};

// A call by name has as many arguments as the function has parameters.
void check_call(const Instruction &call, const Module &module) {
    std::size_t returns = 0, arguments = 0;
    const Operand *callee = nullptr;
    for (const Operand &operand : call.operands) {
        if (operand.kind == Kind::arguments) {
            (callee ? arguments : returns) = operand.parts.size();
        } else if (!callee) {
            callee = &operand;
        }
    }
    if (!callee || (callee->kind != Kind::function && callee->kind != Kind::reg)) {
        fail_at(call.line, "error   : Arguments mismatch for instruction 'call'");
    }
    if (callee->kind == Kind::function) {
        const Function &function = module.functions[callee->index];
        if (function.returns != returns || function.parameters != arguments) {
            fail_at(call.line, "error   : Call has wrong number of parameters");
        }
    }
}

} // namespace

void check(Instruction &instruction, const Module &module, const Function &function) {
    if (!instruction.opcode) {
        return;
    }
    const Modifiers modifiers = modifiers_of(instruction);
    std::string name = "'";
    name.append(instruction.opcode->name).append("'");
    bool types = false, whole = false;
    for (const Form &form : instruction.opcode->forms) {
        const Pattern &wanted = pattern(form);
        if (!has_types(wanted, modifiers)) {
            continue;
        }
        types = true;
        if (!has_modifiers(wanted, modifiers)) {
            continue;
        }
        whole = true;
        if (OperandCheck(instruction, modifiers, module, function).fit(wanted)) {
            if (form.opcode == "call") {
                check_call(instruction, module);
            }
            if (module.target < form.target) {
                fail_at(instruction.line, "error   : Feature '" + std::string(form.opcode) +
                                              std::string(instruction.modifiers) +
                                              "' requires .target sm_" +
                                              std::to_string(form.target) + " or higher");
            }
            instruction.form = &form;
            std::copy_n(modifiers.types.begin(), std::min<std::size_t>(modifiers.types.size(), 4),
                        instruction.types.begin());
            return;
        }
    }
    if (instruction.opcode->open && !whole) {
        return;
    }
    fail_at(instruction.line,
            whole   ? "error   : Arguments mismatch for instruction " + name
            : types ? "error   : Illegal modifiers '" + std::string(instruction.modifiers) +
                          "' for instruction " + name
                    : "error   : Unexpected instruction types specified for " + name);
}

} // namespace sim::ptx
