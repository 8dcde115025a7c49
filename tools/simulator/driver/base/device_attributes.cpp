#include "base/device_attributes.hpp"

#include <cstddef>

namespace sim {
namespace {

// By number, starting at 1, as recorded from an NVIDIA H200 with driver 580.159.04 (recordings/).
constexpr int recorded[] = {
    1024,      1024,       1024,   64,        2147483647, 65535,     65535,  49152, 65536,
    32,        2147483647, 65536,  1980000,   512,        1,         132,    0,     0,
    1,         0,          131072, 131072,    65536,      16384,     16384,  16384, 32768,
    32768,     2048,       512,    1,         1,          0,         6,      0,     3201000,
    6016,      62914560,   2048,   3,         1,          32768,     2048,   1,     32768,
    32768,     8192,       8192,   32768,     0,          32,        32768,  32768, 2046,
    32768,     131072,     65536,  16384,     16384,      16384,     32768,  2048,  32768,
    32768,     2048,       32768,  32768,     2046,       268435456, 131072, 65000, 2097120,
    32768,     32768,      9,      0,         32768,      1,         1,      1,     233472,
    65536,     1,          0,      0,         0,          2,         0,      1,     1,
    1,         0,          0,      0,         1,          1,         232448, 0,     1,
    0,         0,          1,      1,         0,          0,         32,     1,     39321600,
    134217728, 1,          1024,   1,         1,          1,         1,      1,     1,
    100,       9,          1,      1,         1,          1,         1,      1,     4,
    1,         1,          1,      0,         -1,         0,         0,      0,     0,
    0,         0,          0,      590680286, 415174878,  1,         1,      0,     1,
    1,         0,          0,
};

// The highest attribute number in the headers of each release. Attributes added between two of
// these releases count for the later one.
constexpr struct {
    int last, version;
} known_since[] = {{115, 11020}, {119, 11030}, {124, 11080}, {129, 12000},
                   {134, 12040}, {143, 12090}, {147, 13000}};

} // namespace

std::optional<int> recorded_attribute(int attribute, int driver_version) noexcept {
    for (const auto &since : known_since) {
        if (attribute > since.last) {
            continue;
        }
        if (attribute < 1 || driver_version < since.version) {
            return std::nullopt;
        }
        return recorded[static_cast<std::size_t>(attribute) - 1];
    }
    return std::nullopt;
}

} // namespace sim
