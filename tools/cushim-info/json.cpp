#include "json.hpp"

#include <utility>

namespace cushim_info {
namespace {

unsigned byte_at(std::string_view text, std::size_t at) {
    return at < text.size() ? static_cast<unsigned char>(text[at]) : 0;
}

bool is_continuation(unsigned byte) {
    return (byte & 0xC0) == 0x80;
}

// The length of the valid UTF-8 sequence at the beginning; 0 if it is invalid. The range of the
// second byte excludes overlong forms, surrogates and code points above U+10FFFF.
std::size_t utf8_length(std::string_view text) {
    const unsigned first = byte_at(text, 0);
    const unsigned second = byte_at(text, 1);
    if (first < 0x80) {
        return 1;
    }
    if (first >= 0xC2 && first <= 0xDF) {
        return is_continuation(second) ? 2 : 0;
    }
    if (first >= 0xE0 && first <= 0xEF) {
        const unsigned low = first == 0xE0 ? 0xA0 : 0x80;
        const unsigned high = first == 0xED ? 0x9F : 0xBF;
        return second >= low && second <= high && is_continuation(byte_at(text, 2)) ? 3 : 0;
    }
    if (first >= 0xF0 && first <= 0xF4) {
        const unsigned low = first == 0xF0 ? 0x90 : 0x80;
        const unsigned high = first == 0xF4 ? 0x8F : 0xBF;
        const bool rest = is_continuation(byte_at(text, 2)) && is_continuation(byte_at(text, 3));
        return second >= low && second <= high && rest ? 4 : 0;
    }
    return 0;
}

void append_ascii(std::string &out, char c) {
    static constexpr char digits[] = "0123456789abcdef";
    switch (c) {
    case '"':
        out += "\\\"";
        return;
    case '\\':
        out += "\\\\";
        return;
    case '\n':
        out += "\\n";
        return;
    case '\r':
        out += "\\r";
        return;
    case '\t':
        out += "\\t";
        return;
    default:
        break;
    }
    const unsigned byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7F) {
        out += "\\u00";
        out += digits[byte >> 4];
        out += digits[byte & 0xF];
        return;
    }
    out += c;
}

} // namespace

std::string json_string(std::string_view text) {
    std::string out = "\"";
    while (!text.empty()) {
        const std::size_t length = utf8_length(text);
        if (length == 1) {
            append_ascii(out, text.front());
        } else if (length == 0) {
            out += "\xEF\xBF\xBD";
        } else {
            out += text.substr(0, length);
        }
        text.remove_prefix(length == 0 ? 1 : length);
    }
    out += '"';
    return out;
}

void JsonWriter::begin_object() {
    open('{');
}
void JsonWriter::end_object() {
    close('}');
}
void JsonWriter::begin_array() {
    open('[');
}
void JsonWriter::end_array() {
    close(']');
}

void JsonWriter::key(std::string_view name) {
    before_value();
    text_ += json_string(name);
    text_ += ": ";
    after_key_ = true;
}

void JsonWriter::string(std::string_view value) {
    before_value();
    text_ += json_string(value);
}

void JsonWriter::number(std::int64_t value) {
    before_value();
    text_ += std::to_string(value);
}

void JsonWriter::number(std::uint64_t value) {
    before_value();
    text_ += std::to_string(value);
}

void JsonWriter::boolean(bool value) {
    before_value();
    text_ += value ? "true" : "false";
}

void JsonWriter::null() {
    before_value();
    text_ += "null";
}

void JsonWriter::string_or_null(std::string_view value) {
    if (value.empty()) {
        null();
    } else {
        string(value);
    }
}

void JsonWriter::strings(const std::vector<std::string> &values) {
    begin_array();
    for (const std::string &value : values) {
        string(value);
    }
    end_array();
}

std::string JsonWriter::take() {
    text_ += '\n';
    return std::move(text_);
}

void JsonWriter::open(char bracket) {
    before_value();
    text_ += bracket;
    ++depth_;
    is_first_ = true;
}

void JsonWriter::close(char bracket) {
    --depth_;
    if (!is_first_) {
        new_line();
    }
    text_ += bracket;
    is_first_ = false;
}

void JsonWriter::before_value() {
    if (after_key_) {
        after_key_ = false;
        return;
    }
    if (depth_ > 0) {
        if (!is_first_) {
            text_ += ',';
        }
        new_line();
    }
    is_first_ = false;
}

void JsonWriter::new_line() {
    text_ += '\n';
    text_.append(2 * depth_, ' ');
}

} // namespace cushim_info
