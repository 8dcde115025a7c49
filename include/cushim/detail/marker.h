/* Marks that identify a program or library that contains cushim, for cushim-audit.
 *
 * A mark is an ELF note: strip and --gc-sections keep it, and its segment can be found without
 * symbols and without section headers. On Windows, the same bytes are the section ".cushim", and
 * the linker is instructed to keep it.
 *
 * A source file that is always linked contains, at file scope,
 *     CUSHIM_MARK(name_of_the_object, CUSHIM_MARK_LIBRARY, "nvml");
 *
 * Usable from C11 and C++11.
 */
#ifndef CUSHIM_DETAIL_MARKER_H
#define CUSHIM_DETAIL_MARKER_H

#include <cushim/detail/config.h>

/* Types of the notes. Tools read them, so their meaning never changes. */
enum {
    CUSHIM_MARK_CORE = 0x101,   /* the loader and the tables */
    CUSHIM_MARK_DROPIN = 0x102, /* the cu* and cuda* functions under their own names */
    CUSHIM_MARK_LIBRARY = 0x103 /* those of a further library; the text is the name in its
                                   description */
};

/* A note with the owner "cushim" and a text, whose size is a multiple of 4. */
#define CUSHIM_MARK_SIZE(text) ((sizeof(text) + 3) / 4 * 4)
#define CUSHIM_MARK_TYPE(object, text)                                                             \
    struct object##_type {                                                                         \
        unsigned int name_size;                                                                    \
        unsigned int text_size;                                                                    \
        unsigned int type;                                                                         \
        char name[8];                                                                              \
        char chars[CUSHIM_MARK_SIZE(text)];                                                        \
    }
#define CUSHIM_MARK_VALUE(type, text) {7, CUSHIM_MARK_SIZE(text), type, "cushim", text}

#if defined(_MSC_VER) && !defined(__clang__)
/* The linker merges the marks of all objects into one, and is instructed to keep that. */
#pragma section(".cushim", read)
#ifdef __cplusplus
#define CUSHIM_MARK_LINKAGE extern "C"
#else
#define CUSHIM_MARK_LINKAGE
#endif
#define CUSHIM_MARK(object, type, text)                                                            \
    CUSHIM_MARK_TYPE(object, text);                                                                \
    __pragma(comment(linker, "/include:" #object)) CUSHIM_MARK_LINKAGE __declspec(selectany)       \
    __declspec(allocate(".cushim")) const struct object##_type object =                            \
        CUSHIM_MARK_VALUE(type, text)
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
#define CUSHIM_MARK_OBJECT(object, mark_type, text)                                                \
    CUSHIM_MARK_TYPE(object, text);                                                                \
    __attribute__((CUSHIM_MARK_ALONE section(CUSHIM_MARK_SECTION), used,                           \
                   aligned(4))) static const struct object##_type object =                         \
        CUSHIM_MARK_VALUE(mark_type, text)
#if defined(__MINGW32__)
/* GNU ld does not keep our section by itself, but it keeps the C runtime's function lists and
 * everything they refer to. This pointer is placed after the end of such a list, ".CRT$XTZ", where
 * it is never read. */
#define CUSHIM_MARK(object, type, text)                                                            \
    CUSHIM_MARK_OBJECT(object, type, text);                                                        \
    __attribute__((section(".CRT$XTZ_cushim"),                                                     \
                   used)) static const struct object##_type *const object##_is_kept = &object
#else
#define CUSHIM_MARK(object, type, text) CUSHIM_MARK_OBJECT(object, type, text)
#endif
#endif
#endif
