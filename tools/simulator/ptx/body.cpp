#include "ptx/body.hpp"
#include "ptx/declarations.hpp"
#include "ptx/expressions.hpp"
#include "ptx/instructions.hpp"
#include "ptx/problem.hpp"
#include "ptx/special_registers.hpp"

#include <algorithm>
#include <optional>
#include <unordered_map>

namespace sim::ptx {
namespace {

using Kind = Operand::Kind;

// More than any kernel has, and few enough for memory.
constexpr std::size_t max_registers = std::size_t(1) << 20;
constexpr std::size_t deepest_block = 200;

class BodyReader {
  public:
    BodyReader(Lexer &in, const Module &module, Scopes &names, Function &function)
        : in_(in), module_(module), names_(names), function_(function) {}

    void read() {
        function_.locations.emplace_back();
        open();
        for (std::uint32_t i = 0; i < function_.variables.size(); ++i) {
            declare(i);
        }
        in_.expect("{");
        open();
        while (blocks_.size() > 1) {
            read_statement();
        }
        close();
        for (Instruction &instruction : function_.instructions) {
            resolve(instruction.operands);
        }
        for (List &list : function_.lists) {
            resolve(list.targets);
        }
    }

  private:
    // The labels of a block, and the uses of labels that none of its inner blocks has.
    struct Use {
        std::string name;
        std::uint32_t number;
        int line;
    };
    struct Block {
        std::unordered_map<std::string, std::uint32_t> labels;
        std::vector<Use> uses;
    };

    void open() {
        if (blocks_.size() > deepest_block) {
            in_.fail();
        }
        names_.open();
        blocks_.emplace_back();
    }

    void close() {
        names_.close();
        const Block block = std::move(blocks_.back());
        blocks_.pop_back();
        for (const Use &use : block.uses) {
            if (const auto label = block.labels.find(use.name); label != block.labels.end()) {
                used_labels_[use.number] = label->second;
            } else if (!blocks_.empty()) {
                blocks_.back().uses.push_back(use);
            } else {
                fail_at(use.line, "error   : Unknown symbol '" + use.name + "'");
            }
        }
    }

    // While a body is read, a label's operand has the number of its use.
    void resolve(std::vector<Operand> &operands) const {
        for (Operand &operand : operands) {
            if (operand.kind == Kind::label) {
                operand.index = used_labels_[operand.index];
            }
        }
    }

    void read_statement() {
        const Token first = in_.take();
        if (first.is("{")) {
            open();
        } else if (first.is("}")) {
            close();
        } else if (first.kind == Token::Kind::directive) {
            read_directive(first);
        } else if (first.is("@")) {
            Operand guard;
            guard.negated = in_.accept("!");
            const Token name = in_.token();
            in_.name();
            const Operand predicate = named(name);
            if (predicate.kind != Kind::reg ||
                function_.registers[predicate.index].type != Type::pred) {
                fail_at(name.line, "error   : Predicate expression expected");
            }
            guard.kind = Kind::reg;
            guard.index = predicate.index;
            const Token word = in_.token();
            in_.name();
            read_instruction(word, std::move(guard));
        } else if (first.kind == Token::Kind::word) {
            if (in_.accept(":")) {
                read_label(first);
            } else {
                read_instruction(first, {});
            }
        } else if (!first.is(";")) {
            Lexer::fail(first);
        }
    }

    void read_directive(const Token &first) {
        if (const std::optional<Space> space = space_of(first)) {
            read_variables(*space);
        } else if (first.is(".loc")) {
            read_location(first.line);
        } else if (first.is(".file")) {
            in_.skip_line(first.line);
        } else if (first.is(".section")) {
            in_.take();
            in_.skip_block();
        } else if (first.is(".pragma")) {
            in_.skip_statement();
        } else {
            fail_at(first.line,
                    "error   : Unknown directive '" + std::string(first.text.substr(0, 64)) + "'");
        }
    }

    void read_location(int line) {
        Location location;
        location.file = static_cast<int>(in_.number());
        location.line = static_cast<int>(in_.number());
        in_.skip_line(line);
        function_.locations.push_back(location);
    }

