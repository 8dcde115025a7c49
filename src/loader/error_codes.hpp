/* Names of the CUDA status codes, for use without a CUDA library.
 *
 * The names are the enumerators of the headers; descriptions are derived from the names. The
 * statuses that programs without CUDA meet most have a sentence.
 */
#pragma once

namespace cushim {

struct CodeTexts {
    const char *name; // nullptr: unknown code
    const char *words;
};

CodeTexts driver_code(int status);
CodeTexts runtime_code(int status);

} // namespace cushim
