/* Names of the CUDA status codes, for use without a CUDA library.
 *
 * The names are the enumerators of the headers; descriptions are derived from the names. The
 * statuses that programs without CUDA meet most have a sentence: why the library is absent.
 */
#pragma once

typedef struct {
    const char *name; // NULL: unknown code
    const char *words;
} CodeTexts;

CodeTexts cushim_driver_code(int status);
CodeTexts cushim_runtime_code(int status);
