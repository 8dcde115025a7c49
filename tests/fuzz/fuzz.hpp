// Shared by the fuzzers. Each is one function that libFuzzer calls with one input after the other.
// The process ends at the first defect that AddressSanitizer, UndefinedBehaviorSanitizer or
// require() finds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size);

namespace fuzz {

inline void require(bool condition) {
    if (!condition) {
        std::abort();
    }
}

// Splits an input at the separators into at most `most` parts; the last one has the rest.
inline std::vector<std::string_view> parts(const std::uint8_t *data, std::size_t size,
                                           std::string_view separator, std::size_t most) {
    std::string_view rest(reinterpret_cast<const char *>(data), size);
    std::vector<std::string_view> found;
    while (found.size() + 1 < most) {
        const std::size_t end = rest.find(separator);
        if (end == std::string_view::npos) {
            break;
        }
        found.push_back(rest.substr(0, end));
        rest.remove_prefix(end + separator.size());
    }
    found.push_back(rest);
    return found;
}

} // namespace fuzz
