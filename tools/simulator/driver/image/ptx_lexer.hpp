// Tokens of PTX.
#pragma once

#include "image/image.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <string>
#include <string_view>

namespace sim::ptx {

struct Token {
    enum class Kind { end, word, directive, number, text, sign };
    Kind kind = Kind::end;
    std::string_view text;
    int line = 0;

    bool is(std::string_view other) const noexcept { return text == other; }
};

[[noreturn]] inline void fail_at(int line, CUresult status, const std::string &what) {
    throw ImageProblem{status,
                       "ptxas application ptx input, line " + std::to_string(line) + "; " + what};
}

class Lexer {
  public:
    explicit Lexer(std::string_view text) : rest_(text) { advance(); }

    const Token &token() const noexcept { return token_; }
    Token take() {
        Token token = token_;
        advance();
        return token;
    }
    bool accept(std::string_view text) {
        if (!token_.is(text)) {
            return false;
        }
        advance();
        return true;
    }
    void expect(std::string_view text) {
        if (!accept(text)) {
            fail();
        }
    }
    [[noreturn]] void fail() const {
        fail_at(token_.line, CUDA_ERROR_INVALID_PTX,
                token_.kind == Token::Kind::end
                    ? "fatal   : Parsing error near end of file: syntax error"
                    : "fatal   : Parsing error near '" + std::string(token_.text.substr(0, 64)) +
                          "': syntax error");
    }
    std::string name() {
        if (token_.kind != Token::Kind::word) {
            fail();
        }
        return std::string(take().text);
    }
    std::size_t number() {
        std::string_view digits = token_.text;
        if (token_.kind != Token::Kind::number) {
            fail();
        }
        int base = 10;
        if (digits.starts_with("0x") || digits.starts_with("0X")) {
            digits.remove_prefix(2);
            base = 16;
        }
        std::size_t value = 0;
        const auto [end, error] =
            std::from_chars(digits.data(), digits.data() + digits.size(), value, base);
        if (error != std::errc() || (end != digits.data() + digits.size() && *end != 'U')) {
            fail();
        }
        advance();
        return value;
    }

  private:
    static bool in_word(char c) {
        return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '$' || c == '%';
    }
    void skip_blanks() {
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
    std::size_t length_of(Token::Kind &kind) const {
        const char first = rest_.front();
        std::size_t length = 1;
        if (first == '"') {
            kind = Token::Kind::text;
            const auto end = rest_.find('"', 1);
            return end == rest_.npos ? rest_.size() : end + 1;
        }
        if (std::isdigit(static_cast<unsigned char>(first))) {
            kind = Token::Kind::number;
            while (length < rest_.size() && (in_word(rest_[length]) || rest_[length] == '.')) {
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
        return 1;
    }
    void advance() {
        skip_blanks();
        token_ = {Token::Kind::end, {}, line_};
        if (rest_.empty()) {
            return;
        }
        const std::size_t length = length_of(token_.kind);
        token_.text = rest_.substr(0, length);
        rest_.remove_prefix(length);
    }

    std::string_view rest_;
    Token token_;
    int line_ = 1;
};

} // namespace sim::ptx
