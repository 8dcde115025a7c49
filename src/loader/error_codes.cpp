#include "error_codes.hpp"

#include <stddef.h>

#include "own_codes.hpp"

namespace cushim {

namespace {

/* A code, and the offsets of its name and description: numbers need no relocations. */
struct Code {
    int status;
    unsigned short name, words;
};

#include "error_codes.inc"

template <size_t count>
CodeTexts find(const Code (&codes)[count], const char *texts, int status) {
    for (const Code &code : codes) {
        if (code.status == status) {
            const char *own = own_code(status).words;
            return {texts + code.name, own != nullptr ? own : texts + code.words};
        }
    }
    return {nullptr, nullptr};
}

} // namespace

CodeTexts driver_code(int status) {
    const CodeTexts own = own_code(status); // the headers may be older than the status
    return own.name != nullptr ? own : find(driver_codes, driver_texts, status);
}
CodeTexts runtime_code(int status) {
    return find(runtime_codes, runtime_texts, status);
}

} // namespace cushim
