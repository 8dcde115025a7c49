// Names of status codes, from the headers' own list, and their descriptions.
#include "base/error_texts.hpp"
#include "base/refusal.hpp"
#include "call/lifecycle.hpp"
#include "driver_functions.hpp"

namespace sim {
namespace {

// A code, and the positions of its name and description in the texts.
struct Code {
    int status;
    unsigned short name, words;
};

#include "error_codes.inc"

const Code *find(CUresult error) {
    for (const Code &code : driver_codes) {
        if (code.status == static_cast<int>(error)) {
            return &code;
        }
    }
    return nullptr;
}

const char *name_of(const Code &code) {
    return driver_texts + code.name;
}

// The description of a code that the runtime does not know is its name.
const char *words_of(const Code &code) {
    const char *text = error_text(code.status);
    return text != nullptr ? text : driver_texts + code.words;
}

// For an unknown code the call fails and sets its output to null, which no other failing call does.
CUresult return_text(CUresult error, const char **text, const char *(*part)(const Code &)) {
    require(text != nullptr);
    if (process_state() == CUDA_ERROR_DEINITIALIZED) {
        *text = nullptr;
        return CUDA_ERROR_DEINITIALIZED;
    }
    const Code *code = find(error);
    *text = code != nullptr ? part(*code) : nullptr;
    return code != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

} // namespace

namespace driver {

EXPORT ANY_TIME CUresult cuGetErrorName(CUresult error, const char **pStr) {
    return return_text(error, pStr, name_of);
}

EXPORT ANY_TIME CUresult cuGetErrorString(CUresult error, const char **pStr) {
    return return_text(error, pStr, words_of);
}

} // namespace driver
} // namespace sim
