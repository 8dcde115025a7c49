/* Marks that identify a program or library that contains cushim, for `cushim-info --audit`.
 *
 * A mark is an ELF note: strip and --gc-sections keep it, and its segment can be found without
 * symbols and without section headers. On Windows, the same bytes are the section ".cushim", and
 * the linker is instructed to keep it.
 *
 * A source file that is always linked contains, at global scope,
 *     CUSHIM_MARK(name_of_the_object, cushim::marker_core);
 */
#pragma once

#include "platform.hpp"

namespace cushim {

/* Types of the notes. Tools read them, so their meaning never changes. */
constexpr unsigned int marker_core = 0x101;   // the loader and the tables
constexpr unsigned int marker_dropin = 0x102; // the cu* and cuda* functions under their own names

/* A note with the owner "cushim". Its text is the version of cushim and the packed version of the
 * CUDA headers: "0.1.0 13000". */
struct Marker {
    unsigned int name_size;
    unsigned int text_size;
    unsigned int type;
    char name[8];
    char text[24];
};

constexpr Marker make_marker(unsigned int type) {
    return {7, sizeof(Marker::text), type, "cushim",
            CUSHIM_VERSION " " CUSHIM_TEXT(CUSHIM_CUDA_VERSION)};
}

} // namespace cushim

#if defined(_MSC_VER) && !defined(__clang__)
/* The linker merges the marks of all objects into one, and is instructed to keep that. */
#pragma section(".cushim", read)
#define CUSHIM_MARK(object, type)                                                                  \
    __pragma(comment(linker, "/include:" #object)) extern "C" __declspec(selectany)                \
    __declspec(allocate(".cushim")) const cushim::Marker object = cushim::make_marker(type)
#else
#if defined(_WIN32)
#define CUSHIM_MARK_SECTION ".cushim"
#else
#define CUSHIM_MARK_SECTION ".note.cushim"
#endif
/* The notes of a segment must be contiguous. GCC does not pad objects in named sections. */
#if defined(__clang__)
#define CUSHIM_MARK_ALONE no_sanitize("address"),
#else
#define CUSHIM_MARK_ALONE
#endif
#define CUSHIM_MARK_OBJECT(object, type)                                                           \
    __attribute__((CUSHIM_MARK_ALONE section(CUSHIM_MARK_SECTION), used,                           \
                   aligned(4))) static constexpr cushim::Marker object = cushim::make_marker(type)
#if defined(__MINGW32__)
/* GNU ld does not keep our section by itself, but it keeps the C runtime's function lists and
 * everything they refer to. This pointer is placed after the end of such a list, ".CRT$XTZ", where
 * it is never read. */
#define CUSHIM_MARK(object, type)                                                                  \
    CUSHIM_MARK_OBJECT(object, type);                                                              \
    __attribute__((section(".CRT$XTZ_cushim"),                                                     \
                   used)) static constexpr const cushim::Marker *object##_is_kept = &object
#else
#define CUSHIM_MARK(object, type) CUSHIM_MARK_OBJECT(object, type)
#endif
#endif
