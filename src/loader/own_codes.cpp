/* The statuses that cushim returns. Some drivers do not know all of them: that of CUDA 12.4 does
 * not know 36. */
#include "own_codes.hpp"

#include <string.h>

#include "platform/atomics.hpp"
#include "platform/platform.hpp"
#include "resolve.hpp"

namespace cushim {

namespace {

/* --- a driver's cuGetErrorName and cuGetErrorString --- */

constexpr int success = 0, invalid_value = 1;

/* Both have this type; a CUresult is an int. */
using TextQuery = int(CUSHIM_CUDA_CALL *)(int status, const char **text);

TextQuery of_driver_name, of_driver_words; // the driver's functions

int with_own(TextQuery of_driver, const char *CodeTexts::*which, int status, const char **text) {
    const int result = of_driver(status, text);
    if (result != invalid_value || text == nullptr) {
        return result;
    }
    const CodeTexts own = own_code(status);
    if (own.name == nullptr) {
        return result;
    }
    *text = own.*which;
    return success;
}

int CUSHIM_CUDA_CALL name_with_own(int status, const char **text) {
    return with_own(atomics::load(&of_driver_name), &CodeTexts::name, status, text);
}

int CUSHIM_CUDA_CALL words_with_own(int status, const char **text) {
    return with_own(atomics::load(&of_driver_words), &CodeTexts::words, status, text);
}

} // namespace

CodeTexts own_code(int status) {
    switch (status) {
    case status_stub_library:
        return {"CUDA_ERROR_STUB_LIBRARY",
                "the libcuda that was found is the CUDA toolkit's link stub, not a driver"};
    case status_insufficient_driver:
        return {nullptr, "no CUDA driver is installed, or it is older than the CUDA runtime needs"};
    case status_requires_newer_driver:
        return {"CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER",
                "the CUDA driver is older than this function needs"};
    case status_symbol_not_found:
        return {"CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND",
                "the CUDA library does not have this function"};
    case status_library_not_found:
        return {"CUDA_ERROR_SHARED_OBJECT_INIT_FAILED",
                "the CUDA library was not found or cannot be loaded"};
    default:
        return {nullptr, nullptr};
    }
}

cushim_function with_own_codes(const char *name, cushim_function function) {
    const bool asks_name = strcmp(name, "cuGetErrorName") == 0;
    if (!asks_name && strcmp(name, "cuGetErrorString") != 0) {
        return function;
    }
    atomics::store(asks_name ? &of_driver_name : &of_driver_words,
                   reinterpret_cast<TextQuery>(function));
    return reinterpret_cast<cushim_function>(asks_name ? name_with_own : words_with_own);
}

} // namespace cushim
