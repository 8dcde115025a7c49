// Whether a text contains another: std::string::contains() requires C++23.
#pragma once

#include <string>

namespace support {

inline bool contains(const std::string &text, const std::string &part) {
    return text.find(part) != std::string::npos;
}

} // namespace support
