// Tokens of PTX.
#pragma once

#include <cstdint>
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

class Lexer {
  public:
    explicit Lexer(std::string_view text) : rest_(text) { advance(); }

    const Token &token() const noexcept { return token_; }
    bool at_end() const noexcept { return token_.kind == Token::Kind::end; }
    Token take() {
        const Token token = token_;
        advance();
        return token;
    }
    bool accept(std::string_view text);
    void expect(std::string_view text);
    std::string_view name();
    std::string text(); // without its quotes
    // An integer literal in any base.
    std::uint64_t number();

    // Fails at the current token, or at another one.
    [[noreturn]] void fail() const { fail(token_); }
    [[noreturn]] static void fail(const Token &token);

    // To the ';' that ends a statement, including blocks in it.
    void skip_statement();
    void skip_block();
    void skip_line(int line);

  private:
    void skip_blanks();
    std::size_t length_of(Token::Kind &kind) const;
    void advance();

    std::string_view rest_;
    Token token_;
    int line_ = 1;
};

} // namespace sim::ptx
