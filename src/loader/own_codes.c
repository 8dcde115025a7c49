/* The statuses that cushim returns. Some drivers do not know all of them: that of CUDA 12.4 does
 * not know 36. */
#include "own_codes.h"

#include <string.h>

#include "first_call.h"

/* --- a driver's cuGetErrorName and cuGetErrorString --- */

enum { success = 0, invalid_value = 1 };

/* Both have this type; a CUresult is an int. */
typedef int(CUSHIM_CUDA_CALL *TextQuery)(int status, const char **text);

static cushim_function of_driver_name, of_driver_words; // the driver's functions

static int with_own(cushim_function *of_driver, bool asks_name, int status, const char **text) {
    const int result = ((TextQuery)CUSHIM_LOAD(of_driver))(status, text);
    if (result != invalid_value || text == NULL) {
        return result;
    }
    const CodeTexts own = cushim_own_code(status);
    if (own.name == NULL) {
        return result;
    }
    *text = asks_name ? own.name : own.words;
    return success;
}

static int CUSHIM_CUDA_CALL name_with_own(int status, const char **text) {
    return with_own(&of_driver_name, true, status, text);
}

static int CUSHIM_CUDA_CALL words_with_own(int status, const char **text) {
    return with_own(&of_driver_words, false, status, text);
}

cushim_function cushim_with_own_codes(const char *name, cushim_function function) {
    const bool asks_name = strcmp(name, "cuGetErrorName") == 0;
    if (!asks_name && strcmp(name, "cuGetErrorString") != 0) {
        return function;
    }
    CUSHIM_STORE(asks_name ? &of_driver_name : &of_driver_words, function);
    return asks_name ? (cushim_function)name_with_own : (cushim_function)words_with_own;
}

CodeTexts cushim_own_code(int status) {
    switch (status) {
    case CUSHIM_STATUS_STUB_LIBRARY:
        return (CodeTexts){
            .name = "CUDA_ERROR_STUB_LIBRARY",
            .words = "the libcuda that was found is the CUDA toolkit's link stub, not a driver",
        };
    case CUSHIM_STATUS_INSUFFICIENT_DRIVER:
        return (CodeTexts){
            .words = "no CUDA driver is installed, or it is older than the CUDA runtime needs",
        };
    case CUSHIM_STATUS_REQUIRES_NEWER_DRIVER:
        return (CodeTexts){
            .name = "CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER",
            .words = "the CUDA driver is older than this function needs",
        };
    case CUSHIM_STATUS_SYMBOL_NOT_FOUND:
        return (CodeTexts){
            .name = "CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND",
            .words = "the CUDA library does not have this function",
        };
    case CUSHIM_STATUS_LIBRARY_NOT_FOUND:
        return (CodeTexts){
            .name = "CUDA_ERROR_SHARED_OBJECT_INIT_FAILED",
            .words = "the CUDA library was not found or cannot be loaded",
        };
    default:
        return (CodeTexts){0};
    }
}