    void read_variables(Space space) {
        const Variable properties = read_properties(in_, space);
        do {
            Variable variable = properties;
            read_declarator(in_, variable);
            if (variable.name.empty()) {
                in_.fail();
            }
            if (space == Space::reg && in_.accept("<")) {
                read_numbered(variable);
                continue;
            }
            function_.variables.push_back(std::move(variable));
            declare(static_cast<std::uint32_t>(function_.variables.size() - 1));
        } while (in_.accept(","));
        in_.expect(";");
    }

    // .reg .b32 %r<9>
    void read_numbered(const Variable &variable) {
        const std::uint64_t count = in_.number();
        in_.expect(">");
        const auto first = static_cast<std::uint32_t>(function_.registers.size());
        add_registers(variable, count);
        names_.declare_numbered(variable.name, first, static_cast<std::uint32_t>(count),
                                variable.line);
    }

    void add_registers(const Variable &variable, std::uint64_t count) {
        if (count > max_registers || function_.registers.size() + count > max_registers) {
            fail_at(variable.line, "fatal   : Memory allocation failure");
        }
        function_.registers.insert(function_.registers.end(), count,
                                   {variable.type, variable.vector});
    }

    // Names a variable of the function: a register is used by its number.
    void declare(std::uint32_t index) {
        const Variable &variable = function_.variables[index];
        if (variable.name.empty() || variable.name == "_") {
            return;
        }
        if (variable.space == Space::reg) {
            const auto number = static_cast<std::uint32_t>(function_.registers.size());
            add_registers(variable, 1);
            names_.declare(variable.name, {Kind::reg, number}, variable.line);
        } else {
            names_.declare(variable.name, {Kind::variable, index}, variable.line);
        }
    }

    void read_label(const Token &name) {
        if (in_.token().is(".branchtargets") || in_.token().is(".calltargets")) {
            const bool branch = in_.take().is(".branchtargets");
            List list;
            do {
                const Token target = in_.token();
                in_.name();
                list.targets.push_back(branch ? label(target) : named(target));
            } while (in_.accept(","));
            in_.expect(";");
            add_list(name, std::move(list));
        } else if (in_.accept(".callprototype")) {
            List list;
            list.prototype = true;
            list.returns = read_prototype_parameters();
            in_.name();
            list.parameters = read_prototype_parameters();
            in_.skip_statement();
            add_list(name, std::move(list));
        } else {
            const auto index = static_cast<std::uint32_t>(function_.labels.size());
            if (!blocks_.back().labels.emplace(name.text, index).second) {
                fail_at(name.line,
                        "error   : Duplicate definition of label '" + std::string(name.text) + "'");
            }
            function_.labels.push_back({std::string(name.text), function_.instructions.size()});
        }
    }

    void add_list(const Token &name, List list) {
        names_.declare(name.text, {Kind::list, static_cast<std::uint32_t>(function_.lists.size())},
                       name.line);
        function_.lists.push_back(std::move(list));
    }

    std::size_t read_prototype_parameters() {
        std::size_t number = 0;
        if (in_.accept("(") && !in_.accept(")")) {
            do {
                const Token token = in_.take();
                const std::optional<Space> space = space_of(token);
                if (!space) {
                    Lexer::fail(token);
                }
                read_parameter(in_, *space);
                ++number;
            } while (in_.accept(","));
            in_.expect(")");
        }
        return number;
    }

    void read_instruction(const Token &word, Operand guard) {
        Instruction instruction;
        instruction.line = word.line;
        instruction.location = static_cast<int>(function_.locations.size() - 1);
        instruction.guard = std::move(guard);
        const std::size_t dot = std::min(word.text.find('.'), word.text.size());
        const std::string_view name = word.text.substr(0, dot);
        instruction.opcode = find_opcode(name);
        instruction.modifiers = word.text.substr(dot);
        if (!instruction.opcode && module_.version <= opcodes_version) {
            fail_at(word.line, "error   : Not a name of any known instruction: '" +
                                   std::string(name.substr(0, 64)) + "'");
        }
        call_ = name == "call";
        branch_ = name == "bra";
        if (!in_.accept(";")) {
            do {
                instruction.operands.push_back(read_operand());
            } while (in_.accept(","));
            in_.expect(";");
        }
        check(instruction, module_, function_);
        function_.instructions.push_back(std::move(instruction));
    }

