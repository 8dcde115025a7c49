#include "ptx/lexer.hpp"
#include "ptx/problem.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <iterator>

namespace sim::ptx {
namespace {

bool is_digit(char c) {
    return std::isdigit(static_cast<unsigned char>(c)) != 0;
}
bool in_word(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '$' || c == '%';
}

// An exponent's sign is part of the number: 1.5e-3, but not 0x1e-3.
bool is_exponent(std::string_view number, std::size_t at) {
    return at + 1 < number.size() && (number[at] == '-' || number[at] == '+') &&
           (number[at - 1] == 'e' || number[at - 1] == 'E') && is_digit(number[at + 1]) &&
           number.substr(0, at).find_first_not_of("0123456789.eE") == number.npos;
}

} // namespace

bool Lexer::accept(std::string_view text) {
    if (!token_.is(text)) {
        return false;
    }
    advance();
    return true;
}

void Lexer::expect(std::string_view text) {
    if (!accept(text)) {
        fail();
    }
}

std::string_view Lexer::name() {
    if (token_.kind != Token::Kind::word) {
        fail();
    }
    return take().text;
}

std::string Lexer::text() {
    if (token_.kind != Token::Kind::text || token_.text.size() < 2) {
        fail();
    }
    const std::string_view quoted = take().text;
    return std::string(quoted.substr(1, quoted.size() - 2));
}

std::uint64_t Lexer::number() {
    std::string_view digits = token_.text;
    if (token_.kind != Token::Kind::number) {
        fail();
    }
    if (digits.ends_with('U')) {
        digits.remove_suffix(1);
    }
    int base = 10;
    if (digits.size() > 1 && digits[0] == '0') {
        const char second = digits[1];
        base = second == 'x' || second == 'X' ? 16 : second == 'b' || second == 'B' ? 2 : 8;
        digits.remove_prefix(base == 8 ? 1 : 2);
    }
    std::uint64_t value = 0;
    const auto [end, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), value, base);
    if (error != std::errc() || end != digits.data() + digits.size()) {
        fail();
    }
    advance();
    return value;
}

void Lexer::fail(const Token &token) {
    fail_at(token.line, token.kind == Token::Kind::end
                            ? "fatal   : Parsing error near end of file: syntax error"
                            : "fatal   : Parsing error near '" +
                                  std::string(token.text.substr(0, 64)) + "': syntax error");
}

void Lexer::skip_statement() {
    while (!accept(";")) {
        if (at_end() || token_.is("}")) {
            fail();
        }
        if (token_.is("{")) {
            skip_block();
        } else {
            advance();
        }
    }
}

void Lexer::skip_block() {
    expect("{");
    for (int depth = 1; depth > 0;) {
        const Token token = take();
        if (token.kind == Token::Kind::end) {
            fail(token);
        }
        depth += token.is("{") ? 1 : token.is("}") ? -1 : 0;
    }
}

void Lexer::skip_line(int line) {
    while (!at_end() && token_.line == line) {
        advance();
    }
}

void Lexer::skip_blanks() {
    while (!rest_.empty()) {
        if (rest_.front() == '\n') {
            ++line_;
            rest_.remove_prefix(1);
        } else if (std::isspace(static_cast<unsigned char>(rest_.front()))) {
            rest_.remove_prefix(1);
        } else if (rest_.starts_with("//")) {
            rest_.remove_prefix(std::min(rest_.find('\n'), rest_.size()));
        } else if (rest_.starts_with("/*")) {
            const auto end = rest_.find("*/");
            const auto length = end == rest_.npos ? rest_.size() : end + 2;
            line_ += static_cast<int>(std::count(
                rest_.begin(), rest_.begin() + static_cast<std::ptrdiff_t>(length), '\n'));
            rest_.remove_prefix(length);
        } else {
            return;
        }
    }
}

std::size_t Lexer::length_of(Token::Kind &kind) const {
    const char first = rest_.front();
    std::size_t length = 1;
    if (first == '"') {
        kind = Token::Kind::text;
        const auto end = rest_.find('"', 1);
        return end == rest_.npos ? rest_.size() : end + 1;
    }
    if (is_digit(first)) {
        kind = Token::Kind::number;
        while (length < rest_.size() &&
               (in_word(rest_[length]) || rest_[length] == '.' || is_exponent(rest_, length))) {
            ++length;
        }
        return length;
    }
    const bool directive = first == '.' && rest_.size() > 1 && in_word(rest_[1]);
    if (directive || in_word(first)) {
        // An instruction with its modifiers, as ld.param.u64, is one word; so is a::b.
        kind = directive ? Token::Kind::directive : Token::Kind::word;
        while (length < rest_.size() &&
               (in_word(rest_[length]) || (!directive && rest_[length] == '.') ||
                (rest_[length] == ':' && length + 1 < rest_.size() &&
                 (rest_[length + 1] == ':' || rest_[length - 1] == ':')))) {
            ++length;
        }
        return length;
    }
    kind = Token::Kind::sign;
    const std::string_view two = rest_.substr(0, 2);
    static constexpr std::string_view pairs[] = {"<<", ">>", "<=", ">=", "==", "!=", "&&", "||"};
    return std::find(std::begin(pairs), std::end(pairs), two) != std::end(pairs) ? 2 : 1;
}

void Lexer::advance() {
    skip_blanks();
    token_ = {Token::Kind::end, {}, line_};
    if (rest_.empty()) {
        return;
    }
    const std::size_t length = length_of(token_.kind);
    token_.text = rest_.substr(0, length);
    rest_.remove_prefix(length);
}

} // namespace sim::ptx
