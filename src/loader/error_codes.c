#include "error_codes.h"

#include <stddef.h>

#include "first_call.h"
#include "own_codes.h"

/* A code, and the offsets of its name and description: numbers need no relocations. */
typedef struct {
    int status;
    unsigned short name, words;
} Code;

// The texts are one string, which is longer than C requires compilers to accept.
#if defined(__GNUC__)
#pragma GCC diagnostic ignored "-Woverlength-strings"
#endif
#include "error_codes.inc"

static CodeTexts find_code(const Code *codes, size_t count, const char *texts, int status) {
    CodeTexts found = {0};
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

/* Why the library is absent, if it is; otherwise `words`. Records are never freed. */
static const char *reason_or(const Library *library, const char *words) {
    const SearchRecord *record = cushim_current_record(library);
    const bool is_absent = record != NULL && record->module == NULL;
    return is_absent && record->report.explanation != NULL ? record->report.explanation : words;
}

CodeTexts cushim_driver_code(int status) {
    CodeTexts found = cushim_own_code(status); // the headers may be older than the status
    if (found.name == NULL) {
        found = find_code(driver_codes, sizeof driver_codes / sizeof *driver_codes, driver_texts,
                          status);
    }
    if (status == CUSHIM_STATUS_LIBRARY_NOT_FOUND || status == CUSHIM_STATUS_STUB_LIBRARY) {
        found.words = reason_or(&cushim_driver_library, found.words);
    }
    return found;
}

CodeTexts cushim_runtime_code(int status) {
    CodeTexts found = find_code(runtime_codes, sizeof runtime_codes / sizeof *runtime_codes,
                                runtime_texts, status);
    if (status == CUSHIM_STATUS_INSUFFICIENT_DRIVER) {
        found.words = reason_or(&cushim_driver_library, found.words);
    } else if (status == CUSHIM_STATUS_LIBRARY_NOT_FOUND) {
        found.words = reason_or(&cushim_runtime_library, found.words);
    }
    return found;
}
