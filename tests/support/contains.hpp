// Whether a text has another in it: std::string::contains() is C++23's.
#pragma once

#include <string>

namespace support {

inline bool contains(const std::string &text, const std::string &part) {
    return text.find(part) != std::string::npos;
}

} // namespace support
