#include "error_codes.h"

#include <stddef.h>

#include "own_codes.h"

/* A code, and the offsets of its name and description: numbers need no relocations. */
typedef struct CushimCode {
    int status;
    unsigned short name, words;
} Code;

// The texts are one string, which is longer than C requires compilers to accept.
#if defined(__GNUC__)
#pragma GCC diagnostic ignored "-Woverlength-strings"
#endif
#include "error_codes.inc"

static CodeTexts find_code(const Code *codes, size_t count, const char *texts, int status) {
    CodeTexts found = {NULL, NULL};
    for (size_t i = 0; i < count; ++i) {
        if (codes[i].status == status) {
            const char *own = cushim_own_code(status).words;
            found.name = texts + codes[i].name;
            found.words = own != NULL ? own : texts + codes[i].words;
            break;
        }
    }
    return found;
}

CodeTexts cushim_driver_code(int status) {
    const CodeTexts own = cushim_own_code(status); // the headers may be older than the status
    return own.name != NULL ? own
                            : find_code(driver_codes, sizeof driver_codes / sizeof *driver_codes,
                                        driver_texts, status);
}

CodeTexts cushim_runtime_code(int status) {
    return find_code(runtime_codes, sizeof runtime_codes / sizeof *runtime_codes, runtime_texts,
                     status);
}
