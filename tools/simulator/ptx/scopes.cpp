#include "ptx/scopes.hpp"
#include "ptx/problem.hpp"

#include <charconv>

namespace sim::ptx {
namespace {

[[noreturn]] void fail_twice(std::string_view name, int line) {
    fail_at(line, "error   : Duplicate definition of variable '" + std::string(name) + "'");
}

} // namespace

std::optional<Symbol> Scopes::Scope::find(std::string_view name) const {
    if (const auto found = names.find(std::string(name)); found != names.end()) {
        return found->second;
    }
    const std::size_t stem = name.find_last_not_of("0123456789") + 1;
    const auto range = numbered.find(std::string(name.substr(0, stem)));
    const std::string_view digits = name.substr(stem);
    if (range == numbered.end() || digits.empty() || (digits.size() > 1 && digits[0] == '0')) {
        return std::nullopt;
    }
    std::uint32_t number = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    if (error != std::errc() || number >= range->second.count) {
        return std::nullopt;
    }
    return Symbol{Operand::Kind::reg, range->second.first + number};
}

void Scopes::declare(std::string_view name, Symbol symbol, int line) {
    if (scopes_.back().find(name)) {
        fail_twice(name, line);
    }
    scopes_.back().names.emplace(name, symbol);
}

void Scopes::declare_numbered(std::string_view stem, std::uint32_t first, std::uint32_t count,
                              int line) {
    if (!scopes_.back().numbered.emplace(stem, Numbered{first, count}).second) {
        fail_twice(std::string(stem) + "0", line);
    }
}

std::optional<Symbol> Scopes::find(std::string_view name) const {
    for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
        if (const std::optional<Symbol> symbol = scope->find(name)) {
            return symbol;
        }
    }
    return std::nullopt;
}

} // namespace sim::ptx
