/* Names of CUDA's status codes, for when no library is there to ask.
 *
 * The names are the headers' own enumerators; the words are made from the names. What a program
 * without CUDA meets most gets a sentence.
 */
#pragma once

namespace cushim {

struct CodeTexts {
    const char *name; // nullptr: no such code
    const char *words;
};

CodeTexts driver_code(int status);
CodeTexts runtime_code(int status);

} // namespace cushim
