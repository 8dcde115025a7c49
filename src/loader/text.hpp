/* Builds texts on the heap, piece by piece, without the weight of printf: that would be a good part
 * of what the first call costs. */
#pragma once

#include <stddef.h>

namespace cushim {

/* The pieces joined. The caller's to free; nullptr when memory runs out. */
char *join_text(const char *const *pieces, size_t count);

template <size_t count>
char *join_text(const char *const (&pieces)[count]) {
    return join_text(pieces, count);
}

/* The text of a CUDA version: "12.6". */
struct VersionDigits {
    explicit VersionDigits(int packed);
    char chars[16];
};

} // namespace cushim
