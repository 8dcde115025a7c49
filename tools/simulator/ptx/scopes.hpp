// Names and what they stand for, in nested blocks.
#pragma once

#include "ptx/syntax.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace sim::ptx {

struct Symbol {
    Operand::Kind kind;
    std::uint32_t index;
};

class Scopes {
  public:
    void open() { scopes_.emplace_back(); }
    void close() { scopes_.pop_back(); }

    // Both fail if the innermost block has the name already.
    void declare(std::string_view name, Symbol symbol, int line);
    // Registers with a common name and numbers: %r<9> declares %r0 to %r8, from `first` on.
    void declare_numbered(std::string_view stem, std::uint32_t first, std::uint32_t count,
                          int line);

    std::optional<Symbol> find(std::string_view name) const;

  private:
    struct Numbered {
        std::uint32_t first, count;
    };
    struct Scope {
        std::unordered_map<std::string, Symbol> names;
        std::unordered_map<std::string, Numbered> numbered;

        std::optional<Symbol> find(std::string_view name) const;
    };
    std::vector<Scope> scopes_;
};

} // namespace sim::ptx
