#include "ptx/declarations.hpp"
#include "ptx/expressions.hpp"
#include "ptx/problem.hpp"

#include <bit>

namespace sim::ptx {
namespace {

std::size_t read_alignment(Lexer &in) {
    const Token token = in.token();
    const std::uint64_t alignment = in.number();
    if (!std::has_single_bit(alignment) || alignment > 256) {
        Lexer::fail(token);
    }
    return alignment;
}

// (.managed), (.unified(1, 2)): whether it contains managed.
bool read_attribute(Lexer &in) {
    bool managed = false;
    in.expect("(");
    for (int depth = 1; depth > 0;) {
        const Token token = in.take();
        if (token.kind == Token::Kind::end) {
            Lexer::fail(token);
        }
        managed = managed || token.is(".managed");
        depth += token.is("(") ? 1 : token.is(")") ? -1 : 0;
    }
    return managed;
}

// ".ptr .global .align 8" describes what a pointer points to, not its own layout.
void skip_pointer_notes(Lexer &in) {
    for (;;) {
        if (in.accept(".align")) {
            in.number();
        } else if (!in.accept(".global") && !in.accept(".const") && !in.accept(".shared") &&
                   !in.accept(".local")) {
            return;
        }
    }
}

// The words before the name.
void read_words(Lexer &in, Variable &variable) {
    while (in.token().kind == Token::Kind::directive) {
        const Token word = in.take();
        if (word.is(".align")) {
            variable.alignment = read_alignment(in);
        } else if (word.is(".v2") || word.is(".v4") || word.is(".v8")) {
            variable.vector = static_cast<std::uint8_t>(word.text[2] - '0');
        } else if (word.is(".attribute")) {
            variable.managed = read_attribute(in) || variable.managed;
        } else if (word.is(".ptr")) {
            skip_pointer_notes(in);
        } else {
            variable.type = find_type(word.text.substr(1));
            if (variable.type == Type::none) {
                fail_at(word.line,
                        "error   : '" + std::string(word.text.substr(0, 64)) + "' is not a type");
            }
        }
    }
    if (variable.type == Type::none) {
        in.fail();
    }
}

// [N][M]; [] is 0 elements.
void read_dimensions(Lexer &in, Variable &variable) {
    while (in.accept("[")) {
        const std::uint64_t dimension = in.token().is("]") ? 0 : in.number();
        in.expect("]");
        if (dimension > max_variable || variable.count * dimension > max_variable) {
            in.fail();
        }
        variable.count *= dimension;
    }
}

// Another name, as generic(name), name+8 or 0xFF(name).
void read_address(Lexer &in, Initial &element) {
    const bool generic = in.token().is("generic");
    element.symbol = in.name();
    if (generic) {
        in.expect("(");
        element.symbol = in.name();
        in.expect(")");
    }
    if (in.token().is("+") || in.token().is("-")) {
        element.value = static_cast<std::uint64_t>(read_integer(in));
    }
}

void read_element(Lexer &in, Variable &variable) {
    Initial element;
    if (in.token().kind == Token::Kind::word) {
        read_address(in, element);
    } else {
        element.value = bits_of(read_constant(in), variable.type);
        if (in.accept("(")) { // 0xFF00(name): a byte of an address
            read_address(in, element);
            in.expect(")");
        }
    }
    variable.initial.push_back(std::move(element));
}

// {1, 2, {3, 4}}: the elements in order.
void read_initial(Lexer &in, Variable &variable) {
    int depth = 0;
    do {
        if (in.accept("{")) {
            ++depth;
        } else if (in.accept("}")) {
            --depth;
        } else if (depth == 0 || !in.accept(",")) {
            read_element(in, variable);
        }
        if (in.at_end() || depth < 0 || variable.initial.size() > max_variable) {
            in.fail();
        }
    } while (depth > 0);
}

} // namespace

std::optional<Space> space_of(const Token &directive) noexcept {
    static constexpr struct {
        std::string_view name;
        Space space;
    } spaces[] = {{".reg", Space::reg},        {".global", Space::global},
                  {".const", Space::constant}, {".shared", Space::shared},
                  {".local", Space::local},    {".param", Space::param}};
    for (const auto &[name, space] : spaces) {
        if (directive.is(name)) {
            return space;
        }
    }
    return std::nullopt;
}

Variable read_properties(Lexer &in, Space space) {
    Variable variable;
    variable.space = space;
    if (space == Space::constant && in.accept("[")) { // .const[bank]
        in.number();
        in.expect("]");
    }
    read_words(in, variable);
    return variable;
}

void read_declarator(Lexer &in, Variable &variable) {
    variable.line = in.token().line;
    if (in.token().kind == Token::Kind::word) {
        variable.name = in.name();
        read_dimensions(in, variable);
    }
    if (in.accept("=")) {
        read_initial(in, variable);
        if (variable.count == 0) {
            variable.count = variable.initial.size();
        }
    }
}

Variable read_parameter(Lexer &in, Space space) {
    Variable variable = read_properties(in, space);
    read_declarator(in, variable);
    return variable;
}

} // namespace sim::ptx
