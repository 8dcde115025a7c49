/* The marks by which a finished program or library is known to contain cushim: what
 * `cushim-info --audit` reads.
 *
 * A mark is an ELF note: strip and --gc-sections leave it alone, and it lies in a segment of its
 * own kind, where it is found without symbols and without section headers. On Windows the same
 * bytes make up the section ".cushim", which --gc-sections and /OPT:REF keep only if some code that
 * is kept reads it: keep().
 *
 * A source file that is always linked says at namespace scope
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

/* Read through a volatile pointer, so that no optimiser finds out that nothing comes of it. */
inline void keep(const Marker &marker) {
    static_cast<void>(*static_cast<const volatile unsigned int *>(&marker.type));
}

} // namespace cushim

#if defined(_MSC_VER) && !defined(__clang__)
#pragma section(".cushim", read)
#define CUSHIM_MARK(object, type)                                                                  \
    __declspec(allocate(".cushim")) static const cushim::Marker object = cushim::make_marker(type)
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
#define CUSHIM_MARK(object, type)                                                                  \
    __attribute__((CUSHIM_MARK_ALONE section(CUSHIM_MARK_SECTION), used,                           \
                   aligned(4))) static constexpr cushim::Marker object = cushim::make_marker(type)
#endif
