#include "base/refusal.hpp"

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <utility>

namespace sim {
namespace {

// Trivially destroyed, so it works until the thread ends. Longer reasons are cut off.
struct Reasons {
    char text[1024];
    std::size_t size;
};
constinit thread_local Reasons reasons{};

void add(const char *format, std::va_list values) noexcept {
    constexpr std::size_t room = sizeof reasons.text - 1; // of a newline
    const int length =
        std::vsnprintf(reasons.text + reasons.size, room - reasons.size, format, values);
    if (length > 0 && reasons.size + 1 < room) {
        reasons.size = std::min(reasons.size + static_cast<std::size_t>(length), room - 1);
        reasons.text[reasons.size++] = '\n';
    }
}

} // namespace

void explain(const char *format, ...) noexcept {
    std::va_list values;
    va_start(values, format);
    add(format, values);
    va_end(values);
}

void refuse(CUresult status, const char *format, ...) {
    std::va_list values;
    va_start(values, format);
    add(format, values);
    va_end(values);
    refuse(status);
}

std::string take_reasons() {
    return {reasons.text, std::exchange(reasons.size, 0)};
}

void forget_reasons() noexcept {
    reasons.size = 0;
}

} // namespace sim
