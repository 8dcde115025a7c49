/* Builds texts on the heap from pieces. Without printf, which would be a large part of the cost of
 * the first call. */
#pragma once

#include <stddef.h>

namespace cushim {

/* The joined pieces. The caller frees the result; nullptr if out of memory. */
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
