// The arguments of one call, which its export passes to the call log and to poison.hpp.
#pragma once

#include <cstdint>
#include <type_traits>

namespace sim {

struct Argument {
    std::uint64_t value;
    // 'p' address, 't' text that the call reads, 'u' unsigned, 'i' signed, 'f' float bits, 's'
    // structure
    char kind;
    unsigned short output =
        0; // size in bytes of the single value that the call writes there; 0: not an output
};

template <class T>
Argument argument(const T &value) {
    if constexpr (std::is_same_v<T, const char *>) {
        return {reinterpret_cast<std::uint64_t>(value), 't'};
    } else if constexpr (std::is_pointer_v<T>) {
        return {reinterpret_cast<std::uint64_t>(value), 'p'};
    } else if constexpr (std::is_floating_point_v<T>) {
        const double wide = value;
        std::uint64_t bits;
        static_assert(sizeof bits == sizeof wide);
        __builtin_memcpy(&bits, &wide, sizeof bits);
        return {bits, 'f'};
    } else if constexpr (std::is_enum_v<T> || std::is_signed_v<T>) {
        return {static_cast<std::uint64_t>(static_cast<std::int64_t>(value)), 'i'};
    } else if constexpr (std::is_unsigned_v<T>) {
        return {static_cast<std::uint64_t>(value), 'u'};
    } else {
        return {0, 's'};
    }
}

// A device address, which is an integer.
inline Argument address(std::uint64_t value) {
    return {value, 'p'};
}

// An output for a single value.
template <class T>
Argument output(T *value) {
    static_assert(sizeof(T) <= 0xffff);
    return {reinterpret_cast<std::uint64_t>(value), 'p', static_cast<unsigned short>(sizeof(T))};
}

} // namespace sim
