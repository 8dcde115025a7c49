/* What the generated first-call thunks call.
 *
 * A slot starts at its own thunk. The thunk asks for its function once, and from then on the slot
 * points there: whoever calls through the slot never meets a test. Where the function cannot be
 * had, the slot stays at the thunk, and the thunk answers with the status that says why.
 */
#pragma once

#include <cushim/loader.h>

/* A row's constant part: the version that introduced it in two bytes, high first, then its exported
 * name. One block without pointers, so that it needs no relocation. */
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

/* Whether a status says that the library is there and lacks the function. */
inline bool cushim_is_missing(int status) {
    return status == 36 || status == 302;
}

extern "C" {

/* 0, and then the slot holds a function to call; or the status to answer. */
int cushim_first_call_driver(cushim_function *slot, cushim_function first,
                             const char *row) noexcept;
int cushim_first_call_runtime(cushim_function *slot, cushim_function first,
                              const char *row) noexcept;

/* As above, for functions that report no failure of their own: cudaGetLastError stays as it is. */
int cushim_first_call_runtime_quiet(cushim_function *slot, cushim_function first,
                                    const char *row) noexcept;
}
