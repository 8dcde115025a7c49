#include "json.hpp"

#include <cstdio>

namespace cushim_info {
namespace {

// The length of the UTF-8 sequence at the beginning of a non-empty text; 0 if it is invalid: an
// overlong form, a surrogate, or a code point above U+10FFFF.
std::size_t utf8_length(std::string_view text) {
    constexpr unsigned long smallest[] = {0, 0, 0x80, 0x800, 0x10000};
    const auto first = static_cast<unsigned char>(text.front());
    const std::size_t length = first < 0x80             ? 1
                               : (first & 0xE0) == 0xC0 ? 2
                               : (first & 0xF0) == 0xE0 ? 3
                               : (first & 0xF8) == 0xF0 ? 4
                                                        : 0;
    unsigned long code = length == 1 ? first : first & (0x7Fu >> length);
    for (std::size_t i = 1; i < length; ++i) {
        const auto byte = static_cast<unsigned char>(i < text.size() ? text[i] : 0);
        if ((byte & 0xC0) != 0x80) {
            return 0;
        }
        code = code << 6 | (byte & 0x3F);
    }
    const bool is_valid = length > 0 && code >= smallest[length] && code <= 0x10FFFF &&
                          (code < 0xD800 || code > 0xDFFF);
    return is_valid ? length : 0;
}

void append_ascii(std::string &out, char c) {
    if (c == '"' || c == '\\') {
        out += '\\';
        out += c;
    } else if (const auto byte = static_cast<unsigned char>(c); byte < 0x20 || byte == 0x7F) {
        char escape[8];
        std::snprintf(escape, sizeof escape, "\\u%04x", byte);
        out += escape;
    } else {
        out += c;
    }
}

} // namespace

std::string json_string(std::string_view text) {
    std::string out = "\"";
    while (!text.empty()) {
        const std::size_t length = utf8_length(text);
        if (length == 1) {
            append_ascii(out, text.front());
        } else {
            out += length == 0 ? "\xEF\xBF\xBD" : text.substr(0, length);
        }
        text.remove_prefix(length == 0 ? 1 : length);
    }
    return out + '"';
}

std::string json_string_or_null(std::string_view text) {
    return text.empty() ? "null" : json_string(text);
}

std::string json_array(const std::vector<std::string> &elements) {
    std::string out = "[";
    for (const std::string &element : elements) {
        out += (out.size() > 1 ? ",\n" : "") + element;
    }
    return out + "]";
}

std::string json_object(const std::vector<JsonMember> &members) {
    std::string out = "{";
    for (const auto &[name, value] : members) {
        out += (out.size() > 1 ? ",\n" : "") + json_string(name) + ": " + value;
    }
    return out + "}";
}

} // namespace cushim_info
