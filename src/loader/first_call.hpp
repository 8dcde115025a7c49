/* Functions that the generated first-call thunks call.
 *
 * A slot initially holds its own thunk. The thunk resolves the function and stores it in the slot,
 * so later calls contain no check. If the function is not available, the slot keeps the thunk,
 * which returns the status for the reason.
 */
#pragma once

#include <cushim/loader.h>

/* The constant part of a row: two bytes of the version that introduced it, high byte first, then
 * its exported name. A block without pointers needs no relocation. */
namespace cushim {

struct RowText {
    const char *bytes;

    int introduced() const {
        return static_cast<unsigned char>(bytes[0]) << 8 | static_cast<unsigned char>(bytes[1]);
    }
    const char *name() const { return bytes + 2; }
};

} // namespace cushim

#define CUSHIM_SLOT(name) reinterpret_cast<cushim_function *>(&cushim_slot_##name)
#define CUSHIM_FUNCTION(pointer) reinterpret_cast<cushim_function>(pointer)

/* Whether a status means that the library is present but lacks the function. */
inline bool cushim_is_missing(int status) {
    return status == 36 || status == 302;
}

extern "C" {

/* Returns 0 if the slot holds a function to call; otherwise the status to return. */
int cushim_first_call_driver(cushim_function *slot, cushim_function first,
                             const char *row) noexcept;
int cushim_first_call_runtime(cushim_function *slot, cushim_function first,
                              const char *row) noexcept;

/* The same for functions that do not set the last error: cudaGetLastError is unchanged. */
int cushim_first_call_runtime_quiet(cushim_function *slot, cushim_function first,
                                    const char *row) noexcept;
}
