// Names and words of status codes, from the headers' own list.
#include "core/refusal.hpp"
#include "driver_functions.hpp"

namespace sim {
namespace {

// A code, and where its name and words are in the texts.
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

// An unknown code answers with a null string, which is the only output of a call that fails.
CUresult tell(CUresult error, const char **text, unsigned short Code::*part) {
    require(text != nullptr);
    const Code *code = find(error);
    *text = code != nullptr ? driver_texts + code->*part : nullptr;
    return code != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

} // namespace

namespace driver {

CUresult cuGetErrorName(CUresult error, const char **pStr) {
    return tell(error, pStr, &Code::name);
}

CUresult cuGetErrorString(CUresult error, const char **pStr) {
    return tell(error, pStr, &Code::words);
}

} // namespace driver
} // namespace sim