    Operand read_operand() {
        Operand operand;
        if (in_.accept("[")) {
            operand.kind = Kind::address;
            read_parts(operand, "]");
        } else if (in_.accept("{")) {
            operand.kind = Kind::vector;
            read_parts(operand, "}");
            return with_second(std::move(operand));
        } else if (call_ && in_.accept("(")) {
            operand.kind = Kind::arguments;
            read_parts(operand, ")");
        } else {
            return read_simple_operand();
        }
        return operand;
    }

    void read_parts(Operand &operand, std::string_view end) {
        if (in_.accept(end)) {
            return;
        }
        do {
            operand.parts.push_back(in_.token().is("{") && end != "}" ? read_operand()
                                                                      : read_simple_operand());
        } while (in_.accept(","));
        in_.expect(end);
    }

    // !%p, -%r
    bool is_negated_name() const {
        if (!in_.token().is("!") && !in_.token().is("-")) {
            return false;
        }
        Lexer ahead = in_;
        ahead.take();
        return ahead.token().kind == Token::Kind::word;
    }

    Operand read_simple_operand() {
        const bool negated = is_negated_name();
        if (negated) {
            in_.take();
        } else if (is_constant(in_.token())) {
            return read_constant(in_);
        }
        const Token name = in_.token();
        in_.name();
        Operand operand = name.is("_") ? Operand{} : branch_ ? label(name) : named(name);
        operand.negated = negated;
        if (in_.accept("+")) {
            operand.value = static_cast<std::uint64_t>(read_integer(in_));
        }
        return with_second(std::move(operand));
    }

    // The operand, or a pair of results, as %r|%p.
    Operand with_second(Operand first) {
        if (!in_.accept("|")) {
            return first;
        }
        Operand pair;
        pair.kind = Kind::pair;
        const Token second = in_.token();
        in_.name();
        pair.parts = {std::move(first), second.is("_") ? Operand{} : named(second)};
        return pair;
    }

    Operand label(const Token &name) {
        Operand operand;
        operand.kind = Kind::label;
        operand.index = static_cast<std::uint32_t>(used_labels_.size());
        used_labels_.push_back(0);
        blocks_.back().uses.push_back({std::string(name.text), operand.index, name.line});
        return operand;
    }

    // A register, a variable, a function or a list, by its name: %tid.x has a selector.
    Operand named(const Token &token) {
        std::string_view name = token.text;
        Operand operand;
        if (const std::size_t dot = name.rfind('.'); dot != name.npos) {
            const std::string_view selector = name.substr(dot + 1);
            if (selector.size() != 1 ||
                std::string_view("xyzwrgba").find(selector) == selector.npos) {
                if (!is_part_of_register(selector)) {
                    fail_at(token.line,
                            "error   : Unknown vector selector: '" + std::string(selector) + "'");
                }
            }
            operand.selector = selector[0];
            name = name.substr(0, dot);
        }
        if (const std::optional<Symbol> symbol = names_.find(name)) {
            operand.kind = symbol->kind;
            operand.index = symbol->index;
        } else if (const auto special = find_special_register(name)) {
            operand.kind = Kind::special;
            operand.index = *special;
        } else {
            fail_at(token.line,
                    "error   : Unknown symbol '" + std::string(name.substr(0, 64)) + "'");
        }
        return operand;
    }

    // Bytes and halves, of the video instructions.
    static bool is_part_of_register(std::string_view selector) {
        return selector.size() == 2 && (selector[0] == 'b' || selector[0] == 'h') &&
               selector[1] >= '0' && selector[1] <= '3';
    }

    Lexer &in_;
    const Module &module_;
    Scopes &names_;
    Function &function_;
    std::vector<Block> blocks_;
    std::vector<std::uint32_t> used_labels_; // the label of each use
    bool call_ = false, branch_ = false;     // the instruction that is read
};

} // namespace

void read_body(Lexer &in, const Module &module, Scopes &names, Function &function) {
    BodyReader(in, module, names, function).read();
}

} // namespace sim::ptx
