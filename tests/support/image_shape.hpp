// Images of 32-bit words with mipmap levels, and their layout in linear memory: level by level, row
// by row.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace support {

struct ImageLevel {
    unsigned int width = 0;
    unsigned int height = 0;
    std::size_t first_word = 0; // in linear memory

    std::size_t words() const { return std::size_t{width} * height; }
};

struct ImageShape {
    unsigned int width = 0;
    unsigned int height = 0;
    unsigned int level_count = 0; // 0 for a buffer

    std::vector<ImageLevel> levels() const {
        std::vector<ImageLevel> all;
        std::size_t first_word = 0;
        for (unsigned int index = 0; index < level_count; ++index) {
            const ImageLevel level{std::max(width >> index, 1u), std::max(height >> index, 1u),
                                   first_word};
            first_word += level.words();
            all.push_back(level);
        }
        return all;
    }
    std::size_t words() const {
        std::size_t sum = 0;
        for (const ImageLevel &level : levels()) {
            sum += level.words();
        }
        return sum;
    }
};

} // namespace support
