#include "toolchain.hpp"

#include <cstdio>

#include "base/ranges.hpp"
#include "kernel/jit_log.hpp"

namespace cushim::detail {
namespace {

constexpr std::size_t longest_log = 4000;

constexpr bool is_digit(char character) noexcept {
    return character >= '0' && character <= '9';
}

// Two to four digits, and a letter for a variant.
constexpr bool is_number(std::string_view text) noexcept {
    if (!text.empty() && text.back() >= 'a' && text.back() <= 'z') {
        text.remove_suffix(1);
    }
    for (const char character : text) {
        if (!is_digit(character)) {
            return false;
        }
    }
    return text.size() >= 2 && text.size() <= 4;
}

constexpr bool is_architecture(std::string_view text) noexcept {
    for (const std::string_view prefix : {"sm_", "compute_"}) {
        if (text.starts_with(prefix)) {
            return is_number(text.substr(prefix.size()));
        }
    }
    return false;
}

Architecture numbered(const char *prefix, int number) noexcept {
    Architecture made;
    std::snprintf(made.characters, sizeof made.characters, "%s%d", prefix, number);
    return made;
}

// The longest beginning of whole lines, or of bytes if the first line is too long.
std::string_view beginning(std::string_view log) noexcept {
    if (log.size() <= longest_log) {
        return log;
    }
    const std::string_view first = log.substr(0, longest_log);
    const std::size_t end = first.rfind('\n');
    return end != first.npos ? first.substr(0, end) : first;
}

} // namespace

Architecture Architecture::real(int number) noexcept {
    return numbered("sm_", number);
}

Architecture Architecture::virtual_of(int number) noexcept {
    return numbered("compute_", number);
}

Result<Architecture> Architecture::parse(const char *text) noexcept {
    if (text == nullptr) {
        return Error::invalid_argument("the architecture is null");
    }
    if (!is_architecture(text)) {
        return invalid_argument("the architecture \"%.40s\" does not have the form sm_90, sm_90a "
                                "or compute_90",
                                text);
    }
    Architecture parsed;
    std::snprintf(parsed.characters, sizeof parsed.characters, "%s", text);
    return parsed;
}

Error with_introduction(const Error &error, Version introduced) noexcept {
    if (error.kind() != ErrorKind::symbol_not_found) {
        return error;
    }
    return Error::make({.kind = error.kind(),
                        .status = error.status(),
                        .entry_point = error.entry_point(),
                        .required = introduced,
                        .installed = error.installed(),
                        .library = error.library()});
}

int Architecture::number() const noexcept {
    const char *const end = characters + sizeof characters;
    int number = 0;
    for (const char *at = characters; at != end && *at != '\0'; ++at) {
        number = is_digit(*at) ? number * 10 + (*at - '0') : number;
    }
    return number;
}

Result<int> architecture_number(Device device) noexcept {
    CUSHIM_TRY(const ComputeCapability capability, device.compute_capability());
    return capability.major_version * 10 + capability.minor_version;
}

Result<void> require_strings(std::span<const char *const> strings, const char *what) noexcept {
    for (std::size_t index = 0; index < strings.size(); ++index) {
        if (strings[index] == nullptr) {
            return invalid_argument("%s[%zu] is null", what, index);
        }
    }
    return {};
}

std::string architecture_flag(const Architecture &architecture) {
    return std::string("-arch=") + architecture.characters;
}

Error with_log(const Error &error, std::string_view subject, std::string_view log) {
    if (error.api() != Api::library) {
        return error;
    }
    log = trimmed(log);
    std::string text(subject);
    if (!log.empty()) {
        const std::string_view part = beginning(log);
        text += part.find('\n') == part.npos ? ": " : ":\n";
        text += part;
        if (part.size() < log.size()) {
            text += "\n(" + std::to_string(log.size() - part.size()) + " more bytes of the log)";
        }
    }
    return with_detail(Error(error), text.c_str());
}

} // namespace cushim::detail
