#include "ptx/steps/printf.hpp"

#include <algorithm>
#include <cstdio>
#include <string_view>
#include <vector>

namespace sim::ptx {
namespace {

// Longer texts are cut.
constexpr std::size_t most_characters = 1 << 16;
// Of a width or a precision: snprintf allocates as many.
constexpr std::size_t most_digits = 4;

class Formatter {
  public:
    Formatter(const ReadBytes &read, std::uint64_t arguments) : read_(read), next_(arguments) {}

    std::optional<Printed> format(std::string_view format) {
        std::string text;
        while (!format.empty() && is_valid_ && text.size() < most_characters) {
            const std::size_t percent = std::min(format.find('%'), format.size());
            text += format.substr(0, percent);
            format.remove_prefix(percent);
            if (!format.empty()) {
                text += conversion(format);
            }
        }
        return is_valid_ ? std::optional(Printed{text, arguments_}) : std::nullopt;
    }

    std::optional<std::string> string(std::uint64_t address) {
        std::string text;
        for (char c = 0; text.size() < most_characters; text += c) {
            if (!read_(address + text.size(), &c, 1)) {
                return std::nullopt;
            }
            if (c == 0) {
                break;
            }
        }
        return text;
    }

  private:
    template <class T>
    T argument() {
        next_ = (next_ + sizeof(T) - 1) / sizeof(T) * sizeof(T);
        T value{};
        is_valid_ = is_valid_ && read_(next_, &value, sizeof value);
        next_ += sizeof(T);
        ++arguments_;
        return value;
    }

    template <class T>
    static std::string print(const std::string &specification, T value) {
        const int size = std::snprintf(nullptr, 0, specification.c_str(), value);
        std::string text(static_cast<std::size_t>(std::max(size, 0)) + 1, 0);
        std::snprintf(text.data(), text.size(), specification.c_str(), value);
        text.pop_back();
        return text;
    }

    // Digits, or the next argument for '*'.
    std::string number(std::string_view &format) {
        if (format.starts_with('*')) {
            format.remove_prefix(1);
            return std::to_string(argument<std::int32_t>() % 10000);
        }
        const std::size_t end = std::min(format.find_first_not_of("0123456789"), format.size());
        const std::string digits(format.substr(0, std::min(end, most_digits)));
        format.remove_prefix(end);
        return digits;
    }

    // Reads a conversion from its % on.
    std::string conversion(std::string_view &format) {
        const std::string_view whole = format;
        format.remove_prefix(1);
        std::string specification = "%";
        const std::size_t flags = std::min(format.find_first_not_of("-+ #0"), format.size());
        specification += format.substr(0, flags);
        format.remove_prefix(flags);
        specification += number(format);
        if (format.starts_with('.')) {
            format.remove_prefix(1);
            specification += '.' + number(format);
        }
        const std::size_t sizes = std::min(format.find_first_not_of("hljztL"), format.size());
        const std::string_view size = format.substr(0, sizes);
        format.remove_prefix(sizes);
        if (format.empty()) {
            return std::string(whole);
        }
        const char type = format[0];
        format.remove_prefix(1);
        const bool is_long = size.find_first_of("ljzt") != size.npos;
        switch (type) {
        case '%':
            return "%";
        case 'd':
        case 'i':
            return is_long ? print(specification + "ll" + type, argument<long long>())
                           : print(specification + std::string(size) + type, argument<int>());
        case 'u':
        case 'o':
        case 'x':
        case 'X':
            return is_long
                       ? print(specification + "ll" + type, argument<unsigned long long>())
                       : print(specification + std::string(size) + type, argument<unsigned int>());
        case 'c':
            return print(specification + type, argument<int>());
        case 'e':
        case 'E':
        case 'f':
        case 'F':
        case 'g':
        case 'G':
        case 'a':
        case 'A':
            return print(specification + type, argument<double>());
        case 'p':
            return print("%#llx", argument<unsigned long long>());
        case 's': {
            const std::optional<std::string> text = string(argument<std::uint64_t>());
            is_valid_ = is_valid_ && text.has_value();
            return print(specification + type, text.value_or("").c_str());
        }
        default:
            return std::string(whole.substr(0, whole.size() - format.size()));
        }
    }

    const ReadBytes &read_;
    std::uint64_t next_;
    bool is_valid_ = true;
    int arguments_ = 0;
};

} // namespace

std::optional<Printed> format_text(const ReadBytes &read, std::uint64_t format,
                                   std::uint64_t arguments) {
    Formatter formatter(read, arguments);
    const std::optional<std::string> text = formatter.string(format);
    return text ? formatter.format(*text) : std::nullopt;
}

} // namespace sim::ptx
