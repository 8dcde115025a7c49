// Helpers for tests of external memory and semaphores.
#pragma once

#include "scenario.hpp"

#include <cstring>

namespace api_test {

inline cushim::Context primary() {
    return ok(cushim::Device::get(0).and_then(&cushim::Context::primary));
}

inline void *handle_of(unsigned long long value) {
    return reinterpret_cast<void *>(value);
}

// The eight-byte word at `index` of a structure.
template <class T>
unsigned long long word(const T &structure, std::size_t index) {
    unsigned long long value = 0;
    std::memcpy(&value, reinterpret_cast<const char *>(&structure) + 8 * index, 8);
    return value;
}

} // namespace api_test
