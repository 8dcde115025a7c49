#include "text.hpp"

#include <stdlib.h>
#include <string.h>

namespace cushim {

char *join_text(const char *const *pieces, size_t count) {
    size_t length = 1;
    for (size_t i = 0; i < count; ++i) {
        length += strlen(pieces[i]);
    }
    char *text = static_cast<char *>(malloc(length));
    if (text == nullptr) {
        return nullptr;
    }
    char *end = text;
    for (size_t i = 0; i < count; ++i) {
        const size_t size = strlen(pieces[i]);
        memcpy(end, pieces[i], size);
        end += size;
    }
    *end = '\0';
    return text;
}

namespace {

/* Writes a number that ends before `end`; returns its start. */
char *write_number(char *end, int number) {
    do {
        *--end = static_cast<char>('0' + number % 10);
    } while ((number /= 10) != 0);
    return end;
}

} // namespace

VersionDigits::VersionDigits(int packed) : chars{} {
    if (packed < 0) {
        packed = 0;
    }
    char *end = chars + sizeof chars - 1;
    char *begin = write_number(end, packed % 1000 / 10);
    *--begin = '.';
    begin = write_number(begin, packed / 1000);
    memmove(chars, begin, static_cast<size_t>(end - begin) + 1);
}

} // namespace cushim
