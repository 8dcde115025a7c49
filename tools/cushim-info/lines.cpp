#include "lines.hpp"

#include <algorithm>

namespace cushim_info {
namespace {

constexpr std::size_t label_width = 14;
constexpr std::size_t line_width = 100;

} // namespace

std::string printable(std::string_view text) {
    std::string out(text);
    std::replace_if(
        out.begin(), out.end(),
        [](char c) {
            const auto byte = static_cast<unsigned char>(c);
            return byte < 0x20 || byte == 0x7F;
        },
        '?');
    return out;
}

void add_line(std::string &out, std::string_view label, std::string_view value) {
    const std::size_t padding = label.size() < label_width ? label_width - label.size() : 1;
    out.append("  ").append(label).append(padding, ' ').append(printable(value)).append("\n");
}

void add_item(std::string &out, std::string_view item) {
    std::string line = "  -";
    std::string_view rest = item;
    while (!rest.empty()) {
        const std::size_t end = std::min(rest.find(' '), rest.size());
        const std::string_view word = rest.substr(0, end);
        rest.remove_prefix(std::min(end + 1, rest.size()));
        if (line.size() + 1 + word.size() > line_width) {
            out.append(line).append("\n");
            line = "   ";
        }
        line.append(" ").append(printable(word));
    }
    out.append(line).append("\n");
}

} // namespace cushim_info
