#include "error_codes.hpp"

#include <stddef.h>

#include "resolve.hpp"

namespace cushim {

namespace {

/* A code, and where its name and words are in the texts: numbers need no relocations. */
struct Code {
    int status;
    unsigned short name, words;
};

#include "error_codes.inc"

/* What these mean when it is cushim that answers them. */
const char *own_words(int status) {
    switch (status) {
    case status_stub_library:
        return "the CUDA driver found is the toolkit's link stub, not a driver";
    case status_insufficient_driver:
        return "no CUDA driver is installed, or it is older than the CUDA runtime needs";
    case status_requires_newer_driver:
        return "the CUDA driver is older than this function needs";
    case status_symbol_not_found:
        return "the CUDA library does not have this function";
    case status_library_not_found:
        return "the CUDA library was not found or cannot be loaded";
    default:
        return nullptr;
    }
}

template <size_t count>
CodeTexts find(const Code (&codes)[count], const char *texts, int status) {
    for (const Code &code : codes)
        if (code.status == status) {
            const char *own = own_words(status);
            return {texts + code.name, own != nullptr ? own : texts + code.words};
        }
    return {nullptr, nullptr};
}

} // namespace

CodeTexts driver_code(int status) {
    return find(driver_codes, driver_texts, status);
}
CodeTexts runtime_code(int status) {
    return find(runtime_codes, runtime_texts, status);
}

} // namespace cushim
