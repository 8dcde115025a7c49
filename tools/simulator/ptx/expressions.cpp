#include "ptx/expressions.hpp"
#include "ptx/problem.hpp"

#include <bit>
#include <charconv>
#include <iterator>

namespace sim::ptx {
namespace {

using Kind = Operand::Kind;

// Deep enough for any source, and far from the end of the stack.
constexpr int deepest = 200;

Operand integer(std::uint64_t value) {
    Operand operand;
    operand.kind = Kind::integer;
    operand.value = value;
    return operand;
}

Operand read_number(Lexer &in) {
    const std::string_view text = in.token().text;
    const char form = text.size() > 1 && text[0] == '0' ? text[1] : ' ';
    Operand operand;
    if (form == 'f' || form == 'F' || form == 'd' || form == 'D') {
        const bool single = form == 'f' || form == 'F';
        operand.kind = single ? Kind::bits32 : Kind::bits64;
        const auto [end, error] =
            std::from_chars(text.data() + 2, text.data() + text.size(), operand.value, 16);
        if (error != std::errc() || end != text.data() + text.size() ||
            text.size() != (single ? 10U : 18U)) {
            in.fail();
        }
    } else if (form != 'x' && form != 'X' && text.find_first_of(".eE") != text.npos) {
        operand.kind = Kind::real;
        double value = 0;
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
        if (error == std::errc::invalid_argument || end != text.data() + text.size()) {
            in.fail();
        }
        operand.value = std::bit_cast<std::uint64_t>(value);
    } else {
        return integer(in.number());
    }
    in.take();
    return operand;
}

bool is_real(const Operand &operand) {
    return operand.kind == Kind::real || operand.kind == Kind::bits64;
}

double real_of(const Operand &operand) {
    return std::bit_cast<double>(operand.value);
}

Operand real(double value) {
    Operand operand;
    operand.kind = Kind::real;
    operand.value = std::bit_cast<std::uint64_t>(value);
    return operand;
}

void require_integer(const Operand &operand, const Token &sign) {
    if (operand.kind != Kind::integer) {
        fail_at(sign.line, "error   : Integer constant expression expected");
    }
}

Operand negative(Operand operand) {
    if (is_real(operand)) {
        operand.value ^= std::uint64_t(1) << 63;
        return operand;
    }
    return integer(0 - operand.value);
}

struct Operator {
    std::string_view text;
    int rank; // binds tighter than those of a lower rank
};
constexpr Operator operators[] = {
    {"||", 1}, {"&&", 2}, {"|", 3}, {"^", 4},  {"&", 5},  {"==", 6},
    {"!=", 6}, {"<", 7},  {">", 7}, {"<=", 7}, {">=", 7}, {"<<", 8},
    {">>", 8}, {"+", 9},  {"-", 9}, {"*", 10}, {"/", 10}, {"%", 10},
};
constexpr int lowest = 1;

const Operator *operator_at(const Token &token) {
    for (const Operator &one : operators) {
        if (token.kind == Token::Kind::sign && token.is(one.text)) {
            return &one;
        }
    }
    return nullptr;
}

[[noreturn]] void fail_division(const Token &sign) {
    fail_at(sign.line, "fatal   : Constant expression has division by zero");
}

std::uint64_t applied(const Token &sign, std::uint64_t a, std::uint64_t b) {
    const auto left = static_cast<std::int64_t>(a), right = static_cast<std::int64_t>(b);
    if (sign.text.size() == 2) {
        switch (sign.text[0]) {
        case '|':
            return a != 0 || b != 0 ? 1 : 0;
        case '&':
            return a != 0 && b != 0 ? 1 : 0;
        case '=':
            return a == b ? 1 : 0;
        case '!':
            return a != b ? 1 : 0;
        case '<':
            return sign.is("<=") ? (left <= right ? 1 : 0) : b < 64 ? a << b : 0;
        default:
            return sign.is(">=") ? (left >= right ? 1 : 0) : b < 64 ? a >> b : 0;
        }
    }
    switch (sign.text[0]) {
    case '|':
        return a | b;
    case '^':
        return a ^ b;
    case '&':
        return a & b;
    case '<':
        return left < right ? 1 : 0;
    case '>':
        return left > right ? 1 : 0;
    case '+':
        return a + b;
    case '-':
        return a - b;
    case '*':
        return a * b;
    default:
        if (b == 0) {
            fail_division(sign);
        }
        return sign.is("/") ? a / b : a % b;
    }
}

double applied(const Token &sign, double a, double b) {
    switch (sign.text[0]) {
    case '+':
        return a + b;
    case '-':
        return a - b;
    case '*':
        return a * b;
    default:
        if (b == 0) {
            fail_division(sign);
        }
        return a / b;
    }
}

Operand applied(const Token &sign, const Operand &a, const Operand &b) {
    constexpr std::string_view of_reals = "+-*/";
    if (is_real(a) && is_real(b) && of_reals.find(sign.text) != of_reals.npos) {
        return real(applied(sign, real_of(a), real_of(b)));
    }
    require_integer(a, sign);
    require_integer(b, sign);
    return integer(applied(sign, a.value, b.value));
}

Operand read_choice(Lexer &in, int depth);

Operand read_factor(Lexer &in, int depth) {
    if (depth > deepest) {
        in.fail();
    }
    if (in.token().is("-")) {
        in.take();
        const Token first = in.token();
        const Operand operand = read_factor(in, depth + 1);
        if (operand.kind == Kind::bits32) { // as ptxas
            Lexer::fail(first);
        }
        return negative(operand);
    }
    if (in.accept("+")) {
        return read_factor(in, depth + 1);
    }
    if (in.token().is("~") || in.token().is("!")) {
        const Token sign = in.take();
        const Operand operand = read_factor(in, depth + 1);
        require_integer(operand, sign);
        return integer(sign.is("~") ? ~operand.value : operand.value == 0 ? 1 : 0);
    }
    if (in.accept("(")) {
        // A cast, (.s64), changes no value.
        const bool cast = in.token().is(".s64") || in.token().is(".u64");
        Operand operand;
        if (cast) {
            in.take();
        } else {
            operand = read_choice(in, depth + 1);
        }
        in.expect(")");
        return cast ? read_factor(in, depth + 1) : operand;
    }
    if (in.token().kind != Token::Kind::number) {
        in.fail();
    }
    return read_number(in);
}

Operand read_expression(Lexer &in, int rank, int depth) {
    Operand left = read_factor(in, depth);
    for (const Operator *sign = operator_at(in.token()); sign && sign->rank >= rank;
         sign = operator_at(in.token())) {
        const Token token = in.take();
        left = applied(token, left, read_expression(in, sign->rank + 1, depth + 1));
    }
    return left;
}

// condition ? value : value
Operand read_choice(Lexer &in, int depth) {
    Operand condition = read_expression(in, lowest, depth);
    const Token sign = in.token();
    if (!in.accept("?")) {
        return condition;
    }
    require_integer(condition, sign);
    const Operand first = read_choice(in, depth + 1);
    in.expect(":");
    const Operand second = read_choice(in, depth + 1);
    return condition.value != 0 ? first : second;
}

} // namespace

Operand read_constant(Lexer &in) {
    return read_choice(in, 0);
}

std::int64_t read_integer(Lexer &in) {
    const Token first = in.token();
    const Operand operand = read_constant(in);
    if (operand.kind != Kind::integer) {
        Lexer::fail(first);
    }
    return static_cast<std::int64_t>(operand.value);
}

bool is_constant(const Token &token) noexcept {
    return token.kind == Token::Kind::number || token.is("-") || token.is("(") || token.is("~") ||
           token.is("+") || token.is("!");
}

std::uint64_t bits_of(const Operand &constant, Type type) noexcept {
    const bool single = info(type).bits == 32;
    switch (constant.kind) {
    case Kind::real:
        return single ? std::bit_cast<std::uint32_t>(
                            static_cast<float>(std::bit_cast<double>(constant.value)))
                      : constant.value;
    case Kind::bits32:
        return single ? constant.value
                      : std::bit_cast<std::uint64_t>(static_cast<double>(
                            std::bit_cast<float>(static_cast<std::uint32_t>(constant.value))));
    case Kind::bits64:
        return single ? std::bit_cast<std::uint32_t>(
                            static_cast<float>(std::bit_cast<double>(constant.value)))
                      : constant.value;
    default:
        return constant.value;
    }
}

} // namespace sim::ptx
