#include "text.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

char *cushim_copy_text(const char *text) {
    return CUSHIM_JOIN(text);
}

char *cushim_join_text(const char *piece, ...) {
    va_list pieces, again;
    va_start(pieces, piece);
    va_copy(again, pieces);
    size_t size = 1;
    for (const char *next = piece; next != NULL; next = va_arg(pieces, const char *)) {
        size += strlen(next);
    }
    va_end(pieces);
    char *text = malloc(size);
    if (text != NULL) {
        char *end = text;
        for (const char *next = piece; next != NULL; next = va_arg(again, const char *)) {
            const size_t length = strlen(next);
            memcpy(end, next, length);
            end += length;
        }
        *end = '\0';
    }
    va_end(again);
    return text;
}

/* Writes a number that ends before `end`; returns its start. */
static char *write_number(char *end, int number) {
    do {
        *--end = (char)('0' + number % 10);
    } while ((number /= 10) != 0);
    return end;
}

VersionDigits cushim_version_digits(int packed) {
    VersionDigits digits;
    if (packed < 0) {
        packed = 0;
    }
    char *end = digits.chars + sizeof digits.chars - 1;
    *end = '\0';
    char *begin = write_number(end, packed % 1000 / 10);
    *--begin = '.';
    begin = write_number(begin, packed / 1000);
    memmove(digits.chars, begin, (size_t)(end - begin) + 1);
    return digits;
}
