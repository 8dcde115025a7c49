#include "image/entity_name.hpp"

#include <cctype>
#include <charconv>
#include <cstdlib>
#include <memory>
#include <new>

#include <cxxabi.h>

namespace sim {
namespace {

constexpr std::string_view static_mark = "__nv_static_", internal_mark = "_INTERNAL_",
                           anonymous_mark = "_GLOBAL__N__", mangled_mark = "_Z",
                           anonymous = "(anonymous namespace)::", no_result = "void ";
constexpr std::size_t hash_digits = 8;

bool in_identifier(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '$';
}

bool is_mangled(std::string_view name) {
    return name.starts_with(mangled_mark) || name.starts_with(static_mark);
}

// "__nv_static_23_" and 23 characters, which identify the file, precede the name.
std::string_view without_static_mark(std::string_view name) {
    if (!name.starts_with(static_mark)) {
        return name;
    }
    const char *const end = name.data() + name.size();
    std::size_t length = 0;
    const auto [after, error] = std::from_chars(name.data() + static_mark.size(), end, length);
    const std::string_view rest(after, static_cast<std::size_t>(end - after));
    const bool valid = error == std::errc() && length < rest.size() && rest.size() - length > 2 &&
                       rest[0] == '_' && rest[length + 1] == '_';
    return valid ? rest.substr(length + 2) : name;
}

// Where the hash begins after a mark, or `npos`. After "__nv_static_", a length precedes it.
std::size_t hash_after(std::string_view name, std::size_t at, bool with_length) {
    if (with_length) {
        at = name.find_first_not_of("0123456789", at);
        if (at == name.npos || !name.substr(at).starts_with("__")) {
            return name.npos;
        }
        at += 2;
    }
    const std::size_t end = name.find_first_not_of("0123456789abcdef", at);
    return end == at + hash_digits && name[end] == '_' ? at : name.npos;
}

std::string without_hash(std::string_view name) {
    std::string result(name);
    for (const std::string_view mark : {static_mark, internal_mark, anonymous_mark}) {
        for (std::size_t at = name.find(mark); at != name.npos; at = name.find(mark, at)) {
            at += mark.size();
            const std::size_t hash = hash_after(name, at, mark == static_mark);
            if (hash != name.npos) {
                result.replace(hash, hash_digits, hash_digits, '0');
            }
        }
    }
    return result;
}

std::string demangled(std::string_view name) {
    std::string mangled(name);
    if (!name.starts_with(mangled_mark)) {
        return mangled; // which __cxa_demangle() may take for a type
    }
    int status = 0;
    const std::unique_ptr<char, decltype(&std::free)> text(
        abi::__cxa_demangle(mangled.c_str(), nullptr, nullptr, &status), std::free);
    if (status == -1) {
        throw std::bad_alloc();
    }
    return text ? std::string(text.get()) : mangled;
}

void erase_all(std::string &text, std::string_view part) {
    for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at)) {
        text.erase(at, part.size());
    }
}

// Removes the namespaces "_INTERNAL_...::", in which nvcc puts what has internal linkage.
void erase_internal(std::string &text) {
    for (std::size_t at = text.find(internal_mark); at != text.npos;
         at = text.find(internal_mark, at)) {
        std::size_t end = at;
        while (end < text.size() && in_identifier(text[end])) {
            ++end;
        }
        const bool whole = at == 0 || !in_identifier(text[at - 1]);
        if (whole && text.compare(end, 2, "::") == 0) {
            text.erase(at, end + 2 - at);
        } else {
            at = end;
        }
    }
}

std::string without_spaces(std::string_view text) {
    std::string result;
    for (std::size_t at = 0; at < text.size(); ++at) {
        if (text[at] != ' ') {
            result += text[at];
            continue;
        }
        const std::size_t next = text.find_first_not_of(' ', at);
        if (!result.empty() && next != text.npos && in_identifier(result.back()) &&
            in_identifier(text[next])) {
            result += ' ';
        }
        at = (next == text.npos ? text.size() : next) - 1;
    }
    return result;
}

// Where the bracket that closes at the end of the text opens, or the size of the text.
std::size_t opening_of_last(std::string_view text, char open, char close) {
    if (text.empty() || text.back() != close) {
        return text.size();
    }
    int depth = 0;
    for (std::size_t at = text.size(); at-- > 0;) {
        depth += text[at] == close ? 1 : text[at] == open ? -1 : 0;
        if (depth == 0) {
            return at;
        }
    }
    return text.size();
}

} // namespace

std::string readable_name(std::string_view name) {
    if (!is_mangled(name)) {
        return std::string(name);
    }
    std::string text = demangled(without_static_mark(name));
    erase_internal(text);
    if (text.starts_with(no_result)) {
        text.erase(0, no_result.size());
    }
    return text;
}

NameForms forms_of(std::string_view name) {
    NameForms forms;
    forms[exact_name] = name;
    forms[name_without_hash] = is_mangled(name) ? without_hash(name) : forms[exact_name];
    std::string text = readable_name(name);
    if (text.starts_with(no_result)) {
        text.erase(0, no_result.size());
    }
    erase_all(text, anonymous);
    text = without_spaces(text);
    forms[signature] = text;
    text.erase(opening_of_last(text, '(', ')'));
    forms[name_without_parameters] = text;
    text.erase(opening_of_last(text, '<', '>'));
    forms[name_without_arguments] = std::move(text);
    return forms;
}

} // namespace sim
