// Fills the outputs of a failed call with a value that no wrapper can mistake for a handle, an
// address or a number, so that code which reads them fails.
#pragma once

#include "base/argument.hpp"

#include <cstdint>
#include <cstring>

namespace sim {

constexpr int poison_byte = 0xbd;

// Whether a failed call returned this address or handle. An offset may have been added to it.
constexpr bool is_poisoned(std::uint64_t value) noexcept {
    return value >> 32 == 0xbdbdbdbd;
}

// An output within a structure.
template <class T>
void poison(T *output) noexcept {
    std::memset(static_cast<void *>(output), poison_byte, sizeof *output);
}

// All outputs among the arguments of a call.
inline void poison_outputs(const Argument *arguments, unsigned int count) noexcept {
    for (unsigned int i = 0; i < count; ++i) {
        const Argument &argument = arguments[i];
        if (argument.output != 0 && argument.value != 0) {
            void *place = reinterpret_cast<void *>(static_cast<std::uintptr_t>(argument.value));
            std::memset(place, poison_byte, argument.output);
        }
    }
}

} // namespace sim
