#include "call.hpp"

namespace support {

void Call::make_pattern(unsigned char *to, unsigned int length, bool enumeration) const {
    // UBSan rejects values that an enumeration cannot hold (meson.build sets this). Every
    // enumeration can hold 0 and 1, which alternate from call to call, so that each argument gets
    // both.
    if (ENUMERATIONS_IN_RANGE && enumeration) {
        const int value = static_cast<int>((seed + count) % 2);
        std::memcpy(to, &value, length < sizeof value ? length : sizeof value);
        return;
    }
    // Knuth's multiplicative hash of the seed and of the positions of argument and byte.
    for (unsigned int i = 0; i != length; ++i) {
        const unsigned int mixed = (seed * 64u + count + 1u) * 2654435761u + (i + 1u) * 40503u;
        to[i] = static_cast<unsigned char>((mixed >> 16) ^ (mixed >> 24) ^ (i * 37u));
    }
}

bool Call::outputs_untouched() const {
    for (const unsigned char byte : scratch) {
        if (byte != untouched) {
            return false;
        }
    }
    return true;
}

void Call::keep_argument(const unsigned char *from, unsigned int length) {
    sizes[count++] = length;
    std::memcpy(bytes + size, from, length);
    size += length;
}

} // namespace support
