/* The marks by which a finished program or library is known to contain cushim: what
 * `cushim-info --audit` reads.
 *
 * A mark is an ELF note: strip and --gc-sections leave it alone, and it lies in a segment of its
 * own kind, where it is found without symbols and without section headers. On Windows the same
 * bytes make up the section ".cushim", and what removes unused sections is told of it.
 *
 * A source file that is always linked says at global scope
 *     CUSHIM_MARK(name_of_the_object, cushim::marker_core);
 */
#pragma once

#include "platform.hpp"

namespace cushim {

/* Types of the notes. Others read them: none ever changes its meaning. */
constexpr unsigned int marker_core = 0x101;   // the loader and the tables
constexpr unsigned int marker_dropin = 0x102; // the cu* and cuda* functions under their own names

/* One note, its owner "cushim"; its text is the version of cushim and that of the CUDA headers, as
 * CUDA packs it: "0.1.0 13000". */
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
/* Of all objects that have it one mark is left, which the linker is told to keep. */
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
/* Nothing may come between the notes of one segment. GCC leaves objects in named sections alone. */
#if defined(__clang__)
#define CUSHIM_MARK_ALONE no_sanitize("address"),
#else
#define CUSHIM_MARK_ALONE
#endif
#define CUSHIM_MARK_OBJECT(object, type)                                                           \
    __attribute__((CUSHIM_MARK_ALONE section(CUSHIM_MARK_SECTION), used,                           \
                   aligned(4))) static constexpr cushim::Marker object = cushim::make_marker(type)
#if defined(__MINGW32__)
/* GNU ld keeps no section of ours for its own sake, but all of the lists of functions that the C
 * runtime calls, and what they point to. This pointer comes behind the end of such a list, which is
 * ".CRT$XTZ": nobody ever reads it. */
#define CUSHIM_MARK(object, type)                                                                  \
    CUSHIM_MARK_OBJECT(object, type);                                                              \
    __attribute__((section(".CRT$XTZ_cushim"),                                                     \
                   used)) static constexpr const cushim::Marker *object##_is_kept = &object
#else
#define CUSHIM_MARK(object, type) CUSHIM_MARK_OBJECT(object, type)
#endif
#endif
